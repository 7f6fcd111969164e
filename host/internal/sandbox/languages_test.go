package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

func languageFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testkit.Root(t), "testdata", "languages", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func languageWasm(t testing.TB, language string) []byte {
	t.Helper()
	if language == "go" {
		return builds.Tool(t, filepath.Join(testkit.Root(t), "testdata", "languages", "go"))
	}
	return languageFile(t, language)
}

func languageSource(t testing.TB, language string) Source {
	t.Helper()
	return Source{Name: language + ".wasm", Wasm: languageWasm(t, language), Policy: policy.Default()}
}

// texts are what word_count is given: edges, what JSON escapes, and text that
// makes tables grow.
func texts() []string {
	all := []string{
		"", " ", "a", "the quick brown fox the lazy dog the fox", "\ta\n\nb\v\fc\r ",
		"sixteen bytes of", "sixteen bytes of " + strings.Repeat(" ", 33) + "x",
		`say "hello" \ and "hello"`, "bell\x07 \x01 \x1f\x1f", "naïve 日本語 😀 日本語 \u2028 <&>", "e\u0301 \ufffd \U00010000 \uffff",
		"b a d c", "aa aaa a aaaa", "1/3 of 2.005",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{50, 5000} {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%s%d%c", strings.Repeat("ä", r.IntN(4)), r.IntN(n), " \n\t\r"[r.IntN(4)])
		}
		all = append(all, b.String())
	}
	return all
}

func TestToolsOfEveryLanguageAnswer(t *testing.T) {
	e := newEngine(t)
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			m := load(t, e, languageSource(t, language))
			d, err := m.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range d.Tools {
				names = append(names, tool.Name)
			}
			if diff := cmp.Diff([]string{"word_count", "counter", "spin", "dive"}, names); diff != "" {
				t.Error(diff)
			}
			for _, text := range texts() {
				if diff := cmp.Diff(counting.Count(text), counted(t, tell(t, m, "word_count", counting.Args{Text: text}))); diff != "" {
					t.Errorf("%.60q: %s", text, diff)
				}
			}
			if language != "go" { // whose SDK refuses what it does not know
				escaped := json.RawMessage(`{"a":[{"b":"]}\""},-1.5e3,true],"text" : "\u0061\u00e9\u20ac\ud83d\ude00\/\b \"\\" }`)
				if diff := cmp.Diff(counting.Count("aé€😀/\b \"\\"), counted(t, tell(t, m, "word_count", escaped))); diff != "" {
					t.Error(diff)
				}
			}
			for tool, args := range map[string]string{"word_count": `{"texts":1}`, "none": `{}`} {
				out := m.Call(t.Context(), Call{Tool: tool, Arguments: json.RawMessage(args)})
				if out.Fault != "" || !out.Result.IsError {
					t.Errorf("%s: %q %s", tool, out.Fault, said(out))
				}
			}
		})
	}
}

func counted(t testing.TB, answer string) counting.Result {
	t.Helper()
	var r counting.Result
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		t.Fatalf("%v: %q", err, answer)
	}
	return r
}

func TestPluginsOfEveryLanguageAnswerAsUnderTheReference(t *testing.T) {
	e := newEngine(t)
	for _, plugin := range []string{"c-extism", "rust-extism", "assemblyscript-extism"} {
		wasm := languageFile(t, plugin)
		m := load(t, e, Source{Name: plugin, Wasm: wasm, Policy: policy.Default()}, plainTool("word_count"))
		ref := newReferenceIn(t, wazero.NewRuntimeConfigInterpreter(), wasm, nil)
		for _, text := range texts()[:15] {
			args, err := json.Marshal(counting.Args{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			got := perform(t, m, "word_count", args)
			if diff := sameEnd(ref.perform(t, "word_count", args), got); diff != "" {
				t.Errorf("%s: %.60q: %s", plugin, text, diff)
			}
			if diff := cmp.Diff(counting.Count(text), counted(t, got.Out)); diff != "" {
				t.Errorf("%s: %.60q: %s", plugin, text, diff)
			}
		}
		if diff := sameEnd(ref.perform(t, "word_count", []byte("{}")), perform(t, m, "word_count", []byte("{}"))); diff != "" {
			t.Errorf("%s: %s", plugin, diff)
		}
	}
}

// ISO-1: whatever a language keeps between calls, and however it asks for
// memory, each call finds the guest as it was initialised.
func TestGuestsOfEveryLanguageArePristine(t *testing.T) {
	e := newEngine(t)
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			m := load(t, e, languageSource(t, language))
			for i := range 30 {
				if n := tell(t, m, "counter", struct{}{}); n != "1" {
					t.Fatalf("the guest counts %s", n)
				}
				// Enough that some grow, and are made anew.
				tell(t, m, "word_count", counting.Args{Text: strings.Repeat("tea for two ", 1<<(i%15))})
			}
			p := reactorOf(t, m).pool
			if p == nil || !p.code.exact {
				t.Fatal("the guest is not put back after a call, but made anew")
			}
			tell(t, m, "word_count", counting.Args{Text: "tea for two"})
			if n := len(p.free); n != 1 {
				t.Errorf("after a small call %d guests are idle", n)
			}
		})
	}
}

func TestFuelOfEveryLanguageIsTheSameForTheSameCall(t *testing.T) {
	// The request says how long it may take: in as many digits each time.
	metered := func(s *Source) { s.Meter, s.Policy.Limits.Timeout = true, 50*time.Second }
	for _, language := range languages {
		if language == "go" {
			continue // its maps are seeded in each call; see TestFuelIsTheSameForTheSameCall
		}
		args, err := json.Marshal(counting.Args{Text: words(5000)})
		if err != nil {
			t.Fatal(err)
		}
		var used []int64
		for range 2 {
			m := load(t, newEngine(t), languageSource(t, language), metered)
			for range 3 {
				out := m.Call(t.Context(), Call{ID: "0", Tool: "word_count", Arguments: args})
				if out.Fault != "" {
					t.Fatalf("%s: %q %s", language, out.Fault, out.Detail)
				}
				used = append(used, out.Receipt.Fuel)
			}
		}
		if used[0] < 5000 || slices.Min(used) != slices.Max(used) {
			t.Errorf("%s: fuel %d", language, used)
		}
	}
}

func TestGuestsOfEveryLanguageAreStopped(t *testing.T) {
	const limit = 200 * time.Millisecond
	e := newEngine(t)
	for _, language := range languages {
		t.Run(language, func(t *testing.T) {
			m := load(t, e, languageSource(t, language), within(limit))
			for tool, ends := range map[string][]Fault{
				"spin": {FaultTimeout},
				"dive": {FaultTimeout, FaultStack},
			} {
				if language == "go" && tool == "dive" {
					ends = append(ends, FaultMemory) // its stack is in its memory
				}
				for range 2 {
					start := time.Now()
					out := m.Call(t.Context(), Call{Tool: tool})
					if took := time.Since(start); took > limit+overrun {
						t.Errorf("%s: took %v", tool, took)
					}
					if !slices.Contains(ends, out.Fault) {
						t.Errorf("%s: got %q %s", tool, out.Fault, out.Detail)
					}
					if n := tell(t, m, "counter", struct{}{}); n != "1" {
						t.Errorf("after %s the guest counts %s", tool, n)
					}
				}
			}
		})
	}
}

func requestFor(t testing.TB, tool string, args any) []byte {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	req, err := encodeRequest(&abi.Request{V: abi.Version, ID: "0", Tool: tool, Arguments: raw})
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// bareInstance makes an instance in a runtime of its own, of the module as it
// is or, with options, rewritten, and initialises it. Calls need the context.
func bareInstance(t testing.TB, config wazero.RuntimeConfig, wasm []byte, options *wasmbin.Options) (context.Context, api.Module) {
	t.Helper()
	terms := policy.Default()
	terms.Limits.Timeout = time.Hour
	g, err := newGuest(t.Context(), terms, nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := g.ctx
	if options != nil {
		m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Rewrite(*options)
		if err != nil {
			t.Fatal(err)
		}
		wasm = out.Wasm
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { _ = errors.Join(r.Close(context.WithoutCancel(ctx)), g.close()) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	if err := linkPause(ctx, r); err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal); ok {
		g.Set(noFuelLimit)
	}
	for _, name := range []string{wasmbin.StartExport, abi.ExportInitialize} {
		if f := mod.ExportedFunction(name); f != nil {
			if _, err := f.Call(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ctx, mod
}

// bareCall has an instance answer a request.
func bareCall(t testing.TB, ctx context.Context, mod api.Module, request []byte) string {
	t.Helper()
	at, err := mod.ExportedFunction(abi.ExportAlloc).Call(ctx, uint64(len(request)))
	if err != nil {
		t.Fatal(err)
	}
	if !mod.Memory().Write(uint32(at[0]), request) {
		t.Fatalf("no room at %d", at[0])
	}
	packed, err := mod.ExportedFunction(abi.ExportCall).Call(ctx, at[0], uint64(len(request)))
	if err != nil {
		t.Fatal(err)
	}
	view, ok := mod.Memory().Read(uint32(packed[0]>>32), uint32(packed[0]))
	if !ok {
		t.Fatalf("an answer at %#x", packed[0])
	}
	return string(view)
}

// words is a text of n bytes.
func words(n int) string {
	return strings.Repeat("the quick brown fox ", n/20+1)[:n]
}
