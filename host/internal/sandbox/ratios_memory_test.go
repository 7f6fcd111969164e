//go:build ratios

package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

// idleMemory prints what a guest takes that waits for a call, after one of 100
// bytes: by how much the process becomes larger with many more of them. Pages
// that guests share count once.
func idleMemory(t *testing.T) {
	const guests = 200
	var line strings.Builder
	for _, l := range languages {
		e := newEngine(t)
		e.idle.most = guests + 1
		m := load(t, e, languageSource(t, l), within(time.Minute))
		keepIdle(t, m, 1)
		before := processMemory(t)
		keepIdle(t, m, guests+1)
		each := (processMemory(t) - before) / guests
		fmt.Fprintf(&line, "   %s %.2f MB", l, float64(each)/1e6)
	}
	fmt.Printf("\nmemory of an idle guest:%s\n", line.String())
}

// keepIdle makes n guests of m, has each answer a call, and keeps them.
func keepIdle(t *testing.T, m *Module, n int) {
	t.Helper()
	req := requestFor(t, "word_count", counting.Args{Text: words(100)})
	s := reactorOf(t, m)
	var leases []lease
	for range n {
		g, err := newGuest(t.Context(), m.src.Policy, nil, Call{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := g.close(); err != nil {
				t.Error(err)
			}
		}()
		l, err := s.get(g)
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, l)
		at, err := l.write(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.invoke("wagent_call", uint64(at), uint64(len(req))); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range leases {
		l.end(true)
	}
	if got := len(s.pool.free); got != n {
		t.Fatalf("%d guests are idle, want %d", got, n)
	}
}

// processMemory is how much memory this process takes, in bytes: its share of
// what it has together with others.
func processMemory(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	f, err := os.Open("/proc/self/smaps_rollup")
	if err != nil {
		t.Fatalf("%v: this needs Linux", err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kib int64
		if _, err := fmt.Sscanf(s.Text(), "Pss: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	t.Fatal("smaps_rollup has no line Pss")
	return 0
}
