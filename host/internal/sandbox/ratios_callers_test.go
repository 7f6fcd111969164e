//go:build ratios

package sandbox

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

// callerRatios prints how many calls of 100 bytes several callers get done
// together, as multiples of what one does.
func callerRatios(t *testing.T) {
	args, err := json.Marshal(counting.Args{Text: words(100)})
	if err != nil {
		t.Fatal(err)
	}
	callers := []int{1, 2, 4, 8}
	var lines strings.Builder
	for _, l := range []string{"go", "c"} {
		call := servedWay(t, load(t, newEngine(t), languageSource(t, l)))
		rates := make([][]int64, len(callers))
		for range rounds {
			for i, n := range callers {
				rates[i] = append(rates[i], rate(t, n, func() error { return call(args) }))
			}
		}
		var base int64
		for i, n := range callers {
			slices.Sort(rates[i])
			r := rates[i][rounds/2]
			if i == 0 {
				base = r
				fmt.Fprintf(&lines, "calls of a guest in %s, %d processors: 1 caller %d/s", l, runtime.GOMAXPROCS(0), r)
				continue
			}
			fmt.Fprintf(&lines, "   %d callers %.2f", n, float64(r)/float64(base))
		}
		lines.WriteByte('\n')
	}
	fmt.Print("\n" + lines.String())
}

// rate is how many calls n callers get done in a second.
func rate(t *testing.T, n int, call func() error) int64 {
	t.Helper()
	const long = 300 * time.Millisecond
	var done atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(start) < long {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	return int64(float64(done.Load()) / time.Since(start).Seconds())
}
