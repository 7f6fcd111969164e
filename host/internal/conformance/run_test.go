package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// played is a run of a case.
type played struct {
	refused error // why there was no run; nil: there was one
	events  []run.Event
	result  *run.Result
	asked   []model.Request
	log     []any
	elapsed time.Duration
}

// play runs a case. An agent that cannot be made is an outcome too.
func (c *testCase) play(t *testing.T, streams bool) *played {
	t.Helper()
	begin, tools, err := c.opened(t)
	if err != nil {
		return &played{refused: err}
	}
	loop, b, err := c.loop(tools)
	if err != nil {
		return &played{refused: err}
	}
	m := &scripted{script: c.Script, streams: streams}
	loop.Model = m
	p := &played{}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for e, err := range loop.Run(t.Context(), "r", begin) {
			if err != nil {
				t.Fatalf("%s: the store failed: %v", c.ID, err)
			}
			p.events = append(p.events, e)
		}
		p.elapsed = time.Since(start)
	})
	switch last := p.events[len(p.events)-1].Body.(type) {
	case run.Finished:
		p.result = last.Result
	case run.Failed:
		p.result = last.Result
	default:
		t.Fatalf("%s: the last event is %T", c.ID, last)
	}
	p.asked, p.log = m.asked, b.log
	for i := range p.asked {
		if id := unanswered(p.asked[i].Messages); id != "" {
			t.Errorf("%s: call %s has not exactly one result when the model is asked the %d. time", c.ID, id, i+1)
		}
	}
	return p
}

// outcome is what came of the case, in its terms, and what is wrong with it in
// itself: it has to be the same whether or not the model streams.
func (c *testCase) outcome(t *testing.T) (got map[string]any, wrong string) {
	t.Helper()
	got = c.ours(c.play(t, false))
	whole, streamed := maps.Clone(got), c.ours(c.play(t, true))
	for _, m := range []map[string]any{whole, streamed} {
		l, _ := m["tool_log"].([]any)
		m["tool_log"] = sorted(l) // those of one step are made at once
	}
	if d := differ(whole, streamed); d != "" {
		return got, "streamed: " + d
	}
	return got, ""
}

// unanswered is a call that is not followed by its one result, in the order of the
// calls, or a result without a call. Providers take no conversation that has one.
func unanswered(msgs []model.Message) string {
	var open []string
	for i := range msgs {
		m := &msgs[i]
		switch {
		case m.Role == model.Tool && (len(open) == 0 || open[0] != m.CallID):
			return m.CallID
		case m.Role == model.Tool:
			open = open[1:]
			continue
		case len(open) > 0:
			return open[0]
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return open[0]
	}
	return ""
}

// their default, where a case says nothing
const maxAgentSteps = 100

// loop is our loop with the settings of the case.
func (c *testCase) loop(tools []toolSpec) (*agent.Agent, *box, error) {
	s := &c.Agent
	b := &box{tools: make(map[string]toolSpec)}
	a := &agent.Agent{
		Planner: plannerOf(s), Box: b, Store: new(run.Memory),
		MaxSteps: maxAgentSteps, Parallel: 4, Exit: c.exits(), FailOnError: s.Raise, TrimSteps: s.TrimSteps,
		MaxDuration: time.Duration(s.MaxMS) * time.Millisecond, Generate: s.Early == "generate",
		Limits: s.limits(), OnParse: s.onParse(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	if s.MaxSteps != nil {
		a.MaxSteps = *s.MaxSteps
	}
	if s.Parallel > 0 {
		a.Parallel = s.Parallel
	}
	for _, spec := range tools {
		tool := agent.Tool{
			Definition:   model.Definition{Name: spec.Name, Description: spec.Description, Parameters: spec.parameters()},
			ReturnDirect: spec.ReturnDirect,
		}
		if spec.Parameters != nil || spec.Kind == "res" || spec.Kind == "add" {
			compiled, err := schema.Compile(spec.parameters())
			if err != nil {
				return nil, nil, err
			}
			tool.Schema = compiled
		}
		if err := spec.stateOf(&tool); err != nil {
			return nil, nil, err
		}
		a.Tools = append(a.Tools, tool)
		b.tools[spec.Name] = spec
	}
	return a, b, c.state(a)
}

// limits are those of tool calls, and the budget of tokens, which is a hook of
// theirs and a limit of ours.
func (s *agentSpec) limits() agent.Limits {
	l := agent.Limits{Calls: s.MaxToolCalls["*"], CallsOf: s.MaxToolCalls}
	for _, h := range s.Hooks["before_llm"] {
		if n, ok := h["max_total_tokens"].(float64); ok {
			l.Tokens = int64(n)
		}
	}
	return l
}

// onParse is what happens when a reply cannot be read.
func (s *agentSpec) onParse() agent.OnParse {
	var told struct{ Text string }
	if json.Unmarshal(s.OnParse, &told) != nil {
		return agent.OnParse{Fail: string(s.OnParse) == `"fail"`}
	}
	return agent.OnParse{Text: told.Text}
}

// parameters is the schema of a tool's arguments.
func (t *toolSpec) parameters() json.RawMessage {
	switch {
	case t.Parameters != nil:
		return t.Parameters
	case t.Kind == "res":
		return json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`)
	case t.Kind == "add":
		return json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a"]}`)
	}
	return json.RawMessage(`{"type":"object"}`)
}

// exits is what ends a run. Their text reply always does, so text is a condition
// of every case, unless the case is about just that.
func (c *testCase) exits() []string {
	exits := slices.Clone(c.Agent.Exit)
	if !c.asWritten && !slices.Contains(exits, string(run.ExitText)) {
		exits = append(exits, string(run.ExitText))
	}
	return exits
}

func plannerOf(s *agentSpec) planner.Planner {
	switch {
	case s.Finish != nil:
		return saying{planner.Tools{}, s.Finish}
	case s.Planner == "react":
		return planner.React{}
	case s.Planner == "json":
		return planner.JSON{}
	}
	return planner.Tools{}
}

// saying is a planner that finishes with these values, whatever the model says.
type saying struct {
	planner.Planner
	values map[string]any
}

// Plan implements [planner.Planner].
func (s saying) Plan(m *model.Message, _ []model.Definition) ([]run.Action, *run.Finish, error) {
	return nil, &run.Finish{ReturnValues: s.values, Log: m.Text()}, nil
}

// opened is what a run of the case begins with: its first event, and the tools
// that are in force. Where that is the host's to decide, the host is asked.
func (c *testCase) opened(t *testing.T) (run.Prompted, []toolSpec, error) {
	t.Helper()
	var p run.Prompted
	for i := range c.Messages {
		m, err := given(&c.Messages[i])
		if err != nil {
			return p, nil, err
		}
		p.Messages = append(p.Messages, m)
	}
	if c.Agent.UserPrompt != nil { // a template is a text like any other
		p.Messages = append(p.Messages, model.Text(model.User, *c.Agent.UserPrompt))
	}
	tools, names, err := c.chosen()
	if err != nil {
		return p, nil, err
	}
	for key, v := range c.first() {
		if p.State == nil {
			p.State = make(map[string]json.RawMessage)
		}
		p.State[key] = mustJSON(v)
	}
	p, err = c.askHost(t, p, tools, names)
	if err != nil {
		return p, nil, err
	}
	if names != nil {
		tools = slices.DeleteFunc(slices.Clone(tools), func(s toolSpec) bool { return !slices.Contains(names, s.Name) })
	}
	return p, tools, nil
}

// chosen is the tools of the agent, and the names of those that are wanted for
// the run: nil is all of them. Tools that are given with the run are those of an
// agent of its own.
func (c *testCase) chosen() (tools []toolSpec, names []string, err error) {
	if len(c.RunTools) == 0 {
		return c.Agent.Tools, nil, nil
	}
	if json.Unmarshal(c.RunTools, &names) == nil {
		return c.Agent.Tools, names, nil
	}
	err = json.Unmarshal(c.RunTools, &tools)
	return tools, nil, err
}

// needsHost says that it is the host that decides how the run of the case begins.
func (c *testCase) needsHost(tools []toolSpec, names []string) bool {
	seen := make(map[string]bool)
	for _, s := range tools {
		if seen[s.Name] {
			return true
		}
		seen[s.Name] = true
	}
	early := c.Agent.Early != "" && c.Agent.Early != "force" && c.Agent.Early != "generate"
	return c.Agent.SystemPrompt != nil || names != nil || len(c.Messages) == 0 || c.needsState() || early
}

var errNothingOf = errors.New("the case asks for what this runner does not know")

// unknown says what of a case cannot be run, so that it is no silent pass.
func (c *testCase) unknown() error {
	for _, s := range c.Agent.Tools {
		switch s.Kind {
		case "echo", "const", "args", "fail", "fail_if", "len", "res", "add":
		default:
			return fmt.Errorf("%w: a tool of the kind %q", errNothingOf, s.Kind)
		}
	}
	for _, s := range c.Agent.State {
		if _, err := mergeOf(s.Handler); err != nil {
			return err
		}
	}
	for _, s := range c.Agent.Tools {
		for _, target := range s.OutputsToState {
			if _, err := mergeOf(target.Handler); err != nil {
				return err
			}
		}
	}
	if p := c.Agent.Planner; p != "" && !strings.Contains(" tools react json ", " "+p+" ") {
		return fmt.Errorf("%w: a planner %q", errNothingOf, p)
	}
	return nil
}
