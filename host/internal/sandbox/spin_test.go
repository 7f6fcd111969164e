package sandbox

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// way is one way of holding the processor: the first letter of a call's id.
type way struct{ id, what string }

// spinners are the modules whose ways are tried, and how many each has at least.
var spinners = []struct {
	module string
	ways   int
}{{"spin", 15}, {"spinwide", 4}}

// waysToSpin reads the ways from the module's own comment.
func waysToSpin(t testing.TB, module string, least int) []way {
	t.Helper()
	text, err := os.ReadFile(testkit.Root(t) + "/testdata/wasm/" + module + ".wat")
	if err != nil {
		t.Fatal(err)
	}
	var ways []way
	for _, m := range regexp.MustCompile(`(?m)^;;   (\w)  (.*)$`).FindAllStringSubmatch(string(text), -1) {
		ways = append(ways, way{m[1], m[2]})
	}
	if len(ways) < least {
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
	good := load(t, newEngine(t), source(t, "done"))
	for _, s := range spinners {
		m := load(t, newEngine(t), source(t, s.module), within(200*time.Millisecond))
		for _, w := range waysToSpin(t, s.module, s.ways) {
			t.Run(s.module+" "+w.id+" "+strings.ReplaceAll(w.what, "/", " "), func(t *testing.T) {
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
}

// How late each is stopped, and how long the world stands still for it; the floor
// is what the same collections take while no guest runs.
func BenchmarkStopping(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		benchStopping(b, func() { <-time.After(stoppedAfter) })
	})
	for _, s := range spinners {
		m := load(b, newEngine(b), source(b, s.module), within(stoppedAfter))
		for _, w := range waysToSpin(b, s.module, s.ways) {
			b.Run(s.module+"/"+w.id, func(b *testing.B) {
				benchStopping(b, func() { m.Call(b.Context(), Call{ID: w.id}) })
			})
		}
	}
}

const stoppedAfter = 50 * time.Millisecond

func benchStopping(b *testing.B, call func()) {
	var late time.Duration
	var stops []time.Duration
	n := 0
	for b.Loop() {
		var before, after debug.GCStats
		debug.ReadGCStats(&before)
		longest := collecting()
		start := time.Now()
		call()
		late += time.Since(start) - stoppedAfter
		longest()
		debug.ReadGCStats(&after)
		stops = append(stops, after.Pause[:min(len(after.Pause), int(after.NumGC-before.NumGC))]...)
		n++
	}
	slices.Sort(stops)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(late)/float64(n), "ms-late")
	b.ReportMetric(ms(stops[len(stops)/2]), "ms-usual-pause")
	b.ReportMetric(ms(stops[len(stops)-1]), "ms-longest-pause")
}
