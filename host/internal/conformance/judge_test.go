package conformance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/model"
)

// sound is a case that passes, with all that a case can expect.
const sound = `{"id":"sound","flags":["tool_log_order_within_a_batch_not_guaranteed"],"agent":{"tools":[{"name":"echo","kind":"echo"},{"name":"boom","kind":"fail","message":"disk full"}]},
"messages":[{"role":"user","text":"go"}],
"script":[{"role":"assistant","text":"look","tool_calls":[{"name":"echo","args":{"x":1},"id":"a"},{"name":"boom","args":{},"id":"b"}],"meta":{"usage":{"input_tokens":3,"output_tokens":2}}},{"role":"assistant","text":"done"}],
"expect":{"messages":[{"role":"user","text":"go"},
 {"role":"assistant","text":"look","tool_calls":[{"name":"echo","args":{"x":1},"id":"a"},{"name":"boom","args":{},"id":"b"}]},
 {"role":"tool","call":{"name":"echo","args":{"x":1},"id":"a"},"result":"{\"echoed\": 1}","error":false},
 {"role":"tool","call":{"name":"boom","args":{},"id":"b"},"result":"in other words","error":true},
 {"role":"assistant","text":"done"}],
"step_count":2,"token_usage":{"prompt_tokens":3,"completion_tokens":2},"tool_call_counts":{"echo":1,"boom":1},"exit_reason":"text",
"last_message_role":"assistant","llm_calls":2,"llm_tools":[{"tools":["boom","echo"]},{"tools":["boom","echo"]}],"tool_log":[["boom",{}],["echo",{"x":1}]],
"llm_inputs":[[{"role":"user","text":"go"}],"<words>"],
"chunks":[{"tool":"echo","result":"{\"echoed\":1}","error":false},{"tool":"boom","result":"in other words","error":true},{"tool":null,"finish_reason":"tool_call_results"}],
"output":"done","partial":"","steps":[["echo",{"x":1},"{\"echoed\":1}",false],["boom",{},"disk full",true]],"logs":["look","look"],"stops":[[],[]],
"events":["action","action","start","start","step","step","output"],"told":["action","action","step","step","output"],"elapsed_ms":0,"finish":{"output":"done"}}}`

func read(t *testing.T, text string) *testCase {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	c, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A suite that sees no difference proves nothing: each part of what is expected is
// made wrong, one at a time.
func TestTheJudgeSeesWhatIsWrong(t *testing.T) {
	if v := judge(t, read(t, sound), nil, false); v.kind != passes {
		t.Fatalf("as it is: %+v", v)
	}
	for name, swap := range map[string][2]string{
		"text of a message": {`"role":"assistant","text":"done"}],
"step`, `"role":"assistant","text":"over"}],
"step`},
		"a message less":   {` {"role":"tool","call":{"name":"boom","args":{},"id":"b"},"result":"in other words","error":true},`, ``},
		"order of results": {`"result":"{\"echoed\": 1}","error":false},`, `"result":"in other words","error":true},`},
		"id of a call":     {`{"role":"tool","call":{"name":"echo","args":{"x":1},"id":"a"}`, `{"role":"tool","call":{"name":"echo","args":{"x":1},"id":"b"}`},
		"arguments":        {`"text":"look","tool_calls":[{"name":"echo","args":{"x":1},"id":"a"},{"name":"boom","args":{},"id":"b"}]},`, `"text":"look","tool_calls":[{"name":"echo","args":{"x":2},"id":"a"},{"name":"boom","args":{},"id":"b"}]},`},
		"result":           {`"result":"{\"echoed\": 1}"`, `"result":"{\"echoed\": 2}"`},
		"an error less": {`"result":"in other words","error":true},
 {"role":"assistant"`, `"result":"disk full","error":false},
 {"role":"assistant"`},
		"steps counted":          {`"step_count":2`, `"step_count":3`},
		"tokens":                 {`"prompt_tokens":3`, `"prompt_tokens":4`},
		"tokens of another name": {`"prompt_tokens":3`, `"prompt_tokens":3,"other":1`},
		"calls counted":          {`"boom":1}`, `"boom":2}`},
		"a count less":           {`,"boom":1}`, `}`},
		"reason":                 {`"exit_reason":"text"`, `"exit_reason":"max_agent_steps"`},
		"last role":              {`"last_message_role":"assistant"`, `"last_message_role":"tool"`},
		"model calls":            {`"llm_calls":2`, `"llm_calls":1`},
		"tools shown":            {`{"tools":["boom","echo"]}]`, `{"tools":["echo"]}]`},
		"tool log":               {`["boom",{}],["echo",{"x":1}]]`, `["echo",{"x":1}]]`},
		"first request":          {`"llm_inputs":[[{"role":"user","text":"go"}]`, `"llm_inputs":[[]`},
		"number of requests":     {`,"<words>"]`, `]`},
		"result in a stream":     {`"chunks":[{"tool":"echo","result":"{\"echoed\":1}"`, `"chunks":[{"tool":"echo","result":"{}"`},
		"end of the results":     {`,{"tool":null,"finish_reason":"tool_call_results"}]`, `]`},
		"output":                 {`"output":"done","partial"`, `"output":"","partial"`},
		"a step's input":         {`["echo",{"x":1},`, `["echo",{"x":"1"},`},
		"a step that failed":     {`"disk full",true]`, `"disk full",false]`},
		"log of a step":          {`"logs":["look","look"]`, `"logs":["look",""]`},
		"stop sequences":         {`"stops":[[],[]]`, `"stops":[["x"],[]]`},
		"order of events":        {`"start","start","step","step"`, `"start","step","start","step"`},
		"time":                   {`"elapsed_ms":0`, `"elapsed_ms":1`},
		"values of the finish":   {`"finish":{"output":"done"}`, `"finish":{"output":"done","k":1}`},
		"an error of the run":    {`"expect":{`, `"expect":{"error":{"type":"ValueError"},`},
		"a run that failed": {`,{"role":"assistant","text":"done"}],
"expect"`, `,{"raise":"down"}],
"expect"`},
		"a key of the state": {`"expect":{`, `"expect":{"place":"Rome",`},
	} {
		text := strings.Replace(sound, swap[0], swap[1], 1)
		if text == sound {
			t.Errorf("%s: nothing was changed", name)
			continue
		}
		if v := judge(t, read(t, text), nil, false); v.kind != fails {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestAnEntryOfTheTableHasToHold(t *testing.T) {
	reason := func(s string) map[string]any { return map[string]any{"exit_reason": s} }
	other := strings.Replace(sound, `"exit_reason":"text"`, `"exit_reason":"other"`, 1)
	for name, c := range map[string]struct {
		text   string
		expect map[string]any
		want   string
	}{
		"it holds":               {other, reason("text"), differs},
		"what we do is not that": {other, reason("max_steps"), fails},
		"the case passes":        {sound, reason("text"), fails},
	} {
		if v := judge(t, read(t, c.text), &difference{Rule: "rule", Expect: c.expect}, false); v.kind != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// What the runner does not know would be taken for tested.
func TestWhatIsNotKnownIsNotPassed(t *testing.T) {
	for name, swap := range map[string][2]string{
		"a member of the case":  {`"id":"sound"`, `"id":"sound","twist":1`},
		"a member of the agent": {`"agent":{`, `"agent":{"twist":1,`},
		"a member of a tool":    {`"kind":"echo"`, `"kind":"echo","twist":1`},
	} {
		var raw map[string]json.RawMessage
		if err := json.Unmarshal([]byte(strings.Replace(sound, swap[0], swap[1], 1)), &raw); err != nil {
			t.Fatal(err)
		}
		if _, err := decode(raw); err == nil {
			t.Errorf("%s is read over", name)
		}
	}
	for name, swap := range map[string][2]string{
		"a kind of tool": {`"kind":"echo"`, `"kind":"twist"`},
		"a planner":      {`"agent":{`, `"agent":{"planner":"twist",`},
		"a value":        {`"expect":{`, `"expect":{"twist":1,`},
	} {
		if v := judge(t, read(t, strings.Replace(sound, swap[0], swap[1], 1)), nil, false); v.kind != fails {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// The rules give what the table has for the cases that they are about.
func TestTheRulesAgreeWithTheTable(t *testing.T) {
	folder := filepath.Join(testkit.Root(t), "testdata", "conformance")
	listed := table(t, filepath.Join(folder, "differences.json"))
	explained := map[string]string{}
	for _, c := range load(t, filepath.Join(folder, "haystack.json")) {
		if d := listed[c.ID]; d != nil && c.waiting() == "" {
			if v := judge(t, c, nil, true); v.kind == differs {
				explained[c.ID] = v.why
			}
		}
	}
	want := map[string]string{
		"loop-07": "hooks.md 11", "loop-08": "hooks.md 11", "new-04": "hooks.md 11", "new-07": "hooks.md 11",
		"exit-12": "agent-loop.md 3, calls that ran", "tool-05": "agent-loop.md 3, calls that ran and hooks.md 7",
		"tool-08": "absent: outputs_to_string", "tool-12": "absent: outputs_to_string", "loop-10": "hooks.md 11",
		"new-02": "hooks.md 11", "exit-05": "hooks.md 7", "tool-20": "hooks.md 8", "tool-26": "agent-loop.md 3h",
		"prompt-03": "absent: prompt templates", "prompt-05": "absent: prompt templates",
	}
	if diff := cmp.Diff(want, explained); diff != "" {
		t.Error(diff)
	}
}

func TestAnUnansweredCallIsSeen(t *testing.T) {
	asks := model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "a"}, {ID: "b"}}}
	answer := func(id string) model.Message { return model.Message{Role: model.Tool, CallID: id} }
	said := model.Text(model.User, "go")
	for want, msgs := range map[string][][]model.Message{
		"":  {{said}, {said, asks, answer("a"), answer("b")}, {asks, answer("a"), answer("b"), said, asks, answer("a"), answer("b")}},
		"a": {{asks}, {asks, said}, {answer("a")}, {asks, answer("a"), answer("b"), answer("a")}},
		"b": {{asks, answer("a")}, {asks, answer("a"), said}, {asks, answer("b"), answer("a")}},
	} {
		for i, m := range msgs {
			if got := unanswered(m); got != want {
				t.Errorf("%q, %d: %q", want, i, got)
			}
		}
	}
}
