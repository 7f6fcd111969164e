package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// begin starts a call; the function it returns waits until the call is inside.
func begin(ctx context.Context, m *Module) (chan Outcome, func()) {
	done := make(chan Outcome, 1)
	go func() { done <- m.Call(ctx, Call{}) }()
	return done, func() { inside(m) }
}

// inside waits until a call of the module runs.
func inside(m *Module) {
	for {
		m.gate.mu.Lock()
		n := len(m.gate.inside)
		m.gate.mu.Unlock()
		if n > 0 {
			return
		}
		runtime.Gosched()
	}
}

func TestCancelledCallIsCancelledAndNotATimeout(t *testing.T) {
	m := load(t, newEngine(t), source(t, "loop"), within(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	done, running := begin(ctx, m)
	running()
	cancel()
	if out := <-done; out.Fault != FaultCancelled {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
	if out := m.Call(ctx, Call{}); out.Fault != FaultCancelled {
		t.Errorf("with a context that has ended: %q", out.Fault)
	}
	late, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	if out := m.Call(late, Call{}); out.Fault != FaultTimeout {
		t.Errorf("after its deadline: %q", out.Fault)
	}
}

func TestCloseStopsRunningCallsAndNoneIsASuccess(t *testing.T) {
	for _, name := range []string{"loop", "sleep", "extism-start"} {
		e := newEngine(t)
		m := load(t, e, source(t, name), within(time.Minute))
		done, running := begin(t.Context(), m)
		running()
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out := <-done; out.Fault != FaultCancelled {
			t.Errorf("%s: %q %s", name, out.Fault, out.Detail)
		}
		if out := m.Call(t.Context(), Call{}); out.Fault != FaultCancelled {
			t.Errorf("%s: a call after Close: %q", name, out.Fault)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("%s: second Close: %v", name, err)
		}
	}
}

func TestClosingOneModuleLeavesAnotherAlone(t *testing.T) {
	e := newEngine(t)
	a, b := load(t, e, source(t, "done")), load(t, e, source(t, "done"))
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := b.Call(t.Context(), Call{}); said(out) != "done" {
		t.Error(out.Detail)
	}
}

func TestEngineClosesWhatIsOpenAndLoadsNoMore(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "done"))
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := m.Call(t.Context(), Call{}); out.Fault != FaultCancelled {
		t.Errorf("%q", out.Fault)
	}
	if _, err := e.Load(t.Context(), source(t, "done")); err == nil {
		t.Error("a closed engine loads")
	}
}

func TestManyGoroutinesCallOneModule(t *testing.T) {
	e := newEngine(t)
	wasi := load(t, e, source(t, "cat"))
	plugin := load(t, e, source(t, "extism-plain"), plainTool("echo"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 40 {
				arg := json.RawMessage(fmt.Sprintf(`{"n":"%d/%d"}`, i, j))
				if out := plugin.Call(t.Context(), Call{Arguments: arg}); said(out) != string(arg) {
					t.Errorf("got %q %s, want %s", said(out), out.Detail, arg)
				}
				// The request comes back; its version makes it an empty response.
				out := wasi.Call(t.Context(), Call{ID: string(arg)})
				if out.Fault != "" || out.Receipt.InputBytes != out.Receipt.OutputBytes {
					t.Errorf("%q %s", out.Fault, out.Detail)
				}
			}
		})
	}
	wg.Wait()
}

// Ten thousand take a minute here; what leaks a page a call shows after five
// hundred, and the failing calls are those that forget things.
func TestInstancesLeaveNothingBehind(t *testing.T) {
	const calls = 500
	e := newEngine(t)
	var all []*Module
	for _, name := range []string{"done", "trap", "exit", "fail", "memgrow", "extism-v1"} {
		all = append(all, load(t, e, source(t, name), func(s *Source) { s.Policy.Limits.Memory = 4 * policy.MiB }))
	}
	round := func() {
		for _, m := range all {
			m.Call(t.Context(), Call{ID: "1"})
		}
	}
	round()
	goroutines, heap, maps := usage(t)
	for range calls {
		round()
	}
	g, h, m := usage(t)
	if g > goroutines || h > heap+4<<20 || m > maps+calls/5 {
		t.Errorf("after %d calls of each: goroutines %d to %d, heap %d to %d, mappings %d to %d", calls, goroutines, g, heap, h, maps, m)
	}
}

func usage(t *testing.T) (goroutines int, heap uint64, mappings int) {
	t.Helper()
	// The engine's goroutine that watches a call may still be on its way out.
	for range 100 {
		runtime.Gosched()
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	if b, err := os.ReadFile("/proc/self/maps"); err == nil {
		for _, c := range b {
			if c == '\n' {
				mappings++
			}
		}
	}
	return runtime.NumGoroutine(), s.HeapAlloc, mappings
}
