package openai

import (
	"bufio"
	"context"
	"io"
	"time"
)

// live is a body that must stay alive: it is cancelled when no byte arrives for
// a while, and when keep-alives are all that arrives for longer. It is bounded.
type live struct {
	r      io.Reader
	left   int64
	cancel context.CancelCauseFunc
	idle   time.Duration

	silence *time.Timer
	nothing *time.Timer
}

func newLive(r io.Reader, cancel context.CancelCauseFunc, idle time.Duration) *live {
	return &live{
		r: r, left: maxBody, cancel: cancel, idle: idle,
		silence: time.AfterFunc(idle, func() { cancel(errSilence) }),
		nothing: time.AfterFunc(keepAliveFactor*idle, func() { cancel(errNoData) }),
	}
}

// Read implements [io.Reader].
func (l *live) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	if n > 0 {
		l.silence.Reset(l.idle)
	}
	l.left -= int64(n)
	return n, err
}

// data says that something other than a keep-alive arrived.
func (l *live) data() { l.nothing.Reset(keepAliveFactor * l.idle) }

// stop ends the timers.
func (l *live) stop() {
	l.silence.Stop()
	l.nothing.Stop()
}

// drain reads what is left after the end mark, for a moment: a body that was
// read to its end leaves a connection that can be used again.
func (l *live) drain(in *bufio.Reader) {
	l.idle = drainTime
	l.silence.Reset(drainTime)
	l.nothing.Reset(keepAliveFactor * drainTime)
	l.left = min(l.left, maxErrorBody)
	_, _ = io.Copy(io.Discard, in) // the reply is complete already
}
