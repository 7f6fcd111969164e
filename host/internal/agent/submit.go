package agent

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// fit returns a value as it fits the schema, without spaces.
func (d *driver) fit(v json.RawMessage) (json.RawMessage, error) {
	v, err := d.Output.Schema.Fit(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// submit answers the outputs of a step, after all its calls have their results. One
// is taken if it alone fits: which of two is meant cannot be told.
func (d *driver) submit(t *run.Turn) {
	values := make([]json.RawMessage, len(t.Slots))
	faults := make([]error, len(t.Slots))
	fitting := 0
	for i, a := range t.Plan.Actions {
		if !t.Output(a.CallID) {
			continue
		}
		if values[i], faults[i] = d.submitted(t.Reply.Message, i, a); faults[i] == nil {
			fitting++
		}
	}
	for i, a := range t.Plan.Actions {
		switch {
		case !t.Output(a.CallID) || t.Slots[i].Returned != nil:
		case faults[i] != nil:
			d.emit(refusal(t.Step, a, run.KindInvalidArgs, "This is not taken as the output. "+why(faults[i])))
		case fitting > 1:
			d.emit(refusal(t.Step, a, run.KindInvalidArgs, fmt.Sprintf("There are %d outputs that fit in this reply, and none was taken. Give one.", fitting)))
		default:
			d.emit(run.Returned{
				Step: t.Step, CallID: a.CallID, Tool: a.Tool,
				Content: model.TextParts("The output was taken."), Structured: values[i],
			})
		}
	}
}

// submitted is the value of the action at i.
func (d *driver) submitted(m *model.Message, i int, a run.Action) (json.RawMessage, error) {
	if i < len(m.ToolCalls) && m.ToolCalls[i].Invalid != nil {
		return nil, unreadable("The arguments could not be read: " + m.ToolCalls[i].Invalid.Problem + ".")
	}
	if d.Output == nil { // the run was begun by an agent that has one
		return nil, unreadable("No output is asked for any more.")
	}
	return d.fit(a.Input)
}

// handedIn is the output that a last answer gives in a call. It is asked for as a text,
// but a model that was shown the tool for it all along may go on using that. As in a
// step, one is taken if it alone fits, and none of a reply that was cut off.
func (d *driver) handedIn(r *model.Reply) (value json.RawMessage, ok bool) {
	if d.outputName == "" || r.Finish == model.FinishLength || r.Finish == model.FinishContentFilter {
		return nil, false
	}
	fitting := 0
	for _, c := range r.Message.ToolCalls {
		if c.Name != d.outputName || c.Invalid != nil || mendArguments(&c) {
			continue
		}
		if v, err := d.fit(c.Arguments); err == nil {
			value = v
			fitting++
		}
	}
	return value, fitting == 1
}

// delivered ends the run with the output that its last step gave, and reports whether
// there is one.
func (d *driver) delivered(t *run.Turn) bool {
	r := t.Taken()
	if r == nil {
		return false
	}
	d.emit(run.Finished{ExitReason: run.ExitText, Output: string(r.Structured), Structured: r.Structured})
	return true
}

// ending ends the run with the result of a tool. The model cannot mend it, so a result
// that does not fit the schema stays the text that it is.
func (d *driver) ending(reason run.ExitReason, r *run.Returned) run.Finished {
	f := run.Finished{ExitReason: reason, Output: model.PartsText(r.Content)}
	if d.Output == nil {
		return f
	}
	for _, raw := range []json.RawMessage{r.Structured, json.RawMessage(f.Output)} {
		if v, err := d.fit(raw); err == nil {
			f.Output, f.Structured = string(v), v
			break
		}
	}
	return f
}

// spoiled says that the outputs in a row that did not fit are as many as may be.
func (d *driver) spoiled() bool {
	return d.Output != nil && d.state.Refused >= max(1, d.Output.Attempts)
}

// despair ends a run whose model gives no output that fits, with what it gave last.
// To ask for a last answer would be one attempt more.
func (d *driver) despair() {
	d.emit(run.Finished{
		ExitReason: run.ExitParseErrors, Partial: lastOutput(d.state.Turn),
		Output: "The agent stopped because the model gave no output that fits the schema that was asked for.",
	})
}

// lastOutput is what a step gave as the output: the last one that it submitted, else its
// text.
func lastOutput(t *run.Turn) string {
	if t == nil || t.Plan == nil || t.Reply.Message == nil {
		return ""
	}
	last := t.Reply.Message.Text()
	for _, a := range t.Plan.Actions {
		if t.Output(a.CallID) {
			last = string(a.Input)
		}
	}
	return last
}

// unreadable is why an output is none, in words for the model.
type unreadable string

func (u unreadable) Error() string { return string(u) }
