package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// nesting returns a toolbox whose calls are runs of child, in store. It says how each
// ended in the result's text.
func nesting(child *agent.Agent) boxFunc {
	return func(ctx context.Context, c agent.Call) agent.Result {
		var end run.Finished
		var spent run.Spent
		for e, err := range up(child, c.Meter).Run(ctx, c.NestedRun, prompt()) {
			if err != nil {
				return agent.Result{Kind: run.KindInternal, Content: model.TextParts(err.Error())}
			}
			c.Nested(e)
			if f, ok := e.Body.(run.Finished); ok {
				end = f
				spent = run.Spent{Usage: f.Result.TokenUsage, ToolCalls: len(f.Result.Steps)}
			}
		}
		return agent.Result{Content: model.TextParts(string(end.ExitReason) + ": " + end.Output), NestedRun: c.NestedRun, Spent: &spent}
	}
}

// up returns a copy of a whose runs count for m as well.
func up(a *agent.Agent, m *agent.Meter) *agent.Agent {
	b := *a
	b.Up = m
	return &b
}

// agents makes tools agents.
func agents(a *agent.Agent, names ...string) {
	for i := range a.Tools {
		if slices.Contains(names, a.Tools[i].Definition.Name) {
			a.Tools[i].Nested = true
		}
	}
}

func TestFieldH29EventsOfANestedRunAreShownWhileItsCallRuns(t *testing.T) {
	store := new(run.Memory)
	grandchild := newAgent(t, says(calls("a"), text("deep")), nil)
	child := newAgent(t, says(calls("b"), text("inner")), func(a *agent.Agent) { a.Box, a.Store = nesting(grandchild), store; agents(a, "b") })
	events, got := finish(t, t.Context(), newAgent(t, says(calls("a"), text("outer")), func(a *agent.Agent) {
		a.Box, a.Store = nesting(child), store
		agents(a, "a")
	}))
	if got.Output != "outer" || got.Steps[0].Observation != "text: inner" || got.Steps[0].NestedRun != "r.call_1_1" {
		t.Errorf("result is %+v", got)
	}
	var seqs, deeper []uint64
	open := false
	for _, e := range events {
		switch b := e.Body.(type) {
		case run.Called:
			open = true
		case run.Returned:
			open = false
			if b.NestedRun != "r.call_1_1" {
				t.Errorf("the result names the run %q", b.NestedRun)
			}
		case run.Nested:
			if !open || b.CallID != "call_1_1" || b.Tool != "a" || b.Event.Run != "r.call_1_1" {
				t.Errorf("at the wrong place: %+v", b)
			}
			if inner, ok := b.Event.Body.(run.Nested); ok {
				if inner.Event.Run != "r.call_1_1.call_1_1" {
					t.Errorf("nested in %q", inner.Event.Run)
				}
				if !inner.Event.Transient() {
					deeper = append(deeper, inner.Event.Seq)
				}
			}
			if !b.Event.Transient() {
				seqs = append(seqs, b.Event.Seq)
			}
		}
	}
	want := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if d := cmp.Diff(want, seqs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, deeper); d != "" {
		t.Error(d)
	}
	s, err := run.Load(t.Context(), store, "r.call_1_1")
	if err != nil || s.Output != "inner" {
		t.Errorf("%+v, %v", s, err)
	}
	for e, err := range store.Load(t.Context(), "r", 0) {
		if err != nil || e.Transient() {
			t.Errorf("stored: %+v, %v", e, err)
		}
	}
}

// The limit of the outer run ends the inner one, which does not take it for its own.
func TestTheTimeOfARunBindsTheRunsInIt(t *testing.T) {
	for _, own := range []time.Duration{0, time.Hour, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			running := 0
			store := new(run.Memory)
			child := newAgent(t, says(calls("a")), func(a *agent.Agent) {
				a.MaxDuration, a.Store = own, store
				a.Box = boxFunc(func(ctx context.Context, _ agent.Call) agent.Result {
					running++
					<-ctx.Done()
					running--
					return agent.Result{Kind: run.KindCancelled}
				})
			})
			m := says(calls("a"), text("done"))
			_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) {
				a.Box, a.Store, a.MaxDuration = nesting(child), store, 5*time.Second
				agents(a, "a")
			}))
			wantOuter, wantInner := run.ExitMaxDuration, run.ExitInterrupted
			if own == 3*time.Second {
				wantOuter, wantInner = run.ExitText, run.ExitMaxDuration
			}
			s, err := run.Load(t.Context(), store, "r.call_1_1")
			if err != nil || got.ExitReason != wantOuter || s.ExitReason != wantInner || running != 0 {
				t.Errorf("own limit %s: outer %s, inner %s, %d calls run, %v", own, got.ExitReason, s.ExitReason, running, err)
			}
		})
	}
}

// A nested run that shows more than anybody takes does not wait for it, and what it
// lost is counted.
func TestANestedRunThatFloodsIsBounded(t *testing.T) {
	const flood = 200_000
	finished := make(chan struct{})
	box := boxFunc(func(_ context.Context, c agent.Call) agent.Result {
		for i := range flood {
			c.Nested(run.Event{Run: "c", Seq: uint64(i + 1), Body: run.Began{Step: 1}})
			c.Nested(run.Event{Run: "c", After: uint64(i + 1), Body: run.Delta{Text: "x"}})
		}
		close(finished)
		return agent.Result{Content: model.TextParts("done")}
	})
	shown, last, told := 0, uint64(0), ""
	for e, err := range newAgent(t, says(calls("a"), text("ok")), func(a *agent.Agent) { a.Box = box }).Run(t.Context(), "r", prompt()) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case run.Nested:
			<-finished // nobody takes more until the call has ended
			shown++
			if !b.Event.Transient() {
				if b.Event.Seq <= last {
					t.Fatalf("%d after %d", b.Event.Seq, last)
				}
				last = b.Event.Seq
			}
		case run.Logged:
			told = b.Message
		}
	}
	if want := fmt.Sprintf("%d events of the agent's run were not shown: they came faster than they were taken", 2*flood-shown); told != want {
		t.Errorf("told %q, want %q", told, want)
	}
	const fit = 16 << 20 / 128 // and as many again may have been taken before the first was shown
	if shown < fit || shown > 2*fit {
		t.Errorf("%d events were kept, want %d to %d", shown, fit, 2*fit)
	}
}

func TestAToolThatReadsItsArgumentsItself(t *testing.T) {
	var given []string
	edit := func(a *agent.Agent) {
		a.Tools = append(a.Tools, agent.Tool{Definition: model.Definition{Name: "own"}, Fit: func(args json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(args), "good") {
				return json.RawMessage(`{"read":true}`), nil
			}
			return nil, errors.New("write good")
		}})
		a.Box = boxFunc(func(_ context.Context, c agent.Call) agent.Result {
			given = append(given, string(c.Arguments))
			return agent.Result{Content: model.TextParts("did")}
		})
	}
	bad := calls("own")
	bad.Message.ToolCalls[0].Arguments = json.RawMessage(`"text alone"`)
	events, got := finish(t, t.Context(), newAgent(t, says(calls(`own {"n":"good"}`, `own {"n":1}`), bad, text("ok")), edit))
	if d := cmp.Diff([]string{`{"read":true}`}, given); d != "" {
		t.Error(d)
	}
	want := []string{
		"did", "The arguments do not fit the tool's schema, so it was not run: write good",
		"The arguments could not be read, so the tool was not run: not a JSON object: write good",
	}
	var said []string
	for _, s := range got.Steps {
		said = append(said, s.Observation)
	}
	if d := cmp.Diff(want, said); d != "" {
		t.Error(d)
	}
	if got.ToolCallCounts["own"] != 1 {
		t.Errorf("counts are %v", got.ToolCallCounts)
	}
	for _, e := range events {
		if c, ok := e.Body.(run.Called); ok && string(c.Arguments) != `{"n":"good"}` {
			t.Errorf("the record has %s, and not what the model wrote", c.Arguments)
		}
	}
}

// before returns a store that has the events of runs in from up to the first that is,
// as it is after a crash, and the state of the last run.
func before(t *testing.T, from run.Store, is func(run.Event) bool, ids ...run.ID) (*run.Memory, run.State) {
	t.Helper()
	crashed := new(run.Memory)
	var s run.State
	for _, id := range ids {
		s = run.State{}
		for e, err := range from.Load(t.Context(), id, 0) {
			if err == nil {
				s, err = run.Apply(s, e)
			}
			if err == nil {
				err = crashed.Append(t.Context(), id, e.Seq-1, []run.Event{e})
			}
			if err != nil {
				t.Fatal(err)
			}
			if is(e) {
				break
			}
		}
	}
	return crashed, s
}

// A run that crashed while an agent worked for it does not know what that did, and asks
// no second time. What it cost is known.
func TestACrashInANestedRunIsToldAndNothingIsRepeated(t *testing.T) {
	store := new(run.Memory)
	grandchild := newAgent(t, says(calls("a"), text("deep")), func(a *agent.Agent) { a.Store = store })
	child := newAgent(t, says(calls("b"), text("inner"), text("again")), func(a *agent.Agent) {
		a.Box, a.Store = nesting(grandchild), store
		agents(a, "b")
	})
	outer := func(m model.Model, store run.Store, box boxFunc) *agent.Agent {
		return newAgent(t, m, func(a *agent.Agent) {
			a.Box, a.Store = box, store
			agents(a, "a")
		})
	}
	_, whole := finish(t, t.Context(), outer(says(calls("a"), text("outer")), store, nesting(child)))
	if whole.TokenUsage.TotalTokens != 6*5 {
		t.Fatalf("%d tokens were used", whole.TokenUsage.TotalTokens)
	}
	called := func(e run.Event) bool { _, ok := e.Body.(run.Called); return ok }
	for name, c := range map[string]struct {
		runs   []run.ID // that had begun
		tokens int64    // of model calls that were answered
		calls  int
		nested run.ID
	}{
		"before it had begun":        {[]run.ID{"r"}, 5, 0, ""},
		"in its own call of another": {[]run.ID{"r.call_1_1.call_1_1", "r.call_1_1", "r"}, 15, 2, "r.call_1_1"},
	} {
		crashed, s := before(t, store, called, c.runs...)
		again := boxFunc(func(context.Context, agent.Call) agent.Result {
			t.Error("the call is made again")
			return agent.Result{}
		})
		end, _ := run.Load(t.Context(), crashed, "r.call_1_1")
		events, got := collect(t, outer(says(text("after")), crashed, again).Resume(t.Context(), s.Clone()))
		step := got.Steps[0]
		if got.Output != "after" || step.ErrorKind != run.KindCancelled || !strings.Contains(step.Observation, "is not known") || step.NestedRun != c.nested {
			t.Errorf("%s: result is %+v", name, got)
		}
		if got.TokenUsage.TotalTokens != c.tokens+5 {
			t.Errorf("%s: %d tokens, want %d", name, got.TokenUsage.TotalTokens, c.tokens+5)
		}
		for _, e := range events {
			if r, ok := e.Body.(run.Returned); ok && r.Spent != nil && r.Spent.ToolCalls != c.calls {
				t.Errorf("%s: %d calls were counted, want %d", name, r.Spent.ToolCalls, c.calls)
			}
		}
		after, _ := run.Load(t.Context(), crashed, "r.call_1_1")
		if d := cmp.Diff(end, after); d != "" {
			t.Errorf("%s: the nested run was changed: %s", name, d)
		}
		crashed, s = before(t, store, called, c.runs...)
		bounded := outer(says(text("after")), crashed, again)
		bounded.Limits.Tokens = 15
		_, got = collect(t, bounded.Resume(t.Context(), s))
		if want := map[bool]run.ExitReason{true: run.ExitTokenBudget, false: run.ExitText}[c.tokens >= 15]; got.ExitReason != want {
			t.Errorf("%s: ended with %s, want %s", name, got.ExitReason, want)
		}
	}
}
