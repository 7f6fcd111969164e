package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// looping calls tools as long as it may, and then gives the reply.
func looping(t *testing.T, last *model.Reply, err error) (model.Model, *int) {
	asked := 0
	return modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		checkPairs(t, req.Messages)
		if len(req.Tools) > 0 {
			return calls("a"), nil
		}
		asked++
		if m := req.Messages[len(req.Messages)-1]; m.Role != model.User {
			t.Errorf("the last message is from %s", m.Role)
		}
		return last, err
	}), &asked
}

func concluding(a *agent.Agent) { a.MaxSteps, a.Generate = 3, true }

func TestAtTheLimitTheModelIsAskedForAnAnswer(t *testing.T) {
	m, asked := looping(t, text("two of three are done"), nil)
	events, got := finish(t, t.Context(), newAgent(t, m, concluding))
	if got.ExitReason != run.ExitMaxSteps || got.Output != "two of three are done" || got.StepCount != 3 || len(got.Steps) != 3 || *asked != 1 {
		t.Errorf("%d asked: %+v", *asked, got)
	}
	if got.TokenUsage.TotalTokens != 4*cost.TotalTokens {
		t.Errorf("what it cost: %+v", got.TokenUsage)
	}
	if got.LastMessage.Role != model.Assistant || got.LastMessage.Text() != got.Output {
		t.Errorf("the last message is %+v", got.LastMessage)
	}
	shown := ""
	for _, e := range events {
		shown += e.Text()
	}
	if shown != got.Output {
		t.Errorf("shown: %q", shown)
	}
}

// A last answer is never tool syntax, and where there is none the words are fixed.
func TestALastAnswerThatIsNoneIsReplacedByFixedWords(t *testing.T) {
	both := calls("a")
	both.Message.Content = model.TextParts("it is 4")
	for name, c := range map[string]struct {
		reply *model.Reply
		err   error
		want  string
	}{
		"a call":            {calls("a"), nil, "The agent stopped at its limit of steps."},
		"a call and a text": {both, nil, "it is 4"},
		"nothing":           {text(" "), nil, "The agent stopped at its limit of steps."},
		"an error":          {nil, &model.Error{Kind: model.Unreachable, Message: "gone"}, "The agent stopped at its limit of steps."},
		"neither":           {nil, nil, "The agent stopped at its limit of steps."},
	} {
		m, _ := looping(t, c.reply, c.err)
		_, got := finish(t, t.Context(), newAgent(t, m, concluding))
		if got.ExitReason != run.ExitMaxSteps || got.Output != c.want {
			t.Errorf("%s: %q %q", name, got.ExitReason, got.Output)
		}
		checkPairs(t, got.Messages)
		for _, m := range got.Messages {
			if m.Role == model.Assistant && len(m.ToolCalls) == 0 && m.Text() == "" {
				t.Errorf("%s: an empty message is kept", name)
			}
		}
	}
}

// With no step at all the model is not asked, and a run that is cancelled while it
// is asked for the last time ends for that reason.
func TestALastAnswerIsNotAskedForInVain(t *testing.T) {
	m, asked := looping(t, text("no"), nil)
	_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { a.MaxSteps, a.Generate = 0, true }))
	if got.ExitReason != run.ExitMaxSteps || *asked != 0 || got.Output == "no" {
		t.Errorf("%d asked: %+v", *asked, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopping := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		if len(req.Tools) > 0 {
			return calls("a"), nil
		}
		cancel()
		return nil, errors.New("cancelled")
	})
	_, got = finish(t, ctx, newAgent(t, stopping, concluding))
	if got.ExitReason != run.ExitInterrupted {
		t.Errorf("%+v", got)
	}
}

// What the last answer cost is counted, also where there is none, and where the endpoint
// had to be asked in another way.
func TestWhatALastAnswerCostsCounts(t *testing.T) {
	failed := &model.Error{Kind: model.Rejected, Message: "no", Usage: model.Usage{PromptTokens: 70, TotalTokens: 70}}
	refused := &model.Error{Kind: model.Rejected, Message: "no", Err: model.ErrOutputSchema, Usage: model.Usage{PromptTokens: 70, TotalTokens: 70}}
	for name, c := range map[string]struct {
		errs   []error
		tokens int64
	}{"it fails": {[]error{failed}, 75}, "it is asked for once more": {[]error{refused, nil}, 80}} {
		asked := 0
		m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
			if asked++; asked == 1 {
				return calls("a"), nil
			}
			if err := c.errs[asked-2]; err != nil {
				return nil, err
			}
			return text(`{"n":1}`), nil
		})
		a := newAgent(t, m, func(a *agent.Agent) {
			a.MaxSteps, a.Generate, a.Prices = 1, true, model.Prices{Input: 1e6}
			a.Output = &agent.Output{Schema: compiled(t, `{"type":"object"}`), Strategy: agent.Native, Otherwise: agent.ByPrompt, Attempts: 1}
		})
		_, got := finish(t, t.Context(), a)
		if got.ExitReason != run.ExitMaxSteps || got.TokenUsage.TotalTokens != c.tokens || got.Cost < 73 {
			t.Errorf("%s: %s, %+v, cost %v", name, got.ExitReason, got.TokenUsage, got.Cost)
		}
	}
}
