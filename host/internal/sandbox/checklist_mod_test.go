package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// tryOut loads what may be a module and calls what it loads as. Nothing may be
// the host's own failure.
func tryOut(t *testing.T, e *Engine, wasm []byte) (loaded bool) {
	t.Helper()
	p := policy.Default()
	p.Limits.Memory = 4 * policy.MiB
	p.Limits.Timeout = 20 * time.Millisecond
	m, err := e.Load(t.Context(), Source{Name: "m", Wasm: wasm, Policy: p, Inspect: true, Tool: &abi.Tool{Name: "t"}})
	if err != nil {
		if got, ok := err.(*LoadError); !ok || strings.Contains(got.Problem, "could not be read") {
			t.Errorf("%v of %x", err, wasm)
		}
		return false
	}
	start := time.Now()
	if out := m.Call(t.Context(), Call{}); out.Fault == FaultInternal {
		t.Errorf("%s of %x", out.Detail, wasm)
	}
	if took := time.Since(start); took > overrun {
		t.Errorf("a call took %v of %x", took, wasm)
	}
	closed(t, m)
	return true
}

// A hundred thousand mutants and more are FuzzLoadNeverPanics and, for what reads
// them, those of wasmbin.
func TestMOD1NothingMalformedIsTheHostsFailure(t *testing.T) {
	l := newLab(t)
	unkept := newEngineAt(t, Options{})
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"logflood", "shapes", "cat", "extism-v1", "startloop", "bigtable"} {
		whole := testkit.Wasm(t, name)
		t.Run(name, func(t *testing.T) {
			loaded := 0
			for n := range whole {
				if tryOut(t, unkept, whole[:n]) {
					loaded++
				}
			}
			// Without its last section, and only so, what is left is a module.
			if loaded > 2 {
				t.Errorf("%d pieces load", loaded)
			}
			loaded = 0
			for range 300 / slowness { // fewer where compiling takes so much longer
				mutant := bytes.Clone(whole)
				for range 1 + random.IntN(3) {
					mutant[random.IntN(len(mutant))] = byte(random.Uint32())
				}
				if tryOut(t, unkept, mutant) {
					loaded++
				}
			}
			t.Logf("%d mutants load", loaded)
			l.works(t)
		})
	}
	core := testkit.Wasm(t, "done")
	for name, tc := range map[string]struct {
		file string
		kind LoadKind
		says string
	}{
		"nothing":            {"", LoadNotWasm, "not a WebAssembly module"},
		"text":               {"(module (func))", LoadNotWasm, "not a WebAssembly module"},
		"a script":           {"#!/bin/sh\nrm -rf /\n", LoadNotWasm, "not a WebAssembly module"},
		"a program":          {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", LoadNotWasm, "not a WebAssembly module"},
		"a packed one":       {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", LoadNotWasm, "not a WebAssembly module"},
		"four bytes":         {"\x00asm", LoadNotWasm, "not a WebAssembly module"},
		"seven bytes":        {"\x00asm\x01\x00\x00", LoadNotWasm, "not a WebAssembly module"},
		"nothing in it":      {"\x00asm\x01\x00\x00\x00", LoadExport, "nothing in it can be called"},
		"a component":        {"\x00asm\x0d\x00\x01\x00" + string(core[8:]), LoadComponent, "build a core module for WASI preview 1"},
		"an empty component": {"\x00asm\x0d\x00\x01\x00", LoadComponent, "wasm32-wasip1"},
		"an older component": {"\x00asm\x0a\x00\x01\x00", LoadComponent, "buildmode=c-shared"},
		"another version":    {"\x00asm\x02\x00\x00\x00", LoadMalformed, "version 02 00 00 00"},
		"one byte less":      {string(core[:len(core)-1]), LoadMalformed, "offset"},
		"one byte more":      {string(core) + "\x00", LoadMalformed, "offset"},
		"sections twice":     {string(core) + string(core[8:]), LoadMalformed, "offset"},
		"what is no section": {string(core) + "\x0e\x00", LoadMalformed, "offset"},
		"a length too long":  {"\x00asm\x01\x00\x00\x00\x01\xff\xff\xff\xff\x0f", LoadMalformed, "offset"},
		"an endless number":  {"\x00asm\x01\x00\x00\x00\x01" + strings.Repeat("\x80", 100), LoadMalformed, "offset"},
	} {
		t.Run(name, func(t *testing.T) {
			l.refuses(t, Source{Name: "m.wasm", Wasm: []byte(tc.file), Policy: policy.Default()}, tc.kind, tc.says)
		})
	}
}

func TestMOD2OnlyKnownImportsAreLinked(t *testing.T) {
	l := newLab(t)
	other := parts{}.source("other") // a tool, whose name another may know
	load(t, l.engine, other)
	importing := func(module, name string) Source {
		return parts{imports: []string{imported(module, name, typeNothing)}}.source("imports")
	}
	for _, im := range [][2]string{
		{"env", "system"},
		{"env", ""},
		{"other", "wagent_call"},
		{"other.wasm", "wagent_call"},
		{"imports.wasm", "wagent_call"},
		{wasiModule, "sock_open"},
		{wasiModule, "sock_connect"},
		{wasiModule, "sock_bind"},
		{wasiModule, "FD_READ"},
		{wasiModule, "fd_read\x00"},
		{wasiModule + " ", "fd_read"},
		{"wasi_unstable", "fd_read"},
		{"wasi:sockets/tcp@0.2.0", "create-tcp-socket"},
		{abi.Module, "exec"},
		{"Wagent", "log"},
		{extismEnv, "alloc"}, // in a tool of the other ABI
		{extismUser, "shell"},
	} {
		says := fmt.Sprintf("imports %q () from %q, which this host does not have", im[1], im[0])
		l.refuses(t, importing(im[0], im[1]), LoadImport, says)
	}
	// A line of a message is a line, whatever the name.
	l.refuses(t, importing("a\nb\x1b[2J", strings.Repeat("c", 1000)), LoadImport, "")
	l.refuses(t, importing("env", "\xff"), LoadMalformed, "")
	l.refuses(t, importing("", ""), LoadMalformed, "empty module name")
	// Nor does a type of many parameters make one long.
	wide := parts{types: []string{"\x60" + testkit.Uint(1000) + strings.Repeat("\x7f", 1000) + "\x00"}, imports: []string{imported(abi.Module, "log", typeOwn)}}
	l.refuses(t, wide.source("wide"), LoadImport, "here it is (i32, i32, i32)")
	l.refuses(t, importing("__wagent_host", "pause"), LoadExport, "__wagent_")
	for module, known := range map[string]signatures{abi.Module: wagentSignatures(), wasiModule: wasiSignatures()} {
		for name, signature := range known {
			l.refuses(t, importing(module, name), LoadImport, "here it is "+signature)
		}
	}
	plugin := func(name string) Source {
		return Source{Name: "plugin.wasm", Policy: policy.Default(), ABI: Extism, Export: "run", Tool: &abi.Tool{Name: "run"}, Wasm: testkit.Module(
			testkit.Section(1, testkit.Vec("\x60\x00\x01\x7f", "\x60\x09\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x00")),
			testkit.Section(2, testkit.Vec(imported(extismEnv, name, 1))),
			testkit.Section(3, testkit.Vec("\x00")),
			testkit.Section(7, testkit.Vec(exported("run", 1))),
			testkit.Section(10, testkit.Vec(testkit.Sized(testkit.Vec()+testkit.Code("i32.const 0")+"\x0b"))),
		)}
	}
	for name, signature := range extismFunctions() {
		l.refuses(t, plugin(name), LoadImport, "here it is "+signature)
	}
	l.refuses(t, plugin("shell"), LoadImport, "shell")
	// What is not a function is not there at all.
	for kind, what := range map[string]string{"table": "\x01\x70\x00\x01", "global": "\x03\x7f\x00", "mutable global": "\x03\x7f\x01"} {
		p := parts{foreign: []string{testkit.Sized("env") + testkit.Sized("it") + what}}
		if kind != "table" {
			p.globals = []string{"\x7f\x00\x41\x00\x0b"}
		}
		l.refuses(t, p.source("imports"), LoadImport, `from "env"`)
	}
	memory := testkit.Module(testkit.Section(2, testkit.Vec(testkit.Sized("env")+testkit.Sized("memory")+"\x02\x00\x01")),
		testkit.Section(1, testkit.Vec()))
	l.refuses(t, Source{Name: "order.wasm", Wasm: memory, Policy: policy.Default()}, LoadMalformed, "")
	memory = testkit.Module(testkit.Section(2, testkit.Vec(testkit.Sized("env")+testkit.Sized("memory")+"\x02\x00\x01")),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00")))
	l.refuses(t, Source{Name: "memory.wasm", Wasm: memory, Policy: policy.Default(), ABI: WASI}, LoadExport, "")
}

// wasiSignatures are the functions of WASI but proc_exit.
func wasiSignatures() signatures {
	s := make(signatures)
	for _, f := range wasiFuncs() {
		s[f.name] = engineSignature(f.params, []api.ValueType{i32})
	}
	return s
}

// A file is read through a limit; see TestMOD3AFileIsReadThroughALimit of host.
func TestMOD3AModuleThatIsTooLargeIsRefused(t *testing.T) {
	l := newLab(t)
	huge := append(testkit.Wasm(t, "done"), make([]byte, maxModule)...)
	l.refuses(t, Source{Name: "huge.wasm", Wasm: huge, Policy: policy.Default()}, LoadTooLarge, fmt.Sprint(maxModule))
	filled := append(testkit.Wasm(t, "done"), testkit.CustomSection("x", strings.Repeat("x", maxModule))...)
	l.refuses(t, Source{Name: "filled.wasm", Wasm: filled, Policy: policy.Default()}, LoadTooLarge, fmt.Sprint(maxModule))
}

func TestMOD4ExportsAreThereWithTheirTypes(t *testing.T) {
	l := newLab(t)
	instead := func(name string, f function) parts {
		p := parts{without: name, funcs: []function{f}}
		p.exports = []string{exported(name, p.number("$0"))}
		return p
	}
	another := func(name, as string) parts {
		return parts{without: name, exports: []string{testkit.Sized(name) + as}, globals: []string{"\x7f\x00\x41\x01\x0b"}, tables: []string{"\x70\x00\x01"}}
	}
	for _, tc := range []struct {
		what string
		p    parts
		kind LoadKind
		says string
	}{
		{"describe with an argument", instead(abi.ExportDescribe, function{typeAlloc, "", "i32.const 0"}), LoadExport, "wagent_describe as func (i32) -> i32"},
		{"describe with another result", instead(abi.ExportDescribe, function{typeVersion, "", "i32.const 0"}), LoadExport, "needs func () -> i64"},
		{"describe without a result", instead(abi.ExportDescribe, function{typeNothing, "", ""}), LoadExport, "wagent_describe"},
		{"no describe", parts{without: abi.ExportDescribe}, LoadExport, "wagent_describe"},
		{"call with one argument", instead(abi.ExportCall, function{typeAlloc, "", "i32.const 0"}), LoadExport, "wagent_call"},
		{"no call", parts{without: abi.ExportCall}, LoadExport, "wagent_call (i32, i32) -> i64"},
		{"alloc with two arguments", instead(abi.ExportAlloc, function{typeCall, "", "i64.const 0"}), LoadExport, "wagent_alloc"},
		{"no alloc", parts{without: abi.ExportAlloc}, LoadExport, "wagent_alloc"},
		{"no version", parts{without: abi.ExportVersion}, LoadExport, "nothing in it can be called"},
		{"a version that is a global", another(abi.ExportVersion, "\x03\x00"), LoadExport, "wagent_abi"},
		{"a call that is a table", another(abi.ExportCall, "\x01\x00"), LoadExport, "wagent_call"},
		{"no memory", parts{without: abi.ExportMemory}, LoadExport, "memory"},
		{"a memory that is a function", instead(abi.ExportMemory, function{typeNothing, "", ""}), LoadExport, "memory"},
		{"a memory that is a global", another(abi.ExportMemory, "\x03\x00"), LoadExport, "memory"},
		{"two memories", parts{memory: "\x00\x01\x00\x01"}, LoadMalformed, ""}, // one is announced
		{"_start beside", parts{exports: []string{exported(abi.ExportStart, 0)}}, LoadExport, "_start"},
		{"_initialize with an argument", parts{exports: []string{exported(abi.ExportInitialize, 1)}}, LoadExport, "_initialize"},
		{"a name twice", parts{exports: []string{exported(abi.ExportCall, 3)}}, LoadMalformed, ""},
		{"a function that is not there", parts{exports: []string{exported("x", 99)}}, LoadMalformed, ""},
		{"a name of the host", parts{exports: []string{exported("__wagent_left", 0)}}, LoadExport, "__wagent_"},
		{"another name of the host", parts{exports: []string{exported("__wagent_", 0)}}, LoadExport, "__wagent_"},
		{"a hook and nothing else", parts{without: abi.ExportCall, exports: []string{exported(abi.ExportHook, 3)}}, LoadUnsupported, "hook"},
	} {
		t.Run(tc.what, func(t *testing.T) { l.refuses(t, tc.p.source("exports"), tc.kind, tc.says) })
	}
	for _, name := range []string{"nothing", "nocall", "wrongcall"} {
		l.refuses(t, source(t, name), LoadExport, "")
	}
}

// What a module may use when it describes itself: nothing, for two seconds.
func TestMOD5DescribingHasNoGrantsAndLittleTime(t *testing.T) {
	l := newLab(t)
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer s.Close()
	request := fmt.Sprintf(`{"method":"GET","url":%q}`, s.URL)
	granted := func(src *Source) {
		grantOf(t, s.URL)(src)
		src.Policy.Grants.KV = true
		src.Policy.Grants.State = []string{request[:10]}
		src.Policy.Grants.Env = map[string]string{"KEY": "hunter2"}
		src.Policy.Grants.Read = []policy.Mount{{Host: t.TempDir(), Guest: "/d"}}
		src.Policy.Limits.Timeout = time.Hour
	}
	p := parts{
		types: []string{
			"\x60\x02\x7f\x7f\x01\x7e", "\x60\x02\x7f\x7f\x01\x7f", "\x60\x04\x7f\x7f\x7f\x7f\x01\x7f",
			"\x60\x09\x7f\x7f\x7f\x7f\x7f\x7e\x7e\x7f\x7f\x01\x7f",
		},
		imports: []string{
			imported(abi.Module, abi.ImportHTTP, typeOwn),
			imported(abi.Module, abi.ImportKVGet, typeOwn),
			imported(abi.Module, abi.ImportKVList, typeOwn),
			imported(abi.Module, abi.ImportStateGet, typeOwn),
			imported(abi.Module, abi.ImportSecretExists, typeOwn+1),
			imported(abi.Module, abi.ImportKVDelete, typeOwn+1),
			imported(abi.Module, abi.ImportKVSet, typeOwn+2),
			imported(wasiModule, "fd_prestat_get", typeOwn+1),
			imported(wasiModule, "environ_sizes_get", typeOwn+1),
			imported(wasiModule, "path_open", typeOwn+3),
			imported(wasiModule, "sock_shutdown", typeOwn+1),
		},
		data: []string{dataAt(8192, request)},
	}
	const at = "i32.const 8192 i32.const 10 "
	all := fmt.Sprintf("i32.const 8192 i32.const %d ", len(request))
	const isDenied = "i64.const -1 i64.ne if unreachable end "
	const isRefused = "i32.eqz if unreachable end "
	const open = "i32.const 3 i32.const 0 i32.const 8192 i32.const 1 i32.const 0 i64.const 2 i64.const 0 i32.const 0 i32.const 16384 call 9 "
	denied := all + "call 0 " + isDenied + at + "call 1 " + isDenied + at + "call 2 " + isDenied + at + "call 3 " + isDenied +
		at + "call 4 if unreachable end " + at + "call 5 " + isRefused + at + at + "call 6 " + isRefused +
		"i32.const 3 i32.const 16384 call 7 " + isRefused + open + isRefused + "i32.const 3 i32.const 0 call 10 " + isRefused +
		"i32.const 16384 i32.const 16388 call 8 if unreachable end i32.const 16384 i32.load if unreachable end "
	p.describe = denied + packed(64, len(partsDescription))
	// The call itself may: else nothing would be shown.
	p.call = all + "call 0 i64.const 0 i64.lt_s if unreachable end i32.const 3 i32.const 16384 call 7 if unreachable end " +
		"i32.const 16384 i32.const 16388 call 8 drop i32.const 16384 i32.load i32.eqz if unreachable end " + answers()
	src := p.source("describes")
	granted(&src)
	m := load(t, l.engine, src)
	d, err := m.Describe(t.Context())
	if err != nil || len(d.Tools) != 1 || asked.Load() != 0 {
		t.Errorf("%+v %v, %d requests", d, err, asked.Load())
	}
	if out := m.Call(t.Context(), Call{}); said(out) != "done" || asked.Load() != 1 {
		t.Errorf("%q %s, %d requests", out.Fault, out.Detail, asked.Load())
	}
	for what, p := range map[string]parts{"describe": {describe: forever + "i64.const 0"}, "version": {abi: forever + "i32.const 1"}} {
		src := p.source("loops")
		granted(&src)
		start := time.Now()
		out := described(t.Context())(load(t, l.engine, src))
		if took := time.Since(start); out.Fault != FaultTimeout || took < describeTime || took > describeTime+overrun {
			t.Errorf("%s: %q %s after %v", what, out.Fault, out.Detail, took)
		}
	}
	l.works(t)
}

func TestMOD6OnlyWhatIsInCore2Loads(t *testing.T) {
	l := newLab(t)
	withCode := func(code string) Source {
		return parts{raw: code, funcs: []function{{typeNothing, "", ""}}}.source("code")
	}
	section := func(id byte, body string) Source {
		return Source{Name: "m.wasm", Policy: policy.Default(), Wasm: testkit.Module(testkit.Section(id, body))}
	}
	for name, tc := range map[string]struct {
		src  Source
		says string
	}{
		"shared memory":           {parts{memory: "\x03\x01\x02"}.source("m"), "threads"},
		"atomics":                 {withCode("\x41\x00\x41\x01\xfe\x00\x02\x00\x1a"), "threads"},
		"waiting":                 {withCode("\x41\x00\x41\x00\x42\x7f\xfe\x01\x02\x00\x1a"), "threads"},
		"64-bit memory":           {parts{memory: "\x04\x02"}.source("m"), "memory64"},
		"64-bit table":            {parts{tables: []string{"\x70\x04\x01"}}.source("m"), "memory64"},
		"two memories":            {section(5, testkit.Vec("\x00\x01", "\x00\x01")), "multi-memory"},
		"pages of another size":   {parts{memory: "\x08\x02\x00"}.source("m"), ""},
		"try":                     {withCode("\x06\x40\x0b"), "exceptions"},
		"try_table":               {withCode("\x1f\x40\x00\x0b"), "exceptions"},
		"throw":                   {withCode("\x08\x00"), "exceptions"},
		"a tag":                   {section(13, testkit.Vec("\x00\x00")), "exceptions"},
		"tail calls":              {withCode("\x12\x00"), "tail calls"},
		"tail calls of tables":    {withCode("\x41\x00\x13\x04\x00"), "tail calls"},
		"call_ref":                {withCode("\x14\x04"), "typed function references"},
		"a typed reference":       {section(1, testkit.Vec("\x60\x01\x63\x00\x00")), "typed function references"},
		"a reference to none":     {section(1, testkit.Vec("\x60\x01\x64\x70\x00")), "typed function references"},
		"struct.new":              {withCode("\xfb\x00\x00"), "garbage collection"},
		"a struct":                {section(1, testkit.Vec("\x5f\x00")), "garbage collection"},
		"an array":                {section(1, testkit.Vec("\x5e\x7f\x00")), "garbage collection"},
		"a recursive type":        {section(1, testkit.Vec("\x4e\x01\x60\x00\x00")), "garbage collection"},
		"relaxed SIMD":            {withCode("\xfd\x80\x02"), "relaxed SIMD"},
		"wide arithmetic":         {withCode("\x42\x00\x42\x00\x42\x00\x42\x00\xfc\x13\x1a\x1a"), ""},
		"constants that are sums": {parts{globals: []string{"\x7f\x00\x41\x01\x41\x02\x6a\x0b"}}.source("m"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			kind := LoadUnsupported
			if tc.says == "" {
				kind = LoadMalformed // not in the tables of names, and not known
			}
			l.refuses(t, tc.src, kind, tc.says)
		})
	}
	for name, code := range map[string]string{
		"vectors":              "\x41\x01\xfd\x11\xfd\x1b\x00\x1a",
		"references":           "\xd0\x70\xd1\x1a\xd0\x6f\xd1\x1a",
		"bulk memory":          "\x41\x00\x41\x00\x41\x08\xfc\x0b\x00\x41\x08\x41\x00\x41\x08\xfc\x0a\x00\x00",
		"several values":       "\x02\x01\x41\x01\x41\x02\x0b\x1a\x1a",
		"sign extension":       "\x41\x7f\xc0\x1a\x42\x7f\xc4\x1a",
		"conversions that fit": "\x43\x00\x00\x00\x7f\xfc\x00\x1a",
	} {
		p := parts{raw: code, funcs: []function{{typeNothing, "", ""}}, call: "call $0 " + answers()}
		if name == "several values" {
			p.types = []string{"\x60\x00\x02\x7f\x7f"}
			p.raw = "\x02\x05" + code[2:]
		}
		l.suffers(t, attack{what: name, src: p.source("code"), want: well, says: "done"})
	}
	global := parts{globals: []string{"\x7f\x01\x41\x00\x0b"}, exports: []string{testkit.Sized("g") + "\x03\x00"}}
	l.suffers(t, attack{what: "a mutable global", src: global.source("m"), want: well, says: "done"})
}

func TestMOD7AnExitIsNoAnswer(t *testing.T) {
	l := newLab(t)
	exits := parts{types: []string{"\x60\x01\x7f\x00"}, imports: []string{imported(wasiModule, "proc_exit", typeOwn)}}
	left := []Fault{FaultExited}
	for _, code := range []int64{0, 1, 255, -1} {
		exit := fmt.Sprintf("i32.const %d call 0 ", code)
		says := fmt.Sprint("with code ", uint32(code))
		for where, change := range map[string]func(*parts){
			"the call":  func(p *parts) { p.call = exit + answers() },
			"alloc":     func(p *parts) { p.alloc = exit + "i32.const 4096" },
			"version":   func(p *parts) { p.abi = exit + "i32.const 1" },
			"the start": func(p *parts) { p.funcs, p.start = []function{{typeNothing, "", exit}}, "$0" },
			"_initialize": func(p *parts) {
				p.funcs, p.exports = []function{{typeNothing, "", exit}}, []string{exported("_initialize", 5)}
			},
			"the describe": func(p *parts) { p.describe = exit + "i64.const 0" },
		} {
			p := exits
			change(&p)
			a := attack{what: fmt.Sprintf("%d in %s", code, where), src: p.source("exit"), want: left, says: says}
			if where == "the describe" {
				a.on = described(t.Context())
			}
			l.suffers(t, a)
		}
		plugin := source(t, "extism-plain")
		plainTool("exits")(&plugin)
		l.suffers(t, attack{what: "a plugin", src: plugin, want: left, says: "with code 0"})
	}
	// A program may end itself: with what it wrote, or with an error.
	exiting := func(code int64, text string) Source { return exitingProgram(code, text) }
	l.suffers(
		t,
		attack{what: "a program that answers", src: exiting(0, "yes"), want: well, says: "yes"},
	)
	for what, src := range map[string]Source{"a program that says nothing": exiting(0, ""), "a program that ends and says nothing": programOf("nop")} {
		l.suffers(t, attack{what: what, src: src, on: failed(t), want: well, says: "without an answer"})
	}
	for _, code := range []int64{1, 255, -1} {
		l.suffers(t, attack{what: fmt.Sprint("a program with ", code), src: exiting(code, "yes"), on: failed(t), want: well, says: fmt.Sprint("with code ", uint32(code))})
	}
}

// failed calls a tool whose answer has to be an error.
func failed(t *testing.T) func(*Module) Outcome {
	return func(m *Module) Outcome {
		out := m.Call(t.Context(), Call{})
		if !out.Result.IsError {
			t.Error("it is no error")
		}
		return out
	}
}

// exitingProgram is a command that writes text and ends itself.
func exitingProgram(code int64, text string) Source {
	main := testkit.Code(fmt.Sprintf("i32.const 1 i32.const 0 i32.const 1 i32.const 8 call 1 drop i32.const %d call 0", code))
	list := fmt.Sprintf("\x10\x00\x00\x00%c\x00\x00\x00", len(text))
	return Source{Name: "program.wasm", Policy: policy.Default(), Wasm: testkit.Module(
		testkit.Section(1, testkit.Vec("\x60\x00\x00", "\x60\x01\x7f\x00", "\x60\x04\x7f\x7f\x7f\x7f\x01\x7f")),
		testkit.Section(2, testkit.Vec(imported(wasiModule, "proc_exit", 1), imported(wasiModule, "fd_write", 2))),
		testkit.Section(3, testkit.Vec("\x00")),
		testkit.Section(5, testkit.Vec("\x00\x01")),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", exported("_start", 2))),
		testkit.Section(10, testkit.Vec(testkit.Sized(testkit.Vec()+main+"\x0b"))),
		testkit.Section(11, testkit.Vec(dataAt(0, list), dataAt(16, text))),
	)}
}

// hostFunction is one that guests import.
type hostFunction struct {
	module, name    string
	params, results []api.ValueType
}

// nowhere are numbers that are hardly ever a pointer, a length or a handle.
func nowhere(random *rand.Rand, typ api.ValueType) string {
	const two = 2 * pageSize
	if typ == i32 {
		all := []int32{0, 1, 3, 4, -1, -8, two - 1, two, two + 1, two - 8, 1 << 30, 1<<31 - 1, -1 << 31}
		return fmt.Sprintf("i32.const %d ", all[random.IntN(len(all))])
	}
	all := []int64{0, 1, -1, -8, two, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, 1<<63 - 1, -1 << 63}
	return fmt.Sprintf("i64.const %d ", all[random.IntN(len(all))])
}

func (f hostFunction) typ() string {
	return "\x60" + testkit.Sized(string(f.params)) + testkit.Sized(string(f.results))
}

func (f hostFunction) misused(random *rand.Rand) string {
	var code strings.Builder
	for _, p := range f.params {
		code.WriteString(nowhere(random, p))
	}
	code.WriteString("call 0 ")
	code.WriteString(strings.Repeat("drop ", len(f.results)))
	return code.String()
}

// Every function of the host answers whatever it is given: the guest goes on, or
// ends as a plugin of Extism does, and the host lives.
func TestMOD7EveryFunctionOfTheHostBearsBadPointers(t *testing.T) {
	l := newLab(t)
	random := rand.New(rand.NewPCG(3, 4))
	var tools []hostFunction
	for _, f := range hostFuncs() {
		tools = append(tools, hostFunction{abi.Module, f.name, f.params, f.results})
	}
	for _, f := range wasiFuncs() {
		tools = append(tools, hostFunction{wasiModule, f.name, f.params, []api.ValueType{i32}})
	}
	for _, f := range tools {
		var call strings.Builder
		for range 200 {
			call.WriteString(f.misused(random))
		}
		p := parts{types: []string{f.typ()}, imports: []string{imported(f.module, f.name, typeOwn)}, call: call.String() + answers()}
		src := p.source(f.name)
		src.Inspect = true
		src.Policy.Grants.KV, src.Policy.Grants.State = true, []string{"", "\x00"}
		src.Policy.Grants.Write = []policy.Mount{{Host: t.TempDir(), Guest: "/d"}}
		want := slices.Clone(well)
		if f.name == "poll_oneoff" {
			src, want = short(src), append(want, FaultTimeout) // what lies at 0 may be a long sleep
		}
		l.suffers(t, attack{what: f.name, src: src, want: want, most: slack})
	}
	for module, funcs := range extismModules() {
		for _, f := range funcs {
			plugin := hostFunction{module, f.name, f.params, f.results}
			t.Run(module+" "+f.name, func(t *testing.T) {
				for range max(1, 8/slowness) {
					misusePlugin(t, l.engine, plugin, random)
				}
				l.works(t)
			})
		}
	}
}

func misusePlugin(t *testing.T, e *Engine, f hostFunction, random *rand.Rand) {
	t.Helper()
	code := f.misused(random) + f.misused(random) + "i32.const 0"
	src := Source{Name: "plugin.wasm", Policy: policy.Default(), ABI: Extism, Wasm: testkit.Module(
		testkit.Section(1, testkit.Vec("\x60\x00\x01\x7f", f.typ())),
		testkit.Section(2, testkit.Vec(imported(f.module, f.name, 1))),
		testkit.Section(3, testkit.Vec("\x00")),
		testkit.Section(5, testkit.Vec("\x00\x01")),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", exported("run", 1))),
		testkit.Section(10, testkit.Vec(testkit.Sized(testkit.Vec()+testkit.Code(code)+"\x0b"))),
	)}
	m := load(t, e, src, plainTool("run"))
	defer closed(t, m)
	start := time.Now()
	out := m.Call(t.Context(), Call{Arguments: json.RawMessage(`{"a":"b"}`)})
	if took := time.Since(start); took > overrun {
		t.Errorf("%s took %v", code, took)
	}
	switch out.Fault {
	case "", FaultTrap, FaultMemory, FaultDenied, FaultInvalidResult:
	default:
		t.Errorf("%s: %q %s", code, out.Fault, out.Detail)
	}
	checkShown(t, out)
}
