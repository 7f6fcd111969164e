package sandbox

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// overrun is how much later than its limit a call may end: this machine is
// shared, and the guest's code is stopped at its next loop only.
const overrun = 2 * time.Second

// hostile is one attack, how it ends, and what the message has to hold.
type hostile struct {
	module string
	tool   string
	change func(*Source)
	fault  Fault
	says   string
}

func attacks() []hostile {
	short := within(300 * time.Millisecond)
	small := func(s *Source) { s.Policy.Limits.Memory = policy.MiB }
	plain := func(export string) func(*Source) {
		return func(s *Source) {
			plainTool(export)(s)
			s.Policy.Limits.Timeout = 2 * time.Second
			s.Policy.Limits.Memory = 4 * policy.MiB
		}
	}
	return []hostile{
		{"loop", "", short, FaultTimeout, "300ms"},
		{"memgrow", "", small, FaultMemory, "1 MiB"},
		{"growback", "", small, "", "done"},
		{"recurse", "", within(20 * time.Second), FaultStack, "deep"},
		{"trap", "", nil, FaultTrap, `(unreachable): panic: out of \u{1b}[31mcheese`},
		{"hostflood", "", nil, FaultHostCalls, "100000"},
		{"logflood", "", nil, "", "done"},
		{"badpointers", "", func(s *Source) { s.Inspect = true }, "", "done"},
		{"sockets", "", nil, "", "done"},
		{"renumber", "", nil, "", "done"},
		{"shapes", "", nil, "", "done"},
		{"needhttp", "", func(s *Source) { s.Inspect = true }, "", "done"},
		{"needkv", "", func(s *Source) { s.Inspect = true }, "", "done"},
		{"version2", "", nil, FaultInvalidResult, "version 2"},
		{"noalloc", "", nil, FaultInvalidArgs, "does not take"},
		{"badalloc", "", nil, FaultInvalidResult, "outside of its memory"},
		{"outflood", "", nil, FaultOutput, "1 MiB"},
		{"sleep", "", short, FaultTimeout, "in time"},
		{"extism-start", "", short, FaultTimeout, "in time"},
		{"extism-plain", "", plain("loops"), FaultTimeout, "2s"},
		{"extism-plain", "", plain("traps"), FaultTrap, "unreachable"},
		{"extism-plain", "", plain("grows"), FaultMemory, "4 MiB"},
		{"extism-plain", "", plain("fetches"), FaultDenied, "allow.http"},
		{"extism-plain", "", plain("exits"), FaultExited, "code 0"},
		{"extism-plain", "", plain("fails_quietly"), "", "code 1"},
	}
}

func TestEveryAttackEndsWithItsKindAndTheNextCallWorks(t *testing.T) {
	e := newEngine(t)
	good := load(t, e, source(t, "done"))
	for _, a := range attacks() {
		t.Run(a.module+strings.TrimPrefix(fmt.Sprint(a.fault), "_"), func(t *testing.T) {
			src := source(t, a.module)
			if a.change != nil {
				a.change(&src)
			}
			m := load(t, e, src)
			for range 2 {
				start := time.Now()
				out := m.Call(t.Context(), Call{ID: "0", Tool: a.tool})
				if took := time.Since(start); took > src.Policy.Limits.Timeout+overrun {
					t.Errorf("took %v of %v", took, src.Policy.Limits.Timeout)
				}
				if out.Fault != a.fault || !strings.Contains(said(out), a.says) {
					t.Errorf("got %q %q (%s), want %q %q", out.Fault, said(out), out.Detail, a.fault, a.says)
				}
				checkShown(t, out)
			}
			if out := good.Call(t.Context(), Call{}); said(out) != "done" {
				t.Errorf("the next call: %s %s", out.Fault, out.Detail)
			}
		})
	}
}

// checkShown checks what holds for every outcome.
func checkShown(t *testing.T, out Outcome) {
	t.Helper()
	text := said(out)
	switch {
	case out.Fault == "":
		return
	case len(out.Result.Content) != 1 || !out.Result.IsError || out.Detail == "" || out.Receipt.Module == "":
		t.Errorf("not complete: %+v", out)
	case len(text) > maxMessage || strings.ContainsAny(text, "\n\r\x1b\x00"):
		t.Errorf("not one clean line: %q", text)
	case strings.ContainsAny(out.Detail, "\x1b\x00"):
		t.Errorf("raw control characters: %q", out.Detail)
	case slices.Contains(endedByHost, out.Fault) && strings.Contains(out.Detail, "wasm"):
		t.Errorf("%s shows how the host ends a guest: %q", out.Fault, out.Detail)
	}
}

// endedByHost are the faults that the engine's error says nothing of: the host
// ends a guest with a trap.
var endedByHost = []Fault{FaultTimeout, FaultFuel, FaultStack, FaultOutput, FaultHostCalls, FaultDenied, FaultCancelled}

func TestDetailHasTheTrapOfTheGuestAndNotOfTheHost(t *testing.T) {
	e := newEngine(t)
	for name, c := range map[string]struct {
		src  Source
		want Fault
		trap bool // the detail has it
	}{
		"fuel":             {parts{call: forever + answers()}.source("fuel"), FaultFuel, false},
		"fuel of a start":  {parts{funcs: []function{{typeNothing, "", forever}}, start: "$0"}.source("start"), FaultFuel, false},
		"fuel of a plugin": {firstForm("nop", "i32.const 0", forever+"i32.const 0"), FaultFuel, false},
		"stack":            {source(t, "recurse"), FaultStack, false},
		"its own":          {source(t, "trap"), FaultTrap, true},
		"after a refusal":  {source(t, "memgrow"), FaultMemory, true},
	} {
		c.src.Policy.Limits.Timeout = time.Minute
		if c.want == FaultFuel {
			c.src.Policy.Limits.Fuel = 20_000_000
			c.src.Policy.Grants.Env = map[string]string{"A": "b"} // each call starts its own guest
		}
		out := load(t, e, c.src).Call(t.Context(), Call{})
		if out.Fault != c.want || strings.Contains(out.Detail, wasmError) != c.trap {
			t.Errorf("%s: %q %q", name, out.Fault, out.Detail)
		}
		checkShown(t, out)
	}
}

func TestLogsAreCutAndTheCallGoesOn(t *testing.T) {
	m := load(t, newEngine(t), source(t, "logflood"))
	lines, bytes := 0, 0
	out := m.Call(t.Context(), Call{Log: func(_ abiLevel, line string) { lines++; bytes += len(line) }})
	limit := policy.Default().Limits.Logs
	if said(out) != "done" || !out.Receipt.LogsCut || out.Receipt.LogBytes != limit {
		t.Errorf("%s %s %+v", out.Fault, out.Detail, out.Receipt)
	}
	if lines > 100 || int64(bytes) > limit+100 {
		t.Errorf("%d lines with %d bytes came through", lines, bytes)
	}
}

func TestMemoryThatIsRefusedIsNotCounted(t *testing.T) {
	src := source(t, "memgrow")
	src.Policy.Limits.Memory = 10 * pageSize
	out := load(t, newEngine(t), src).Call(t.Context(), Call{})
	if out.Receipt.PeakMemory != 10*pageSize {
		t.Errorf("peak is %d", out.Receipt.PeakMemory)
	}
}

// A call that ends at its limit may have had far less: the fault says why.
func TestMemoryThatIsRefusedIsTold(t *testing.T) {
	e := newEngine(t)
	grow := func(pages int) string { return fmt.Sprintf("i32.const %d memory.grow drop ", pages) }
	enough := func(s *Source) { s.Policy.Limits.Memory = 64 * policy.MiB }
	for want, src := range map[string]Source{
		"64 MiB (it had 36.5 MiB and asked for 40 MiB more)": parts{call: grow(36*16+6) + grow(640) + "unreachable"}.source("large"),
		"64 MiB (it had 128 KiB and asked for 2.4 GiB more)": parts{call: grow(40_000) + "unreachable"}.source("larger"),
		"64 MiB (it had 63.9 MiB and asked for 1 MiB more)":  parts{call: grow(63*16+13) + grow(40_000) + grow(16) + "unreachable"}.source("last"),
	} {
		out := load(t, e, src, enough).Call(t.Context(), Call{})
		if out.Fault != FaultMemory || !strings.Contains(said(out), "than its limit of "+want+"; ask for less") {
			t.Errorf("%q %q, want %s", out.Fault, said(out), want)
		}
	}
	// A plugin's memory has a part with the host, and its blocks are of any size.
	for n, want := range map[int64]string{3 << 20: "than its limit of 2 MiB (it had 1 MiB and asked for 3 MiB more)", -1: "asked for 8589934592 GiB more)"} {
		a := &arena{limit: 2 * policy.MiB}
		k := newKernel(a, make([]byte, extismKernel))
		if at := k.alloc(uint64(n)); at != 0 || !a.refused || !strings.Contains(a.tooMuch().Message, want) {
			t.Errorf("%d bytes at %d: %v", n, at, a.tooMuch())
		}
	}
}

func TestWritesEndWithTheCall(t *testing.T) {
	g, err := newGuest(t.Context(), policy.Default(), nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.log().Write([]byte("before")); err != nil {
		t.Error(err)
	}
	g.watch.stop(fault(FaultTimeout, "over"))
	for _, w := range []io.Writer{g.log(), &output{guest: g}} {
		if _, err := w.Write([]byte("after")); err == nil {
			t.Errorf("%T takes more", w)
		}
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
}

// The host's own failure under a guest is a fault of that call alone.
func TestThreat4PanicOfTheHostIsAFaultAndNotACrash(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	out := m.Call(t.Context(), Call{Tool: "print", Progress: func(int, string) { panic("the caller's bug") }})
	if out.Fault != FaultInternal || !strings.Contains(out.Detail, "the caller's bug") {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
	if out := m.Call(t.Context(), Call{Tool: "echo"}); out.Fault != "" {
		t.Error(out.Detail)
	}
}

func TestPanicThroughTheEngineIsExplained(t *testing.T) {
	for _, refused := range []bool{false, true} {
		g, err := newGuest(t.Context(), policy.Default(), nil, Call{})
		if err != nil {
			t.Fatal(err)
		}
		g.arena.refused = refused
		_, err = guarded(g, func(*guest) (Outcome, error) { panic("boom") })
		want := map[bool]Fault{false: FaultInternal, true: FaultMemory}[refused]
		if f := g.explain(err); f.Fault != want || !refused && !strings.Contains(f.Detail, "boom") {
			t.Errorf("%+v", f)
		}
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}
}
