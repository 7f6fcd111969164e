package conformance

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/run"
)

// types are the types that state keys of the cases have, in our schemas. Another
// is anything.
var types = map[string]string{"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}

// mergeOf is the merge rule that a handler stands for.
func mergeOf(handler string) (run.Merge, error) {
	switch handler {
	case "":
		return "", nil
	case "replace", "replace_values":
		return run.Replace, nil
	case "append", "merge_lists":
		return run.Append, nil
	}
	return "", fmt.Errorf("%w: a merge handler %q", errNothingOf, handler)
}

// keySchema is the schema of a key's value, nil for anything.
func (s stateSpec) keySchema() map[string]any {
	if t := types[s.Type]; t != "" {
		return map[string]any{"type": t}
	}
	return nil
}

// merge is the rule of a key: lists are put one behind the other, all else is
// replaced.
func (s stateSpec) merge() run.Merge {
	if m, err := mergeOf(s.Handler); err == nil && m != "" {
		return m
	}
	if s.Type == "list" {
		return run.Append
	}
	return run.Replace
}

// state gives the loop the keys of the case's state.
func (c *testCase) state(a *agent.Agent) error {
	for key, s := range c.Agent.State {
		k := agent.StateKey{Merge: s.merge()}
		if of := s.keySchema(); of != nil {
			compiled, err := schema.CompileValue(mustJSON(of))
			if err != nil {
				return err
			}
			k.Schema = compiled
		}
		if a.State == nil {
			a.State = make(map[string]agent.StateKey)
		}
		a.State[key] = k
	}
	return nil
}

// stateOf gives a tool what it reads of the state and writes to it. The model does
// not see what comes from there.
func (t *toolSpec) stateOf(tool *agent.Tool) error {
	for key, argument := range t.InputsFromState {
		tool.Reads = append(tool.Reads, agent.StateRead{Key: key, Argument: argument})
	}
	for key, target := range t.OutputsToState {
		m, err := mergeOf(target.Handler)
		if err != nil {
			return err
		}
		tool.Writes = append(tool.Writes, agent.StateWrite{Key: key, From: target.Source, Merge: m})
	}
	if len(tool.Reads) == 0 || tool.Schema == nil {
		return nil
	}
	var shown map[string]any
	if err := json.Unmarshal(t.parameters(), &shown); err != nil {
		return err
	}
	properties, _ := shown["properties"].(map[string]any)
	required, _ := shown["required"].([]any)
	for _, r := range tool.Reads {
		delete(properties, r.Argument)
		required = slices.DeleteFunc(required, func(v any) bool { return v == r.Argument })
	}
	if required != nil {
		shown["required"] = required
	}
	compiled, err := schema.Compile(mustJSON(shown))
	if err != nil {
		return err
	}
	tool.Full, tool.Schema = tool.Schema, compiled
	tool.Definition.Parameters = mustJSON(shown)
	return nil
}

// first is what the keys of the state have at first. Values of other names are for
// templates, and theirs take no notice of them.
func (c *testCase) first() map[string]any {
	out := make(map[string]any)
	for key, v := range c.Run {
		if _, ok := c.Agent.State[key]; ok {
			out[key] = v
		}
	}
	return out
}

// manifestState is the state of the case as a manifest has it.
func (c *testCase) manifestState() map[string]any {
	out := make(map[string]any)
	for key, s := range c.Agent.State {
		k := map[string]any{"merge": string(s.merge())}
		if of := s.keySchema(); of != nil {
			k["schema"] = of
		}
		out[key] = k
	}
	return out
}

// manifestState is what a manifest says of a tool and the state.
func (t *toolSpec) manifestState(entry map[string]any) {
	if t.InputsFromState != nil {
		entry["inputs_from_state"] = t.InputsFromState
	}
	writes := make(map[string]any)
	for key, target := range t.OutputsToState {
		w := map[string]any{}
		if target.Source != "" {
			w["from"] = target.Source
		}
		if m, err := mergeOf(target.Handler); err == nil && m != "" {
			w["merge"] = string(m)
		}
		writes[key] = w
	}
	if len(writes) > 0 {
		entry["outputs_to_state"] = writes
	}
}
