package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// The first exit tool in the model's order that went well is the reason, whatever
// finished first; a call that failed is no veto for another.
func TestTheFirstExitToolThatWentWellIsTheReason(t *testing.T) {
	box := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
		switch {
		case c.Tool == "a":
			time.Sleep(time.Second) // virtual time
		case c.Tool == "n" && string(c.Arguments) == `{"n":1}`:
			return agent.Result{Kind: run.KindToolError, Content: model.TextParts("not yet")}
		}
		return echo(ctx, c)
	})
	for name, c := range map[string]struct {
		calls  []string
		exits  []string
		reason run.ExitReason
		output string
	}{
		"both went well, the first came last":   {[]string{"a", "b"}, []string{"b", "a"}, "a", "did a"},
		"the first failed":                      {[]string{"fail", "b"}, []string{"fail", "b"}, "b", "did b"},
		"the first is not there":                {[]string{"nope", "b"}, []string{"nope", "b"}, "b", "did b"},
		"one call of the tool failed":           {[]string{`n {"n":1}`, `n {"n":2}`}, []string{"n"}, "n", "did n"},
		"one of the tool could not be made":     {[]string{`n {"n":"x"}`, `n {"n":1}`, `n {"n":2}`}, []string{"n"}, "n", "did n"},
		"all failed":                            {[]string{"fail", "panic"}, []string{"text", "fail", "panic"}, run.ExitText, "then"},
		"an exit tool that is not there":        {[]string{"nope"}, []string{"text", "nope"}, run.ExitText, "then"},
		"arguments that do not fit":             {[]string{"n"}, []string{"text", "n"}, run.ExitText, "then"},
		"a tool that is no exit beside it":      {[]string{"b", "a"}, []string{"a"}, "a", "did a"},
		"text beside the call does not end it":  {[]string{"b"}, []string{"text"}, run.ExitText, "then"},
		"a tool named text is none for an exit": {[]string{"text"}, []string{"text"}, run.ExitText, "then"},
	} {
		synctest.Test(t, func(t *testing.T) {
			first := calls(c.calls...)
			first.Message.Content = model.TextParts("I call.")
			_, got := finish(t, t.Context(), newAgent(t, says(first, text("then")), func(a *agent.Agent) {
				a.Exit, a.Box, a.Parallel = c.exits, box, 1+len(name)%4
				a.Tools = append(a.Tools, tool("text"))
			}))
			if got.ExitReason != c.reason || got.Output != c.output {
				t.Errorf("%s: %s %q", name, got.ExitReason, got.Output)
			}
			checkPairs(t, got.Messages)
		})
	}
}

// Results are in call order, those of calls that were not made too.
func TestResultsOfUnknownToolsStandInTheirPlace(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(calls("a", "nope", "b", "n", "a"), text("ok")), nil))
	var kinds []run.ErrorKind
	for _, s := range got.Steps {
		kinds = append(kinds, s.ErrorKind)
	}
	if d := cmp.Diff([]run.ErrorKind{"", run.KindUnknownTool, "", run.KindInvalidArgs, ""}, kinds); d != "" {
		t.Error(d)
	}
	checkPairs(t, got.Messages)
}

// A direct result is the output as it is, and its call is no reason to ask again.
func TestReturnDirectGivesTheObservationAsItIs(t *testing.T) {
	const said = "  {\"a\": 1}\n\n"
	for name, c := range map[string]struct {
		result agent.Result
		reason run.ExitReason
		output string
	}{
		"as it is":    {agent.Result{Content: model.TextParts(said)}, run.ExitReturnDirect, said},
		"nothing":     {agent.Result{}, run.ExitReturnDirect, ""},
		"it trapped":  {agent.Result{Kind: run.KindTrap, Content: model.TextParts("crashed")}, run.ExitText, "then"},
		"was refused": {agent.Result{Kind: run.KindDenied, Content: model.TextParts("no")}, run.ExitText, "then"},
	} {
		_, got := finish(t, t.Context(), newAgent(t, says(calls("a"), text("then")), func(a *agent.Agent) {
			a.Tools[0].ReturnDirect = true
			a.Box = boxFunc(func(context.Context, agent.Call) agent.Result { return c.result })
		}))
		if got.ExitReason != c.reason || got.Output != c.output {
			t.Errorf("%s: %s %q", name, got.ExitReason, got.Output)
		}
	}
	// One call of two that could be made is not a single call.
	_, got := finish(t, t.Context(), newAgent(t, says(calls("a", "nope"), text("then")), func(a *agent.Agent) { a.Tools[0].ReturnDirect = true }))
	if got.ExitReason != run.ExitText || got.Output != "then" {
		t.Errorf("%s %q", got.ExitReason, got.Output)
	}
}

// Without tools a run is one call of the model, whatever the exit conditions are. A
// call that the model makes up is answered all the same.
func TestAnAgentWithoutToolsIsAPlainChat(t *testing.T) {
	plain := func(p planner.Planner) func(*agent.Agent) {
		return func(a *agent.Agent) { a.Tools, a.Planner, a.Exit = nil, p, []string{"finish"} }
	}
	for _, p := range []planner.Planner{planner.Tools{}, planner.React{}, planner.JSON{}} {
		asked := 0
		m := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			if asked++; len(req.Tools) > 0 || len(req.Messages) != 1 || req.Messages[0].Text() != "go" {
				t.Errorf("%T: the model is sent %+v", p, req)
			}
			return text("Hello."), nil
		})
		_, got := finish(t, t.Context(), newAgent(t, m, plain(p)))
		if got.ExitReason != run.ExitText || got.Output != "Hello." || got.StepCount != 1 || asked != 1 || len(got.Steps) != 0 {
			t.Errorf("%T: %+v after %d calls", p, got, asked)
		}
	}
	_, got := finish(t, t.Context(), newAgent(t, says(calls("made_up"), text("Hello.")), plain(planner.Tools{})))
	if got.Output != "Hello." || got.Steps[0].Observation != `There is no tool named "made_up"; nothing was run. There are no tools.` {
		t.Errorf("%+v", got)
	}
	checkPairs(t, got.Messages)
}
