package wasmbin_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

var builds testkit.Builds

// rewrite reads and rewrites a module.
func rewrite(wasm []byte, lim wasmbin.Limits, o wasmbin.Options) (*wasmbin.Output, error) {
	m, err := wasmbin.Decode(wasm, lim)
	if err != nil {
		return nil, err
	}
	return m.Rewrite(o)
}

// servePauses gives rewritten modules the function that they import, which does
// what is said, if anything, and lets them go on for so long.
func servePauses(t testing.TB, r wazero.Runtime, slice int, do func()) {
	t.Helper()
	pause := api.GoFunc(func(_ context.Context, result []uint64) {
		if do != nil {
			do()
		}
		result[0] = uint64(slice)
	})
	_, err := r.NewHostModuleBuilder(wasmbin.HostModule).NewFunctionBuilder().
		WithGoFunction(pause, nil, []api.ValueType{api.ValueTypeI32}).Export(wasmbin.PauseImport).Instantiate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}

// refuel gives an instance what it needs to run, where fuel is counted.
func refuel(m api.Module) {
	if g, ok := m.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal); ok {
		g.Set(1 << 40)
	}
}
