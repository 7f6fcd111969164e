package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// What the model had said when the run was interrupted or its time was over is kept,
// also where it could not be shown yet, since it may have been thinking.
func TestWhatWasSaidBeforeAnInterruptionIsKept(t *testing.T) {
	for said, want := range map[string]string{
		"The answer so far is 42":                          "The answer so far is 42",
		"<think>\nhm\n</think>\nThe answer so far is 42":   "The answer so far is 42",
		"<think>hm</think> The answer so far is 42":        "<think>hm</think> The answer so far is 42",
		"<think> is a tag that models write for reasoning": "<think> is a tag that models write for reasoning",
	} {
		for _, timed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				m := modelFunc(func(ctx context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
					for word := range strings.SplitAfterSeq(said, " ") {
						sink(model.Chunk{Text: word})
					}
					if !timed {
						cancel()
					}
					<-ctx.Done()
					return nil, ctx.Err()
				})
				_, got := finish(t, ctx, newAgent(t, m, func(a *agent.Agent) { a.MaxDuration = time.Minute }))
				if got.Partial != want {
					t.Errorf("%q, over time %v: partial is %q, want %q", said, timed, got.Partial, want)
				}
			})
		}
	}
}

// What a reply cost that came to nothing is counted when the run is interrupted while
// the model is asked once more.
func TestWhatFailedAttemptsCostIsCountedAtAnInterruption(t *testing.T) {
	for name, first := range map[string]struct {
		reply *model.Reply
		err   error
		edit  func(*agent.Agent)
	}{
		"an empty reply":   {text(""), nil, func(*agent.Agent) {}},
		"a refused schema": {nil, &model.Error{Kind: model.Rejected, Message: "no", Usage: cost, Err: model.ErrOutputSchema}, asking(t, agent.Native, func(a *agent.Agent) { a.Output.Otherwise = agent.ByPrompt })},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		m := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			if asked++; asked == 1 {
				return first.reply, first.err
			}
			cancel()
			return nil, &model.Error{Kind: model.Unreachable, Message: "broken off", Usage: cost, Err: ctx.Err()}
		})
		_, got := finish(t, ctx, newAgent(t, m, first.edit))
		cancel()
		if got.ExitReason != run.ExitInterrupted || got.TokenUsage.TotalTokens != 2*cost.TotalTokens {
			t.Errorf("%s: %s with %d tokens after %d calls, want two times %d", name, got.ExitReason, got.TokenUsage.TotalTokens, asked, cost.TotalTokens)
		}
	}
}

// When all that the model gives is thinking, twice, the failure holds it.
func TestThinkingThatIsAllThereIsIsKept(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"<think>\none\n</think>\n", "<think>\ntwo\n</think>\n", "two"},
		{"<think>\none\n</think>\n", "", "one"},
		{"", "", ""},
	} {
		_, got := finish(t, t.Context(), newAgent(t, says(text(c.first), text(c.second)), func(*agent.Agent) {}))
		if got.Error == nil || got.Error.Partial != c.want {
			t.Errorf("%q and %q: %+v, want %q kept", c.first, c.second, got.Error, c.want)
		}
	}
}
