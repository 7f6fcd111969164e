package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// How a guest is stopped is decided in this file and nowhere else. The code of
// every guest was rewritten so that it comes out of the engine's code after each
// slice of work, wherever it is, and traps if its stop is set. What a host
// function does is not the guest's work: it ends with the context.

// brake sets the stop of a guest when its context is done. The guest must not be
// used after release, which waits for a stop that is being set.
type brake struct {
	cancel func() bool
	done   chan struct{}
}

func newBrake(ctx context.Context, stop api.MutableGlobal) *brake {
	b := &brake{done: make(chan struct{})}
	b.cancel = context.AfterFunc(ctx, func() {
		stop.Set(1)
		close(b.done)
	})
	return b
}

func (b *brake) release() {
	if !b.cancel() {
		<-b.done
	}
}

// stopwatch bounds one call and remembers why it was stopped.
type stopwatch struct {
	limit  time.Duration
	start  time.Time
	end    time.Time
	cancel context.CancelCauseFunc
	timer  context.CancelFunc
}

var errTimeLimit = errors.New("time limit reached")

// newStopwatch starts the time of a call. The context ends with it.
func newStopwatch(ctx context.Context, limit time.Duration) (context.Context, *stopwatch) {
	now := time.Now()
	w := &stopwatch{limit: limit, start: now, end: now.Add(limit)}
	ctx, w.cancel = context.WithCancelCause(ctx)
	ctx, w.timer = context.WithTimeoutCause(ctx, limit, errTimeLimit)
	if d, ok := ctx.Deadline(); ok {
		w.end = d
	}
	return ctx, w
}

// stop ends the call for a reason of the host. The first reason stays.
func (w *stopwatch) stop(why *FaultError) { w.cancel(why) }

// release gives back what the stopwatch holds.
func (w *stopwatch) release() {
	w.timer()
	w.cancel(nil)
}

// taken is how long the call has been going on.
func (w *stopwatch) taken() time.Duration { return time.Since(w.start) }

// left is how long the guest has, in milliseconds.
func (w *stopwatch) left() int64 { return max(time.Until(w.end).Milliseconds(), 0) }

// stopped says why the host ended the call, or nil if it did not.
func (w *stopwatch) stopped(ctx context.Context) *FaultError {
	cause := context.Cause(ctx)
	if cause == nil {
		// The timer may not have run yet: a guest that computes can hold it up.
		// An answer that comes after the deadline is late all the same.
		if time.Now().Before(w.end) {
			return nil
		}
		cause = errTimeLimit
	}
	var why *FaultError
	switch {
	case errors.As(cause, &why):
		return why
	case errors.Is(cause, errTimeLimit):
		return fault(FaultTimeout, "the tool did not finish in time (limit %v) and was stopped; ask for less at once", w.limit)
	case errors.Is(cause, context.DeadlineExceeded):
		return fault(FaultTimeout, "the tool did not finish in the time that was left and was stopped")
	default:
		return fault(FaultCancelled, "the call was cancelled")
	}
}
