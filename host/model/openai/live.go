package openai

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"
)

// live is a body that must stay alive: it is cancelled when no byte arrives for
// a while, and when keep-alives are all that arrives for longer. It is bounded,
// and it has no end once the exchange is over: the connection is closed from our
// side then, a server that sees that may end its body in good form, and half of
// it would pass for the whole.
type live struct {
	r    io.Reader
	left int64
	over func() error // why the exchange is over; nil while it is not
	idle time.Duration

	silence *time.Timer
	nothing *time.Timer
}

// newLive returns a reader of r, which ends with ctx. It is the caller's to stop.
func newLive(ctx context.Context, cancel context.CancelCauseFunc, r io.Reader, idle time.Duration) *live {
	return &live{
		r: r, left: maxBody, idle: idle,
		over:    func() error { return context.Cause(ctx) },
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
	if errors.Is(err, io.EOF) {
		if why := l.over(); why != nil {
			err = why
		}
	}
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
