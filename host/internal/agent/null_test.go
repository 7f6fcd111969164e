package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// The guest's schema has no null, so it gets none; the log keeps what was said.
func TestANullForAnOptionalArgumentNeverReachesTheGuest(t *testing.T) {
	optional, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}`))
	if err != nil {
		t.Fatal(err)
	}
	const said = `{"q":"x","n":null}`
	got := make(chan string, 2)
	m := modeltest.New(modeltest.Calls(modeltest.Call("o", said), modeltest.Call("o", `{"q":null}`)), modeltest.Text("done"))
	events, _ := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) {
		a.Tools = []agent.Tool{{Definition: model.Definition{Name: "o"}, Schema: optional}}
		a.Box = boxFunc(func(_ context.Context, c agent.Call) agent.Result {
			got <- string(c.Arguments)
			return agent.Result{Content: model.TextParts("ok")}
		})
	}))
	close(got)
	var ran []string
	for args := range got {
		ran = append(ran, args)
	}
	if len(ran) != 1 || ran[0] != `{"q":"x"}` {
		t.Errorf("the tool was called with %q", ran)
	}
	logged := 0
	for _, e := range events {
		switch b := e.Body.(type) {
		case run.Replied:
			if b.Message != nil && len(b.Message.ToolCalls) > 0 && string(b.Message.ToolCalls[0].Arguments) == said {
				logged++
			}
		case run.Called:
			if string(b.Arguments) == said {
				logged++
			}
		}
	}
	if logged != 2 {
		t.Errorf("what the model said is in %d events, want 2", logged)
	}
}
