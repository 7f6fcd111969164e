package agent_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
)

// The model is shown what the run began with and its last steps, each call with its
// result; the result of the run has all.
func TestTheModelIsShownTheLastSteps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		keep := rapid.IntRange(0, 4).Draw(rt, "trim_steps")
		asked := 0
		m := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			checkPairs(t, req.Messages)
			given := req.Messages
			if given[0].Role == model.System { // that the output's schema is told in
				given = given[1:]
			}
			said := 0
			for _, m := range req.Messages {
				if m.Role == model.Assistant {
					said++
				}
			}
			if keep > 0 && said > keep || keep == 0 && said > asked || given[0].Role != model.User {
				rt.Fatalf("call %d shows %d steps of %d: %+v", asked, said, keep, req.Messages)
			}
			if asked++; asked > len(replies) {
				return text("the end"), nil
			}
			return replies[asked-1], nil
		})
		_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { edit(a); a.TrimSteps = keep }))
		checkPairs(t, got.Messages)
		if got.StepCount > 0 && len(got.Messages) < 2 && got.LastMessage.Role == model.Assistant {
			rt.Fatalf("%d steps, %d messages", got.StepCount, len(got.Messages))
		}
	})
}

// Calls of a step that use the same thing one after the other do so in the model's
// order, and others run beside them.
func TestCallsThatTakeTurnsDoSoInTheModelsOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	inside := 0
	both := make(chan struct{}, 2) // a call of each kind is under way
	box := boxFunc(func(_ context.Context, c agent.Call) agent.Result {
		if c.Tool == "b" {
			both <- struct{}{}
			return agent.Result{Content: model.TextParts("b")}
		}
		mu.Lock()
		inside++
		if inside > 1 {
			t.Error("two calls have their turn")
		}
		order = append(order, c.ID)
		first := len(order) == 1
		mu.Unlock()
		if first {
			<-both // or the others would wait for this one
		}
		mu.Lock()
		inside--
		mu.Unlock()
		return agent.Result{Content: model.TextParts("a")}
	})
	a := newAgent(t, says(calls("a", "a", "a", "b", "a", "n {\"n\":1}"), text("done")), func(a *agent.Agent) {
		a.Box, a.Parallel = box, 8
		a.Tools[0].Turns, a.Tools[4].Turns = "x", "x"
	})
	_, got := finish(t, t.Context(), a)
	want := []string{"call_1_1", "call_1_2", "call_1_3", "call_1_5", "call_1_6"}
	if !slices.Equal(order, want) || len(got.Steps) != 6 {
		t.Errorf("%v, %d steps", order, len(got.Steps))
	}
}
