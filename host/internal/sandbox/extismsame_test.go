package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tetratelabs/wazero"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// extism/go-sdk is what these tests hold our functions to.

// reference is a plugin under extism/go-sdk.
type reference struct {
	code *extism.CompiledPlugin
	logs []string
}

func newReference(t testing.TB, wasm []byte, config json.RawMessage, change ...func(*extism.Manifest)) *reference {
	t.Helper()
	return newReferenceIn(t, wazero.NewRuntimeConfig(), wasm, config, change...)
}

// newReferenceIn is newReference in a runtime of that kind.
func newReferenceIn(t testing.TB, runtime wazero.RuntimeConfig, wasm []byte, config json.RawMessage, change ...func(*extism.Manifest)) *reference {
	t.Helper()
	// The level is one for the whole process.
	extism.SetLogLevel(extism.LogLevelDebug)
	manifest := extism.Manifest{
		Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}, Config: extismConfig(config),
		Memory: &extism.ManifestMemory{MaxPages: 1024, MaxHttpResponseBytes: 4 << 20, MaxVarBytes: 1 << 20},
	}
	for _, f := range change {
		f(&manifest)
	}
	code, err := extism.NewCompiledPlugin(t.Context(), manifest, extism.PluginConfig{RuntimeConfig: runtime, EnableWasi: true, EnableHttpResponseHeaders: true}, referenceUserFunctions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := code.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &reference{code: code}
}

func referenceUserFunctions() []extism.HostFunction {
	var all []extism.HostFunction
	for _, f := range extismUserFuncs() {
		all = append(all, extism.NewHostFunctionWithStack(f.name, func(_ context.Context, _ *extism.CurrentPlugin, v []uint64) { clear(v) }, f.params, f.results))
	}
	return all
}

func (r *reference) instance(t testing.TB) *extism.Plugin {
	t.Helper()
	p, err := r.code.Instance(t.Context(), extism.PluginInstanceConfig{ModuleConfig: wazero.NewModuleConfig().WithSysWalltime()})
	if err != nil {
		t.Fatal(err)
	}
	p.SetLogger(func(l extism.LogLevel, line string) {
		if !isSDKLine(line) {
			r.logs = append(r.logs, logLine(abi.Level(l)-abi.Level(extism.LogLevelInfo), line))
		}
	})
	return p
}

// isSDKLine says that a line is not the plugin's.
func isSDKLine(line string) bool {
	return slices.ContainsFunc([]string{"Calling ", "Initializing runtime ", "Initialized Haskell "}, func(s string) bool { return strings.HasPrefix(line, s) })
}

// perform calls a function of a fresh plugin there.
func (r *reference) perform(t testing.TB, function string, input []byte) result {
	t.Helper()
	p := r.instance(t)
	r.logs = nil
	rc, out, err := p.Call(function, input)
	got := result{Logs: r.logs}
	switch {
	case err != nil && (isTrap(err.Error()) || strings.Contains(err.Error(), "(recovered by wazero)") || strings.HasPrefix(err.Error(), "module closed")):
		got.Trap = err.Error()
	case err != nil:
		got.Said = err.Error()
	case rc != 0:
		got.Said = fmt.Sprintf("the tool failed with code %d and gave no reason", rc)
	default:
		got.Out = string(out)
	}
	if err := p.Close(t.Context()); err != nil && got.Trap == "" {
		t.Error(err)
	}
	return got
}

// sameEnd compares ends; how a trap is worded is not part of it.
func sameEnd(want, got result) string {
	if (want.Trap == "") != (got.Trap == "") {
		return fmt.Sprintf("trap: want %q, got %q", want.Trap, got.Trap)
	}
	for _, r := range []*result{&want, &got} {
		r.Trap = ""
		// What a tool that gave no reason said last is added here.
		if strings.HasPrefix(r.Said, "the tool failed with code") {
			r.Said, _, _ = strings.Cut(r.Said, ":")
		}
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(result{}))
}

// pdkDir is where the plugins are that extism/go-sdk is tested with: real ones,
// built with the kits for Rust, TinyGo, Go, C and Haskell.
var pdkDir = sync.OnceValues(func() (string, error) {
	var errs bytes.Buffer
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/extism/go-sdk")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("looking for extism/go-sdk: %w\n%s", err, errs.String())
	}
	return filepath.Join(strings.TrimSpace(string(out)), "wasm"), nil
})

func pdkPlugin(t testing.TB, name string) []byte {
	t.Helper()
	dir, err := pdkDir()
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func TestExtismPluginsOfEveryKitEndAsUnderTheReference(t *testing.T) {
	e := newEngine(t)
	config := json.RawMessage(`{"thing":"hello","name":"value"}`)
	for _, tc := range []struct {
		plugin, function string
		inputs           []string
	}{
		{"hello", "run_test", []string{"", "x"}},
		{"alloc", "run_test", []string{""}},
		{"fail", "run_test", []string{""}},
		{"count_vowels", "count_vowels", []string{"", "a", "hello world", "seven7s", "eight 88", strings.Repeat("aeiou tx", 9000) + "e"}},
		{"count_vowels_std", "_start", []string{"", "hello world", strings.Repeat("aeiou tx", 9000) + "e"}},
		{"config", "run_test", []string{""}},
		{"var", "run_test", []string{""}},
		{"log", "run_test", []string{""}},
		{"noop", "run_test", []string{""}},
		{"println", "run_test", []string{""}},
		{"replace", "run_test", []string{"", "hello"}},
		{"input_offset", "input_offset_length", []string{"", "abc"}},
		{"hello_haskell", "testing", []string{"John", ""}},
		{"exit", "_start", []string{""}},
		{"http", "run_test", []string{""}},
	} {
		t.Run(tc.plugin, func(t *testing.T) {
			wasm := pdkPlugin(t, tc.plugin)
			// Compiling all of them twice would take longer than the rest of the package.
			want := newReferenceIn(t, wazero.NewRuntimeConfigInterpreter(), wasm, config)
			m := load(t, e, Source{Name: tc.plugin, Wasm: wasm, ABI: Extism, Config: config, Policy: policy.Default()}, plainTool(tc.function))
			for _, input := range tc.inputs {
				there, here := want.perform(t, tc.function, []byte(input)), perform(t, m, tc.function, []byte(input))
				if tc.plugin == "println" { // what is printed is dropped there, and log here
					there.Logs, here.Logs = nil, nil
				}
				if diff := sameEnd(there, here); diff != "" {
					t.Errorf("%.40q: %s", input, diff)
				}
			}
		})
	}
}

func TestOwnExtismPluginsEndAsUnderTheReference(t *testing.T) {
	e := newEngine(t)
	for _, tc := range []struct{ plugin, function, input string }{
		{"extism-plain", "echo", ""},
		{"extism-plain", "echo", "{}"},
		{"extism-plain", "echo", strings.Repeat("tea", 100_000)},
		{"extism-plain", "fails", ""},
		{"extism-plain", "fails_quietly", "x"},
		{"extism-plain", "warns", ""},
		{"extism-plain", "traps", ""},
		{"extism-plain", "fetches", ""},
		{"extism-plain", "remembers", ""},
		{"extism-v1", "describe", ""},
		{"extism-v1", "call", "{}"},
		{"extism-v2", "list_tools", ""},
		{"extism-v2", "call_tool", "{}"},
		{"extism-init", "marks", "123"},
		{"extism-bytes", "copy", ""},
		{"extism-bytes", "copy", "seven7s"},
	} {
		wasm := testkit.Wasm(t, tc.plugin)
		m := load(t, e, Source{Name: tc.plugin, Wasm: wasm, Policy: policy.Default()}, plainTool(tc.function))
		want := newReference(t, wasm, nil).perform(t, tc.function, []byte(tc.input))
		if diff := sameEnd(want, perform(t, m, tc.function, []byte(tc.input))); diff != "" {
			t.Errorf("%s %s %.40q: %s", tc.plugin, tc.function, tc.input, diff)
		}
	}
}

// Any program of steps gives the same numbers, texts and logs, as long as it
// reads and writes inside of its blocks.
func TestExtismStepsEndAsUnderTheReference(t *testing.T) {
	src := stepsSource(t)
	m := load(t, newEngine(t), src)
	kernelPages := uint32(stepsMemory/pageSize - 4)
	want := newReference(t, src.Wasm, src.Config, func(m *extism.Manifest) { m.Memory.MaxPages = kernelPages })
	rapid.Check(t, func(r *rapid.T) {
		var w walk
		r.Repeat(w.actions())
		function := rapid.SampledFrom([]string{"run", "leave"}).Draw(r, "function")
		if diff := sameEnd(want.perform(t, function, w.program), perform(t, m, function, w.program)); diff != "" {
			r.Errorf("%s: %s", function, diff)
		}
	})
}

// walk draws programs of steps, and knows which blocks they have.
type walk struct {
	steps
	blocks []stepBlock // active ones
	old    []arg       // every offset that there was
	asked  uint64      // bytes
}

type stepBlock struct {
	at   arg
	size uint64
}

func (w *walk) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"alloc": func(r *rapid.T) {
			n := rapid.OneOf(rapid.Uint64Range(0, 300), rapid.Uint64Range(0, 200_000), rapid.SampledFrom([]uint64{
				65395, 65396, 65397, 1 << 20, stepsMemory + 1, 1 << 31,
			})).Draw(r, "size")
			if w.asked += n; w.asked > stepsMemory/2 && n < stepsMemory {
				return // run needs room for its answer
			}
			at := w.do("alloc", num(n))
			w.old = append(w.old, at)
			if n > 0 && n < 4096 {
				w.blocks = append(w.blocks, stepBlock{at, n})
			}
		},
		"free": func(r *rapid.T) {
			if len(w.blocks) > 0 && rapid.Bool().Draw(r, "block") {
				i := rapid.IntRange(0, len(w.blocks)-1).Draw(r, "i")
				w.do("free", w.blocks[i].at)
				w.blocks = slices.Delete(w.blocks, i, i+1)
				return
			}
			w.do("free", w.stray(r))
		},
		"length":  func(r *rapid.T) { w.do("length", w.stray(r)) },
		"bytes":   func(r *rapid.T) { w.access(r, "load_u8", "store_u8", 1) },
		"words":   func(r *rapid.T) { w.access(r, "load_u64", "store_u64", 8) },
		"numbers": func(r *rapid.T) { w.do(rapid.SampledFrom(numberOps).Draw(r, "op")) },
		"input":   func(r *rapid.T) { w.do("input_load_u8", num(rapid.Uint64Range(0, 1000).Draw(r, "at"))) },
		"range": func(r *rapid.T) {
			op := rapid.SampledFrom([]string{"input_set", "output_set"}).Draw(r, "op")
			if b, ok := w.block(r, 1); ok {
				from := rapid.Uint64Range(0, b.size-1).Draw(r, "from")
				w.do(op, b.at.plus(from), num(rapid.Uint64Range(1, b.size-from).Draw(r, "n")))
			}
		},
		"error": func(r *rapid.T) { w.do("error_set", w.stray(r)) },
		"code":  func(r *rapid.T) { w.do("code", num(rapid.Uint64Range(0, 3).Draw(r, "code"))) },
		"config": func(r *rapid.T) {
			w.do("config_get", w.text(rapid.SampledFrom([]string{"name", "empty", "n", "none", ""}).Draw(r, "name")))
		},
		"set": func(r *rapid.T) {
			name := w.text(rapid.SampledFrom([]string{"a", "bc", ""}).Draw(r, "name"))
			value := num(0)
			if rapid.Bool().Draw(r, "value") {
				value = w.text(rapid.StringN(0, 20, 40).Draw(r, "text"))
			}
			w.do("var_set", name, value)
		},
		"get": func(r *rapid.T) {
			at := w.do("var_get", w.text(rapid.SampledFrom([]string{"a", "bc", ""}).Draw(r, "name")))
			w.old = append(w.old, at)
			w.do("length", at)
		},
		"log": func(r *rapid.T) {
			op := rapid.SampledFrom([]string{"log_trace", "log_debug", "log_info", "log_warn", "log_error"}).Draw(r, "op")
			w.do(op, w.text(rapid.StringMatching(`[a-z ]{0,20}`).Draw(r, "text")))
		},
		"reset": func(r *rapid.T) {
			if rapid.IntRange(0, 9).Draw(r, "one of ten") == 0 {
				w.do("reset")
				w.blocks, w.old = nil, nil
			}
		},
	}
}

var numberOps = []string{
	"input_length", "input_offset", "output_length", "output_offset", "error_get", "http_status_code", "get_log_level", "memory_bytes",
}

// stray is any offset: of a block, of one that was, or of none.
func (w *walk) stray(r *rapid.T) arg {
	if len(w.old) > 0 && rapid.IntRange(0, 3).Draw(r, "kind") > 0 {
		return rapid.SampledFrom(w.old).Draw(r, "old").plus(rapid.SampledFrom([]uint64{0, 0, 0, 1, 1<<64 - 1}).Draw(r, "off"))
	}
	return num(rapid.SampledFrom([]uint64{0, 1, 63, 64, 65, 66, 76, 77, 78, 65536, 1 << 31, 1 << 32, 1<<32 + 77, 1<<64 - 1}).Draw(r, "offset"))
}

func (w *walk) block(r *rapid.T, least uint64) (stepBlock, bool) {
	var fit []stepBlock
	for _, b := range w.blocks {
		if b.size >= least {
			fit = append(fit, b)
		}
	}
	if len(fit) == 0 {
		return stepBlock{}, false
	}
	return rapid.SampledFrom(fit).Draw(r, "block"), true
}

func (w *walk) access(r *rapid.T, load, store string, width uint64) {
	b, ok := w.block(r, width)
	if !ok {
		return
	}
	at := b.at.plus(rapid.Uint64Range(0, b.size-width).Draw(r, "at"))
	if rapid.Bool().Draw(r, "store") {
		w.do(store, at, num(rapid.Uint64().Draw(r, "value")))
	}
	w.do(load, at)
}
