package run_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// What an agent did can be written down and read by its type, and nothing is taken for
// what it is not.
func TestActionStepAndFinishSayWhatTheyAre(t *testing.T) {
	action := run.Action{Tool: "count", Input: json.RawMessage(`{"text":"a"}`), CallID: "call_1_1", Log: "I count."}
	step := run.Step{Number: 1, Action: action, Observation: "2", IsError: true, ErrorKind: run.KindTrap, NestedRun: "r", Content: model.TextParts("2")}
	finish := run.Finish{ReturnValues: map[string]any{"output": "b"}, Log: "done"}
	read := map[string]string{}
	for name, v := range map[string]any{"AgentAction": action, "AgentStep": step, "AgentFinish": finish} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(raw), `{"type":"`+name+`"`) {
			t.Errorf("%s is written as %s", name, raw)
		}
		read[name] = string(raw)
	}
	var a run.Action
	var s run.Step
	var f run.Finish
	for name, into := range map[string]any{"AgentAction": &a, "AgentStep": &s, "AgentFinish": &f} {
		for other, raw := range read {
			if err := json.Unmarshal([]byte(raw), into); (err == nil) != (name == other) {
				t.Errorf("%s read as %s: %v", other, name, err)
			}
		}
	}
	step.Content = nil
	if d := cmp.Diff([]any{action, step, finish}, []any{a, s, f}); d != "" {
		t.Error(d)
	}
}
