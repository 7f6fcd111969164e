package agent_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// forever is a model that says these replies in turn and never ends by itself. Runs
// may share it.
func forever(replies ...func() *model.Reply) model.Model {
	var mu sync.Mutex
	n := 0
	return modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		if len(req.Tools) == 0 {
			return text("what I have"), nil
		}
		mu.Lock()
		defer mu.Unlock()
		n++
		return replies[(n-1)%len(replies)](), nil
	})
}

func saying(specs ...string) func() *model.Reply {
	return func() *model.Reply { return calls(specs...) }
}

// varying calls a with another argument each time.
func varying() func() *model.Reply {
	n := 0
	return func() *model.Reply { n++; return calls(fmt.Sprintf(`a {"n":%d}`, n)) }
}

func TestALimitOfTokensEndsTheRunBeforeTheNextCall(t *testing.T) {
	for _, c := range []struct {
		limit int64
		steps int
	}{{1, 1}, {5, 1}, {6, 2}, {10, 2}, {11, 3}} {
		_, got := finish(t, t.Context(), newAgent(t, forever(varying()), func(a *agent.Agent) { a.Limits.Tokens = c.limit }))
		if got.ExitReason != run.ExitTokenBudget || got.StepCount != c.steps || got.Output != "The agent stopped at its limit of tokens." {
			t.Errorf("%d tokens: %s after %d steps: %q", c.limit, got.ExitReason, got.StepCount, got.Output)
		}
		if len(got.Steps) != c.steps {
			t.Errorf("%d tokens: what was asked for last was not done: %d steps", c.limit, len(got.Steps))
		}
	}
	_, got := finish(t, t.Context(), newAgent(t, says(text("done")), func(a *agent.Agent) { a.Limits.Tokens = 1 }))
	if got.ExitReason != run.ExitText {
		t.Errorf("an answer that goes over the limit is an answer: %s", got.ExitReason)
	}
}

func TestALimitOfCostIsByThePrices(t *testing.T) {
	edit := func(a *agent.Agent) {
		a.Prices = model.Prices{Input: 1e6, Output: 2e6} // a step is 3 + 2*2
		a.Limits.Cost = 7.5
	}
	_, got := finish(t, t.Context(), newAgent(t, forever(varying()), edit))
	if got.ExitReason != run.ExitCostBudget || got.StepCount != 2 || got.Cost != 14 {
		t.Errorf("%s after %d steps for %g", got.ExitReason, got.StepCount, got.Cost)
	}
}

func TestCachedTokensHaveTheirPrice(t *testing.T) {
	p := model.Prices{Input: 10, Cached: 1, Output: 100}
	u := model.Usage{PromptTokens: 1e6, CachedTokens: 4e5, CompletionTokens: 1e6}
	if got := p.Cost(u); got != 6+0.4+100 {
		t.Errorf("%g", got)
	}
	p.Cached = 0
	if got := p.Cost(u); got != 110 {
		t.Errorf("without a price of their own: %g", got)
	}
}

// A call over the limit is answered and not made, the model can still answer, and the
// run ends when it calls again.
func TestCallsOverTheirLimitAreRefusedAndThenEndTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		limits agent.Limits
		ran    map[string]int
		told   string
	}{
		"all":      {agent.Limits{Calls: 3}, map[string]int{"a": 2, "b": 1}, "at its limit of 3 tool calls, so"},
		"per tool": {agent.Limits{CallsOf: map[string]int{"a": 1}}, map[string]int{"a": 1, "b": 2}, "at its limit of 1 call of this tool, so"},
		"both":     {agent.Limits{Calls: 3, CallsOf: map[string]int{"b": 9}}, map[string]int{"a": 2, "b": 1}, "at its limit of 3 tool calls, so"},
	} {
		edit := func(a *agent.Agent) { a.Limits = c.limits }
		_, got := finish(t, t.Context(), newAgent(t, says(calls("a", "b"), calls("a", "b"), text("enough")), edit))
		if got.ExitReason != run.ExitText || got.Output != "enough" {
			t.Errorf("%s: %s %q", name, got.ExitReason, got.Output)
		}
		for tool, n := range c.ran {
			if got.ToolCallCounts[tool] != n {
				t.Errorf("%s: %v ran", name, got.ToolCallCounts)
			}
		}
		refused := slices.ContainsFunc(got.Steps, func(s run.Step) bool {
			return s.ErrorKind == run.KindRefused && strings.Contains(s.Observation, c.told+" this call was not made")
		})
		if !refused {
			t.Errorf("%s: no call says that it was refused: %+v", name, got.Steps)
		}

		_, got = finish(t, t.Context(), newAgent(t, forever(saying("a", "b")), edit))
		if got.ExitReason != run.ExitToolCallBudget || got.Output != "The agent stopped at its limit of tool calls." {
			t.Errorf("%s: %s %q", name, got.ExitReason, got.Output)
		}
		checkPairs(t, got.Messages)
	}
}

// A refusal by a limit is not a failure of a tool.
func TestALimitOfCallsIsNoToolFailure(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("a", "a"), text("ok")), func(a *agent.Agent) {
		a.Limits.Calls, a.FailOnError = 1, true
	}))
	if got.ExitReason != run.ExitText {
		t.Errorf("%s %+v", got.ExitReason, got.Error)
	}
}

// warnings counts what the guard said.
func warnings(events []run.Event) (n int) {
	for _, e := range events {
		if h, ok := e.Body.(run.Hooked); ok && h.Hook == "repeat_guard" {
			n++
		}
	}
	return n
}

func TestRepeatedCallsAreWarnedOfAndThenEndTheRun(t *testing.T) {
	other := 0
	growing := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
		other++
		return agent.Result{Content: model.TextParts(fmt.Sprint(other))}
	})
	for name, c := range map[string]struct {
		m     model.Model
		box   agent.Toolbox
		steps int // 0: it is not stopped
	}{
		"one call":                      {forever(saying("a")), nil, 4},
		"arguments in another order":    {forever(saying(`a {"x":1,"y":[2, 3]}`), saying(`a { "y":[2,3], "x":1 }`)), nil, 4},
		"a cycle of two":                {forever(saying("a"), saying("b")), nil, 8},
		"a cycle of three":              {forever(saying("a"), saying("b"), saying("fail")), nil, 12},
		"a cycle of four":               {forever(saying("a"), saying("a"), saying("b"), saying("fail")), nil, 16},
		"several calls":                 {forever(saying("a", "b")), nil, 4},
		"the same once and twice":       {forever(saying("a"), saying("a", "a")), nil, 4},
		"a tool that is not there":      {forever(saying("nope")), nil, 4},
		"arguments that do not fit":     {forever(saying(`n {"n":"x"}`)), nil, 4},
		"another argument":              {forever(varying()), nil, 0},
		"another result":                {forever(saying("a")), growing, 0},
		"a number that is another text": {forever(saying(`a {"x":1}`), saying(`a {"x":1.0}`), saying(`a {"x":1e0}`), saying(`a {"x":10e-1}`), saying(`a {"x":100e-2}`)), nil, 0},
	} {
		events, got := finish(t, t.Context(), newAgent(t, c.m, func(a *agent.Agent) {
			a.MaxSteps, a.Limits.Repeats = 20, 3
			if c.box != nil {
				a.Box = c.box
			}
		}))
		want := run.ExitRepeatedCalls
		if c.steps == 0 {
			want, c.steps = run.ExitMaxSteps, 20
		}
		if got.ExitReason != want || got.StepCount != c.steps {
			t.Errorf("%s: %s after %d steps", name, got.ExitReason, got.StepCount)
		}
		if n := warnings(events); (n == 1) != (want == run.ExitRepeatedCalls) {
			t.Errorf("%s: %d warnings", name, n)
		}
		checkPairs(t, got.Messages)
	}
}

// A model that heeds the warning goes on, and calls of a polling tool do not count.
func TestAWarningOfRepeatedCallsIsAChance(t *testing.T) {
	events, got := finish(t, t.Context(), newAgent(t, says(calls("a"), calls("a"), calls("b"), text("done")), func(a *agent.Agent) { a.Limits.Repeats = 2 }))
	if got.ExitReason != run.ExitText || warnings(events) != 1 {
		t.Errorf("%s, %d warnings", got.ExitReason, warnings(events))
	}
	_, got = finish(t, t.Context(), newAgent(t, forever(saying("a")), func(a *agent.Agent) {
		a.Limits.Repeats, a.Tools[0].Polling = 2, true
	}))
	if got.ExitReason != run.ExitMaxSteps {
		t.Errorf("a polling tool: %s", got.ExitReason)
	}
	_, got = finish(t, t.Context(), newAgent(t, forever(saying("a", "b")), func(a *agent.Agent) {
		a.Limits.Repeats, a.Tools[0].Polling = 2, true
	}))
	if got.ExitReason != run.ExitRepeatedCalls {
		t.Errorf("beside a polling tool: %s", got.ExitReason)
	}
}

func TestAtEachLimitTheModelMayBeAskedForAnAnswer(t *testing.T) {
	for reason, limits := range map[run.ExitReason]agent.Limits{
		run.ExitTokenBudget: {Tokens: 9}, run.ExitToolCallBudget: {Calls: 1}, run.ExitRepeatedCalls: {Repeats: 2},
	} {
		_, got := finish(t, t.Context(), newAgent(t, forever(saying("a")), func(a *agent.Agent) {
			a.Limits, a.Generate = limits, true
		}))
		if got.ExitReason != reason || got.Output != "what I have" {
			t.Errorf("%s: %s %q", reason, got.ExitReason, got.Output)
		}
	}
}

// What a run that a call began spends is spent by the run, while it is under way and
// in its result.
func TestWhatACallSpendsIsSpentByTheRun(t *testing.T) {
	inner := newAgent(t, forever(varying()), func(a *agent.Agent) { a.Limits.Tokens = 1000 })
	box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
		inner := *inner
		inner.Up, inner.Store = c.Meter, new(run.Memory)
		_, got := collect(t, inner.Run(ctx, run.ID(c.ID), prompt()))
		return agent.Result{
			Content: model.TextParts(string(got.ExitReason)), Spent: &run.Spent{Usage: got.TokenUsage, ToolCalls: len(got.Steps)},
		}
	})
	_, got := finish(t, t.Context(), newAgent(t, forever(saying("a", "b")), func(a *agent.Agent) {
		a.Limits.Tokens, a.Box = 40, box
	}))
	if got.ExitReason != run.ExitTokenBudget || got.StepCount != 1 {
		t.Errorf("%s after %d steps", got.ExitReason, got.StepCount)
	}
	// The two that run at once see each other's: both may have asked at 35.
	if n := got.TokenUsage.TotalTokens; n < 40 || n > 45 {
		t.Errorf("%d tokens under a limit of 40 and 5 a call", n)
	}
	for _, s := range got.Steps {
		if s.Observation != string(run.ExitTokenBudget) {
			t.Errorf("the inner run ended with %s", s.Observation)
		}
	}

	_, got = finish(t, t.Context(), newAgent(t, forever(saying("a")), func(a *agent.Agent) {
		a.Limits.Calls, a.Box, a.MaxSteps = 6, box, 3
	}))
	if inner := got.Steps[0].Observation; inner != string(run.ExitToolCallBudget) {
		t.Errorf("the limit of calls: the inner run ended with %s", inner)
	}
}

// No run asks for a last answer over a limit that does not allow one, for whatever
// reason it ends.
func TestALastAnswerIsHeldToTheLimits(t *testing.T) {
	const used = "what I have"
	over := func(a *agent.Agent) { a.Limits.Tokens = 15 } // three replies
	for name, c := range map[string]struct {
		edit   func(*agent.Agent)
		reason run.ExitReason
		spent  int64
	}{
		"replies that cannot be read":        {func(a *agent.Agent) { a.Planner = planner.React{}; over(a) }, run.ExitParseErrors, 15},
		"the same, and an answer is allowed": {func(a *agent.Agent) { a.Planner = planner.React{}; a.Generate = true; over(a) }, run.ExitParseErrors, 20},
	} {
		m := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			if len(req.Tools) > 0 {
				return varying()(), nil
			}
			return text(used), nil
		})
		_, got := finish(t, t.Context(), newAgent(t, m, c.edit))
		if got.ExitReason != c.reason || got.TokenUsage.TotalTokens != c.spent {
			t.Errorf("%s: %s after %d tokens: %q", name, got.ExitReason, got.TokenUsage.TotalTokens, got.Output)
		}
	}
}

// What a provider says of its tokens makes nothing that was spent less.
func TestNoUsageGivesTokensBack(t *testing.T) {
	for name, c := range map[string]struct {
		usage []model.Usage
		limit int64
	}{
		"below 0":             {[]model.Usage{{TotalTokens: 60}, {TotalTokens: -1000}, {TotalTokens: 60}}, 100},
		"more than there are": {[]model.Usage{{TotalTokens: 1 << 62}, {TotalTokens: 1 << 62}, {TotalTokens: 1 << 62}}, math.MaxInt64},
	} {
		step := 0
		m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
			r := calls("a")
			r.Usage = c.usage[min(step, len(c.usage)-1)]
			step++
			return r, nil
		})
		_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { a.Limits.Tokens = c.limit }))
		if got.ExitReason != run.ExitTokenBudget || got.StepCount > 3 || got.TokenUsage.TotalTokens < 100 {
			t.Errorf("%s: %s after %d steps, %+v", name, got.ExitReason, got.StepCount, got.TokenUsage)
		}
	}
}

// What a run that a call began costs counts for whoever began it: the inner run stops at
// the outer's limit, and the outer with it.
func TestWhatACallCostsIsOfTheRunsLimit(t *testing.T) {
	prices := model.Prices{Input: 1e6} // 3 a model call
	inner := newAgent(t, forever(varying()), func(a *agent.Agent) { a.Prices = prices })
	box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
		inner := *inner
		inner.Up, inner.Store = c.Meter, new(run.Memory)
		_, got := collect(t, inner.Run(ctx, run.ID(c.ID), prompt()))
		return agent.Result{Content: model.TextParts(string(got.ExitReason)), Spent: &run.Spent{Usage: got.TokenUsage, Cost: got.Cost}}
	})
	_, got := finish(t, t.Context(), newAgent(t, forever(saying("a")), func(a *agent.Agent) {
		a.Prices, a.Limits.Cost, a.Box = prices, 10, box
	}))
	if got.ExitReason != run.ExitCostBudget || got.StepCount != 1 || got.Cost != 12 || got.Steps[0].Observation != string(run.ExitCostBudget) {
		t.Errorf("%s after %d steps for %g: %+v", got.ExitReason, got.StepCount, got.Cost, got.Steps)
	}
}

// What came to nothing costs what the model does that was asked for it, and not what the
// one does that answers then: an empty reply, one that failed, a schema that was refused.
func TestWhatCameToNothingCostsByItsOwnPrices(t *testing.T) {
	dear := &model.Prices{Input: 100e6}
	bill := []model.Priced{{Usage: model.Usage{PromptTokens: 2}}, {Usage: model.Usage{PromptTokens: 1}, Prices: dear}}
	empty, answer := text(" "), text(`{"n":1}`)
	empty.Usage, empty.Prices = model.Usage{PromptTokens: 5}, dear
	answer.Usage, answer.Retried, answer.Bill = model.Usage{PromptTokens: 2}, model.Usage{PromptTokens: 1}, bill
	failed := &model.Error{Kind: model.Rejected, Message: "no", Usage: model.Usage{PromptTokens: 3}, Bill: bill}
	refused := *failed
	refused.Err = model.ErrOutputSchema
	type said struct {
		reply *model.Reply
		err   error
	}
	for name, c := range map[string]struct {
		said   []said
		tokens int64
		cost   float64
	}{
		"an empty reply":   {[]said{{empty, nil}, {answer, nil}}, 8, 500 + 102},
		"two of them":      {[]said{{empty, nil}, {empty, nil}}, 10, 1000},
		"it fails":         {[]said{{nil, failed}}, 3, 102},
		"empty, and fails": {[]said{{empty, nil}, {nil, failed}}, 8, 500 + 102},
		"a refused schema": {[]said{{nil, &refused}, {empty, nil}, {answer, nil}}, 11, 102 + 500 + 102},
	} {
		next := 0
		m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
			next++
			return c.said[next-1].reply, c.said[next-1].err
		})
		_, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.Native, func(a *agent.Agent) {
			a.Output.Otherwise, a.Prices = agent.ByPrompt, model.Prices{Input: 1e6}
		})))
		if got.TokenUsage.PromptTokens != c.tokens || got.Cost != c.cost {
			t.Errorf("%s: %d tokens for %v, want %d for %v", name, got.TokenUsage.PromptTokens, got.Cost, c.tokens, c.cost)
		}
	}
}
