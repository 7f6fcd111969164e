package openai

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// live is a body that must stay alive: it is cancelled when no byte arrives for
// a while, and when keep-alives are all that arrives for longer. It is bounded,
// and it has no end once the exchange is over: the connection is closed from our
// side then, a server that sees that may end its body in good form, and half of
// it would pass for the whole.
type live struct {
	r     io.Reader
	left  int64
	over  func() error // why the exchange is over; nil while it is not
	watch *watch
}

// newLive returns a reader of r, which ends with ctx, as w sees to.
func newLive(ctx context.Context, w *watch, r io.Reader) *live {
	w.listen()
	return &live{r: r, left: maxBody, over: func() error { return context.Cause(ctx) }, watch: w}
}

// Read implements [io.Reader].
func (l *live) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	if n > 0 {
		l.watch.heard()
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
func (l *live) data() { l.watch.told() }

// drain reads what is left after the end mark, for a moment: a body that was
// read to its end leaves a connection that can be used again.
func (l *live) drain(in *bufio.Reader) {
	l.watch.hurry(drainTime)
	l.left = min(l.left, maxErrorBody)
	_, _ = io.Copy(io.Discard, in) // the reply is complete already
}
