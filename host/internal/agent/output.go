package agent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Output is the value that a run is to give instead of a text.
type Output struct {
	Schema   *schema.Schema // of an object
	Asked    model.OutputSchema
	Strategy Strategy
	// Otherwise is taken where the endpoint refuses the schema of [Native]. Empty: the
	// run fails then.
	Otherwise Strategy
	Attempts  int // outputs in a row that may not fit until the run ends; at least 1
}

// Strategy is how a model is asked for a value.
type Strategy string

// The strategies. Native and ByTool are for models that are asked by [planner.Tools].
const (
	Native   Strategy = "native" // the provider holds the reply's text to the schema
	ByTool   Strategy = "tool"   // a tool that is none takes the value as its arguments
	ByPrompt Strategy = "prompt" // the schema stands in the system prompt
)

// How a model is told of a schema, which follows.
const (
	promptPlain = "Your final answer must be one JSON object that fits this JSON Schema, with nothing in front of it or behind it:\n"
	promptJSON  = `The "action_input" of your final answer must be one JSON object that fits this JSON Schema:` + "\n"
)

// outputTool is the name of the tool that is none.
const outputTool = "submit_output"

// strategy is how the model is asked, "" when it is not.
func (d *driver) strategy() Strategy {
	switch {
	case d.Output == nil:
		return ""
	case d.Output.Strategy == Native && d.Output.Otherwise != "" && (d.noSchema || d.state.NoSchema):
		return d.Output.Otherwise
	}
	return d.Output.Strategy
}

// fallBack gives up what the endpoint refused, and reports whether there is another
// way to ask. The next reply tells of it, so that a run that is resumed asks likewise.
func (d *driver) fallBack(err error) bool {
	if !errors.Is(err, model.ErrOutputSchema) || d.strategy() != Native || d.Output.Otherwise == "" {
		return false
	}
	d.Logger.Info("the endpoint takes no output schema", "run", d.state.Run, "instead", d.Output.Otherwise, "error", oneLine(err))
	d.noSchema = true
	d.offer = newOffer(d)
	d.notDone = model.Message{}
	return true
}

// outputDefinition is the tool that takes the output.
func (d *driver) outputDefinition() model.Definition {
	return model.Definition{
		Name: d.outputName, Parameters: d.Output.Asked.Schema,
		Description: "Gives the final output and ends the work. Call it when everything else is done, once and alone.",
	}
}

// briefed is the conversation with what the model is told of the schema in its system
// prompt. It is one message, since some providers take no second, and one value, so
// that what is kept of it is found again.
func (d *driver) briefed(msgs []model.Message) []model.Message {
	if d.strategy() != ByPrompt {
		return msgs
	}
	system := len(msgs) > 0 && msgs[0].Role == model.System
	if d.brief.Content == nil {
		var parts []model.Part
		if system {
			parts = append(parts, msgs[0].Content...)
		}
		if n := len(parts); n > 0 && parts[n-1].Type == model.TextPart {
			parts[n-1].Text += "\n\n" + d.said()
		} else {
			parts = append(parts, model.TextParts(d.said())...)
		}
		d.brief = model.Message{Role: model.System, Content: parts}
	}
	out := make([]model.Message, 0, len(msgs)+1)
	out = append(out, d.brief)
	if system {
		msgs = msgs[1:]
	}
	return append(out, msgs...)
}

// bare is the planner of a run that has an output and no tools: the text of a reply is
// the output, whatever labels are in it, and what a text planner has written before is
// sent in its form.
type bare struct{ planner.React }

// Plan implements [planner.Planner].
func (bare) Plan(reply *model.Message, _ []model.Definition) ([]run.Action, *run.Finish, error) {
	return planner.Tools{}.Plan(reply, nil)
}

// Answer implements [planner.Planner].
func (bare) Answer(reply *model.Message) (*run.Finish, error) { return planner.Tools{}.Answer(reply) }

// plain returns an agent whose replies can be an output alone.
func (a *Agent) plain() *Agent {
	if _, native := a.Planner.(planner.Tools); native || a.Output == nil || len(a.Tools) > 0 {
		return a
	}
	b := *a
	b.Planner = bare{}
	return &b
}

// said is what the system prompt says of the schema.
func (d *driver) said() string {
	if _, ok := d.Planner.(planner.JSON); ok {
		return promptJSON + string(d.Output.Asked.Schema)
	}
	return promptPlain + string(d.Output.Asked.Schema)
}

// shape adds to a request what the strategy needs. A tool is forced where there is no
// other thing to do, and for the last attempt; a last answer is a text.
func (d *driver) shape(req *model.Request, final bool) {
	s := d.strategy()
	if s == Native {
		req.Output = &d.Output.Asked
	}
	if s == ByTool && !final && (len(d.Tools) == 0 || d.state.Refused > 0 && d.state.Refused >= d.Output.Attempts-1) {
		req.ToolChoice = d.outputName
	}
	if n := len(req.Messages); final && n > 0 && (s == Native || s == ByTool) {
		last := req.Messages[n-1]
		last.Content = model.TextParts(last.Text() + "\n" + promptPlain + string(d.Output.Asked.Schema))
		req.Messages[n-1] = last // the planner's own message, in a slice of its own
	}
}

// judge finds the run's output in a reply that was read: the actions that are outputs
// and no calls, and the value that its text is, or why it is none.
func (d *driver) judge(p *run.Planned) {
	if d.Output == nil {
		return
	}
	for _, a := range p.Actions {
		if d.outputName != "" && a.Tool == d.outputName {
			p.Outputs = append(p.Outputs, a.CallID)
		}
	}
	if p.Finish == nil {
		return
	}
	v, err := d.valueOf(p.Finish)
	if err != nil {
		p.Finish, p.Feedback = nil, d.declined(err)
		return
	}
	p.Structured = v
	p.Finish = &run.Finish{ReturnValues: map[string]any{"output": string(v)}, Log: p.Finish.Log}
}

// valueOf is the output that a finish is.
func (d *driver) valueOf(f *run.Finish) (json.RawMessage, error) {
	text := outputOf(f)
	if _, ok := f.ReturnValues["output"].(string); !ok {
		return d.fit([]byte(text))
	}
	v, err := planner.Value(text)
	if err != nil {
		return nil, err
	}
	return d.fit(v)
}

// declined tells the model why its text was not taken. Where it has not seen the
// schema, which some endpoints take and do not heed, it is shown.
func (d *driver) declined(err error) string {
	said := "Your reply was not taken as the final output. " + why(err)
	switch d.strategy() {
	case ByTool:
		return said + "\nCall the tool " + d.outputName + ", with arguments that fit its schema, to give the output."
	case Native:
		return said + "\n" + promptPlain + string(d.Output.Asked.Schema)
	default:
		return said + "\nGive the final answer once more, as one JSON object that fits the schema."
	}
}

// why says in words for the model what is wrong with an output.
func why(err error) string {
	if e, ok := errors.AsType[*planner.ParseError](err); ok {
		return e.Problem
	}
	if u, ok := errors.AsType[unreadable](err); ok {
		return string(u)
	}
	if v, ok := errors.AsType[*schema.Violation](err); ok {
		parts := make([]string, len(v.Problems))
		for i, p := range v.Problems {
			if p.Field == "" {
				p.Field = "the output"
			}
			parts[i] = p.Field + ": " + p.Why
		}
		if v.More {
			parts = append(parts, "and more")
		}
		return "It does not fit the schema: " + strings.Join(parts, "; ") + "."
	}
	return "It does not fit the schema."
}

// Opening returns the first request of a run that begins with these messages.
func (a *Agent) Opening(msgs []model.Message) *model.Request {
	msgs = newDriver(a, run.State{}, nil).opened(msgs)
	return newDriver(a, run.State{Messages: msgs, Given: len(msgs)}, nil).asked(false)
}
