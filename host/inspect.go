package host

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// InspectOptions change how a module is inspected. Nil and the zero value are usable.
type InspectOptions struct {
	// Name is what the log calls the module. Empty: module.wasm.
	Name string
	// CacheDir keeps compiled code between processes, as that of [Options] does: a
	// [Host] with the same folder finds the code, and its code is found here.
	// Empty: compiled code is kept in memory only.
	CacheDir string
	// Logger is told what an operator should know. Nil: nothing is logged.
	Logger *slog.Logger
}

// Inspect is [InspectWith] with no options.
func Inspect(ctx context.Context, wasm []byte) (ModuleInfo, error) {
	return InspectWith(ctx, wasm, nil)
}

// InspectWith looks at a module. It blocks while the module is compiled, and runs
// nothing of it but describe, with no grants and for two seconds at most, and of a
// module that has roles and no tools nothing at all; a
// describe that fails is told in DescribeErr, what it says in DescribeLogs, and a
// module that declares no tools has none. The error is for what cannot be loaded
// at all.
func InspectWith(ctx context.Context, wasm []byte, opts *InspectOptions) (_ ModuleInfo, err error) {
	var o InspectOptions
	if opts != nil {
		o = *opts
	}
	engine, err := sandbox.New(sandbox.Options{CacheDir: o.CacheDir, Logger: o.Logger})
	if err != nil {
		return ModuleInfo{}, err
	}
	end := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, engine.Close(end)) }()
	var logs []ModuleLog
	mod, err := engine.Load(ctx, sandbox.Source{
		Name: cmp.Or(o.Name, "module.wasm"), Wasm: wasm, Policy: policy.Default(), Inspect: true,
		Log: func(level abi.Level, message string) { logs = append(logs, ModuleLog{levelName(level), message}) },
	})
	if err != nil {
		return ModuleInfo{}, unnamed(err)
	}
	defer func() { err = errors.Join(err, mod.Close(end)) }()
	info := moduleInfo(mod.Info())
	if info.Roles = rolesOf(&info); len(info.Roles) == 0 || info.describes() {
		desc, derr := mod.Describe(ctx)
		if derr != nil {
			info.DescribeErr = derr.Error()
		}
		info.Tools = desc.Tools
	}
	info.DescribeLogs = logs
	if info.Tools == nil {
		info.Tools = []abi.Tool{}
	}
	info.Capabilities = capabilities(info.Imports, info.Tools)
	return info, nil
}

func moduleInfo(i sandbox.Info) ModuleInfo {
	m := ModuleInfo{
		Digest: i.Digest, Bytes: i.Bytes, ABI: string(i.ABI), Why: i.Why,
		MemoryMin: i.Memory.Min, MemoryMax: i.Memory.Max,
		Imports: []ModuleImport{}, Exports: []ModuleExport{}, Tables: []ModuleTable{},
		MemoryLimit: policy.Default().Limits.Memory, Producers: i.Producers, Rewritten: rewriting(&i.Rewritten),
	}
	if m.MemoryMax > 0 {
		m.MemoryLimit = min(m.MemoryLimit, m.MemoryMax)
	}
	for _, t := range i.Tables {
		m.Tables = append(m.Tables, ModuleTable(t))
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

// rolesOf are the roles of this version that a module has a function for: one for all
// of them, which is told the role, or as a plugin one with the role's name.
func rolesOf(m *ModuleInfo) []ModuleRole {
	name, signatures := roleParseError, []string{"() -> i32", "()"}
	switch sandbox.ABI(m.ABI) {
	case sandbox.Wagent:
		name, signatures = abi.ExportHook, []string{"(i32, i32) -> i64"}
	case sandbox.Extism:
	default:
		return nil
	}
	if !m.exports(name, signatures...) {
		return nil
	}
	return []ModuleRole{{Role: roleParseError, Export: name, Field: fieldParseError}}
}

// describes says that a module can be asked for its tools.
func (m *ModuleInfo) describes() bool {
	if sandbox.ABI(m.ABI) == sandbox.Wagent {
		return m.exports(abi.ExportCall)
	}
	return m.exports("describe") || m.exports("list_tools")
}

// exports says that a module exports a function, with one of these signatures if any
// are given.
func (m *ModuleInfo) exports(name string, signatures ...string) bool {
	return slices.ContainsFunc(m.Exports, func(e ModuleExport) bool {
		return e.Name == name && e.Kind == "func" && (len(signatures) == 0 || slices.Contains(signatures, e.Signature))
	})
}

func rewriting(r *sandbox.Rewritten) ModuleRewriting {
	m := ModuleRewriting{
		Functions: r.Functions, Helpers: r.Helpers, CodeBytes: r.CodeIn, NewCodeBytes: r.CodeOut, NewBytes: r.Bytes,
		Looks: r.Looks, BulkOperations: r.Bulk, StartDeferred: r.Start, DataSegments: r.Data, DataBytes: r.DataBytes,
		Dropped: []ModuleSection{}, MoreDropped: r.MoreDropped, Reused: r.Reused,
	}
	for _, c := range r.Dropped {
		m.Dropped = append(m.Dropped, ModuleSection(c))
	}
	return m
}
