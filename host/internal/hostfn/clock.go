package hostfn

// Attack: a guest learns the host's uptime, or waits for ever on a clock that
// was fixed, so that a replayed call hangs where the recorded one did not.

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// tick is how far a fixed clock's monotonic time moves with each reading.
const tick = time.Microsecond

// coarse is how fine a coarse clock is: too little to see what the host's caches
// hold, and enough to measure what a person would notice.
const coarse = time.Millisecond

// Clock is the time that one call sees. It is safe for concurrent use.
type Clock struct {
	fixed  time.Time
	coarse bool
	start  time.Time
	mono   atomic.Int64 // of a fixed clock, nanoseconds
}

// NewClock returns a clock whose monotonic time begins now.
func NewClock(c policy.Clock) *Clock {
	return &Clock{fixed: c.Fixed, coarse: c.Coarse, start: time.Now()}
}

// Continue makes the monotonic time go on from what another clock has shown, so
// that a guest which was initialised then does not see it go back.
func (c *Clock) Continue(mono int64) {
	c.start = c.start.Add(-time.Duration(mono))
	c.mono.Add(mono)
}

// Wall returns the time since 1970, in seconds and nanoseconds. A fixed clock
// always returns the same.
func (c *Clock) Wall() (sec int64, nsec int32) {
	t := c.fixed
	if t.IsZero() {
		t = time.Now()
	}
	t = time.Unix(0, c.Seen(t.UnixNano()))
	return t.Unix(), int32(t.Nanosecond())
}

// Mono returns the nanoseconds since the clock was made. That of a fixed clock
// does not follow the host's time: it moves one microsecond with each reading
// and by what [Clock.Advance] adds, so that a guest that measures or waits gets
// on, and gets the same numbers each time.
func (c *Clock) Mono() int64 {
	if c.fixed.IsZero() {
		return c.Seen(int64(time.Since(c.start)))
	}
	return c.mono.Add(int64(tick))
}

// Seen returns a time in nanoseconds as finely as this clock shows times, such as
// that of a file.
func (c *Clock) Seen(nanos int64) int64 {
	if !c.coarse {
		return nanos
	}
	return nanos - nanos%int64(coarse)
}

// Resolution is how fine the clock is; zero says that it is as fine as the host's.
func (c *Clock) Resolution() time.Duration {
	if c.coarse {
		return coarse
	}
	return 0
}

// Advance tells a fixed clock that the guest slept for d. A real clock knows.
func (c *Clock) Advance(d time.Duration) {
	if d > 0 {
		c.mono.Add(int64(d))
	}
}

// Sleep waits for d or until ctx ends, whichever is first, and returns the
// error of ctx if that is what ended it.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
