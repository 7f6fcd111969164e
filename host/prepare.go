package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/spelling"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// prepare makes the loop of a run and its first event. It sets in.ID where there
// is none.
func (h *Host) prepare(in *Input) (*agent.Agent, run.Prompted, error) {
	if in.ID == "" {
		in.ID = run.NewID()
	}
	msgs, tools, err := h.given(in)
	if err != nil {
		return nil, run.Prompted{}, err
	}
	mod, err := h.models.forRun()
	if err != nil {
		return nil, run.Prompted{}, err
	}
	a := h.loop(in.Budget)
	a.Model, a.Output = mod, h.outputOf(mod)
	p := run.Prompted{Agent: h.manifest.Name, Manifest: h.manifest.Digest, Parts: h.parts, Messages: msgs, Tools: []string{}}
	p.Budget = keep(in.Budget)
	if p.State, err = h.givenState(in.State); err != nil {
		return nil, run.Prompted{}, err
	}
	for _, b := range tools {
		a.Tools = append(a.Tools, b.loopTool())
		p.Tools = append(p.Tools, b.info.Name)
	}
	return a, p, nil
}

// given returns what the model is given at first: messages and tools.
func (h *Host) given(in *Input) ([]model.Message, []*binding, error) {
	msgs, err := h.messages(in.Messages)
	if err != nil {
		return nil, nil, err
	}
	tools, err := h.inForce(in.Tools)
	if err == nil {
		err = h.canEnd(tools)
	}
	return msgs, tools, err
}

// canEnd checks that a run with these tools meets some exit condition. Without tools
// an answer ends it.
func (h *Host) canEnd(tools []*binding) error {
	exits := h.manifest.Agent.ExitConditions
	if len(tools) == 0 || slices.Contains(exits, string(run.ExitText)) {
		return nil
	}
	if slices.ContainsFunc(tools, func(b *binding) bool { return b.returnDirect || slices.Contains(exits, b.info.Name) }) {
		return nil
	}
	return fmt.Errorf("the run could not end: of its exit conditions (%s) none is text or a tool of this run", strings.Join(exits, ", "))
}

// Preview is what a run sends to the model at first.
type Preview struct {
	Messages []model.Message    `json:"messages"`
	Tools    []model.Definition `json:"tools"`
	// Output is the schema that the reply's text is to fit; absent: it is not asked for
	// in that way.
	Output *model.OutputSchema `json:"output,omitempty"`
	// ToolChoice names the tool that has to be called; empty: the model decides.
	ToolChoice string `json:"tool_choice,omitempty"`
}

// Preview returns what a run of in would send at first. It calls nothing.
func (h *Host) Preview(in Input) (Preview, error) {
	msgs, tools, err := h.given(&in)
	if err != nil {
		return Preview{}, err
	}
	a := h.loop(in.Budget)
	for _, b := range tools {
		a.Tools = append(a.Tools, b.loopTool())
	}
	mod, err := h.models.forRun()
	if err != nil {
		mod = nil // a run would say so; what it sends first can be told without
	}
	a.Output = h.outputOf(mod)
	req := a.Opening(msgs)
	p := Preview{Messages: req.Messages, Tools: req.Tools, Output: req.Output, ToolChoice: req.ToolChoice}
	if p.Tools == nil {
		p.Tools = []model.Definition{}
	}
	return p, nil
}

// loop returns the loop that the manifest asks for, without model, tools and the
// way to their modules.
func (h *Host) loop(b Budget) *agent.Agent {
	m := h.manifest
	a := &agent.Agent{
		Planner: plannerOf(m.Agent.Planner), Store: h.store,
		MaxSteps: *m.Agent.MaxSteps, MaxDuration: time.Duration(m.Agent.MaxDuration),
		Parallel: m.Agent.ParallelToolCalls, Exit: m.Agent.ExitConditions,
		FailOnError: m.Agent.OnToolError == "fail", TrimSteps: *m.Agent.TrimSteps, Generate: m.Agent.EarlyStopping == "generate", Now: h.now, Logger: h.log,
	}
	a.OnParse = agent.OnParse{Fail: m.Agent.OnParseError.Word == "fail", Text: m.Agent.OnParseError.Text, Module: h.parseError}
	a.NoSteps = !*m.Agent.ReturnSteps
	a.State = h.state
	a.SearchOver = *m.Agent.ToolSearchOver
	a.Limits = agent.Limits{
		Tokens: m.Agent.MaxTotalTokens, Cost: m.Agent.MaxCost, Calls: m.Agent.MaxToolCalls, CallsOf: m.Agent.MaxCallsPerTool,
		Repeats: *m.Agent.MaxRepeatedCalls,
	}
	a.Prices = pricesOf(m.Model.Prices)
	budget(a, &b)
	return a
}

// keep returns a budget for the record of the run, nil for none.
func keep(b Budget) *Budget {
	if b == (Budget{}) {
		return nil
	}
	if b.MaxSteps != nil { // which is the caller's
		steps := *b.MaxSteps
		b.MaxSteps = &steps
	}
	return &b
}

// budget puts the limits of a run in place of the manifest's.
func budget(a *agent.Agent, b *Budget) {
	if b.MaxSteps != nil {
		a.MaxSteps = *b.MaxSteps
	}
	a.Limits.Tokens = cmp.Or(b.MaxTotalTokens, a.Limits.Tokens)
	a.Limits.Cost = cmp.Or(b.MaxCost, a.Limits.Cost)
	a.Limits.Calls = cmp.Or(b.MaxToolCalls, a.Limits.Calls)
	if b.MaxDuration > 0 {
		a.MaxDuration = b.MaxDuration
	}
}

// messages returns what the model is given at first: the system prompt, then
// what the caller says. The loop repairs what a provider would refuse.
func (h *Host) messages(given []model.Message) ([]model.Message, error) {
	var msgs []model.Message
	if p := h.manifest.Agent.SystemPrompt; p != "" {
		msgs = append(msgs, model.Text(model.System, p))
	}
	msgs = append(msgs, given...)
	if !slices.ContainsFunc(msgs, func(m model.Message) bool { return m.Role == model.User || m.Role == model.System }) {
		return nil, errors.New("nothing to answer: a run needs a user message or a system prompt (agent.system_prompt)")
	}
	for i := range msgs {
		switch msgs[i].Role {
		case model.System, model.User, model.Assistant, model.Tool:
		default:
			return nil, fmt.Errorf("message %d has no role that there is: %q", i+1, msgs[i].Role)
		}
	}
	return msgs, nil
}

// plannerTools is the planner that asks for tools by the provider's own calls.
const plannerTools = "tools"

func plannerOf(name string) planner.Planner {
	switch name {
	case "react":
		return planner.React{}
	case "json":
		return planner.JSON{}
	}
	return planner.Tools{}
}

// inForce returns the tools of a run: all for nil, else those named, in the
// order of the manifest.
func (h *Host) inForce(names []string) ([]*binding, error) {
	if names == nil {
		return h.order, nil
	}
	for _, n := range names {
		if h.box[n] == nil {
			return nil, h.unknown(n)
		}
	}
	var out []*binding
	for _, b := range h.order {
		if slices.Contains(names, b.info.Name) {
			out = append(out, b)
		}
	}
	return out, nil
}

// unknown says that there is no tool of this name, and why or which there are.
func (h *Host) unknown(name string) error {
	for _, said := range h.said {
		if why := reason(name, said); why != "" {
			return fmt.Errorf("there is no tool %s%s", strconv.Quote(name), why)
		}
	}
	names := make([]string, len(h.order))
	for i, b := range h.order {
		names[i] = b.info.Name
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no tool %s: the manifest has none", strconv.Quote(name))
	}
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no tool %s, did you mean %s? The tools are: %s", strconv.Quote(name), strconv.Quote(near), strings.Join(names, ", "))
	}
	return fmt.Errorf("there is no tool %s; the tools are: %s", strconv.Quote(name), strings.Join(names, ", "))
}

// checkNames checks that the tools which the agent names are there, so that every exit
// condition can be met and every limit holds for something.
func (h *Host) checkNames() error {
	var errs []error
	for i, e := range h.manifest.Agent.ExitConditions {
		field := fmt.Sprintf("agent.exit_conditions[%d]", i)
		switch {
		case e == string(run.ExitText):
		case h.box[e] == nil:
			errs = append(errs, h.manifest.Fault(field, fmt.Errorf("exit condition: %w", h.unknown(e))))
		case run.ExitReason(e).Reserved():
			errs = append(errs, h.manifest.Fault(field, fmt.Errorf("exit condition: %q is a reason of the host: use rename", e)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.manifest.Agent.MaxCallsPerTool)) {
		if h.box[name] == nil {
			errs = append(errs, h.manifest.Fault(fmt.Sprintf("agent.max_calls_per_tool[%q]", name), h.unknown(name)))
		}
	}
	return errors.Join(errs...)
}

// loopTool is the tool as the loop knows it. What a module says of itself can
// only make us stricter, so its word is not enough to repeat a call after a crash.
func (b *binding) loopTool() agent.Tool {
	t := agent.Tool{
		Definition: model.Definition{Name: b.info.Name, Description: b.info.Description, Parameters: b.info.Parameters},
		Schema:     cmp.Or(b.shown, b.schema), Full: b.schema, Reads: b.reads, Writes: b.writes, ReturnDirect: b.returnDirect, Module: b.info.Digest, Polling: b.entry.Polling,
	}
	if b.agent != nil {
		t.Fit, t.Nested = b.fit, true
	}
	if b.info.Instances != "" { // a guest that lives for the run, which all tools of the module share
		t.Turns = b.info.Digest
	}
	return t
}
