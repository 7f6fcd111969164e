package host

import (
	"context"
	"errors"
	"slices"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Inspect looks at a module. It runs nothing of it but describe, with no grants
// and for two seconds at most; a describe that fails is told in DescribeErr, what
// it says in DescribeLogs, and a module that declares no tools has none. The error
// is for what cannot be loaded at all.
func Inspect(ctx context.Context, wasm []byte) (_ ModuleInfo, err error) {
	engine, err := sandbox.New(sandbox.Options{})
	if err != nil {
		return ModuleInfo{}, err
	}
	end := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, engine.Close(end)) }()
	var logs []ModuleLog
	mod, err := engine.Load(ctx, sandbox.Source{
		Name: "module.wasm", Wasm: wasm, Policy: policy.Default(), Inspect: true,
		Log: func(level abi.Level, message string) { logs = append(logs, ModuleLog{levelName(level), message}) },
	})
	if err != nil {
		return ModuleInfo{}, unnamed(err)
	}
	defer func() { err = errors.Join(err, mod.Close(end)) }()
	info := moduleInfo(mod.Info())
	desc, derr := mod.Describe(ctx)
	if derr != nil {
		info.DescribeErr = derr.Error()
	}
	info.Tools, info.DescribeLogs = desc.Tools, logs
	if info.Tools == nil {
		info.Tools = []abi.Tool{}
	}
	return info, nil
}

func moduleInfo(i sandbox.Info) ModuleInfo {
	m := ModuleInfo{
		Digest: i.Digest, Bytes: i.Bytes, ABI: string(i.ABI), Why: i.Why,
		MemoryMin: i.Memory.Min, MemoryMax: i.Memory.Max,
		Imports: []ModuleImport{}, Exports: []ModuleExport{},
	}
	for _, im := range i.Imports {
		// A compiler may name one function several times.
		if one := ModuleImport(im); !slices.Contains(m.Imports, one) {
			m.Imports = append(m.Imports, one)
		}
	}
	for _, ex := range i.Exports {
		m.Exports = append(m.Exports, ModuleExport(ex))
	}
	return m
}
