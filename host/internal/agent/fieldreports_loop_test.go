package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// The tests of these files are named after what users of other loops have reported:
// H for the first list of reports and L for the second, with the number of the entry.

// The exit tool was only seen when it came first, and the run went on to its limit.
func TestFieldH1AnExitToolIsSeenInEveryPlace(t *testing.T) {
	for at := range 4 {
		specs := []string{"a", "a", "a", "a"}
		specs[at] = "b"
		_, got := finish(t, t.Context(), newAgent(t, says(calls(specs...)), func(a *agent.Agent) { a.Exit = []string{"b"} }))
		if got.ExitReason != "b" || got.Output != "did b" || got.StepCount != 1 || len(got.Steps) != 4 {
			t.Errorf("at %d: %+v", at, got)
		}
	}
}

// At the limit the last message was raw output of a tool, and there was no answer.
func TestFieldH2AtTheLimitThereIsAnAnswer(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, forever(varying()), func(a *agent.Agent) { a.MaxSteps, a.Generate = 2, true }))
	if got.ExitReason != run.ExitMaxSteps || got.Output != "what I have" || got.LastMessage.Role != model.Assistant || got.LastMessage.Text() != "what I have" {
		t.Errorf("asked for: %+v", got)
	}
	_, got = finish(t, t.Context(), newAgent(t, forever(varying()), func(a *agent.Agent) { a.MaxSteps = 2 }))
	if got.ExitReason != run.ExitMaxSteps || got.Output != "The agent stopped at its limit of steps." {
		t.Errorf("not asked for: %+v", got)
	}
}

// A model that spent its whole output limit on thinking was asked again and again.
func TestFieldH4AnEmptyReplyThatWasCutEndsTheRun(t *testing.T) {
	asked := 0
	m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
		asked++
		return &model.Reply{Finish: model.FinishLength, Usage: cost, Message: model.Message{Role: model.Assistant, Reasoning: "so …"}}, nil
	})
	_, got := finish(t, t.Context(), newAgent(t, m, nil))
	if got.ExitReason != run.ExitLength || asked != 1 || got.StepCount != 1 {
		t.Errorf("%s after %d calls: %+v", got.ExitReason, asked, got)
	}
	// One that is empty since its broken call was left out is asked for again.
	lost := &model.Reply{Finish: model.FinishStop, Usage: cost, DroppedCalls: 1, Message: model.Message{Role: model.Assistant}}
	_, got = finish(t, t.Context(), newAgent(t, says(lost, text("done")), nil))
	if got.ExitReason != run.ExitText || got.Output != "done" {
		t.Errorf("%+v", got)
	}
}

// An empty message of the assistant was kept, and every later turn failed.
func TestFieldH5NoMessageIsKeptThatCannotBeSent(t *testing.T) {
	empty := func() *model.Reply { return &model.Reply{Finish: model.FinishStop, Usage: cost, DroppedCalls: 1} }
	cut := empty()
	cut.Finish = model.FinishLength
	for name, m := range map[string]model.Model{
		"one empty reply": says(empty(), calls("a"), text("ok")),
		"two":             says(calls("a"), empty(), empty()),
		"one that is cut": says(calls("a"), cut),
	} {
		_, got := finish(t, t.Context(), newAgent(t, m, nil))
		if why := broken(got.Messages); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	// And a history that has one already poisons nothing.
	sent, _, _ := asks(t, planner.Tools{}, []model.Message{model.Text(model.User, "u"), {Role: model.Assistant}, model.Text(model.User, "go")})
	if why := broken(sent[0]); why != "" || len(sent[0]) != 2 {
		t.Errorf("%s: %+v", why, sent[0])
	}
}

// Each element of a page is a tool that ends the run, and so does text.
func TestFieldH7SeveralThingsMayEndTheRun(t *testing.T) {
	for _, c := range []struct {
		first  *model.Reply
		reason run.ExitReason
	}{{calls("a"), "a"}, {calls("b"), "b"}, {calls(`n {"n":1}`), "n"}, {text("hi"), run.ExitText}} {
		_, got := finish(t, t.Context(), newAgent(t, says(c.first), func(a *agent.Agent) { a.Exit = []string{"text", "a", "b", "n"} }))
		if got.ExitReason != c.reason {
			t.Errorf("%s, want %s", got.ExitReason, c.reason)
		}
	}
}

// The model was shown a handle of a call that had not ended.
func TestFieldH14TheModelSeesWhatAToolSaidWhenItHadEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := boxFunc(func(context.Context, agent.Call) agent.Result {
			time.Sleep(time.Minute) // virtual time
			return agent.Result{Content: model.TextParts("the value")}
		})
		_, got := finish(t, t.Context(), newAgent(t, says(calls("a"), text("ok")), func(a *agent.Agent) { a.Box = box }))
		if got.Steps[0].Observation != "the value" || got.Messages[2].Text() != "the value" {
			t.Errorf("%+v", got.Steps)
		}
	})
}

// A callback of one kind was refused by a loop of the other. Here the caller's own
// loop is what is told, as slow as it is.
func TestFieldH26WhoeverListensIsToldEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
			for _, s := range []string{"one ", "two ", "three"} {
				sink(model.Chunk{Text: s})
			}
			return text("one two three"), nil
		})
		heard := make(chan string)
		go func() {
			defer close(heard)
			for e := range newAgent(t, m, nil).Run(t.Context(), "r", prompt()) {
				heard <- e.Text()
			}
		}()
		var all string
		for s := range heard {
			time.Sleep(time.Second) // virtual time
			all += s
		}
		if all != "one two three" {
			t.Errorf("heard %q", all)
		}
	})
}

// Text, thinking, calls and results could not be told apart.
func TestFieldH28WhatArrivesSaysWhatItIs(t *testing.T) {
	asked := 0
	m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		if asked++; asked > 1 {
			return text("done"), nil
		}
		sink(model.Chunk{Reasoning: "hm"})
		sink(model.Chunk{Text: "I call."})
		r := calls("a", "b")
		r.Message.Content = model.TextParts("I call.")
		return r, nil
	})
	events, _ := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { a.Parallel = 1 }))
	want := []string{
		"run_started", "step_started", "reasoning_delta", "text_delta", "model_finished", "actions",
		"tool_started", "tool_finished", "tool_started", "tool_finished", "step_finished",
		"step_started", "text_delta", "model_finished", "actions", "step_finished", "run_finished",
	}
	got := slices.DeleteFunc(types(t, events), func(s string) bool { return s == "tool_call_delta" })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// The step counter of a run that was restored began at nothing.
func TestFieldH34ARestoredRunKeepsItsCounters(t *testing.T) {
	edit := func(a *agent.Agent) { a.MaxSteps, a.Limits.Calls = 3, 4 }
	a := newAgent(t, forever(varying()), edit)
	events, whole := finish(t, t.Context(), a)
	events = stored(events)
	for cut := 1; cut < len(events); cut++ {
		c := crashed(t, events[:cut])
		_, got := collect(t, newAgent(t, forever(varying()), func(a *agent.Agent) { edit(a); a.Store = c.store }).Resume(t.Context(), c.state))
		if got.StepCount != whole.StepCount || got.TokenUsage != whole.TokenUsage || got.ExitReason != whole.ExitReason || got.ToolCallCounts["a"] != whole.ToolCallCounts["a"] {
			t.Errorf("after %d events: %+v, want %+v", cut, got, whole)
		}
	}
}

// A crash in a tool lost the run. It goes on from any point, and nothing is done twice.
func TestFieldH31ACrashLosesNothing(t *testing.T) {
	replies := []*model.Reply{calls("a", "b"), calls("a"), text("done")}
	events, _ := finish(t, t.Context(), newAgent(t, says(replies...), nil))
	events = stored(events)
	for cut := 1; cut < len(events); cut++ {
		c := crashed(t, events[:cut])
		_, got := collect(t, newAgent(t, says(replies[c.replied:]...), func(a *agent.Agent) { a.Box, a.Store = c.box, c.store }).Resume(t.Context(), c.state))
		if got.Output != "done" || len(got.Steps) != 3 || len(c.box.times) != 3 {
			t.Errorf("after %d events: %+v", cut, got)
		}
		for id, n := range c.box.times {
			if n != 1 {
				t.Errorf("after %d events: %s was made %d times", cut, id, n)
			}
		}
	}
}

// A tool that failed broke the run off, and left a call without an answer.
func TestFieldL16AFailedToolIsAResult(t *testing.T) {
	for _, c := range []struct {
		fatal  bool
		reason run.ExitReason
	}{{false, run.ExitText}, {true, run.ExitError}} {
		_, got := finish(t, t.Context(), newAgent(t, says(calls("fail", "panic", "a"), text("ok")), func(a *agent.Agent) { a.FailOnError = c.fatal }))
		if got.ExitReason != c.reason || len(got.Steps) != 3 || !got.Steps[0].IsError || !got.Steps[1].IsError || got.Steps[2].IsError {
			t.Errorf("%+v", got)
		}
		if why := broken(got.Messages); why != "" {
			t.Error(why)
		}
	}
}

// One tool that is always down stopped the whole agent.
func TestFieldL17OneFailingToolStopsNoOther(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("fail"), calls("a"), calls("fail", "b"), text("ok")), nil))
	if got.Output != "ok" || got.ToolCallCounts["a"] != 1 || got.ToolCallCounts["b"] != 1 {
		t.Errorf("%+v", got)
	}
}

// Calls that were tried again were not counted, so the limit of calls did not hold.
func TestFieldL19TheLimitOfCallsCountsEveryAttempt(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("fail"), calls("fail"), calls("fail"), text("ok")), func(a *agent.Agent) { a.Limits.Calls = 2 }))
	if got.ToolCallCounts["fail"] != 2 || got.Steps[2].ErrorKind != run.KindRefused || got.Output != "ok" {
		t.Errorf("%+v", got)
	}
}

// The error of a tool became the final answer.
func TestFieldL20AFailedDirectResultIsNoAnswer(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("fail"), text("sorry")), func(a *agent.Agent) { a.Tools[2].ReturnDirect = true }))
	if got.ExitReason != run.ExitText || got.Output != "sorry" {
		t.Errorf("%+v", got)
	}
}

// Whoever hit the limit lost what was done.
func TestFieldL23AtTheLimitNothingIsLostAndTheRunGoesOn(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, forever(saying("a", "fail")), func(a *agent.Agent) { a.MaxSteps = 2 }))
	if got.ExitReason != run.ExitMaxSteps || len(got.Steps) != 4 || got.TokenUsage.TotalTokens != 10 || got.StepCount != 2 {
		t.Errorf("%+v", got)
	}
	more := append(slices.Clone(got.Messages), model.Text(model.User, "go on"))
	_, again := collect(t, newAgent(t, says(text("done")), nil).Run(t.Context(), "r2", run.Prompted{Messages: more}))
	if again.Output != "done" || again.StepCount != 1 {
		t.Errorf("%+v", again)
	}
	if why := broken(again.Messages); why != "" {
		t.Error(why)
	}
}

// The same call with the same result was made without end.
func TestFieldL26TheSameCallIsNotMadeWithoutEnd(t *testing.T) {
	events, got := finish(t, t.Context(), newAgent(t, forever(saying("a")), func(a *agent.Agent) { a.MaxSteps, a.Limits.Repeats = 100, 3 }))
	if got.ExitReason != run.ExitRepeatedCalls || got.StepCount > 4 || warnings(events) != 1 {
		t.Errorf("%s after %d steps, %d warnings", got.ExitReason, got.StepCount, warnings(events))
	}
}

// The limit of time did not hold while a call blocked.
func TestFieldL28TheLimitOfTimeHoldsWhileACallBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := 0
		box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
			if c.Tool == "b" {
				return echo(ctx, c)
			}
			inside++
			<-ctx.Done()
			inside--
			return agent.Result{Kind: run.KindCancelled, Content: model.TextParts("cancelled")}
		})
		start := time.Now()
		_, got := finish(t, t.Context(), newAgent(t, says(calls("b", "a")), func(a *agent.Agent) { a.Box, a.MaxDuration = box, time.Second }))
		if got.ExitReason != run.ExitMaxDuration || time.Since(start) != time.Second || inside != 0 {
			t.Errorf("%s after %s, %d calls still run", got.ExitReason, time.Since(start), inside)
		}
		if got.Steps[0].Observation != "did b" || got.Steps[1].ErrorKind != run.KindCancelled {
			t.Errorf("what was done is not kept: %+v", got.Steps)
		}
	})
}

// Ids that a provider uses again, or leaves out, crossed the results.
func TestFieldL32CallsAreToldApartWhateverTheirIDs(t *testing.T) {
	for name, ids := range map[string][]string{"none": {"", "", ""}, "all the same": {"0", "0", "0"}, "ours": {"call_1_2", "call_1_1", "call_2_1"}} {
		asked := 0
		m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
			if asked++; asked > 2 {
				return text("ok"), nil
			}
			r := calls("a", "b", `n {"n":1}`)
			for i := range r.Message.ToolCalls {
				r.Message.ToolCalls[i].ID = ids[i]
			}
			return r, nil
		})
		_, got := finish(t, t.Context(), newAgent(t, m, nil))
		var seen []string
		for _, s := range got.Steps {
			seen = append(seen, s.Action.CallID+" "+s.Observation)
		}
		want := []string{"call_1_1 did a", "call_1_2 did b", "call_1_3 did n", "call_2_1 did a", "call_2_2 did b", "call_2_3 did n"}
		if d := cmp.Diff(want, seen); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if why := broken(got.Messages); why != "" {
			t.Errorf("%s: %s", name, why)
		}
		if c := got.Messages[1].ToolCalls[0]; c.WireID != ids[0] {
			t.Errorf("%s: the provider's id is %q", name, c.WireID)
		}
	}
}

// What runs at once could not be told, and results came in any order.
func TestFieldL35WhatRunsAtOnceIsSaidAndResultsAreInOrder(t *testing.T) {
	for _, parallel := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			inside, most, alone := 0, 0, 0
			turn := make(chan struct{}, 1)
			turn <- struct{}{}
			count := func(n int) {
				<-turn
				inside += n
				most = max(most, inside)
				turn <- struct{}{}
			}
			box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
				count(1)
				defer count(-1)
				if c.Tool == "b" {
					if alone++; alone > 1 {
						t.Error("two calls that take turns run at once")
					}
					defer func() { alone-- }()
				}
				time.Sleep(time.Duration(10-len(c.ID)) * time.Second) // virtual time
				return echo(ctx, c)
			})
			_, got := finish(t, t.Context(), newAgent(t, says(calls("a", "b", "a", "b", "a"), text("ok")), func(a *agent.Agent) {
				a.Box, a.Parallel = box, parallel
				a.Tools[1].Turns = "b"
			}))
			var order []string
			for _, s := range got.Steps {
				order = append(order, s.Action.CallID)
			}
			if !slices.IsSorted(order) || most != parallel {
				t.Errorf("%d at once, %q", most, order)
			}
		})
	}
}

// A stream that broke off in a call ended the run as if it had gone well.
func TestFieldL38AReplyThatBrokeOffIsNoEnd(t *testing.T) {
	ran := 0
	m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		sink(model.Chunk{Text: "I will"})
		sink(model.Chunk{Call: &model.CallChunk{Name: "a", Arguments: `{"x":`}})
		return nil, &model.Error{Kind: model.Stream, Message: "broke off", Retryable: true, Partial: "I will"}
	})
	_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) {
		a.Box = boxFunc(func(ctx context.Context, c agent.Call) agent.Result { ran++; return echo(ctx, c) })
	}))
	if got.ExitReason != run.ExitError || got.Error.Kind != string(model.Stream) || got.Error.Partial != "I will" || ran != 0 || len(got.Messages) != 1 {
		t.Errorf("%d calls ran: %+v", ran, got)
	}
	if diff := cmp.Diff([]string{"a"}, got.Error.DroppedTools); diff != "" {
		t.Error(diff)
	}
}

// A call that was cancelled stayed without an answer, and the provider refused every
// later turn.
func TestFieldL41ACancelledCallIsAnsweredInEveryHistory(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	box := boxFunc(func(ctx context.Context, _ agent.Call) agent.Result {
		cancel()
		<-ctx.Done()
		return agent.Result{Kind: run.KindCancelled, Content: model.TextParts("cancelled")}
	})
	_, got := finish(t, ctx, newAgent(t, says(calls("a", "b")), func(a *agent.Agent) { a.Box, a.Parallel = box, 1 }))
	if why := broken(got.Messages); why != "" {
		t.Errorf("cancelled: %s", why)
	}
	// Of a process that is gone, and one that knew nothing of all this.
	dangling := []model.Message{model.Text(model.User, "go"), got.Messages[1], model.Text(model.User, "and now?")}
	sent, _, log := asks(t, planner.Tools{}, dangling)
	if why := broken(sent[0]); why != "" || !strings.Contains(sent[0][2].Text(), "not known") || !strings.Contains(log, "results_missing=2") {
		t.Errorf("%s: %+v\n%s", why, sent[0], log)
	}
}
