package sandbox

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// way is one way of holding the processor: the first letter of a call's id.
type way struct{ id, what string }

// waysToSpin reads the ways from the module's own comment.
func waysToSpin(t testing.TB) []way {
	t.Helper()
	text, err := os.ReadFile(testkit.Root(t) + "/testdata/wasm/spin.wat")
	if err != nil {
		t.Fatal(err)
	}
	var ways []way
	for _, m := range regexp.MustCompile(`(?m)^;;   (\w)  (.*)$`).FindAllStringSubmatch(string(text), -1) {
		ways = append(ways, way{m[1], m[2]})
	}
	if len(ways) < 15 {
		t.Fatalf("%d ways", len(ways))
	}
	return ways
}

// collecting has the collector run every 5 ms, until the function that it returns
// is called. That says how long the longest collection took.
func collecting() (longest func() time.Duration) {
	stop, done := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- most
				return
			case <-tick.C:
				start := time.Now()
				runtime.GC()
				most = max(most, time.Since(start))
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-done
	}
}

// Whatever a guest computes, it is stopped when its time is over, the collector
// has its turn meanwhile, and the next call works.
func TestAGuestThatComputesIsStoppedWhereverItIs(t *testing.T) {
	m := load(t, newEngine(t), source(t, "spin"), within(200*time.Millisecond))
	good := load(t, newEngine(t), source(t, "done"))
	for _, w := range waysToSpin(t) {
		t.Run(w.id+" "+strings.ReplaceAll(w.what, "/", " "), func(t *testing.T) {
			longest := collecting()
			start := time.Now()
			out := m.Call(t.Context(), Call{ID: w.id})
			took := time.Since(start)
			if gc := longest(); gc > overrun {
				t.Errorf("a collection took %v", gc)
			}
			if out.Fault != FaultTimeout && !(out.Fault == FaultStack && strings.Contains(w.what, "recursion")) {
				t.Errorf("got %q %s", out.Fault, out.Detail)
			}
			if took > 200*time.Millisecond+overrun {
				t.Errorf("took %v", took)
			}
			if out := good.Call(t.Context(), Call{}); said(out) != "done" {
				t.Errorf("the next call: %q %s", out.Fault, out.Detail)
			}
		})
	}
}

// How late each is stopped, and how long the world stands still for it.
func BenchmarkStopping(b *testing.B) {
	m := load(b, newEngine(b), source(b, "spin"), within(50*time.Millisecond))
	for _, w := range waysToSpin(b) {
		b.Run(w.id, func(b *testing.B) {
			var late, pause time.Duration
			n := 0
			for b.Loop() {
				stop, done := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					tick := time.NewTicker(5 * time.Millisecond)
					defer tick.Stop()
					for {
						select {
						case <-stop:
							return
						case <-tick.C:
							runtime.GC()
						}
					}
				}()
				var before, after debug.GCStats
				debug.ReadGCStats(&before)
				start := time.Now()
				m.Call(b.Context(), Call{ID: w.id})
				late += time.Since(start) - 50*time.Millisecond
				close(stop)
				<-done
				debug.ReadGCStats(&after)
				for _, p := range after.Pause[:min(len(after.Pause), int(after.NumGC-before.NumGC))] {
					pause = max(pause, p)
				}
				n++
			}
			b.ReportMetric(float64(late.Microseconds())/1000/float64(n), "ms-late")
			b.ReportMetric(float64(pause.Microseconds())/1000, "ms-longest-pause")
		})
	}
}
