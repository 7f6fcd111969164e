package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// maxUnread is how many replies in a row may not be read before the run ends. The
// model is told each time what was wrong.
const maxUnread = 3

// misread records a reply that no action could be read from. It is kept as an action
// that stands for it, with what the model is told as its input.
func (d *driver) misread(ctx context.Context, t *run.Turn, e *planner.ParseError) {
	a := e.Action(d.feedback(ctx, e))
	a.CallID = d.freeID("call_" + strconv.Itoa(t.Step) + "_1")
	d.emit(run.Planned{Step: t.Step, Actions: []run.Action{a}, Unreadable: true})
}

// maxFeedback bounds what a module has the model be told, in bytes.
const maxFeedback = 16 << 10

// feedback is what the model is told of a reply that could not be read.
func (d *driver) feedback(ctx context.Context, e *planner.ParseError) string {
	own := e.Feedback(d.unread() + 1)
	switch on := &d.OnParse; {
	case on.Module != nil:
		text, err := on.Module(ctx, own, e.Raw)
		if err != nil {
			d.Logger.Warn("on_parse_error: the module gave no text", "run", d.state.Run, "error", oneLine(err))
			return own
		}
		if len(text) > maxFeedback {
			text = strings.ToValidUTF8(text[:maxFeedback], "")
		}
		return planner.Quoted(d.Planner, text) // a guest has written it, of what a model has
	case on.Text != "":
		return on.Text
	}
	return own
}

// complain answers the action that stands for such a reply.
func (d *driver) complain(t *run.Turn) {
	a := t.Plan.Actions[0]
	var text string
	if json.Unmarshal(a.Input, &text) != nil {
		text = "Your last reply could not be read, and nothing was done."
	}
	d.emit(refusal(t.Step, a, run.KindParseError, text))
}

// mostUnread is how many replies in a row may not be read before the run ends.
func (d *driver) mostUnread() int {
	if d.OnParse.Fail {
		return 1
	}
	return maxUnread
}

// unread is how many replies in a row, up to the last one, could not be read.
func (d *driver) unread() int {
	n := 0
	for i := len(d.state.Steps) - 1; i >= d.state.Since.Steps && d.state.Steps[i].ErrorKind == run.KindParseError; i-- {
		n++
	}
	return n
}

// giveUp ends a run whose model does not keep to its form: with a plain answer, if it
// gives one when it is asked for that, and with what it said last.
func (d *driver) giveUp(ctx context.Context) {
	if !d.OnParse.Fail && d.state.Closing == nil && !d.lastAnswer(ctx) {
		return
	}
	out, ok := d.closed()
	if !ok {
		out = "The agent stopped because the model's replies could not be read."
	}
	last := d.state.Steps[len(d.state.Steps)-1].Action.Log
	d.emit(run.Finished{ExitReason: run.ExitParseErrors, Output: out, Partial: last})
}

// closed is the answer that was asked for at a limit, if there is one.
func (d *driver) closed() (string, bool) {
	r := d.state.Closing
	if r == nil || r.Message == nil {
		return "", false
	}
	f, err := d.answerOf(r.Message)
	if err != nil {
		return "", false
	}
	if d.Output == nil {
		return outputOf(f), true
	}
	v, err := d.valueOf(f)
	return string(v), err == nil
}

// outputOf is the answer of a finish: its text, or JSON where it is none.
func outputOf(f *run.Finish) string {
	v := f.ReturnValues["output"]
	if text, ok := v.(string); ok || v == nil {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the answer is read by people too, and is no page
	if err := enc.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readable says that a last answer is one.
func (d *driver) readable(m *model.Message) bool {
	_, err := d.answerOf(m)
	return err == nil
}

// answerOf reads a last answer. One in the form of objects may be the bare value that is
// asked for, where it fits and is no action: there is no other attempt to say so.
func (d *driver) answerOf(m *model.Message) (*run.Finish, error) {
	f, err := d.Planner.Answer(m)
	if _, objects := d.Planner.(planner.JSON); err == nil || !objects || d.Output == nil || len(m.ToolCalls) > 0 {
		return f, err
	}
	v, none := planner.Value(m.Text())
	var action struct{ Action json.RawMessage }
	if none != nil || json.Unmarshal(v, &action) != nil || action.Action != nil {
		return nil, err
	}
	if _, unfit := d.fit(v); unfit != nil {
		return nil, err
	}
	return &run.Finish{ReturnValues: map[string]any{"output": string(v)}, Log: m.Text()}, nil
}
