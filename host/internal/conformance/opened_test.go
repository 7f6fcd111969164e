package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

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
