package hostfn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// ISO-5: the real clock is the host's, and says nothing about its uptime.
func TestRealClockFollowsTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(policy.Clock{})
		if c.Mono() != 0 {
			t.Errorf("a call begins at %d", c.Mono())
		}
		time.Sleep(1500 * time.Millisecond)
		sec, nsec := c.Wall()
		if now := time.Now(); sec != now.Unix() || int(nsec) != now.Nanosecond() || c.Mono() != 1_500_000_000 {
			t.Errorf("got %d.%09d, %d", sec, nsec, c.Mono())
		}
	})
}

// ISO-5: two calls under a fixed clock see the same, and a guest that waits gets on.
func TestFixedClockIsTheSameEachTime(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC)
	run := func() (out []int64) {
		c := NewClock(policy.Clock{Fixed: at})
		for range 3 {
			sec, nsec := c.Wall()
			out = append(out, sec, int64(nsec), c.Mono())
			c.Advance(time.Second)
		}
		return out
	}
	a, b := run(), run()
	for i := range a {
		if a[i] != b[i] {
			t.Errorf("%v and %v differ", a, b)
		}
	}
	if a[0] != at.Unix() || a[1] != 5 || a[5]-a[2] < int64(time.Second) {
		t.Errorf("got %v", a)
	}
}

// ISO-6: times that are further apart than a step are all that a guest can tell
// apart, of every clock and of files.
func TestCoarseClockMovesInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock(policy.Clock{Coarse: true})
		wall, monos := map[int64]bool{}, map[int64]bool{}
		for range 1000 {
			time.Sleep(10 * time.Microsecond)
			sec, nsec := c.Wall()
			wall[sec*int64(time.Second)+int64(nsec)] = true
			monos[c.Mono()] = true
		}
		for _, seen := range []map[int64]bool{wall, monos} {
			for at := range seen {
				if at%int64(time.Millisecond) != 0 {
					t.Errorf("it shows %d", at)
				}
			}
			if len(seen) != 11 {
				t.Errorf("%d times in ten steps", len(seen))
			}
		}
		if c.Seen(1_999_999) != 1_000_000 || c.Resolution() != time.Millisecond || NewClock(policy.Clock{}).Seen(1_999_999) != 1_999_999 {
			t.Error("times are not rounded as they should be")
		}
	})
}

// CPU-5: a guest that sleeps is woken at the deadline.
func TestSleepEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := Sleep(ctx, 3*time.Second); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 300*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		if err := Sleep(ctx, -1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a sleep after the end: %v", err)
		}
		start = time.Now()
		if err := Sleep(t.Context(), time.Second); err != nil || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func readRandom(t *testing.T, r policy.Random) []byte {
	t.Helper()
	b := make([]byte, 64)
	if _, err := io.ReadFull(NewRandom(r), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// ISO-5: random bytes differ from call to call unless a seed was asked for.
func TestRandomRepeatsOnlyForASeed(t *testing.T) {
	if bytes.Equal(readRandom(t, policy.Random{}), readRandom(t, policy.Random{})) {
		t.Error("two calls got the same bytes")
	}
	seed := func(n uint64) []byte { return readRandom(t, policy.Random{Seeded: true, Seed: n}) }
	if !bytes.Equal(seed(42), seed(42)) || bytes.Equal(seed(42), seed(43)) || bytes.Equal(seed(0), seed(1<<63)) {
		t.Error("a seed does not decide the bytes")
	}
}
