package sandbox

import (
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// Slices become longer while they are over at once, and short as soon as one
// takes long, within bounds.
func TestSlicesFollowTheTimeThatTheyTake(t *testing.T) {
	var p pace
	now := time.Unix(0, 0)
	for i, step := range []struct {
		took time.Duration
		lazy bool
		want int32
	}{
		{time.Hour, false, lazySlice}, // the first has no beginning
		{brief - 1, false, 2 * lazySlice},
		{0, false, 4 * lazySlice},
		{0, false, 8 * lazySlice},
		{0, false, wasmbin.MaxSlice},
		{0, false, wasmbin.MaxSlice},
		{brief, false, wasmbin.MaxSlice},
		{lengthy, false, wasmbin.MaxSlice},
		{lengthy + 1, false, wasmbin.MaxSlice / 4},
		{time.Second, false, wasmbin.MaxSlice / 16},
		{time.Second, false, minSlice},
		{time.Second, false, minSlice},
		{brief - 1, false, 2 * minSlice},
		{0, true, lazySlice},
		{0, true, lazySlice},
		{0, false, 2 * lazySlice},
	} {
		now = now.Add(step.took)
		if got := p.next(now, step.lazy); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
}

// A guest that waits for the host writes no memory meanwhile, so none is brought,
// and its slices stay as long as they were.
func TestTimeOfTheHostIsNotTheGuests(t *testing.T) {
	const waited = time.Second
	for name, host := range map[string]bool{"the guest took it": false, "the host took it": true} {
		now := time.Now()
		g := &guest{arena: &arena{limit: 64 << 20}, watch: &stopwatch{start: now.Add(-time.Hour)}}
		defer g.arena.free()
		m := g.arena.allocate(nil, 64<<20)
		mem := m.Reallocate(16 << 20)
		if mem == nil {
			t.Fatal("no memory")
		}
		mem[0] = 1
		g.pace = pace{slice: lazySlice, since: now.Add(-waited)}
		if host {
			g.pace.exclude(now.Add(-waited))
		}
		after := time.Now()
		lazy := g.lazy(after)
		if got := m.brought > 0; got == host || !lazy {
			t.Errorf("%s: %d bytes were brought, lazy %v", name, m.brought, lazy)
		}
		if got, want := g.pace.next(after, lazy), map[bool]int32{false: minSlice, true: lazySlice}[host]; got != want {
			t.Errorf("%s: the next slice is %d, want %d", name, got, want)
		}
	}
}
