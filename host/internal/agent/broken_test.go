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
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

func TestAModelThatBreaksItsPromisesFailsTheRun(t *testing.T) {
	const fault = "the model could not be asked: an internal fault of the model's client"
	const nothing = "the model gave neither a reply nor an error"
	for name, c := range map[string]struct {
		model modelFunc
		want  run.Failure
	}{
		"nothing at all": {
			func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) { return nil, nil },
			run.Failure{Kind: "internal", Message: nothing},
		},
		"an error that is a nil pointer": {
			func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
				var none *model.Error
				return nil, none
			},
			run.Failure{Kind: "internal", Message: nothing},
		},
		"a panic": {
			func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) { panic("key sk-1234") },
			run.Failure{Kind: "internal", Message: fault},
		},
		"a panic of the runtime, after text": {
			func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
				sink(model.Chunk{Text: "The ans"})
				var none *model.Reply
				return &model.Reply{Message: none.Message}, nil
			},
			run.Failure{Kind: "internal", Message: fault, Partial: "The ans"},
		},
		"an error of no kind, after text": {
			func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
				sink(model.Chunk{Text: "The"})
				sink(model.Chunk{Text: " ans"})
				return nil, errors.New("lost")
			},
			run.Failure{Kind: "internal", Message: "lost", Partial: "The ans"},
		},
		"text of an attempt that is void": {
			func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
				sink(model.Chunk{Text: "wrong"})
				sink(model.Chunk{Retry: &model.Retry{Attempt: 1}})
				return nil, &model.Error{Kind: model.Unreachable, Message: "gone"}
			},
			run.Failure{Kind: "model_unreachable", Message: "model: gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := finish(t, t.Context(), newAgent(t, c.model, nil))
			if d := cmp.Diff(&c.want, got.Error); d != "" || got.ExitReason != run.ExitError || len(got.Messages) != 1 {
				t.Errorf("%s\n%+v", d, got)
			}
		})
	}
}

// What the caller does in its loop is the caller's: its panic is not taken for
// the model's.
func TestAPanicOfTheCallerIsNotCaught(t *testing.T) {
	m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		sink(model.Chunk{Text: "a"})
		return text("a"), nil
	})
	defer func() {
		if p := recover(); p != "mine" {
			t.Errorf("recovered %v", p)
		}
	}()
	for e := range newAgent(t, m, nil).Run(t.Context(), "r", prompt()) {
		if _, ok := e.Body.(run.Delta); ok {
			panic("mine")
		}
	}
	t.Error("the panic is gone")
}

func TestArgumentsThatAreNoObjectAreNeitherStoredNorRun(t *testing.T) {
	for _, args := range []string{`{"n":`, `[1]`, `"n"`, `nope`, ` `} {
		reply := calls("a " + args)
		a := newAgent(t, says(reply, text("ok")), nil)
		events, got := finish(t, t.Context(), a)
		if s := got.Steps[0]; s.ErrorKind != run.KindInvalidArgs || !strings.Contains(s.Observation, "not a JSON object") || got.Output != "ok" {
			t.Errorf("%s: %+v", args, got)
		}
		if call := got.Messages[1].ToolCalls[0]; string(call.Arguments) != "{}" || call.Invalid.Raw != args {
			t.Errorf("%s: call is %+v", args, call)
		}
		types(t, events) // all of them are JSON
		if string(reply.Message.ToolCalls[0].Arguments) != args {
			t.Error("the model's own reply was changed")
		}
	}
}

// hangsAfter is a model that shows text and then nothing, once replies are used up.
func hangsAfter(shown []string, replies ...*model.Reply) model.Model {
	first := says(replies...)
	asked := 0
	return modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		if asked++; asked <= len(replies) {
			return first.Generate(ctx, req, sink)
		}
		for _, s := range shown {
			if s == "" {
				sink(model.Chunk{Retry: &model.Retry{Attempt: 1}})
				continue
			}
			sink(model.Chunk{Text: s})
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

func TestTextThatWasShownIsInTheResultOfARunThatWasStopped(t *testing.T) {
	before := calls("a")
	before.Message.Content = model.TextParts("I look.")
	for name, c := range map[string]struct {
		model model.Model
		want  string
	}{
		"the first reply":    {hangsAfter([]string{"The ans", "wer"}), "The answer"},
		"a later reply":      {hangsAfter([]string{"So"}, before), "So"},
		"nothing had come":   {hangsAfter(nil, before), ""},
		"an attempt is void": {hangsAfter([]string{"wrong", "", "right"}), "right"},
		"all are void":       {hangsAfter([]string{"wrong", ""}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAgent(t, c.model, func(a *agent.Agent) { a.MaxDuration = time.Second })
				_, got := finish(t, t.Context(), a)
				if got.ExitReason != run.ExitMaxDuration || got.Partial != c.want || got.Output != "The agent stopped at its limit of time." {
					t.Errorf("result is %+v, want partial %q", got, c.want)
				}
				stored, err := run.Load(t.Context(), a.Store, "r")
				if err != nil || stored.Partial != c.want {
					t.Errorf("%v: stored is %q", err, stored.Partial)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, got := finish(t, ctx, newAgent(t, hangsAfter([]string{"The ans"}), nil))
		if got.ExitReason != run.ExitInterrupted || got.Partial != "The ans" || got.Output != "" {
			t.Errorf("result is %+v", got)
		}
	})
}

// A run that is stopped between replies has nothing under way.
func TestTextOfACompleteReplyIsNotPartial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := calls("a")
		before.Message.Content = model.TextParts("I look.")
		_, got := finish(t, t.Context(), newAgent(t, says(before), func(a *agent.Agent) {
			a.MaxDuration = time.Second
			a.Box = boxFunc(func(ctx context.Context, _ agent.Call) agent.Result {
				<-ctx.Done()
				return agent.Result{Kind: run.KindCancelled}
			})
		}))
		if got.ExitReason != run.ExitMaxDuration || got.Partial != "" {
			t.Errorf("result is %+v", got)
		}
	})
}

// logged runs one tool that logs lines of size bytes while nobody listens, and
// returns the numbers that were shown and what came last before the result.
func logged(t *testing.T, lines, size int) (shown int, last run.Logged) {
	t.Helper()
	pad := strings.Repeat("x", size)
	done := make(chan struct{})
	a := newAgent(t, says(calls("a"), text("ok")), nil)
	a.Box = boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
		for i := range lines {
			c.Log("info", fmt.Sprintf("%d %s", i, pad))
			c.Progress(1, "again")
		}
		close(done)
		return echo(ctx, c)
	})
	ended := false
	for e, err := range a.Run(t.Context(), "r", prompt()) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case run.Called:
		case run.Logged:
			if ended {
				t.Fatal("a line came after its call had ended")
			}
			<-done // the slowest listener there is: it holds the first line until the tool has said all
			if want := fmt.Sprintf("%d ", shown); b.Level == "info" && !strings.HasPrefix(b.Message, want) {
				t.Fatalf("line %d is %.20q", shown, b.Message)
			} else if b.Level == "info" {
				shown++
			}
			last = b
		case run.Returned:
			ended = true
		}
	}
	return shown, last
}

func TestNoLogLineIsLostForAListenerThatIsSlow(t *testing.T) {
	// As many lines as limits.logs allows by default: each counts a byte more than it has.
	const lines = 64 << 10
	if shown, last := logged(t, lines, 0); shown != lines || last.Level != "info" {
		t.Errorf("%d of %d lines were shown, at last %+v", shown, lines, last)
	}
}

func TestLogLinesThatNoMemoryIsKeptForAreCounted(t *testing.T) {
	const lines = 12_000
	shown, last := logged(t, lines, 4000)
	if shown >= lines || shown < 1000 {
		t.Errorf("%d of %d lines were shown, want a part of them", shown, lines)
	}
	want := run.Logged{
		CallID: "call_1_1", Tool: "a", Level: "warn",
		Message: fmt.Sprintf("%d log lines were not shown: they came faster than they were taken", lines-shown),
	}
	if d := cmp.Diff(want, last); d != "" {
		t.Error(d)
	}
}

// What a model nests ten thousand deep can be read by encoding/json, and not be written
// with anything around it: a run with that would be lost.
func TestWhatAModelNestsTooDeepIsNotKept(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 9997) + strings.Repeat("]", 9997) + `}`
	native, extra := calls("a "+deep), text("done")
	extra.Message.Extra = json.RawMessage(deep)
	native.Message.ToolCalls[0].Extra = json.RawMessage(deep)
	asJSON := `{"action":"a","action_input":` + deep + `}`
	asReact := "Action: a\nAction Input: "
	for name, c := range map[string]struct {
		planner planner.Planner
		replies []*model.Reply
		kind    run.ErrorKind
	}{
		"arguments":     {planner.Tools{}, []*model.Reply{native, extra}, run.KindInvalidArgs},
		"json":          {planner.JSON{}, []*model.Reply{text(asJSON), text(`{"action":"Final Answer","action_input":"done"}`)}, run.KindParseError},
		"a json answer": {planner.JSON{}, []*model.Reply{text(`{"action":"Final Answer","action_input":` + deep + `}`), text(`{"action":"Final Answer","action_input":"done"}`)}, run.KindParseError},
		"react":         {planner.React{}, []*model.Reply{text(asReact + deep), text("Final Answer: done")}, run.KindParseError},
	} {
		a := newAgent(t, says(c.replies...), func(a *agent.Agent) { a.Planner = c.planner })
		events, got := finish(t, t.Context(), a)
		for _, e := range events {
			if _, err := json.Marshal(e); err != nil {
				t.Errorf("%s: %T: %v", name, e.Body, err)
			}
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.Output != "done" || got.Steps[0].ErrorKind != c.kind {
			t.Errorf("%s: %s %+v", name, got.Output, got.Steps)
		}
	}
}

// Looking at the arguments of one call may take a fifth of a second, and a reply has a
// thousand of them.
func TestARunIsCancelledWhileItsCallsAreLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(t, says(calls(slices.Repeat([]string{"a"}, 1000)...)), func(a *agent.Agent) {
			a.Tools[0].Fit = func(args json.RawMessage) (json.RawMessage, error) {
				time.Sleep(200 * time.Millisecond)
				return args, nil
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, got := finish(t, ctx, a)
		if took := time.Since(began); took > 2*time.Second || got.ExitReason != run.ExitInterrupted || len(got.Steps) != 1000 {
			t.Errorf("%s after %v, %d steps", got.ExitReason, took, len(got.Steps))
		}
		checkPairs(t, got.Messages)
	})
}
