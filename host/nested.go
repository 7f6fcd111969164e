package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// agentTool is the tool of an entry that names an agent.
func (h *Host) agentTool(i int) *binding {
	t, c := &h.manifest.Tools[i], h.kin.agents[i]
	return &binding{agent: c, returnDirect: t.ReturnDirect, writes: stateWrites(t), entry: t, info: ToolInfo{
		Name:        cmp.Or(t.Name, c.manifest.Name, nameOf(t.Agent)),
		Description: cmp.Or(t.Description, c.manifest.Description, c.described()),
		Parameters:  []byte(promptSchema), Digest: c.manifest.Digest,
		Agent: &AgentInfo{Manifest: t.Agent, Timeout: time.Duration(t.Limits.Timeout), Tools: c.Tools()},
	}}
}

// nameOf makes the name of a tool of the name of a manifest's file.
func nameOf(path string) string {
	base := filepath.Base(path)
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || (r >= '0' && r <= '9') || (r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, strings.TrimSuffix(base, filepath.Ext(base)))
	if name = strings.TrimLeft(name, "-0123456789"); strings.Trim(name, "_") == "" {
		return "agent"
	}
	return name[:min(len(name), 64)]
}

// maxDescribed is how many tools the description of an agent names.
const maxDescribed = 20

// described says what an agent is that says nothing of itself.
func (h *Host) described() string {
	who := "An agent"
	if h.manifest.Name != "" {
		who = "The agent " + h.manifest.Name
	}
	if len(h.order) == 0 {
		return who + ", which answers one prompt. It has no tools."
	}
	var names []string
	for i, b := range h.order {
		if i == maxDescribed {
			names = append(names, fmt.Sprintf("and %d more", len(h.order)-i))
			break
		}
		names = append(names, b.info.Name)
	}
	return who + ", which works on one prompt with tools of its own and answers it. Its tools: " + strings.Join(names, ", ") + "."
}

// errCallTimeout is the cause of a context that ended by limits.timeout of an entry.
var errCallTimeout = errors.New("the time of the call is over")

// ask runs the agent on the prompt of a call, in the run that the call names. When it
// returns nothing of that run is under way any more.
func (t *binding) ask(ctx context.Context, c agent.Call) agent.Result {
	prompt, err := readPrompt(c.Arguments)
	if err != nil {
		return agent.Result{Kind: run.KindInvalidArgs, Content: model.TextParts(err.Error())}
	}
	if d := t.info.Agent.Timeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, errCallTimeout)
		defer cancel()
	}
	id := c.NestedRun
	in := Text(prompt)
	in.ID = id
	start := time.Now()
	end, state, err := t.agent.nested(ctx, in, &c)
	r := t.result(ctx, end, &state)
	if err != nil {
		t.agent.log.Error("an agent could not be run", "run", id, "tool", c.Tool, "error", err)
		r = agent.Result{
			Kind: run.KindInternal, Content: model.TextParts("The agent could not be run: an internal fault of the host."),
			Detail: visible.Line(err.Error(), maxSaidOf),
		}
	}
	spent := state.Spent()
	spent.WallMS = float64(time.Since(start).Microseconds()) / 1000
	r.NestedRun, r.Spent = id, &spent
	return r
}

// nested runs the agent and passes on what happens. What it uses counts for the run
// that calls it as well. It returns the last event, and what the run has come to.
func (h *Host) nested(ctx context.Context, in Input, c *agent.Call) (end run.Body, s run.State, err error) {
	a, prompted, err := h.prepare(&in)
	if err != nil {
		return nil, s, err
	}
	session := h.engine.NewSession()
	defer session.Close()
	a.Box, a.Up = runBox{h.box, session}, c.Meter
	for ev, err := range a.Run(ctx, in.ID, prompted) {
		if err == nil {
			s, err = run.Apply(s, ev)
		}
		if err != nil {
			return nil, s, err
		}
		if c.Nested != nil {
			c.Nested(ev)
		}
		end = ev.Body
	}
	return end, s, nil
}

// Bounds of what is told of an agent that did not come to its end, in bytes.
const (
	maxSaidOf = 400      // why
	maxHeld   = 64 << 10 // what it had by then
)

// result is what the model is told of a run that the agent has made. What an agent has
// got when it is stopped is kept, and marked as an error so that it is not taken for
// an answer.
func (t *binding) result(ctx context.Context, end run.Body, s *run.State) agent.Result {
	if f, failed := end.(run.Failed); failed {
		why := visible.Line(strings.Join(strings.Fields(f.Err.Message), " "), maxSaidOf)
		return agent.Result{Kind: run.KindToolError, Content: model.TextParts("The agent failed: " + f.Err.Kind + ": " + why)}
	}
	f, _ := end.(run.Finished)
	switch {
	case t.agent.endsBy(f.ExitReason):
		return agent.Result{Content: model.TextParts(f.Output), Structured: f.Structured}
	case f.ExitReason == run.ExitInterrupted && errors.Is(context.Cause(ctx), errCallTimeout):
		return agent.Result{Kind: run.KindTimeout, Content: model.TextParts(fmt.Sprintf(
			"The agent was stopped after %s, the time of a call (limits.timeout).%s", t.info.Agent.Timeout, held(&f)))}
	case f.ExitReason == run.ExitInterrupted:
		return agent.Result{Kind: run.KindCancelled, Content: model.TextParts("The run ended before the agent had answered." + held(&f))}
	case s.Closing != nil && s.Closing.Message != nil:
		return agent.Result{Structured: f.Structured, Content: model.TextParts(fmt.Sprintf(
			"The agent was stopped before it was done (%s). Its answer from what it had by then:\n%s", f.ExitReason, f.Output))}
	}
	return agent.Result{Kind: run.KindToolError, Content: model.TextParts(fmt.Sprintf(
		"The agent was stopped before it had answered (%s).%s", f.ExitReason, held(&f)))}
}

// endsBy reports whether a run that ended for reason came to the end that the manifest
// wants.
func (h *Host) endsBy(reason run.ExitReason) bool {
	return reason == run.ExitText || reason == run.ExitReturnDirect ||
		(!reason.Reserved() && slices.Contains(h.manifest.Agent.ExitConditions, string(reason)))
}

// held is what a run that was stopped had come to: the text of a reply that broke off,
// or the last that its model said, or the last that a tool gave.
func held(f *run.Finished) string {
	text := f.Partial
	if f.ExitReason == run.ExitLength || f.ExitReason == run.ExitContentFilter {
		text = f.Output
	}
	if r := f.Result; r != nil && strings.TrimSpace(text) == "" {
		text = lastSaid(r)
	}
	if strings.TrimSpace(text) == "" {
		return " It had nothing by then."
	}
	if len(text) > maxHeld {
		text = strings.ToValidUTF8(text[:maxHeld], "") + visible.Ellipsis
	}
	return " What it had by then:\n" + text
}

func lastSaid(r *run.Result) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Role == model.Assistant && strings.TrimSpace(m.Text()) != "" {
			return m.Text()
		}
	}
	for _, s := range slices.Backward(r.Steps) {
		if !s.IsError {
			return s.Observation
		}
	}
	return ""
}

// asked calls the agent outside of a run.
func (t *binding) asked(ctx context.Context, args json.RawMessage, watch func(run.Body)) Outcome {
	c := agent.Call{ID: "call_0_1", Tool: t.info.Name, Arguments: args, NestedRun: run.NewID()}
	if watch != nil {
		var mu sync.Mutex
		c.Nested = func(e run.Event) {
			mu.Lock()
			defer mu.Unlock()
			watch(run.Nested{CallID: c.ID, Tool: c.Tool, Event: e})
		}
	}
	r := t.ask(ctx, c)
	out := Outcome{Kind: r.Kind, Detail: r.Detail, NestedRun: r.NestedRun}
	out.Result = abi.Result{IsError: r.Kind != "", StructuredContent: r.Structured, Content: []abi.Content{{Type: "text", Text: model.PartsText(r.Content)}}}
	return out
}
