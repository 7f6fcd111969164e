package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// inspect says what a module wants and offers.
func inspect(wasm []byte, m *wasmbin.Module) Info {
	info := Info{Digest: digest(wasm), Bytes: int64(len(wasm))}
	for _, im := range m.Imports {
		what := im.Kind.String()
		if im.Kind == wasmbin.ExternFunc {
			what = signature(m.Types[im.Type])
		}
		info.Imports = append(info.Imports, Import{im.Module, im.Name, what, door(im.Module)})
	}
	for _, e := range m.Exports {
		x := Export{Name: e.Name, Kind: e.Kind.String()}
		if e.Kind == wasmbin.ExternFunc {
			x.Signature = signature(m.FuncType(e.Index))
		}
		info.Exports = append(info.Exports, x)
	}
	if m.Memory != nil {
		info.Memory.Min = int64(m.Memory.Min) * pageSize
		info.Memory.Max = int64(m.Memory.Max) * pageSize
	}
	tables, most := m.Tables()
	imported := 0
	for _, im := range m.Imports {
		if im.Kind == wasmbin.ExternTable {
			imported++
		}
	}
	for i, t := range tables {
		x := TableInfo{Elem: t.Elem.String(), Min: t.Size.Min, Most: most, Imported: i < imported}
		if t.Size.HasMax {
			x.Max, x.Most = t.Size.Max, min(most, t.Size.Max)
		}
		info.Tables = append(info.Tables, x)
	}
	for _, p := range m.Producers() {
		info.Producers = append(info.Producers, oneLine(p.Field+" "+p.Name+" "+p.Version, maxAbout))
	}
	slices.SortFunc(info.Imports, func(a, b Import) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(info.Exports, func(a, b Export) int { return cmp.Compare(a.Name, b.Name) })
	return info
}

// TableInfo is a table. Max is 0 if the module sets none; Most is what it gets.
type TableInfo struct {
	Elem           string
	Min, Max, Most uint32
	Imported       bool
}

// Rewritten is what the loader changed of a module. Work is zero unless the source
// is inspected.
type Rewritten struct {
	wasmbin.Work
	Bytes       int64 // of the module that the engine compiles
	Start       bool  // the start function runs when the time is armed
	Data        int   // active data segments, which the host writes
	DataBytes   int64
	Dropped     []CustomSection
	MoreDropped int  // sections that are not in Dropped
	Reused      bool // code changes nothing but memory and numbers: a guest is put back after a call
}

// CustomSection is a custom section, and its size.
type CustomSection struct {
	Name  string
	Bytes int64
}

// rewritten says what was made of a module.
func rewritten(code *guestCode) Rewritten {
	m := code.module
	r := Rewritten{Work: code.out.Work, Bytes: int64(len(code.out.Wasm)), Start: m.HasStart(), Reused: code.out.Exact}
	for _, d := range m.Data {
		if !d.Passive {
			r.Data++
			r.DataBytes += int64(len(d.Bytes))
		}
	}
	customs, more := m.Customs()
	r.MoreDropped = more
	for _, c := range customs {
		if c.Name != "name" {
			r.Dropped = append(r.Dropped, CustomSection{oneLine(c.Name, maxAbout), int64(c.Bytes)})
		}
	}
	return r
}

// door is what serves the imports from a module.
func door(module string) string {
	switch module {
	case wasiModule:
		return "wasi"
	case abi.Module:
		return "wagent"
	case extismEnv, extismUser, extismUserMisspelt:
		return "extism"
	}
	return ""
}

// signature writes a function's type as "(i32, i32) -> i64".
func signature(t wasmbin.FuncType) string {
	list := func(ts []wasmbin.ValueType) string {
		names := make([]string, len(ts))
		for i, t := range ts {
			names[i] = t.String()
		}
		return strings.Join(names, ", ")
	}
	s := "(" + list(t.Params) + ")"
	switch len(t.Results) {
	case 0:
		return s
	case 1:
		return s + " -> " + list(t.Results)
	default:
		return s + " -> (" + list(t.Results) + ")"
	}
}

// engineSignature is signature of types as the engine has them.
func engineSignature(params, results []api.ValueType) string {
	convert := func(ts []api.ValueType) []wasmbin.ValueType {
		out := make([]wasmbin.ValueType, len(ts))
		for i, t := range ts {
			out[i] = wasmbin.ValueType(t)
		}
		return out
	}
	return signature(wasmbin.FuncType{Params: convert(params), Results: convert(results)})
}

func (i *Info) export(name string) (Export, bool) {
	for _, e := range i.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

func (i *Info) exports(name string) bool {
	_, ok := i.export(name)
	return ok
}

func (i *Info) importsFrom(module string) bool {
	return slices.ContainsFunc(i.Imports, func(im Import) bool { return im.Module == module })
}

// decide settles how host and module talk, and says why.
func decide(src Source, info *Info) (ABI, string) {
	if src.ABI != "" && src.ABI != Auto {
		return src.ABI, "the manifest says so"
	}
	switch {
	case info.exports(abi.ExportVersion):
		return Wagent, "it exports " + abi.ExportVersion
	case info.importsFrom(extismEnv):
		return Extism, "it imports " + extismEnv
	case src.Export != "":
		return Extism, "the manifest names the function to call"
	case info.exports("describe") && info.exports("call"):
		return Extism, "it exports describe and call"
	case info.exports("list_tools") && info.exports("call_tool"):
		return Extism, "it exports list_tools and call_tool"
	case info.exports(abi.ExportStart):
		return WASI, "it exports " + abi.ExportStart
	default:
		return "", ""
	}
}

// checkExports refuses a module that lacks what its ABI calls.
func checkExports(src Source, info *Info) *LoadError {
	if refused := checkSession(src, info); refused != nil {
		return refused
	}
	switch info.ABI {
	case Wagent:
		return checkWagentExports(info, src)
	case Extism:
		return checkExtismExports(src, info)
	case WASI:
		return checkWASIExports(info)
	default:
		return refuse(LoadExport, fmt.Sprintf("the module exports none of %s, call, call_tool and %s, so nothing in it can be called",
			abi.ExportVersion, abi.ExportStart), "build a tool: "+buildReactor)
	}
}

func checkWagentExports(info *Info, src Source) *LoadError {
	if info.exports(abi.ExportStart) {
		return refuse(LoadExport, "the module is a command (it exports _start) where a reactor was meant", "build it as one: "+buildReactor)
	}
	hook := src.Role != ""
	if !hook && info.exports(abi.ExportHook) && !info.exports(abi.ExportCall) {
		if !src.Inspect {
			return refuse(LoadUnsupported, "the module has a hook and no tool", "")
		}
		hook = true
	}
	want := []Export{
		{abi.ExportMemory, "memory", ""},
		{abi.ExportVersion, "func", "() -> i32"},
		{abi.ExportAlloc, "func", "(i32) -> i32"},
	}
	if !hook {
		want = append(want, Export{abi.ExportDescribe, "func", "() -> i64"}, Export{abi.ExportCall, "func", "(i32, i32) -> i64"})
	} else {
		want = append(want, Export{abi.ExportHook, "func", "(i32, i32) -> i64"})
	}
	if info.exports(abi.ExportInitialize) {
		want = append(want, Export{abi.ExportInitialize, "func", "()"})
	}
	return needExports(info, want, buildReactor)
}

func checkWASIExports(info *Info) *LoadError {
	if !info.exports(abi.ExportStart) && info.exports(abi.ExportInitialize) {
		return refuse(LoadExport, "the module is a reactor (it exports _initialize) where a command was meant", "build it as one: "+buildCommand)
	}
	return needExports(info, []Export{{abi.ExportMemory, "memory", ""}, {abi.ExportStart, "func", "()"}}, buildCommand)
}

func needExports(info *Info, want []Export, build string) *LoadError {
	for _, w := range want {
		got, ok := info.export(w.Name)
		switch {
		case !ok:
			return refuse(LoadExport, fmt.Sprintf("the module does not export %s%s, which abi %s needs", w.Name, spaced(w.Signature), info.ABI),
				"build it again, "+build)
		case got.Kind != w.Kind || got.Signature != w.Signature:
			return refuse(LoadExport, fmt.Sprintf("the module exports %s as %s%s, abi %s needs %s%s", w.Name,
				got.Kind, spaced(got.Signature), info.ABI, w.Kind, spaced(w.Signature)), "build it with the SDK of this version")
		}
	}
	return nil
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}
