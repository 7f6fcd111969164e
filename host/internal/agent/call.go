package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// settle answers calls whose run broke off before their outcome was stored.
// Whether they took effect is not known, so they are repeated only if their tool
// says that this does no harm.
func (d *driver) settle() {
	t := d.state.Turn
	if t == nil || t.Ended || t.Plan == nil {
		return
	}
	for i, s := range t.Slots {
		a := t.Plan.Actions[i]
		tool := d.tool(a.Tool)
		if !s.Called || s.Returned != nil || (tool != nil && tool.Idempotent) {
			continue
		}
		d.emit(d.interrupted(t.Step, a, tool))
		d.meter = newMeter(d.Limits, d.Up, &d.state)
	}
}

// call runs the calls of a step, at most Parallel at a time. It returns when
// each has a result and nothing of them runs any more.
func (d *driver) call(ctx context.Context, t *run.Turn) {
	queue := d.admit(ctx, t)
	b := newBatch(d, t, len(queue))
	for len(queue) > 0 || b.running > 0 {
		for b.running < max(1, d.Parallel) && ctx.Err() == nil && !d.stopped {
			i := b.next(queue)
			if i < 0 {
				break
			}
			b.start(ctx, t, queue[i])
			queue = slices.Delete(queue, i, i+1)
		}
		if b.running == 0 { // the context has ended with calls still waiting
			break
		}
		b.wait()
	}
	for _, a := range queue {
		d.emit(refusal(t.Step, a, run.KindCancelled, "The run ended before this call was made."))
	}
	clear(d.fitted) // of calls that were not made
	d.submit(t)
}

// admit answers the calls that cannot be made and returns the others, in order. To look
// at the arguments of a call takes time, and a reply may have a thousand: those that are
// left when ctx ends are returned unseen, and are not to be made.
func (d *driver) admit(ctx context.Context, t *run.Turn) []run.Action {
	var queue []run.Action
	for i, a := range t.Plan.Actions {
		if t.Slots[i].Returned != nil || t.Output(a.CallID) {
			continue
		}
		if ctx.Err() != nil {
			queue = append(queue, a)
			continue
		}
		if kind, why := d.refuse(t.Reply.Message, i, a); kind != "" {
			d.emit(refusal(t.Step, a, kind, why))
			continue
		}
		if !t.Slots[i].Called { // else it was counted when it was made
			if limit := d.meter.take(a.Tool); limit != "" {
				d.emit(limited(t.Step, a, limit))
				continue
			}
		}
		queue = append(queue, a)
	}
	return queue
}

// refuse says why a call cannot be made, in words that the model can act on.
func (d *driver) refuse(m *model.Message, i int, a run.Action) (run.ErrorKind, string) {
	tool := d.tool(a.Tool)
	if tool == nil {
		return run.KindUnknownTool, d.unknownTool(a.Tool)
	}
	if i < len(m.ToolCalls) && m.ToolCalls[i].Invalid != nil {
		return run.KindInvalidArgs, "The arguments could not be read, so the tool was not run: " + m.ToolCalls[i].Invalid.Problem + tool.shape()
	}
	if name, given := tool.hidden(a.Input); given {
		return run.KindInvalidArgs, "The arguments do not fit the tool's schema, so it was not run: " + strconv.Quote(name) + " comes from the run's state and cannot be given"
	}
	args, err := tool.fit(a.Input)
	if err != nil {
		return run.KindInvalidArgs, "The arguments do not fit the tool's schema, so it was not run: " + err.Error()
	}
	d.fitted[a.CallID] = args
	return "", ""
}

// maxNames bounds the tools that an error names.
const maxNames = 50

func (d *driver) unknownTool(name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	said := "There is no tool named " + strconv.QuoteToASCII(name) + "; nothing was run. "
	shown := d.offered()
	if len(shown) == 0 {
		return said + "There are no tools."
	}
	var names []string
	for i := range shown {
		if i == maxNames {
			names = append(names, fmt.Sprintf("and %d more", len(shown)-i))
			break
		}
		names = append(names, shown[i].Name)
	}
	said += "The tools are: " + strings.Join(names, ", ") + "."
	if t := d.find.tool; t != nil {
		said += " Look for others with " + t.Definition.Name + "."
	}
	return said
}

// refusal is the outcome of a call that did not run.
func refusal(step int, a run.Action, kind run.ErrorKind, why string) run.Returned {
	return run.Returned{
		Step: step, CallID: a.CallID, Tool: a.Tool,
		Content: model.TextParts(why), IsError: true, ErrorKind: kind,
	}
}

// batch is the calls of a step that are under way. Its fields belong to the
// run's goroutine; the calls' own goroutines only send.
type batch struct {
	*driver
	step     int
	slots    map[string]int // of the plan's actions, by their ids
	tools    []*Tool        // of the plan's actions; nil: there is no such tool
	waves    []int          // of the plan's actions
	running  int
	outcomes chan outcome
	notes    *notes          // progress and log lines
	busy     map[string]bool // what is used one after the other; see Tool.Turns

	unwritten map[string]*unwritten // by the key
}

func newBatch(d *driver, t *run.Turn, calls int) *batch {
	b := &batch{
		driver: d, step: t.Step, slots: make(map[string]int), waves: d.waves(t.Plan.Actions),
		outcomes: make(chan outcome, calls), notes: newNotes(), busy: make(map[string]bool), unwritten: make(map[string]*unwritten),
	}
	for i := range t.Plan.Actions {
		a := &t.Plan.Actions[i]
		b.slots[a.CallID] = i
		b.tools = append(b.tools, d.tool(a.Tool))
		if t.Slots[i].Returned == nil {
			b.expect(i)
		}
	}
	return b
}

// next is the place of the first call that can be made now, below 0 if none can.
func (b *batch) next(queue []run.Action) int {
	return slices.IndexFunc(queue, func(a run.Action) bool {
		slot := b.slots[a.CallID]
		return !b.busy[b.tools[slot].Turns] && !b.waits(slot)
	})
}

type outcome struct {
	action run.Action
	result Result
}

// start records the intent and runs the call in a goroutine that ends by sending
// its outcome. A call that is repeated after a crash has its intent recorded.
func (b *batch) start(ctx context.Context, t *run.Turn, a run.Action) {
	slot := b.slots[a.CallID]
	tool := b.tools[slot]
	args := b.fitted[a.CallID] // they were found to fit
	delete(b.fitted, a.CallID)
	var state map[string]json.RawMessage
	if len(tool.Reads) > 0 {
		state = b.state.Seen(b.waves[slot])
	}
	args, seen, err := tool.fill(args, state)
	if err != nil {
		b.emit(refusal(b.step, a, run.KindInvalidArgs, "The run's state does not fit the tool's schema, so it was not run: "+err.Error()))
		b.settled(slot)
		return
	}
	if !t.Slots[slot].Called {
		b.emit(run.Called{Step: b.step, CallID: a.CallID, Tool: a.Tool, Arguments: a.Input, Module: tool.Module, Wave: b.waves[slot]})
		if b.stopped {
			return
		}
	}
	c := Call{ID: a.CallID, Tool: a.Tool, Arguments: args, State: seen, Run: b.state.Run, Step: b.step, Meter: b.meter}
	c.Progress = func(permille int, message string) {
		b.notes.progress(run.Progressed{CallID: a.CallID, Tool: a.Tool, Permille: permille, Message: message})
	}
	c.Log = func(level, message string) {
		b.notes.log(run.Logged{CallID: a.CallID, Tool: a.Tool, Level: level, Message: message})
	}
	if tool.Nested {
		c.NestedRun = nestedRun(b.state.Run, a.CallID)
	}
	c.Nested = func(e run.Event) { b.notes.nested(run.Nested{CallID: a.CallID, Tool: a.Tool, Event: e}) }
	b.running++
	if tool.Turns != "" {
		b.busy[tool.Turns] = true
	}
	go func() { b.outcomes <- outcome{a, b.guarded(ctx, c)} }()
}

// wait handles what arrives: notes, or an outcome after the notes that came
// before it.
func (b *batch) wait() {
	select {
	case <-b.notes.ready:
		b.show()
	case o := <-b.outcomes:
		b.show()
		b.tellMissed(o.action)
		b.running--
		slot := b.slots[o.action.CallID]
		delete(b.busy, b.tools[slot].Turns)
		b.emit(b.returned(o))
		b.settled(slot)
	}
}

// tellMissed says what of a call was not shown.
func (b *batch) tellMissed(a run.Action) {
	lines, events := b.notes.missed(a.CallID)
	for _, m := range []struct {
		n    int
		what string
	}{{lines, "log lines"}, {events, "events of the agent's run"}} {
		if m.n > 0 {
			b.emit(run.Logged{
				CallID: a.CallID, Tool: a.Tool, Level: "warn",
				Message: fmt.Sprintf("%d %s were not shown: they came faster than they were taken", m.n, m.what),
			})
		}
	}
}

func (b *batch) show() {
	for _, body := range b.notes.take() {
		b.emit(body)
	}
}

// returned is what came of a call, and what it writes to the state.
func (b *batch) returned(o outcome) run.Returned {
	r := o.result
	var writes []run.Write
	if r.Kind == "" {
		var err error
		if writes, err = b.writes(b.tool(o.action.Tool), o.action.CallID, &r); err != nil {
			r.Kind = run.KindInvalidResult
			r.Content = model.TextParts("The tool ran, but its result does not fit the run's state and was dropped: " + err.Error())
		}
	}
	content := r.Content
	if content == nil {
		content = []model.Part{}
	}
	return run.Returned{
		Step: b.step, CallID: o.action.CallID, Tool: o.action.Tool,
		Content: content, Structured: r.Structured, Writes: writes,
		IsError: r.Kind != "", ErrorKind: r.Kind, Receipt: r.Receipt, Detail: r.Detail, Spent: r.Spent, Found: r.found,
		NestedRun: r.NestedRun,
	}
}

// guarded calls the toolbox and makes a panic in it an outcome: a fault of the
// host costs one call and not the run. What panicked is for the operator's log.
func (d *driver) guarded(ctx context.Context, c Call) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			d.Logger.Error("a tool call panicked in the host", "run", c.Run, "call", c.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			r = Result{Kind: run.KindInternal, Content: model.TextParts("The tool could not be run: an internal fault of the host.")}
		}
	}()
	if t := d.find.tool; t != nil && t.Definition.Name == c.Tool {
		return d.find.search(d.Tools, c.Arguments)
	}
	return d.Box.Call(ctx, c)
}
