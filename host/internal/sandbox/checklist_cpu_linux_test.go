package sandbox

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func TestCPU9NothingIsLeftOfAThousandTimeouts(t *testing.T) {
	l := newLab(t)
	modules := map[string]*Module{
		"a loop":          load(t, l.engine, source(t, "loop"), within(time.Millisecond)),
		"a start section": load(t, l.engine, source(t, "startloop"), within(time.Millisecond)),
		"a sleep":         load(t, l.engine, source(t, "sleep"), within(time.Millisecond)),
		"a plugin":        load(t, l.engine, source(t, "extism-plain"), plainTool("loops"), within(time.Millisecond)),
	}
	round := func(n int) {
		for name, m := range modules {
			for range n {
				if out := m.Call(t.Context(), Call{}); out.Fault != FaultTimeout {
					t.Fatalf("%s: %q %s", name, out.Fault, out.Detail)
				}
			}
		}
		// As many end with the context of the caller.
		for range n {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			out := modules["a loop"].Call(ctx, Call{})
			cancel()
			if out.Fault != FaultTimeout {
				t.Fatalf("%q %s", out.Fault, out.Detail)
			}
		}
	}
	round(10)
	threads, files := entries(t, "/proc/self/task"), entries(t, "/proc/self/fd")
	goroutines, heap, mappings := usage(t)
	round(200)
	ended(t, goroutines)
	_, h, m := usage(t)
	if h > heap+4<<20 || m > mappings+20 {
		t.Errorf("heap %d to %d, mappings %d to %d", heap, h, mappings, m)
	}
	// Go may start a thread whenever one that it has is in the system, and keeps it.
	if n := entries(t, "/proc/self/task"); n > threads+runtime.GOMAXPROCS(0)+4 {
		t.Errorf("threads: %d to %d", threads, n)
	}
	if n := entries(t, "/proc/self/fd"); n != files {
		t.Errorf("open files: %d to %d", files, n)
	}
	if !*isolatedRun {
		if n := len(reactorOf(t, modules["a loop"]).pool.free); n != 0 {
			t.Errorf("%d guests are idle", n)
		}
	}
	l.works(t)
}
