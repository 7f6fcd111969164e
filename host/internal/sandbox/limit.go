package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// How a guest is stopped is decided in this file and nowhere else. The code of
// every guest was rewritten so that it calls the host after each slice of work,
// wherever it is, and traps if the host says so. What a host function does is not
// the guest's work: it ends with the context.

// linkPause puts the function that guests call after each slice into a runtime.
func linkPause(ctx context.Context, r wazero.Runtime) error {
	pause := api.GoFunc(func(ctx context.Context, result []uint64) {
		result[0] = uint64(guestOf(ctx).pause())
	})
	_, err := r.NewHostModuleBuilder(wasmbin.HostModule).NewFunctionBuilder().
		WithGoFunction(pause, nil, []api.ValueType{i32}).Export(wasmbin.PauseImport).Instantiate(ctx)
	return err
}

// pause is what the host does between two slices of a guest's work: it returns how
// long the next one is, or 0 when the guest has to stop. The clock is looked at,
// too: a timer may be late when guests compute on every processor.
func (g *guest) pause() int32 {
	now := time.Now()
	if g.over(now) {
		return 0
	}
	if g.running.size() > g.stackLimit {
		g.watch.stop(fault(FaultStack, "the tool called itself too deeply and was stopped (its stack may take %s); ask for something less nested", size(g.stackLimit)))
		return 0
	}
	return g.pace.next(now, g.lazy(now))
}

// lazy says that much of the guest's memory has not come yet. When a slice took
// long, it was probably for that, and more is brought; a guest that goes on so is
// brought more each time, as it would be ahead otherwise.
func (g *guest) lazy(now time.Time) (lazy bool) {
	pieces := 0
	if now.Sub(g.pace.since) > lengthy && now.Sub(g.watch.start) > shortCall {
		pieces = min(2*g.pieces+1, maxPieces)
	}
	g.pieces = pieces
	for _, m := range g.arena.given {
		lazy = lazy || m.lazy()
		if pieces == 0 || !m.lazy() || !m.used() {
			continue
		}
		for n := pieces; n > 0 && m.lazy(); n-- {
			m.bring()
		}
	}
	return lazy
}

// maxPieces are brought at once, in a millisecond or two.
const maxPieces = 7

// shortCall is how long a call takes for which nothing is brought.
const shortCall = time.Millisecond

// inLong says that the guest is in a long slice, and that its time is not over.
func (g *guest) inLong() bool { return g.pace.slice > lazySlice && !g.over(time.Now()) }

// over says that the call has ended, whether its timer has run or not.
func (g *guest) over(now time.Time) bool { return g.ctx.Err() != nil || !now.Before(g.watch.end) }

// pace makes slices last about as long as they should, in time. The units in which
// they are counted cannot: a page that is written for the first time takes ten
// thousand times as long as most instructions, and much of what is charged in the
// code of Go is not done.
type pace struct {
	slice int32
	since time.Time
}

// exclude takes what the host did since start out of the slice: a guest that waits
// for a server or a disk writes no memory.
func (p *pace) exclude(start time.Time) { p.since = p.since.Add(time.Since(start)) }

const (
	minSlice = 2_500
	// lazySlice is the longest while much of the memory has not come: it is about
	// 1,000 loads and stores, and each may wait 4 us for its page.
	lazySlice = 8_000
	// A slice that was shorter than brief is followed by one twice as long, and
	// one that took longer than lengthy by one of a quarter. To pause takes 0.2 us.
	brief   = 25 * time.Microsecond
	lengthy = 100 * time.Microsecond
)

// next is the length of the slice that begins now. The first is a short one.
func (p *pace) next(now time.Time, lazy bool) int32 {
	took := now.Sub(p.since)
	p.since = now
	longest := int32(wasmbin.MaxSlice)
	if lazy {
		longest = lazySlice
	}
	switch {
	case p.slice == 0:
		p.slice = lazySlice
	case took < brief:
		p.slice *= 2
	case took > lengthy:
		p.slice = max(p.slice/4, minSlice)
	}
	p.slice = min(p.slice, longest)
	return p.slice
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
