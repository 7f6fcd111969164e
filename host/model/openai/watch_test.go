package openai

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// An exchange ends when its time is over, when nothing arrives for the idle time, and
// when nothing but keep-alives arrives for five times that, at that very moment.
func TestAWatchEndsWhatTakesTooLong(t *testing.T) {
	const idle, limit = 10 * time.Second, time.Minute
	for name, c := range map[string]struct {
		do   func(w *watch)
		end  time.Duration
		want error
	}{
		"no reply":     {func(*watch) {}, limit, errAttemptTime},
		"silent reply": {(*watch).listen, idle, errSilence},
		"one byte": {func(w *watch) {
			w.listen()
			time.Sleep(idle / 2)
			w.heard()
		}, idle + idle/2, errSilence},
		"keep-alives": {func(w *watch) {
			w.listen()
			for range 2*keepAliveFactor - 1 {
				time.Sleep(idle / 2)
				w.heard()
			}
		}, keepAliveFactor * idle, errNoData},
		"data": {func(w *watch) {
			w.listen()
			for range 2*limit/idle - 1 {
				time.Sleep(idle / 2)
				w.heard()
				w.told()
			}
		}, limit, errAttemptTime},
		"the end of a stream": {func(w *watch) {
			w.listen()
			time.Sleep(time.Second)
			w.hurry(drainTime)
		}, time.Second + drainTime, errSilence},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				start := time.Now()
				w := newWatch(cancel, limit, idle)
				defer w.stop()
				go c.do(w)
				<-ctx.Done()
				if why, took := context.Cause(ctx), time.Since(start); why != c.want || took != c.end {
					t.Errorf("%v after %v, want %v after %v", why, took, c.want, c.end)
				}
			})
		})
	}
}

func TestAStoppedWatchEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w := newWatch(cancel, time.Second, time.Second)
		w.listen()
		w.stop()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error(context.Cause(ctx))
		}
	})
}
