package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
)

// testCase is one case of a file. The format is told in
// testdata/conformance/README.md.
type testCase struct {
	ID         string            `json:"id"`
	Desc       string            `json:"desc"`
	Agent      agentSpec         `json:"agent"`
	Messages   []message         `json:"messages"`
	Script     []json.RawMessage `json:"script"`
	RunTools   json.RawMessage   `json:"run_tools"`
	Run        map[string]any    `json:"run"`
	Stream     bool              `json:"stream"`
	ShowInputs bool              `json:"show_llm_inputs"`
	ShowTools  bool              `json:"show_llm_tools"`
	Flags      []string          `json:"flags"`
	Waits      string            `json:"waits"` // what it needs, where the case itself does not show it
	Expect     map[string]any    `json:"expect"`

	raw       map[string]json.RawMessage
	broken    error // why it could not be read
	asWritten bool  // its exit conditions are taken as they are
}

// agentSpec is what the agent of a case is made of.
type agentSpec struct {
	SystemPrompt *string               `json:"system_prompt"`
	UserPrompt   *string               `json:"user_prompt"`
	Required     json.RawMessage       `json:"required_variables"`
	Tools        []toolSpec            `json:"tools"`
	Exit         []string              `json:"exit_conditions"`
	MaxSteps     *int                  `json:"max_agent_steps"`
	Raise        bool                  `json:"raise_on_tool_invocation_failure"`
	Parallel     int                   `json:"tool_concurrency_limit"`
	State        map[string]stateSpec  `json:"state_schema"`
	Hooks        map[string][]hookSpec `json:"hooks"`
	Planner      string                `json:"planner"`
	Finish       map[string]any        `json:"finish"` // a planner that says this, whatever the reply
	TrimSteps    int                   `json:"trim_steps"`
	MaxMS        int                   `json:"max_ms"`
	Early        string                `json:"early_stopping"`
	OnParse      json.RawMessage       `json:"on_parse_error"`
	MaxToolCalls map[string]int        `json:"max_tool_calls"` // "*": of all tools together
	Output       *outputSpec           `json:"output"`         // the value that is asked for
}

// toolSpec is a fake tool.
type toolSpec struct {
	Name            string                 `json:"name"`
	Kind            string                 `json:"kind"`
	Value           any                    `json:"value"`
	Message         string                 `json:"message"`
	X               any                    `json:"x"`
	MS              int                    `json:"ms"`
	Description     string                 `json:"description"`
	Parameters      json.RawMessage        `json:"parameters"`
	OutputsToString json.RawMessage        `json:"outputs_to_string"`
	OutputsToState  map[string]stateTarget `json:"outputs_to_state"`
	InputsFromState map[string]string      `json:"inputs_from_state"`
	ReturnDirect    bool                   `json:"return_direct"`
}

type stateTarget struct {
	Source  string `json:"source"`
	Handler string `json:"handler"`
}

type stateSpec struct {
	Type    string `json:"type"`
	Handler string `json:"handler"`
}

type hookSpec map[string]any

// message is a message as a case writes it.
type message struct {
	Role      string          `json:"role"`
	Text      json.RawMessage `json:"text"`
	Calls     []callSpec      `json:"tool_calls"`
	Invalid   []callSpec      `json:"invalid_tool_calls"` // their arguments are a text that is no JSON
	Reasoning string          `json:"reasoning"`
	Call      *callSpec       `json:"call"`
	Result    json.RawMessage `json:"result"`
	Error     bool            `json:"error"`
	Meta      *messageMeta    `json:"meta"`
	Raise     *string         `json:"raise"`
}

type callSpec struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type messageMeta struct {
	Usage  map[string]any `json:"usage"`
	Finish string         `json:"finish_reason"`
}

// groups are the parts of a file, and what those of them wait for that are not
// about the loop.
var groups = []struct{ name, waits string }{
	{"agent", ""},
	{"cases", ""},
	{"agent_newer_exit_reasons", ""},
	{"compactor", "compaction"},
	{"compaction_hook", "compaction"},
	{"counter", "compaction"},
	{"store", "store"},
}

// load reads the cases of a file, in its order: a list of them, or an object of
// groups.
func load(t *testing.T, path string) []*testCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []*testCase
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return cases(t, path, data, "")
	}
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, g := range groups {
		part, ok := file[g.name]
		if !ok {
			continue
		}
		if bytes.HasPrefix(bytes.TrimSpace(part), []byte("{")) {
			var wrapped struct{ Cases json.RawMessage }
			if err := json.Unmarshal(part, &wrapped); err != nil {
				t.Fatalf("%s: %s: %v", path, g.name, err)
			}
			part = wrapped.Cases
		}
		all = append(all, cases(t, path+": "+g.name, part, g.waits)...)
	}
	if len(all) == 0 {
		t.Fatalf("%s holds no cases", path)
	}
	return all
}

func cases(t *testing.T, where string, data json.RawMessage, waits string) []*testCase {
	t.Helper()
	var raws []map[string]json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	var all []*testCase
	for i, raw := range raws {
		if waits != "" {
			c := &testCase{Waits: waits}
			if err := json.Unmarshal(raw["id"], &c.ID); err != nil {
				t.Fatalf("%s: case %d: id: %v", where, i+1, err)
			}
			all = append(all, c)
			continue
		}
		c, err := decode(raw)
		if err != nil {
			c = &testCase{broken: fmt.Errorf("%s: case %d: %w", where, i+1, err)}
			if json.Unmarshal(raw["id"], &c.ID) != nil {
				c.ID = fmt.Sprint("case ", i+1)
			}
		}
		all = append(all, c)
	}
	return all
}

// decode reads a case. What it does not know is an error: it would be taken for
// tested.
func decode(raw map[string]json.RawMessage) (*testCase, error) {
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	c := &testCase{raw: raw}
	if err := dec.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", raw["id"], err)
	}
	if c.ID == "" || c.Expect == nil {
		return nil, fmt.Errorf("%s: a case needs id and expect", raw["id"])
	}
	return c, nil
}

// with returns the case with other members. Those of agent are replaced one by
// one.
func (c *testCase) with(given map[string]json.RawMessage) (*testCase, error) {
	raw := maps.Clone(c.raw)
	for k, v := range given {
		if k == "agent" {
			merged := map[string]json.RawMessage{}
			for _, part := range []json.RawMessage{raw["agent"], v} {
				if err := json.Unmarshal(part, &merged); err != nil {
					return nil, err
				}
			}
			data, err := json.Marshal(merged)
			if err != nil {
				return nil, err
			}
			v = data
		}
		raw[k] = v
	}
	return decode(raw)
}

func (c *testCase) flagged(flag string) bool { return slices.Contains(c.Flags, flag) }
