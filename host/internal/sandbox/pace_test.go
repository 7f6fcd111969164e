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
