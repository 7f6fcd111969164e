package openai

import (
	"context"
	"sync"
	"time"
)

// watch ends an exchange that takes too long, or in which nothing arrives for too
// long. It has one timer for all, which looks at the clock when it is due: to set one
// for every piece that arrives costs more than to read the piece.
type watch struct {
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
	end     time.Time // of the attempt
	idle    time.Duration
	silence time.Time // when nothing has arrived for too long; zero: nothing is waited for
	nothing time.Time // the same of keep-alives; zero with silence
}

// newWatch begins an attempt that may take limit, and whose reply may be silent for
// idle. It is the caller's to stop.
func newWatch(cancel context.CancelCauseFunc, limit, idle time.Duration) *watch {
	w := &watch{cancel: cancel, end: time.Now().Add(limit), idle: idle}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(limit, w.ring)
	return w
}

// listen begins the time in which a reply must not be silent.
func (w *watch) listen() { w.hurry(w.idle) }

// hurry makes it idle, from now on.
func (w *watch) hurry(idle time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.idle, w.silence, w.nothing = idle, now.Add(idle), now.Add(keepAliveFactor*idle)
	w.set(now)
}

// heard says that a byte arrived.
func (w *watch) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silence = time.Now().Add(w.idle)
}

// told says that something other than a keep-alive arrived.
func (w *watch) told() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nothing = time.Now().Add(keepAliveFactor * w.idle)
}

// stop ends it. Nothing is cancelled any more.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.timer.Stop()
}

func (w *watch) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch due, why := w.first(); {
	case w.stopped:
	case now.Before(due):
		w.set(now)
	default:
		w.cancel(why)
	}
}

// set makes the timer ring when the first of the times is over.
func (w *watch) set(now time.Time) {
	due, _ := w.first()
	w.timer.Reset(due.Sub(now))
}

// first is the time that is over first, and what it is the end of.
func (w *watch) first() (due time.Time, why error) {
	due, why = w.end, errAttemptTime
	if w.silence.IsZero() {
		return due, why
	}
	if w.nothing.Before(due) {
		due, why = w.nothing, errNoData
	}
	if w.silence.Before(due) {
		due, why = w.silence, errSilence
	}
	return due, why
}
