package host

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/run"
)

// ErrChanged says that a run was begun with other files than this host's: another
// manifest, another manifest of an agent that is a tool, or another module of either.
// The error that wraps it names them.
var ErrChanged = errors.New("what the run is made of has changed since it was begun")

// Resume goes on with a run of the store, and yields what happens as [Host.Run] does.
// One that was broken off continues where it was: a call whose outcome was not stored is
// not made again. One that has ended, at a limit, by an interruption, by a failure or by
// itself, is opened again: its limits begin anew, and where the model had the last word
// it is asked to go on. The Budget that the run was begun with holds. One that is under
// way in this host, until the loop over it has ended, is not touched. Errors wrap
// [run.ErrNotFound], [ErrChanged] and [ErrRunning].
func (h *Host) Resume(ctx context.Context, id run.ID) iter.Seq2[run.Event, error] {
	return h.driven(ctx, id, func(ctx context.Context) (*agent.Agent, iter.Seq2[run.Event, error], error) {
		s, err := run.Load(ctx, h.store, id)
		if err != nil {
			return nil, nil, fmt.Errorf("loading run %s: %w", id, err)
		}
		if err := h.changed(&s); err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", id, err)
		}
		in := Input{ID: id, Messages: s.Messages, Tools: append([]string{}, s.Tools...), Budget: s.Budget}
		a, _, err := h.prepare(&in)
		if err != nil {
			return nil, nil, err
		}
		return a, a.Resume(ctx, s), nil
	})
}
