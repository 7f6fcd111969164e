package agent

import (
	"context"
	"slices"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// limited is the outcome of a call that a limit of the run did not let run.
func limited(step int, a run.Action, limit string) run.Returned {
	r := refusal(step, a, run.KindRefused, "The run is at its limit of "+limit+", so this call was not made. "+
		"Do not make it again: answer from what there is.")
	r.Limited = true
	return r
}

// exhausted ends the run when the model goes on calling what is at its limit, and
// when it repeats itself after it was warned.
func (d *driver) exhausted(ctx context.Context, t *run.Turn) bool {
	over := func(s run.Slot) bool { return s.Returned.Limited }
	switch {
	case d.state.Limited-d.state.Since.Limited > 1 && slices.ContainsFunc(t.Slots, over):
		d.conclude(ctx, run.ExitToolCallBudget, d.Generate)
	case d.Limits.Repeats > 0 && d.repeats(t.Step) > d.Limits.Repeats:
		d.conclude(ctx, run.ExitRepeatedCalls, d.Generate)
	default:
		return false
	}
	return true
}

// guard warns a model that repeats itself, once, and reports whether it did.
func (d *driver) guard(t *run.Turn) bool {
	most := d.Limits.Repeats
	if most <= 0 || t.Noted || d.repeats(t.Step) < most || cycle(d.prints[:len(d.prints)-1]) >= most {
		return false
	}
	return d.emit(run.Hooked{Hook: "repeat_guard", Step: t.Step, Append: []model.Message{model.Text(model.User,
		"Your last calls were the same as before and had the same results. They will not have others: "+
			"do something else, or answer from what there is.")}})
}
