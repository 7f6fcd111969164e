package sandbox

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

const (
	wasiModule = wasi_snapshot_preview1.ModuleName
	// wasiRenumber gives a descriptor the number that the guest wants. The
	// engine's table of descriptors grows up to the largest: one call with 2^31-1
	// takes 16 GiB of the host.
	wasiRenumber = "fd_renumber"
	wasiNotSup   = 58 // the errno of WASI for what is not supported
)

// linkWASI puts WASI preview 1 into a runtime and says what it offers.
func linkWASI(ctx context.Context, r wazero.Runtime) (signatures, error) {
	b := r.NewHostModuleBuilder(wasiModule)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	b.NewFunctionBuilder().
		WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = wasiNotSup }),
			[]api.ValueType{i32, i32}, []api.ValueType{i32}).
		Export(wasiRenumber)
	code, err := b.Compile(ctx)
	if err != nil {
		return nil, err
	}
	s := make(signatures)
	for name, f := range code.ExportedFunctions() {
		s[name] = engineSignature(f.ParamTypes(), f.ResultTypes())
	}
	_, err = r.InstantiateModule(ctx, code, wazero.NewModuleConfig())
	return s, err
}
