package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// ask makes the model call of an open step and records the reply, or ends the
// run when there is none.
func (d *driver) ask(ctx context.Context, t *run.Turn) {
	reply, err := d.query(ctx, false)
	if err == nil && empty(reply) {
		reply, err = d.askAgain(ctx, reply)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		d.stop(ctx, err)
	case err != nil:
		d.fail(err)
	default:
		d.reply(t.Step, reply)
	}
}

// query asks the model, for one more step or for the answer. An endpoint that refuses
// the output's schema is asked once more in another way.
func (d *driver) query(ctx context.Context, final bool) (*model.Reply, error) {
	reply, err := d.generate(ctx, d.asked(final))
	if err == nil || !d.fallBack(err) {
		return reply, err
	}
	if me, ok := errors.AsType[*model.Error](err); ok {
		d.unanswered = d.unanswered.Add(d.paid(me))
	}
	d.emit(run.Retried{Attempt: 1, Error: oneLine(err)})
	return d.generate(ctx, d.asked(final))
}

// generate calls the model once and shows what arrives. A model that showed no
// text on the way has it shown at the end, so printing deltas prints the answer.
func (d *driver) generate(ctx context.Context, req *model.Request) (*model.Reply, error) {
	d.shown.Reset()
	d.thought = thought{}
	d.calling = callsShown{off: len(req.Tools) == 0}
	if err := d.sendable(req); err != nil {
		return nil, err
	}
	reply, err := d.guardedGenerate(ctx, req)
	if err != nil {
		return nil, err
	}
	d.flushCall()
	reply = d.unthought(reply)
	d.meter.spend(reply.Spent(), reply.Cost(d.Prices))
	if text := reply.Message.Text(); text != "" && d.shown.Len() == 0 {
		d.showText(text)
	}
	return reply, nil
}

// asked is what the planner makes of the conversation, for one more step or for the
// answer.
func (d *driver) asked(final bool) *model.Request {
	p := d.Planner.Prompt(d.conversation(final))
	req := &model.Request{Messages: p.Messages, Tools: p.Tools, Stop: p.Stop, Memo: &d.memo}
	d.shape(req, final)
	return req
}

// shownMessages is what the model sees of the conversation: what the run began with,
// and its last steps. A step begins with what the model said, so no call is parted
// from its result.
func (d *driver) shownMessages() []model.Message {
	all, given := d.state.Messages, d.state.Given
	if d.TrimSteps <= 0 {
		return all
	}
	steps := 0
	for i := len(all) - 1; i >= given; i-- {
		if all[i].Role != model.Assistant {
			continue
		}
		if steps++; steps == d.TrimSteps {
			return append(all[:given:given], all[i:]...)
		}
	}
	return all
}

// hear shows what comes of a text that is under way.
func (d *driver) hear(piece string) {
	if !d.readsAll() {
		d.showText(piece)
		return
	}
	d.thought.whole.WriteString(piece)
	thinking, said := d.thought.take(piece)
	if thinking != "" {
		d.emit(run.Delta{Reasoning: thinking})
	}
	if said != "" {
		d.showText(said)
	}
}

func (d *driver) showText(text string) {
	d.shown.WriteString(text)
	if _, answers := d.Planner.(planner.Tools); answers && d.Output == nil {
		d.emit(run.Delta{Text: text})
	} else {
		d.emit(run.Delta{Reasoning: text}) // it is the planner's form, or may not fit the schema
	}
}

// guardedGenerate calls the model and holds it to its promises: there is a reply
// or an error, and a panic of its own fails the run and not the process. A panic
// of the caller, who is told of each chunk, is not ours to catch.
func (d *driver) guardedGenerate(ctx context.Context, req *model.Request) (reply *model.Reply, err error) {
	telling := false
	defer func() {
		if telling {
			return
		}
		if p := recover(); p != nil {
			d.Logger.Error("the model panicked", "run", d.state.Run, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			reply, err = nil, errPanicked
		}
	}()
	reply, err = d.Model.Generate(ctx, req, func(c model.Chunk) {
		telling = true
		d.chunk(c)
		telling = false
	})
	if me, ok := errors.AsType[*model.Error](err); (ok && me == nil) || (err == nil && reply == nil) {
		return nil, errNothing
	}
	return reply, err
}

// chunk shows what arrives.
func (d *driver) chunk(c model.Chunk) {
	switch {
	case c.Retry != nil:
		d.shown.Reset()
		d.thought = thought{}
		d.calling = callsShown{off: d.calling.off}
		d.emit(run.Retried{
			Attempt: c.Retry.Attempt, WaitMS: c.Retry.Wait.Milliseconds(), Error: oneLine(c.Retry.Err), Model: c.Retry.Next,
		})
	case c.Reasoning != "":
		d.emit(run.Delta{Reasoning: c.Reasoning})
	case c.Text != "":
		d.hear(c.Text)
	case c.Call != nil:
		d.showCall(c.Call)
	}
}

var (
	errNothing  = errors.New("the model gave neither a reply nor an error")
	errPanicked = errors.New("the model could not be asked: an internal fault of the model's client")
)

// empty says that a reply ended by itself and holds nothing to go on with.
func empty(r *model.Reply) bool {
	cut := r.Finish == model.FinishLength || r.Finish == model.FinishContentFilter
	return !cut && len(r.Message.ToolCalls) == 0 && !hasContent(r.Message.Content)
}

// hasContent says that parts hold something a provider would take back.
func hasContent(parts []model.Part) bool {
	for _, p := range parts {
		if p.Type != model.TextPart || strings.TrimSpace(p.Text) != "" {
			return true
		}
	}
	return false
}

// emptyTwice is the error of two empty replies. What the model thought is all there is.
func emptyTwice(first, second *model.Reply) *model.Error {
	return &model.Error{
		Kind: model.Stream, Message: "the model gave an empty reply twice",
		Partial: cmp.Or(second.Message.Reasoning, first.Message.Reasoning),
	}
}

// askAgain repeats a call whose reply was empty, once. Both calls are paid for.
func (d *driver) askAgain(ctx context.Context, first *model.Reply) (*model.Reply, error) {
	d.emit(run.Retried{Attempt: 1, Error: "the model gave an empty reply"})
	d.unanswered = d.spentOn(first)
	reply, err := d.query(ctx, false)
	switch {
	case err != nil:
		return nil, err
	case empty(reply):
		d.unanswered = d.spentOn(reply)
		return nil, emptyTwice(first, reply)
	}
	return reply, nil
}

// spentOn is what a reply came to, with what was spent before and came to nothing. Each
// attempt costs what its own model does.
func (d *driver) spentOn(r *model.Reply) run.Spent {
	return d.unanswered.Add(run.Spent{Usage: r.Spent(), Cost: r.Cost(d.Prices)})
}

// paid is what attempts cost that failed, which is counted.
func (d *driver) paid(e *model.Error) run.Spent {
	spent := run.Spent{Usage: e.Usage, Cost: e.Cost(d.Prices)}
	d.meter.spend(spent.Usage, spent.Cost)
	return spent
}

// reply records what the model said. Calls of a reply that was cut off are
// dropped, since nobody knows what they would have become, and a message that
// no provider would take back is not kept.
func (d *driver) reply(step int, r *model.Reply) {
	m := r.Message
	m.Role = model.Assistant
	if m.Content == nil {
		m.Content = []model.Part{} // as it is when the message was stored and read back
	}
	dropped, names := r.DroppedCalls, r.DroppedNames
	if r.Finish == model.FinishLength || r.Finish == model.FinishContentFilter {
		dropped, names = dropped+len(m.ToolCalls), namesOf(names, m.ToolCalls)
		m.ToolCalls = nil
	}
	spent := d.spentOn(r)
	body := run.Replied{
		Step: step, Usage: spent.Usage, Cost: spent.Cost, ContextTokens: r.Usage.TotalTokens,
		Finish: r.Finish, Warnings: r.Warnings, Dropped: dropped, DroppedTools: shownNames(names),
		NoSchema: d.noSchema,
	}
	d.unanswered = run.Spent{}
	d.shown.Reset()
	d.thought = thought{}
	d.calling = callsShown{}
	m.Extra = kept(m.Extra)
	if hasContent(m.Content) || len(m.ToolCalls) > 0 {
		m.ToolCalls = d.nameCalls(step, m.ToolCalls)
		body.Message = &m
	}
	for _, w := range r.Warnings {
		d.Logger.Warn("model reply", "run", d.state.Run, "step", step, "warning", w)
	}
	d.emit(body)
}

// nameCalls gives each call an id of ours. It follows from the step and the
// position alone, so a replayed run has the same ids.
func (d *driver) nameCalls(step int, calls []model.ToolCall) []model.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	named := make([]model.ToolCall, len(calls))
	for i, c := range calls {
		if c.WireID == "" {
			c.WireID = c.ID
		}
		c.ID = d.freeID("call_" + strconv.Itoa(step) + "_" + strconv.Itoa(i+1))
		mendArguments(&c)
		c.Extra = kept(c.Extra)
		named[i] = c
	}
	return named
}

// mendArguments makes arguments of a call that are no object into one, keeps what
// they were, and reports whether they could not be read. None stand for no arguments.
func mendArguments(c *model.ToolCall) (mended bool) {
	if len(c.Arguments) == 0 {
		c.Arguments = []byte("{}")
		return false
	}
	problem := unfit(c.Arguments)
	if problem == "" {
		return false
	}
	if c.Invalid == nil {
		c.Invalid = &model.InvalidArgs{Raw: strings.ToValidUTF8(string(c.Arguments[:min(len(c.Arguments), maxRaw)]), ""), Problem: problem}
	}
	c.Arguments = []byte("{}")
	return true
}

// maxRaw is how much is kept of arguments that cannot be read, in bytes.
const maxRaw = 2 << 10

// unfit says why arguments are not what a model promises of them, or "". What is not
// JSON, and what is too deep, could not be stored.
func unfit(args json.RawMessage) string {
	switch {
	case !bytes.HasPrefix(bytes.TrimLeft(args, " \t\r\n"), []byte("{")) || !json.Valid(args):
		return "not a JSON object"
	case planner.TooDeep(args):
		return fmt.Sprintf("more than %d arrays and objects inside each other", planner.MaxDepth)
	}
	return ""
}

// kept is what a provider wants back that nobody here reads: all of it, or nothing where
// it could not be stored.
func kept(extra json.RawMessage) json.RawMessage {
	if !json.Valid(extra) || planner.TooDeep(extra) {
		return nil
	}
	return extra
}

// freeID returns id, or a variant of it when an earlier run of the same
// conversation has used it, and claims it.
func (d *driver) freeID(id string) string {
	free := id
	for n := 2; d.ids[free]; n++ {
		free = id + "_" + strconv.Itoa(n)
	}
	d.ids[free] = true
	return free
}

func (d *driver) claimIDs(msgs []model.Message) {
	for i := range msgs {
		for _, c := range msgs[i].ToolCalls {
			d.ids[c.ID] = true
		}
	}
}

// plan reads the reply of an open step. A reply that was cut off holds nothing
// to plan: the step is over.
func (d *driver) plan(ctx context.Context, t *run.Turn) {
	cut := t.Reply.Finish == model.FinishLength || t.Reply.Finish == model.FinishContentFilter
	if cut || t.Reply.Message == nil {
		d.emit(run.Ended{Step: t.Step})
		return
	}
	actions, finish, err := d.Planner.Plan(t.Reply.Message, d.defs)
	if unreadable, ok := errors.AsType[*planner.ParseError](err); ok {
		d.misread(ctx, t, unreadable)
		return
	}
	if err != nil {
		d.fail(err)
		return
	}
	for i := range actions {
		if actions[i].CallID == "" {
			actions[i].CallID = d.freeID("call_" + strconv.Itoa(t.Step) + "_" + strconv.Itoa(i+1))
		}
	}
	if d.goesOnAfterText() {
		finish = nil
	}
	planned := run.Planned{Step: t.Step, Actions: nonNil(actions), Finish: finish}
	d.judge(&planned)
	d.emit(planned)
}

func (d *driver) exitsOn(name string) bool {
	for _, e := range d.Exit {
		if e == name {
			return true
		}
	}
	return false
}

func nonNil(a []run.Action) []run.Action {
	if a == nil {
		return []run.Action{}
	}
	return a
}

// fail ends the run because the model gave no reply.
func (d *driver) fail(err error) {
	f := run.Failure{
		Kind: run.FailInternal, Message: oneLine(err), Partial: d.partial(), DroppedTools: d.calling.tools(),
	}
	spent := d.wasted(err)
	if me, ok := errors.AsType[*model.Error](err); ok {
		f.Kind = string(me.Kind)
		if me.Partial != "" {
			f.Partial = d.answering(me.Partial)
		}
	}
	d.emit(run.Failed{Err: f, Usage: spent.Usage, Cost: spent.Cost})
}

// wasted is what was spent and came to nothing, by a call that ended with err included.
func (d *driver) wasted(err error) run.Spent {
	spent := d.unanswered
	d.unanswered = run.Spent{}
	if me, ok := errors.AsType[*model.Error](err); ok {
		spent = spent.Add(d.paid(me))
	}
	return spent
}

// oneLine returns the text of err without line breaks.
func oneLine(err error) string {
	if err == nil {
		return ""
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
