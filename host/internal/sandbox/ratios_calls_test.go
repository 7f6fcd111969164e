//go:build ratios

package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

// The columns of the table of calls. All count the words of a text.
const (
	colPristine     = "pristine"      // as the host serves it
	colSession      = "session"       // as the host serves it with instances: session, so that nothing is put back
	colReused       = "reused"        // the guest's code alone, in one guest that is never put back
	colPlainFresh   = "wazero fresh"  // the module as it is, an instance for each call
	colPlainReused  = "wazero reused" // and one for all
	colPlugin       = "Extism here"   // as a plugin, as the host serves it
	colExtismFresh  = "go-sdk fresh"  // as a plugin under extism/go-sdk
	colExtismReused = "go-sdk reused"
	colProgram      = "process" // a program of this computer, started for each call
	colBubblewrap   = "bubblewrap"
)

var columns = []string{
	colPristine, colSession, colReused, colPlainFresh, colPlainReused, colPlugin, colExtismFresh, colExtismReused, colProgram, colBubblewrap,
}

// contender is a word_count in one language, and every way of calling it. Ways
// that there are not are nil.
type contender struct {
	name string
	ways map[string]func(args []byte) error
}

// callRatios compares calls of guests as they are served with what else one
// could do.
func callRatios(t *testing.T) {
	e := newEngine(t)
	native, notes := nativeWays(t)
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "call of\t\t%s\tover session\tover reused\n", strings.Join(columns, "\t"))
	for _, l := range []string{"go", "rust", "c", "assemblyscript"} {
		s := newSubject(t, e, l)
		if l == "go" { // the program is in Go
			s.ways[colProgram], s.ways[colBubblewrap] = native[colProgram], native[colBubblewrap]
		}
		for _, size := range []int{100, 10_000, 1_000_000} {
			fmt.Fprintln(w, s.row(t, size))
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\n%s%s", table.String(), notes)
	fmt.Println("A call as it is served, then the others: the time, and as a multiple of the served call. Medians.")
}

// row measures one size.
func (s *contender) row(t *testing.T, size int) string {
	t.Helper()
	args, err := json.Marshal(counting.Args{Text: words(size)})
	if err != nil {
		t.Fatal(err)
	}
	took := s.alternate(t, args)
	base := took[colPristine]
	cells := []string{s.name, fmt.Sprintf("%d B", size)}
	for _, c := range columns {
		switch d, ok := took[c]; {
		case !ok:
			cells = append(cells, "-")
		case c == colPristine:
			cells = append(cells, rounded(d))
		default:
			cells = append(cells, fmt.Sprintf("%s %.3g", rounded(d), float64(d)/float64(base)))
		}
	}
	return strings.Join(append(cells, rounded(base-took[colSession]), rounded(base-took[colReused])), "\t")
}

// alternate calls every way in turn and returns the medians. A turn is some
// calls, so that most find the processor as the one before left it. A slow way
// has its turn until it has taken long enough.
func (s *contender) alternate(t *testing.T, args []byte) map[string]time.Duration {
	t.Helper()
	const turns, least, enough = 30, 5, 400 * time.Millisecond
	took, spent := make(map[string][]time.Duration), make(map[string]time.Duration)
	for turn := range turns + 1 {
		for _, c := range columns {
			do := s.ways[c]
			if do == nil || len(took[c]) >= least && spent[c] > enough {
				continue
			}
			ds := s.turn(t, c, args)
			if turn == 0 {
				continue
			}
			took[c] = append(took[c], ds...)
			for _, d := range ds {
				spent[c] += d
			}
		}
	}
	medians := make(map[string]time.Duration)
	for c, ds := range took {
		medians[c] = median(ds)
	}
	return medians
}

// turn makes up to twenty calls, until they have taken some milliseconds.
func (s *contender) turn(t *testing.T, column string, args []byte) (took []time.Duration) {
	t.Helper()
	for begin := time.Now(); len(took) < 20 && time.Since(begin) < 5*time.Millisecond; {
		start := time.Now()
		if err := s.ways[column](args); err != nil {
			t.Fatalf("%s, %s: %v", s.name, column, err)
		}
		took = append(took, time.Since(start))
	}
	return took
}

// rounded is a duration in three digits.
func rounded(d time.Duration) string {
	for _, unit := range []time.Duration{time.Millisecond, time.Microsecond} {
		if d.Abs() >= unit {
			return fmt.Sprintf("%.3g%s", float64(d)/float64(unit), unit.String()[1:])
		}
	}
	return d.String()
}

func newSubject(t *testing.T, e *Engine, language string) *contender {
	t.Helper()
	plugin := languagePlugin(t, language)
	fresh, reused := plainWays(t, languageWasm(t, language))
	sdkFresh, sdkReused := referenceWays(t, plugin)
	m := load(t, e, languageSource(t, language), within(time.Hour))
	ours := load(t, e, Source{Name: language, Wasm: plugin, Policy: policy.Default()}, plainTool("word_count"))
	return &contender{name: language, ways: map[string]func([]byte) error{
		colPristine: servedWay(t, m), colSession: sessionWay(t, e, language), colReused: reusedWay(t, m), colPlainFresh: fresh, colPlainReused: reused,
		colPlugin: servedWay(t, ours), colExtismFresh: sdkFresh, colExtismReused: sdkReused,
	}}
}

func languagePlugin(t *testing.T, language string) []byte {
	t.Helper()
	if language == "go" {
		return builds.Tool(t, filepath.Join(testkit.Root(t), "testdata", "languages", "go-extism"))
	}
	return languageFile(t, language+"-extism")
}

func servedWay(t *testing.T, m *Module) func([]byte) error {
	return wellServed(t, m, Call{ID: "0", Tool: "word_count"})
}

// wellServed makes calls of a module, which must succeed.
func wellServed(t *testing.T, m *Module, c Call) func([]byte) error {
	return func(args []byte) error {
		c.Arguments = args
		out := m.Call(t.Context(), c)
		if out.Fault != "" || out.Result.IsError {
			return errors.New(said(out) + out.Detail)
		}
		return nil
	}
}

// sessionWay makes all calls in one session.
func sessionWay(t *testing.T, e *Engine, language string) func([]byte) error {
	t.Helper()
	src := languageSource(t, language)
	src.Session = true
	m := load(t, e, src, within(time.Hour))
	s := e.NewSession()
	t.Cleanup(s.Close)
	return wellServed(t, m, Call{ID: "0", Tool: "word_count", Session: s})
}

// reusedWay has one guest of the module answer all calls.
func reusedWay(t *testing.T, m *Module) func([]byte) error {
	t.Helper()
	g, err := newGuest(t.Context(), m.src.Policy, nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := reactorOf(t, m).get(g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.end(false)
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return func(args []byte) error {
		req := requestFor(t, "word_count", json.RawMessage(args))
		at, err := l.write(req)
		if err != nil {
			return err
		}
		packed, err := l.invoke(abi.ExportCall, uint64(at), uint64(len(req)))
		if err != nil {
			return err
		}
		_, err = l.read(packed)
		return err
	}
}

// bare is an instance under the engine alone, its functions looked up once.
type bare struct {
	mod         api.Module
	alloc, call api.Function
}

func (b *bare) answer(ctx context.Context, req []byte) error {
	at, err := b.alloc.Call(ctx, uint64(len(req)))
	if err != nil {
		return err
	}
	if !b.mod.Memory().Write(uint32(at[0]), req) {
		return errors.New("no room")
	}
	packed, err := b.call.Call(ctx, at[0], uint64(len(req)))
	if err != nil {
		return err
	}
	view, ok := b.mod.Memory().Read(uint32(packed[0]>>32), uint32(packed[0]))
	if !ok || len(bytes.Clone(view)) == 0 {
		return errors.New("no answer")
	}
	return nil
}

// plainWays are the module as it is under the engine alone: with an instance
// for each call, and with one for all.
func plainWays(t *testing.T, wasm []byte) (fresh, reused func([]byte) error) {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntime(ctx)
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	code, err := r.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	linkNothing(t, r, code)
	made := func() (*bare, error) {
		mod, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName("").WithStartFunctions(abi.ExportInitialize))
		if err != nil {
			return nil, err
		}
		return &bare{mod, mod.ExportedFunction(abi.ExportAlloc), mod.ExportedFunction(abi.ExportCall)}, nil
	}
	one, err := made()
	if err != nil {
		t.Fatal(err)
	}
	fresh = func(args []byte) error {
		b, err := made()
		if err != nil {
			return err
		}
		return errors.Join(b.answer(ctx, requestFor(t, "word_count", json.RawMessage(args))), b.mod.Close(ctx))
	}
	return fresh, func(args []byte) error { return one.answer(ctx, requestFor(t, "word_count", json.RawMessage(args))) }
}

// linkNothing puts the host's functions that a module imports into a runtime, as
// functions that do nothing.
func linkNothing(t *testing.T, r wazero.Runtime, code wazero.CompiledModule) {
	t.Helper()
	b := r.NewHostModuleBuilder(abi.Module)
	for _, f := range code.ImportedFunctions() {
		if module, name, _ := f.Import(); module == abi.Module {
			b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, v []uint64) { clear(v) }), f.ParamTypes(), f.ResultTypes()).Export(name)
		}
	}
	if _, err := b.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// referenceWays are a plugin under extism/go-sdk: with an instance for each
// call, and with one for all.
func referenceWays(t *testing.T, wasm []byte) (fresh, reused func([]byte) error) {
	t.Helper()
	ref := newReference(t, wasm, nil)
	extism.SetLogLevel(extism.LogLevelError) // what it says costs, too
	called := func(p *extism.Plugin, args []byte) error {
		rc, out, err := p.Call("word_count", args)
		if err == nil && (rc != 0 || len(out) == 0) {
			err = fmt.Errorf("code %d", rc)
		}
		return err
	}
	one := ref.instance(t)
	t.Cleanup(func() { _ = one.Close(context.WithoutCancel(t.Context())) })
	fresh = func(args []byte) error {
		p := ref.instance(t)
		return errors.Join(called(p, args), p.Close(t.Context()))
	}
	return fresh, func(args []byte) error { return called(one, args) }
}

// nativeWays start a program for each call, alone and under bubblewrap, and say
// what is missing.
func nativeWays(t *testing.T) (ways map[string]func([]byte) error, notes string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "native")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join(testkit.Root(t), "testdata", "languages", "native")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	started := func(name string, params ...string) func([]byte) error {
		return func(args []byte) error {
			cmd := exec.CommandContext(t.Context(), name, params...)
			cmd.Stdin, cmd.Stderr = bytes.NewReader(args), os.Stderr
			out, err := cmd.Output()
			if err == nil && len(out) == 0 {
				err = errors.New("no answer")
			}
			return err
		}
	}
	ways = map[string]func([]byte) error{colProgram: started(program)}
	wrapped := slices.Concat([]string{"--unshare-all", "--die-with-parent", "--ro-bind", program, "/tool", "--proc", "/proc", "--dev", "/dev"}, []string{"/tool"})
	if err := started("bwrap", wrapped...)([]byte(`{"text":"a"}`)); err != nil {
		return ways, fmt.Sprintf("bubblewrap: not measured, %v; Debian has it as bubblewrap, and it needs user namespaces\n", err)
	}
	ways[colBubblewrap] = started("bwrap", wrapped...)
	return ways, ""
}
