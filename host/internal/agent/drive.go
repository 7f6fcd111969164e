package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// driver takes one run from where its state is to its end.
type driver struct {
	*Agent
	state   run.State
	memo    model.Memo
	history history
	defs    []model.Definition // of all tools, whether or not the model is shown them
	wrote   planner.Cache
	find    finder
	offer   offer
	ids     map[string]bool            // call ids in use
	fitted  map[string]json.RawMessage // arguments as the tool gets them, of calls that may be made, by call id
	meter   *Meter

	prints  []print // of the steps that count as repetitions; see repeats
	printed int     // how much of the state's steps they are made of
	newest  int     // number of the step that the last of them is of

	outputName string        // of the tool that takes the output; empty: there is none
	brief      model.Message // the system prompt that tells of the output; see briefed
	notDone    model.Message // see unfinished
	noSchema   bool          // the endpoint has refused the output's schema

	unanswered run.Spent       // of calls whose reply was empty; it is paid for with the next
	shown      strings.Builder // the text of the reply that is under way
	calling    callsShown      // its calls
	thought    thought         // what is in front of the text, if it is thinking

	yield   func(run.Event, error) bool
	left    bool // the caller has broken off; yield must not be called again
	stopped bool // the store failed; nothing can be appended
	cancel  context.CancelFunc
	storing storing
}

func newDriver(a *Agent, s run.State, yield func(run.Event, error) bool) *driver {
	a = a.plain()
	d := &driver{Agent: a, find: newFinder(a), state: s, yield: yield, cancel: func() {}, ids: make(map[string]bool), fitted: make(map[string]json.RawMessage)}
	d.meter, d.printed = newMeter(a.Limits, a.Up, &s), s.Since.Steps
	for i := range a.Tools {
		d.defs = append(d.defs, a.Tools[i].Definition)
	}
	if t := d.find.tool; t != nil {
		d.defs = append(d.defs, t.Definition)
	}
	if o := a.Output; o != nil && (o.Strategy == ByTool || o.Otherwise == ByTool) {
		d.outputName = a.freeName(outputTool, "")
	}
	d.offer = newOffer(d)
	return d
}

// overtime is the cause of a context that ended by the limit of a run. It names the
// run: one that is nested in another ends by its own limit, or because the other does.
type overtime struct{ run run.ID }

func (overtime) Error() string { return "the run's time is over" }

// drive goes from state to state until the run has ended, the caller has left,
// or the store has failed.
func (d *driver) drive(ctx context.Context) {
	ctx, cancel := d.limit(ctx)
	defer cancel()
	defer d.storing.end()
	d.cancel = cancel
	d.claimIDs(d.state.Messages)
	d.settle()
	for !d.state.Done && !d.left && !d.stopped {
		d.advance(ctx)
	}
}

// limit returns ctx with what is left of the run's duration.
func (d *driver) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.MaxDuration <= 0 {
		return context.WithCancel(ctx)
	}
	spent := d.state.Updated.Sub(d.state.Since.Time)
	return context.WithTimeoutCause(ctx, d.MaxDuration-spent, overtime{d.state.Run})
}

// advance makes the one move that the state calls for.
func (d *driver) advance(ctx context.Context) {
	due(ctx)
	t := d.state.Turn
	switch {
	case t != nil && t.Ended && d.exit(ctx, t):
	case t != nil && !t.Ended && t.Open() && t.Plan.Unreadable:
		d.complain(t)
	case t != nil && !t.Ended && t.Open():
		d.call(ctx, t)
	case t != nil && !t.Ended && t.Plan != nil:
		d.emit(run.Ended{Step: t.Step})
	case t != nil && !t.Ended && t.Reply != nil:
		d.plan(ctx, t)
	case ctx.Err() != nil:
		d.stop(ctx, nil)
	case t != nil && !t.Ended:
		d.ask(ctx, t)
	case d.spoiled():
		d.despair()
	case d.unread() >= d.mostUnread():
		d.giveUp(ctx)
	case t != nil && d.guard(t):
	default:
		d.next(ctx)
	}
}

// due waits for a context whose time is over to say so. A guest stops by the clock, and
// may be sooner than the timer: the model must not be asked once more in between.
func due(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= 0 {
		<-ctx.Done()
	}
}

// next begins a step, unless the run is at a limit.
func (d *driver) next(ctx context.Context) {
	if d.state.StepCount-d.state.Since.StepCount >= d.MaxSteps {
		d.conclude(ctx, run.ExitMaxSteps, d.Generate && d.MaxSteps > 0)
		return
	}
	if reason, own := d.meter.over(); reason != "" {
		d.conclude(ctx, reason, d.Generate && own)
		return
	}
	d.emit(run.Began{Step: d.state.StepCount + 1})
}

// stop ends the run because its context has ended. err is of the model call that it
// broke off, or nil.
func (d *driver) stop(ctx context.Context, err error) {
	if d.left {
		return // resumable: the caller broke off, the run did not end
	}
	spent := d.wasted(err)
	if errors.Is(context.Cause(ctx), overtime{d.state.Run}) {
		d.emit(run.Finished{
			ExitReason: run.ExitMaxDuration, Output: "The agent stopped at its limit of time.", Partial: d.partial(),
			DroppedTools: d.calling.tools(), Usage: spent.Usage, Cost: spent.Cost,
		})
		return
	}
	d.emit(run.Finished{
		ExitReason: run.ExitInterrupted, Partial: d.partial(), DroppedTools: d.calling.tools(), Usage: spent.Usage, Cost: spent.Cost,
	})
}

// exit ends the run when the finished step says so, and reports whether it did.
func (d *driver) exit(ctx context.Context, t *run.Turn) bool {
	switch t.Reply.Finish {
	case model.FinishLength:
		return d.cut(t, run.ExitLength)
	case model.FinishContentFilter:
		return d.cut(t, run.ExitContentFilter)
	}
	switch {
	case t.Plan == nil:
		return false
	case t.Plan.Finish != nil:
		d.emit(run.Finished{ExitReason: run.ExitText, Output: outputOf(t.Plan.Finish), Structured: t.Plan.Structured})
		return true
	}
	if d.FailOnError {
		if i := slices.IndexFunc(t.Slots, failedCall); i >= 0 {
			r := t.Slots[i].Returned
			d.emit(run.Failed{Err: run.Failure{Kind: run.FailTool, Tool: r.Tool, Message: model.PartsText(r.Content)}})
			return true
		}
	}
	if d.delivered(t) {
		return true
	}
	if len(t.Slots) == 1 {
		r := t.Slots[0].Returned
		if tool := d.tool(r.Tool); tool != nil && tool.ReturnDirect && !r.IsError {
			d.emit(d.ending(run.ExitReturnDirect, r))
			return true
		}
	}
	for _, s := range t.Slots {
		if r := s.Returned; !r.IsError && r.Tool != exitText && slices.Contains(d.Exit, r.Tool) {
			d.emit(d.ending(run.ExitReason(r.Tool), r))
			return true
		}
	}
	return d.exhausted(ctx, t)
}

// failedCall says that a call failed by its own fault or the sandbox's. A tool
// that is not there or arguments that do not fit are the model's mistake, and a call
// that was refused never ran: it is told, and the run goes on.
func failedCall(s run.Slot) bool {
	switch r := s.Returned; r.ErrorKind {
	case run.KindUnknownTool, run.KindInvalidArgs, run.KindCancelled, run.KindParseError, run.KindRefused:
		return false
	default:
		return r.IsError
	}
}

// cut ends the run with the text of a reply that was broken off.
func (d *driver) cut(t *run.Turn, reason run.ExitReason) bool {
	out := ""
	if m := t.Reply.Message; m != nil {
		out = m.Text()
	}
	d.emit(run.Finished{ExitReason: reason, Output: out})
	return true
}

// emit makes an event of body: folds it, stores it and hands it to the caller,
// in this order. It reports whether the run goes on.
func (d *driver) emit(body run.Body) bool {
	if d.stopped {
		return false
	}
	e := run.Event{Run: d.state.Run, Time: d.Now(), Body: d.completed(body)}
	if e.Transient() {
		e.After = d.state.Seq
		d.show(e, nil)
		return !d.left
	}
	e.Seq = d.state.Seq + 1
	next, err := run.Apply(d.state, e)
	if err == nil {
		d.state = next
		err = d.append(e)
	}
	if err != nil {
		d.stopped = true
		d.cancel()
		d.show(run.Event{}, err)
		return false
	}
	d.show(d.withResult(e), nil)
	return !d.left
}

// completed adds to a body what follows from the run: the value of an answer that was
// asked for at a limit, and the tools that a call reveals.
func (d *driver) completed(body run.Body) run.Body {
	switch b := body.(type) {
	case run.Returned:
		return d.reveal(b)
	case run.Finished:
		if d.Output == nil || b.Structured != nil {
			return b
		}
		if out, ok := d.closed(); ok && b.Output == out {
			b.Structured = json.RawMessage(out)
		}
		return b
	}
	return body
}

func (d *driver) append(e run.Event) error {
	ctx := d.storing.begin()
	defer d.storing.pause()
	err := d.Store.Append(ctx, e.Run, e.Seq-1, []run.Event{e})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("the store took longer than %s: %w", storeTimeout, context.Cause(ctx))
	}
	return err
}

// withResult adds to the last event what the whole run came to, which is not
// stored.
func (d *driver) withResult(e run.Event) run.Event {
	switch b := e.Body.(type) {
	case run.Finished:
		b.Result = d.result()
		e.Body = b
	case run.Failed:
		b.Result = d.result()
		e.Body = b
	}
	return e
}

func (d *driver) result() *run.Result {
	r := d.state.Result()
	if d.NoSteps {
		r.Steps = nil
	}
	return r
}

// show hands an item to the caller, unless it has left.
func (d *driver) show(e run.Event, err error) {
	if d.left {
		return
	}
	if !d.yield(e, err) {
		d.left = true
		d.cancel()
	}
}
