package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// again resumes the run r of a's store.
func again(t testing.TB, a *agent.Agent) ([]run.Event, *run.Result) {
	t.Helper()
	s, err := run.Load(context.Background(), a.Store, "r")
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, a.Resume(context.Background(), s))
}

// A run that a limit ended goes on when it is resumed, with the limit begun anew.
func TestARunGoesOnAfterEachLimit(t *testing.T) {
	for reason, edit := range map[run.ExitReason]func(*agent.Agent){
		run.ExitMaxSteps:       func(a *agent.Agent) { a.MaxSteps = 2 },
		run.ExitTokenBudget:    func(a *agent.Agent) { a.Limits.Tokens = 6 },
		run.ExitToolCallBudget: func(a *agent.Agent) { a.Limits.Calls = 2 },
		run.ExitRepeatedCalls:  func(a *agent.Agent) { a.Limits.Repeats = 2 },
		run.ExitCostBudget: func(a *agent.Agent) {
			a.Prices, a.Limits.Cost = model.Prices{Input: 1e6}, 4
		},
		run.ExitParseErrors: func(a *agent.Agent) {
			a.Planner, a.Model = planner.React{}, forever(func() *model.Reply { return text("hm") })
		},
	} {
		for _, generate := range []bool{false, true} {
			a := newAgent(t, forever(saying("a")), func(a *agent.Agent) { edit(a); a.Generate = generate })
			_, first := finish(t, t.Context(), a)
			if first.ExitReason != reason {
				t.Fatalf("%s: ended with %s", reason, first.ExitReason)
			}
			events, second := again(t, a)
			if second.ExitReason != reason || second.StepCount <= first.StepCount {
				t.Errorf("%s: %s after %d steps and %d", reason, second.ExitReason, first.StepCount, second.StepCount)
			}
			if _, ok := events[0].Body.(run.Resumed); !ok {
				t.Errorf("%s: it begins with %T", reason, events[0].Body)
			}
			a.Model = says(text("done"))
			if _, native := a.Planner.(planner.Tools); native {
				checkPairs(t, second.Messages)
			} else {
				a.Model = says(text("Final Answer: done"))
			}
			if _, third := again(t, a); third.ExitReason != run.ExitText || third.Output != "done" || third.Error != nil {
				t.Errorf("%s: at last %s %q", reason, third.ExitReason, third.Output)
			}
		}
	}
}

// So does one that failed or was interrupted, in the step where it was.
func TestARunGoesOnAfterAFailure(t *testing.T) {
	a := newAgent(t, says(calls("a")), nil) // and then the script is over
	_, first := finish(t, t.Context(), a)
	if first.ExitReason != run.ExitError {
		t.Fatalf("%s", first.ExitReason)
	}
	a.Model = says(text("done"))
	if _, got := again(t, a); got.ExitReason != run.ExitText || got.StepCount != 2 || got.Error != nil {
		t.Errorf("%+v", got)
	}
}

func TestALimitOfTimeBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := boxFunc(func(ctx context.Context, c agent.Call) agent.Result {
			select {
			case <-time.After(40 * time.Second):
			case <-ctx.Done():
			}
			return echo(ctx, c)
		})
		a := newAgent(t, forever(varying()), func(a *agent.Agent) { a.MaxDuration, a.Box = time.Minute, slow })
		_, first := finish(t, t.Context(), a)
		time.Sleep(time.Hour)
		_, second := again(t, a)
		if first.ExitReason != run.ExitMaxDuration || second.ExitReason != run.ExitMaxDuration || second.StepCount != 2*first.StepCount {
			t.Errorf("%s after %d steps, %s after %d", first.ExitReason, first.StepCount, second.ExitReason, second.StepCount)
		}
	})
}

// However a run has ended: resumed, it ends once more with a reason, in order, and its
// result is what its events fold to.
func TestEveryEndedRunCanBeResumed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		a := newAgent(t, answering(t, replies), edit)
		first, _ := finish(t, t.Context(), a)
		events, got := again(t, a)
		checkPairs(t, got.Messages)
		checkSeq(rt, append(first, events...))
		if got.ExitReason == "" || got.StepCount > 2*a.MaxSteps {
			rt.Fatalf("%q after %d steps under a limit of %d", got.ExitReason, got.StepCount, a.MaxSteps)
		}
		folded, err := run.Load(t.Context(), a.Store, "r")
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(got, folded.Result()); d != "" {
			rt.Fatalf("the result is not what the events fold to: %s", d)
		}
	})
}
