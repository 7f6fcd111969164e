package agent

import (
	"context"
	"time"
)

// storeTimeout bounds one append. It has a limit of its own because what has
// happened is stored even when the run's context has ended.
const storeTimeout = 30 * time.Second

// storing gives appends their time. They share a context as long as it holds, since a
// step makes several. The zero storing is ready.
type storing struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// begin returns the context of one append, which ends by calling pause.
func (s *storing) begin() context.Context {
	if s.ctx == nil || s.ctx.Err() != nil {
		s.end()
		ctx, cancel := context.WithCancelCause(context.Background())
		s.ctx, s.cancel = ctx, cancel
		s.timer = time.AfterFunc(storeTimeout, func() { cancel(context.DeadlineExceeded) })
	} else {
		s.timer.Reset(storeTimeout)
	}
	return s.ctx
}

func (s *storing) pause() { s.timer.Stop() }

// end lets go of the context.
func (s *storing) end() {
	if s.cancel != nil {
		s.timer.Stop()
		s.cancel(nil)
	}
}
