package conformance

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

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
	return a, b, errors.Join(c.state(a), c.output(a))
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
