package agent

import (
	"context"
	"errors"

	"github.com/wagent-dev/wagent/host/run"
)

// nestedRun is the run that a call begins whose tool is an agent. It follows from what
// the loop itself has named, so it is found again.
func nestedRun(id run.ID, callID string) run.ID { return id + "." + run.ID(callID) }

// interrupted is the outcome of a call of which nobody knows what it did. What the run
// of an agent had spent by then is known: it is in the store.
func (d *driver) interrupted(step int, a run.Action, tool *Tool) run.Returned {
	r := refusal(step, a, run.KindCancelled, "The run was interrupted while this call was under way. Whether it took effect is not known.")
	if tool == nil || !tool.Nested {
		return r
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	id := nestedRun(d.state.Run, a.CallID)
	spent, err := d.spentBy(ctx, id)
	switch {
	case err == nil:
		r.NestedRun, r.Spent = id, &spent
	case !errors.Is(err, run.ErrNotFound): // else it had not begun
		d.Logger.Warn("what an agent has spent is not known", "run", id, "error", oneLine(err))
	}
	return r
}

// spentBy is what a run in the store has come to, with the runs of its calls that broke
// off with it.
func (d *driver) spentBy(ctx context.Context, id run.ID) (run.Spent, error) {
	s, err := run.Load(ctx, d.Store, id)
	if err != nil {
		return run.Spent{}, err
	}
	spent := s.Spent()
	if s.Turn == nil || s.Turn.Ended {
		return spent, nil
	}
	for i, slot := range s.Turn.Slots {
		if !slot.Called || slot.Returned != nil {
			continue
		}
		// The store has no such run for a module, or for an agent that had not begun.
		if inner, err := d.spentBy(ctx, nestedRun(id, s.Turn.Plan.Actions[i].CallID)); err == nil {
			spent = spent.Add(inner)
		}
	}
	return spent, nil
}
