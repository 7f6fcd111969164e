package agent_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
)

// The model is shown what the run began with and its last steps, each call with its
// result; the result of the run has all.
func TestTheModelIsShownTheLastSteps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		keep := rapid.IntRange(0, 4).Draw(rt, "trim_steps")
		asked := 0
		m := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			checkPairs(t, req.Messages)
			said := 0
			for _, m := range req.Messages {
				if m.Role == model.Assistant {
					said++
				}
			}
			if keep > 0 && said > keep || keep == 0 && said > asked || req.Messages[0].Role != model.User {
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
