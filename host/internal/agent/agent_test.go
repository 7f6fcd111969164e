package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error)

func (f modelFunc) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	return f(ctx, req, sink)
}

// says returns a model that gives these replies, one after the other.
func says(replies ...*model.Reply) model.Model {
	next := 0
	return modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
		if next == len(replies) {
			return nil, &model.Error{Kind: model.Rejected, Message: "the script is over"}
		}
		next++
		return replies[next-1], nil
	})
}

var cost = model.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5}

func text(s string) *model.Reply {
	return &model.Reply{Message: model.Text(model.Assistant, s), Finish: model.FinishStop, Usage: cost}
}

// calls returns a reply that calls tools: "name" or "name {json}".
func calls(specs ...string) *model.Reply {
	r := &model.Reply{Finish: model.FinishToolCalls, Usage: cost, Message: model.Message{Role: model.Assistant}}
	for i, s := range specs {
		name, args, ok := strings.Cut(s, " ")
		if !ok {
			args = "{}"
		}
		r.Message.ToolCalls = append(r.Message.ToolCalls, model.ToolCall{
			ID: fmt.Sprint("wire", i), Name: name, Arguments: json.RawMessage(args),
		})
	}
	return r
}

// boxFunc is a toolbox that is a function.
type boxFunc func(ctx context.Context, c agent.Call) agent.Result

func (f boxFunc) Call(ctx context.Context, c agent.Call) agent.Result { return f(ctx, c) }

// echo answers every call with its name, fails for "fail" and panics for "panic".
func echo(_ context.Context, c agent.Call) agent.Result {
	switch c.Tool {
	case "fail":
		return agent.Result{Content: model.TextParts("it failed"), Kind: run.KindToolError, Receipt: &run.Receipt{}}
	case "panic":
		panic("secret of the host")
	default:
		return agent.Result{Content: model.TextParts("did " + c.Tool), Receipt: &run.Receipt{}}
	}
}

func tool(name string) agent.Tool {
	return agent.Tool{Definition: model.Definition{Name: name}}
}

var numberSchema = sync.OnceValues(func() (*schema.Schema, error) {
	return schema.Compile(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
})

// newAgent returns an agent with the tools a, b, fail and panic, changed by edit.
func newAgent(t testing.TB, m model.Model, edit func(*agent.Agent)) *agent.Agent {
	t.Helper()
	numbered, err := numberSchema()
	if err != nil {
		t.Fatal(err)
	}
	a := &agent.Agent{
		Model: m, Planner: planner.Tools{}, Box: boxFunc(echo), Store: new(run.Memory),
		Tools:    []agent.Tool{tool("a"), tool("b"), tool("fail"), tool("panic"), {Definition: model.Definition{Name: "n"}, Schema: numbered}},
		MaxSteps: 15, Parallel: 4, Exit: []string{"text"}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	}
	if edit != nil {
		edit(a)
	}
	return a
}

func prompt() run.Prompted {
	return run.Prompted{Messages: []model.Message{model.Text(model.User, "go")}}
}

// finish runs a to its end and returns the events and the result.
func finish(t testing.TB, ctx context.Context, a *agent.Agent) ([]run.Event, *run.Result) {
	t.Helper()
	return collect(t, a.Run(ctx, "r", prompt()))
}

func collect(t testing.TB, seq iter.Seq2[run.Event, error]) ([]run.Event, *run.Result) {
	t.Helper()
	var events []run.Event
	for e, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	switch b := events[len(events)-1].Body.(type) {
	case run.Finished:
		return events, b.Result
	case run.Failed:
		return events, b.Result
	default:
		t.Fatalf("the last event is %T", b)
		return nil, nil
	}
}

func TestAnAnswerEndsTheRun(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(text("hello")), nil))
	if got.ExitReason != run.ExitText || got.Output != "hello" || got.StepCount != 1 || got.TokenUsage != cost || got.ContextTokens != 5 {
		t.Errorf("result is %+v", got)
	}
}

func TestAToolIsCalledAndAnswered(t *testing.T) {
	events, got := finish(t, t.Context(), newAgent(t, says(calls("a"), text("done")), nil))
	want := []string{
		"run_started", "step_started", "model_finished", "actions", "tool_started", "tool_finished", "step_finished",
		"step_started", "text_delta", "model_finished", "actions", "step_finished", "run_finished",
	}
	if d := cmp.Diff(want, types(t, events)); d != "" {
		t.Error(d)
	}
	if got.Output != "done" || got.StepCount != 2 || got.ToolCallCounts["a"] != 1 {
		t.Errorf("result is %+v", got)
	}
	if s := got.Steps[0]; s.Action.CallID != "call_1_1" || s.Observation != "did a" || s.Receipt == nil {
		t.Errorf("step is %+v", s)
	}
}

func types(t testing.TB, events []run.Event) []string {
	t.Helper()
	var out []string
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var h struct{ Type string }
		if err := json.Unmarshal(data, &h); err != nil {
			t.Fatal(err)
		}
		out = append(out, h.Type)
	}
	return out
}

func TestMistakesOfTheModelAreObservationsAndRunNothing(t *testing.T) {
	broken := calls("a", "a")
	broken.Message.ToolCalls[0].Invalid = &model.InvalidArgs{Raw: `{"x":`, Problem: "unexpected end at byte 5"}
	for _, c := range []struct {
		name  string
		reply *model.Reply
		kind  run.ErrorKind
		want  string
	}{
		{"unknown tool", calls("nope", "a"), run.KindUnknownTool, `no tool named "nope"; nothing was run. The tools are: a, b, fail, panic, n.`},
		{"unreadable arguments", broken, run.KindInvalidArgs, "unexpected end at byte 5"},
		{"missing field", calls("n", "a"), run.KindInvalidArgs, "n"},
		{"wrong type", calls(`n {"n":"x"}`, "a"), run.KindInvalidArgs, "n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := finish(t, t.Context(), newAgent(t, says(c.reply, text("ok")), func(a *agent.Agent) { a.FailOnError = true }))
			s := got.Steps[0]
			if !s.IsError || s.ErrorKind != c.kind || !strings.Contains(s.Observation, c.want) || s.Receipt != nil {
				t.Errorf("step is %+v", s)
			}
			if got.Output != "ok" || got.Steps[1].Observation != "did a" {
				t.Errorf("the run did not go on: %+v", got)
			}
			if d := cmp.Diff(map[string]int{"a": 1}, got.ToolCallCounts); d != "" {
				t.Errorf("a call that did not run was counted: %s", d)
			}
		})
	}
}

func TestAnUnknownNameIsQuotedAndCut(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("\x1b[2J"+strings.Repeat("x", 1000)), text("ok")), nil))
	if o := got.Steps[0].Observation; strings.Contains(o, "\x1b") || len(o) > 300 {
		t.Errorf("observation is %q", o)
	}
}

func TestAFailedToolIsAnObservation(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("fail", "panic"), text("ok")), nil))
	if s := got.Steps[0]; s.ErrorKind != run.KindToolError || s.Observation != "it failed" {
		t.Errorf("step is %+v", s)
	}
	if s := got.Steps[1]; s.ErrorKind != run.KindInternal || strings.Contains(s.Observation, "secret") {
		t.Errorf("step is %+v", s)
	}
	if got.Output != "ok" {
		t.Errorf("output is %q", got.Output)
	}
}

func TestAFailedToolEndsTheRunWhenAsked(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("fail", "a")), func(a *agent.Agent) { a.FailOnError = true }))
	if got.ExitReason != run.ExitError || got.Error.Kind != run.FailTool || got.Error.Tool != "fail" {
		t.Errorf("result is %+v", got)
	}
	checkPairs(t, got.Messages)
}

func TestReturnDirectNeedsASingleCallThatWentWell(t *testing.T) {
	direct := func(a *agent.Agent) {
		for i := range a.Tools {
			a.Tools[i].ReturnDirect = true
		}
	}
	for _, c := range []struct {
		first  *model.Reply
		reason run.ExitReason
		output string
	}{
		{calls("a"), run.ExitReturnDirect, "did a"},
		{calls("a", "b"), run.ExitText, "then"},
		{calls("fail"), run.ExitText, "then"},
		{calls("nope"), run.ExitText, "then"},
	} {
		_, got := finish(t, t.Context(), newAgent(t, says(c.first, text("then")), direct))
		if got.ExitReason != c.reason || got.Output != c.output {
			t.Errorf("got %s %q, want %s %q", got.ExitReason, got.Output, c.reason, c.output)
		}
	}
}

func TestAnExitToolEndsTheRunWhereverItStands(t *testing.T) {
	exits := func(a *agent.Agent) { a.Exit = []string{"text", "b", "fail"} }
	for _, c := range []struct {
		first  *model.Reply
		reason run.ExitReason
		output string
	}{
		{calls("b"), "b", "did b"},
		{calls("a", "b"), "b", "did b"},
		{calls("b", "fail"), "b", "did b"},
		{calls("fail"), run.ExitText, "then"},
	} {
		_, got := finish(t, t.Context(), newAgent(t, says(c.first, text("then")), exits))
		if got.ExitReason != c.reason || got.Output != c.output {
			t.Errorf("got %s %q, want %s %q", got.ExitReason, got.Output, c.reason, c.output)
		}
		checkPairs(t, got.Messages)
	}
}

func TestTextGoesOnWhenItIsNoExit(t *testing.T) {
	only := func(a *agent.Agent) { a.Exit = []string{"b"} }
	_, got := finish(t, t.Context(), newAgent(t, says(text("thinking"), calls("b")), only))
	if got.ExitReason != "b" || got.StepCount != 2 || got.Messages[1].Text() != "thinking" {
		t.Errorf("result is %+v", got)
	}
	_, got = finish(t, t.Context(), newAgent(t, says(text("answer")), func(a *agent.Agent) { only(a); a.Tools = nil }))
	if got.ExitReason != run.ExitText || got.Output != "answer" {
		t.Errorf("without tools the run ended by %s with %q", got.ExitReason, got.Output)
	}
}

func TestTheStepLimitIsNeverExceeded(t *testing.T) {
	for _, limit := range []int{0, 1, 3} {
		asked := 0
		m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
			asked++
			return calls("a"), nil
		})
		_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { a.MaxSteps = limit }))
		if got.ExitReason != run.ExitMaxSteps || asked != limit || got.StepCount != limit || got.Output == "" {
			t.Errorf("limit %d: %d model calls, result %+v", limit, asked, got)
		}
	}
}

func TestResultsAreInCallOrderWhateverFinishesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := map[string]time.Duration{"a": 3 * time.Second, "b": time.Second}
		box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
			time.Sleep(delays[c.Tool]) // virtual time
			return echo(ctx, c)
		})
		start := time.Now()
		events, got := finish(t, t.Context(), newAgent(t, says(calls("a", "b"), text("ok")), func(a *agent.Agent) { a.Box = box }))
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("two parallel calls took %s, want 3s", took)
		}
		if got.Steps[0].Observation != "did a" || got.Steps[1].Observation != "did b" {
			t.Errorf("steps are %+v", got.Steps)
		}
		var order []string
		for _, e := range events {
			if r, ok := e.Body.(run.Returned); ok {
				order = append(order, r.Tool)
			}
		}
		if d := cmp.Diff([]string{"b", "a"}, order); d != "" {
			t.Errorf("outcomes are not reported as they come: %s", d)
		}
	})
}

func TestNoMoreCallsRunAtOnceThanAllowed(t *testing.T) {
	for _, limit := range []int{1, 2, 4} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			now, most := 0, 0
			box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second) // virtual time
				mu.Lock()
				now--
				mu.Unlock()
				return echo(ctx, c)
			})
			reply := calls("a", "b", "a", "b", "a", "b", "a")
			_, got := finish(t, t.Context(), newAgent(t, says(reply, text("ok")), func(a *agent.Agent) { a.Box, a.Parallel = box, limit }))
			if most != limit || len(got.Steps) != 7 {
				t.Errorf("%d calls ran at once with a limit of %d, %d steps", most, limit, len(got.Steps))
			}
		})
	}
}

func TestCancellingEndsTheRunWithASendableTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
			if c.Tool == "b" {
				return echo(ctx, c)
			}
			cancel()
			<-ctx.Done()
			return agent.Result{Kind: run.KindCancelled, Content: model.TextParts("cancelled")}
		})
		a := newAgent(t, says(calls("b", "a", "b")), func(a *agent.Agent) { a.Box, a.Parallel = box, 1 })
		_, got := finish(t, ctx, a)
		if got.ExitReason != run.ExitInterrupted {
			t.Errorf("exit reason is %s", got.ExitReason)
		}
		var kinds []run.ErrorKind
		for _, s := range got.Steps {
			kinds = append(kinds, s.ErrorKind)
		}
		if d := cmp.Diff([]run.ErrorKind{"", run.KindCancelled, run.KindCancelled}, kinds); d != "" {
			t.Errorf("finished work is kept and the rest is cancelled: %s", d)
		}
		if got.ToolCallCounts["b"] != 1 {
			t.Errorf("counts are %v: a call that never ran was counted", got.ToolCallCounts)
		}
		checkPairs(t, got.Messages)
	})
}

func TestTheDurationLimitCancelsWhatIsInFlight(t *testing.T) {
	blocked := modelFunc(func(ctx context.Context, _ *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	stuck := boxFunc(func(ctx context.Context, _ agent.Call) agent.Result {
		<-ctx.Done()
		return agent.Result{Kind: run.KindCancelled, Content: model.TextParts("cancelled")}
	})
	for name, edit := range map[string]func(*agent.Agent){
		"a model call": func(a *agent.Agent) { a.Model = blocked },
		"a tool":       func(a *agent.Agent) { a.Box = stuck },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				_, got := finish(t, t.Context(), newAgent(t, says(calls("a")), func(a *agent.Agent) {
					a.MaxDuration = 2 * time.Second
					edit(a)
				}))
				if got.ExitReason != run.ExitMaxDuration || time.Since(start) != 2*time.Second || got.Output == "" {
					t.Errorf("after %s: %+v", time.Since(start), got)
				}
				checkPairs(t, got.Messages)
			})
		})
	}
}

func TestACutReplyEndsTheRunAndItsCallsAreNotRun(t *testing.T) {
	for _, reason := range []model.FinishReason{model.FinishLength, model.FinishContentFilter} {
		cut := calls("a")
		cut.Message.Content = model.TextParts("half of")
		cut.Finish = reason
		_, got := finish(t, t.Context(), newAgent(t, says(cut), nil))
		if got.ExitReason != run.ExitReason(reason) || got.Output != "half of" || len(got.Steps) != 0 || len(got.ToolCallCounts) != 0 {
			t.Errorf("result is %+v", got)
		}
		checkPairs(t, got.Messages)
		bare := calls("a")
		bare.Finish = reason
		_, got = finish(t, t.Context(), newAgent(t, says(bare), nil))
		if len(got.Messages) != 1 || got.StepCount != 1 {
			t.Errorf("a message that no provider takes back was kept: %+v", got.Messages)
		}
	}
}

func TestAnEmptyReplyIsAskedForOnceMore(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(text(" "), text("now")), nil))
	if got.Output != "now" || got.StepCount != 1 || got.TokenUsage.TotalTokens != 10 || got.ContextTokens != 5 {
		t.Errorf("result is %+v", got)
	}
	_, got = finish(t, t.Context(), newAgent(t, says(text(""), text("")), nil))
	if got.ExitReason != run.ExitError || got.Error.Kind != string(model.Stream) || len(got.Messages) != 1 {
		t.Errorf("result is %+v", got)
	}
}

func TestAModelThatFailsFailsTheRun(t *testing.T) {
	m := modelFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
		return nil, &model.Error{Kind: model.Stream, Message: "broke off", Partial: "The ans"}
	})
	_, got := finish(t, t.Context(), newAgent(t, m, nil))
	want := &run.Failure{Kind: "model_stream", Message: "model: broke off", Partial: "The ans"}
	if d := cmp.Diff(want, got.Error); d != "" || got.ExitReason != run.ExitError || len(got.Messages) != 1 {
		t.Errorf("%s\n%+v", d, got)
	}
}

func TestRetriesAndDeltasAreShownAndNotStored(t *testing.T) {
	m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		sink(model.Chunk{Text: "wro"})
		sink(model.Chunk{Retry: &model.Retry{Attempt: 1, Err: errors.New("reset\nby peer")}})
		sink(model.Chunk{Reasoning: "hm"})
		sink(model.Chunk{Text: "right"})
		return text("right"), nil
	})
	a := newAgent(t, m, nil)
	events, _ := finish(t, t.Context(), a)
	var got []string
	for _, e := range events {
		if e.Transient() {
			got = append(got, fmt.Sprintf("%d %+v", e.After, e.Body))
		}
	}
	want := []string{"2 {Text:wro Reasoning:}", "2 {Attempt:1 WaitMS:0 Error:reset by peer Model:}", "2 {Text: Reasoning:hm}", "2 {Text:right Reasoning:}"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for e := range a.Store.Load(t.Context(), "r", 0) {
		if e.Transient() {
			t.Errorf("%T was stored", e.Body)
		}
	}
}

func TestAToolThatTalksWithoutEndHoldsNothing(t *testing.T) {
	box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
		for range 10_000 {
			c.Log("info", "again")
			c.Progress(500, "half")
		}
		return echo(ctx, c)
	})
	events, got := finish(t, t.Context(), newAgent(t, says(calls("a", "b"), text("ok")), func(a *agent.Agent) { a.Box = box }))
	if got.Output != "ok" {
		t.Errorf("result is %+v", got)
	}
	if !slices.ContainsFunc(events, func(e run.Event) bool { _, ok := e.Body.(run.Logged); return ok }) {
		t.Error("no log line was shown")
	}
}

func TestTheCallersSlicesAreNotChanged(t *testing.T) {
	given := make([]model.Message, 1, 8)
	given[0] = model.Text(model.User, "go")
	spare := given[:8]
	collect(t, newAgent(t, says(calls("a"), text("ok")), nil).Run(t.Context(), "r", run.Prompted{Messages: given}))
	if d := cmp.Diff(make([]model.Message, 7), spare[1:]); d != "" {
		t.Errorf("the caller's slice was written: %s", d)
	}
}

func TestIDsAreUniqueInAConversationThatGoesOn(t *testing.T) {
	_, first := finish(t, t.Context(), newAgent(t, says(calls("a"), text("ok")), nil))
	again := append(slices.Clone(first.Messages), model.Text(model.User, "more"))
	_, got := collect(t, newAgent(t, says(calls("a"), text("ok")), nil).Run(t.Context(), "r2", run.Prompted{Messages: again}))
	checkPairs(t, got.Messages)
	if id := got.Steps[0].Action.CallID; id != "call_1_1_2" {
		t.Errorf("id is %q", id)
	}
}

// checkPairs fails when a call has not exactly one result right behind it.
func checkPairs(t testing.TB, msgs []model.Message) {
	t.Helper()
	seen := map[string]bool{}
	for i := 0; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == model.Tool {
			t.Fatalf("message %d answers no call", i)
		}
		for _, c := range m.ToolCalls {
			if seen[c.ID] {
				t.Fatalf("id %s is used twice", c.ID)
			}
			seen[c.ID] = true
			if i == len(msgs) || msgs[i].Role != model.Tool || msgs[i].CallID != c.ID {
				t.Fatalf("call %s has no result in its place", c.ID)
			}
			i++
		}
	}
}
