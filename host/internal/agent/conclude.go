package agent

import (
	"context"
	"slices"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// conclude ends a run at a limit: with what the model makes of the steps so far if it
// is to be asked, else with fixed words. To ask is no step, and what it costs counts.
func (d *driver) conclude(ctx context.Context, reason run.ExitReason, ask bool) {
	if ask && d.state.Closing == nil && !d.lastAnswer(ctx) {
		return
	}
	out, ok := d.closed()
	if !ok {
		out = stopped(reason)
	}
	d.emit(run.Finished{ExitReason: reason, Output: out})
}

// stopped is the output of a run that a limit ended without an answer.
func stopped(reason run.ExitReason) string {
	switch reason {
	case run.ExitMaxSteps:
		return "The agent stopped at its limit of steps."
	case run.ExitTokenBudget:
		return "The agent stopped at its limit of tokens."
	case run.ExitCostBudget:
		return "The agent stopped at its limit of cost."
	case run.ExitToolCallBudget:
		return "The agent stopped at its limit of tool calls."
	default:
		return "The agent stopped because it made the same calls with the same results over and over."
	}
}

// lastAnswer asks the model once, without tools, and records what it says. The
// request for it is not kept: who goes on with the conversation has other steps.
// False says that the run has ended, or cannot go on, for another reason.
func (d *driver) lastAnswer(ctx context.Context) bool {
	if reason, own := d.meter.over(); reason != "" && !(own && d.Generate) {
		return true // whatever it is asked for, it would go over that limit
	}
	reply, err := d.query(ctx, true)
	switch {
	case err != nil && ctx.Err() != nil:
		d.stop(ctx, err)
		return false
	case err != nil:
		d.Logger.Warn("the model gave no last answer", "run", d.state.Run, "error", oneLine(err))
		if spent := d.wasted(err); spent != (run.Spent{}) {
			return d.emit(run.Replied{Usage: spent.Usage, Cost: spent.Cost})
		}
		return true
	}
	return d.emit(d.closing(reply))
}

// closing is what is kept of a last answer: its text, if that is an answer. Calls
// would never be made; the output that one of them gives is the answer, as a text.
func (d *driver) closing(r *model.Reply) run.Replied {
	m := r.Message
	m.Role = model.Assistant
	dropped, names := r.DroppedCalls+len(m.ToolCalls), namesOf(r.DroppedNames, m.ToolCalls)
	if v, ok := d.handedIn(r); ok {
		m.Content = model.TextParts(string(v))
		dropped--
		at := slices.Index(names, d.outputName)
		names = slices.Delete(names, at, at+1)
	}
	m.ToolCalls, m.Extra = nil, kept(m.Extra)
	spent := d.spentOn(r)
	d.unanswered = run.Spent{}
	body := run.Replied{
		Usage: spent.Usage, Cost: spent.Cost, ContextTokens: r.Usage.TotalTokens,
		Finish: r.Finish, Warnings: r.Warnings, Dropped: dropped, DroppedTools: shownNames(names),
	}
	if d.readable(&m) {
		body.Message = &m
	}
	return body
}
