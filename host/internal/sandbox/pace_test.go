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
		want int32
	}{
		{time.Hour, wasmbin.DefaultSlice}, // the first has no beginning
		{brief - 1, 2 * wasmbin.DefaultSlice},
		{0, wasmbin.MaxSlice},
		{0, wasmbin.MaxSlice},
		{brief, wasmbin.MaxSlice},
		{lengthy, wasmbin.MaxSlice},
		{lengthy + 1, wasmbin.MaxSlice / 4},
		{time.Second, minSlice},
		{time.Second, minSlice},
		{brief - 1, 2 * minSlice},
	} {
		now = now.Add(step.took)
		if got := p.next(now); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
}
