package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// script draws a run: what the model says in each step.
func script(rt *rapid.T) []*model.Reply {
	names := []string{"a", "b", "fail", "panic", "nope", "n", `n {"n":1}`, `n {"n":"x"}`, "a"}
	names = append(names, outputCalls...)
	step := rapid.Custom(func(rt *rapid.T) *model.Reply {
		r := calls(rapid.SliceOfN(rapid.SampledFrom(names), 0, 5).Draw(rt, "calls")...)
		for i := range r.Message.ToolCalls {
			if rapid.IntRange(0, 9).Draw(rt, "unreadable") == 0 {
				r.Message.ToolCalls[i].Invalid = &model.InvalidArgs{Raw: "{", Problem: "cut"}
			}
		}
		if len(r.Message.ToolCalls) == 0 || rapid.Bool().Draw(rt, "speaks") {
			r.Message.Content = model.TextParts(rapid.OneOf(rapid.StringMatching(`[a-z]{1,8}`), rapid.SampledFrom(outputTexts)).Draw(rt, "text"))
		}
		r.Finish = rapid.SampledFrom([]model.FinishReason{
			model.FinishStop, model.FinishToolCalls, model.FinishStop, model.FinishToolCalls, model.FinishLength, model.FinishContentFilter,
		}).Draw(rt, "finish")
		return r
	})
	return rapid.SliceOfN(step, 1, 6).Draw(rt, "script")
}

// answering is a model that gives the reply of the step it is asked for, however
// often it is asked: it counts the replies it is shown. Like a provider, it
// refuses a transcript in which a call has not its result.
func answering(t testing.TB, replies []*model.Reply) model.Model {
	return modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		checkPairs(t, req.Messages)
		if req.Output != nil && !req.Output.Strict {
			return nil, &model.Error{Kind: model.Rejected, Err: model.ErrOutputSchema}
		}
		n := 0
		for _, m := range req.Messages {
			if m.Role == model.Assistant {
				n++
			}
		}
		if n >= len(replies) {
			return text("the end"), nil
		}
		return replies[n], nil
	})
}

// effects counts how often each call was made.
type effects struct {
	mu    sync.Mutex
	times map[string]int
}

func (e *effects) Call(ctx context.Context, c agent.Call) agent.Result {
	e.mu.Lock()
	e.times[c.ID]++
	e.mu.Unlock()
	return echo(ctx, c)
}

// settings draws the agent's own.
func settings(rt *rapid.T) func(*agent.Agent) {
	steps := rapid.IntRange(0, 7).Draw(rt, "max_steps")
	parallel := rapid.IntRange(1, 4).Draw(rt, "parallel")
	exits := rapid.SampledFrom([][]string{{"text"}, {"text", "b"}, {"b"}, {"fail", "a"}}).Draw(rt, "exits")
	direct := rapid.Bool().Draw(rt, "return_direct")
	fail := rapid.IntRange(0, 3).Draw(rt, "fail") == 0
	generate := rapid.Bool().Draw(rt, "generate")
	limits := agent.Limits{
		Tokens: rapid.SampledFrom([]int64{0, 0, 12, 30}).Draw(rt, "max_tokens"), Calls: rapid.SampledFrom([]int{0, 0, 1, 4}).Draw(rt, "max_calls"),
		CallsOf: map[string]int{"b": rapid.IntRange(0, 2).Draw(rt, "max_calls_b")}, Repeats: rapid.SampledFrom([]int{0, 2, 3}).Draw(rt, "repeats"),
	}
	asks := outputs(rt)
	return func(a *agent.Agent) {
		asks(a)
		a.MaxSteps, a.Parallel, a.Exit, a.FailOnError, a.Generate = steps, parallel, exits, fail, generate
		a.Limits = limits
		a.State = map[string]agent.StateKey{"notes": {Merge: run.Append}, "last": {Merge: run.Replace}}
		a.Tools[0].Reads = []agent.StateRead{{Key: "notes", Argument: "notes"}, {Key: "last"}}
		a.Tools[1].Writes = []agent.StateWrite{{Key: "notes"}, {Key: "last"}}
		a.Tools[4].Writes = []agent.StateWrite{{Key: "last"}}
		a.Tools[0].ReturnDirect = direct
		a.Now = func() time.Time { return time.Unix(0, 0).UTC() }
	}
}

func TestEveryRunEndsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		box := &effects{times: map[string]int{}}
		a := newAgent(t, answering(t, replies), func(a *agent.Agent) { edit(a); a.Box = box })
		events, got := finish(t, t.Context(), a)

		checkPairs(t, got.Messages)
		checkSeq(rt, events)
		if got.StepCount > a.MaxSteps {
			rt.Fatalf("%d steps under a limit of %d", got.StepCount, a.MaxSteps)
		}
		if most := a.Limits.Calls; most > 0 && len(box.times) > most {
			rt.Fatalf("%d calls under a limit of %d", len(box.times), most)
		}
		if got.ExitReason == "" {
			rt.Fatal("the run ended without a reason")
		}
		checkOutput(rt, a, got, events)
		folded, err := run.Load(t.Context(), a.Store, "r")
		if err != nil {
			rt.Fatal(err)
		}
		if d := differ(got, folded.Result()); d != "" {
			rt.Fatalf("the result is not what the events fold to: %s", d)
		}
		for id, n := range box.times {
			if n != 1 {
				rt.Fatalf("call %s was made %d times", id, n)
			}
		}
	})
}

// checkSeq fails when stored events leave a gap, or a transient one does not
// name the last stored.
func checkSeq(rt *rapid.T, events []run.Event) {
	last := uint64(0)
	for _, e := range events {
		switch {
		case e.Transient() && e.After != last:
			rt.Fatalf("%T comes after %d and says %d", e.Body, last, e.After)
		case !e.Transient() && e.Seq != last+1:
			rt.Fatalf("%T has seq %d after %d", e.Body, e.Seq, last)
		case !e.Transient():
			last = e.Seq
		}
	}
}

func TestTheSameScriptGivesTheSameResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		var results [2][]byte
		for i := range results {
			_, got := finish(t, t.Context(), newAgent(t, answering(t, replies), edit))
			var err error
			if results[i], err = json.Marshal(got); err != nil {
				rt.Fatal(err)
			}
		}
		if string(results[0]) != string(results[1]) {
			rt.Fatalf("the results differ:\n%s\n%s", results[0], results[1])
		}
	})
}

var errDisk = errors.New("the disk is gone")

// dyingStore fails for good after some events, as a process that is killed.
type dyingStore struct {
	run.Memory
	left int
}

func (s *dyingStore) Append(ctx context.Context, id run.ID, head uint64, events []run.Event) error {
	if s.left == 0 {
		return errDisk
	}
	s.left--
	return s.Memory.Append(ctx, id, head, events)
}

// A run that is killed after any event and resumed ends as the run that was not,
// but for calls whose outcome was lost, which are told and never made twice.
func TestResumingAfterACrashRepeatsNoCall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		_, whole := finish(t, t.Context(), newAgent(t, answering(t, replies), edit))

		box := &effects{times: map[string]int{}}
		store := &dyingStore{left: rapid.IntRange(1, 40).Draw(rt, "crash after")}
		a := newAgent(t, answering(t, replies), func(a *agent.Agent) { edit(a); a.Box, a.Store = box, store })
		if crashed := runUntilError(rt, a); !crashed {
			return
		}
		state, err := run.Load(t.Context(), store, "r")
		if err != nil {
			rt.Fatal(err)
		}
		store.left = 1 << 30
		lost := unanswered(&state)
		_, got := collect(t, a.Resume(t.Context(), state))

		for id, n := range box.times {
			if n != 1 {
				rt.Fatalf("call %s was made %d times", id, n)
			}
		}
		checkPairs(t, got.Messages)
		if lost == 0 {
			if d := differ(whole, got); d != "" {
				rt.Fatalf("the resumed run ended differently: %s", d)
			}
			return
		}
		checkLost(rt, got, lost)
	})
}

// runUntilError runs a and reports whether its store failed.
func runUntilError(rt *rapid.T, a *agent.Agent) bool {
	for _, err := range a.Run(context.Background(), "r", prompt()) {
		if err != nil {
			if !errors.Is(err, errDisk) {
				rt.Fatal(err)
			}
			return true
		}
	}
	return false
}

// unanswered counts the calls that were begun and have no outcome.
func unanswered(s *run.State) int {
	n := 0
	if s.Turn != nil && !s.Turn.Ended {
		for i, slot := range s.Turn.Slots {
			if slot.Called && slot.Returned == nil && s.Turn.Plan.Actions[i].Tool != "search_tools" { // which has no effect and is made again
				n++
			}
		}
	}
	return n
}

func checkLost(rt *rapid.T, got *run.Result, lost int) {
	n := 0
	for _, s := range got.Steps {
		if s.ErrorKind == run.KindCancelled {
			n++
		}
	}
	if n != lost {
		rt.Fatalf("%d outcomes were lost and %d calls say so", lost, n)
	}
}

func TestBreakingOffLeavesTheRunResumable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		_, whole := finish(t, t.Context(), newAgent(t, answering(t, replies), edit))

		box := &effects{times: map[string]int{}}
		a := newAgent(t, answering(t, replies), func(a *agent.Agent) { edit(a); a.Box = box })
		leave, seen := rapid.IntRange(1, 30).Draw(rt, "leave after"), 0
		for _, err := range a.Run(t.Context(), "r", prompt()) {
			if err != nil {
				rt.Fatal(err)
			}
			if seen++; seen == leave {
				break
			}
		}
		state, err := run.Load(t.Context(), a.Store, "r")
		if err != nil {
			rt.Fatal(err)
		}
		if state.Done {
			return
		}
		_, got := collect(t, a.Resume(t.Context(), state))
		ignore := cmpopts.IgnoreFields(run.Result{}, "ToolCallCounts")
		for id, n := range box.times {
			if n > 1 {
				rt.Fatalf("call %s was made %d times", id, n)
			}
		}
		checkPairs(t, got.Messages)
		cancelled := false
		for _, s := range got.Steps {
			cancelled = cancelled || s.ErrorKind == run.KindCancelled
		}
		if d := cmp.Diff(whole, got, ignore); d != "" && !cancelled {
			rt.Fatalf("the resumed run ended differently: %s", d)
		}
	})
}

func TestRepairPairsEveryCallWithOneResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 12).Draw(rt, "messages")
		var msgs []model.Message
		ids := 0
		for _, k := range kinds {
			switch k {
			case 0:
				msgs = append(msgs, model.Text(model.User, "u"))
			case 1:
				msgs = append(msgs, model.Text(model.Assistant, "a"))
			case 2:
				m := model.Message{Role: model.Assistant}
				for range rapid.IntRange(1, 3).Draw(rt, "calls") {
					m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: fmt.Sprint("c", ids), Name: "a"})
					ids++
				}
				msgs = append(msgs, m)
			default:
				id := fmt.Sprint("c", rapid.IntRange(0, max(0, ids)).Draw(rt, "answers"))
				msgs = append(msgs, model.Message{Role: model.Tool, CallID: id, Content: model.TextParts("r")})
			}
		}
		once := agent.Repair(msgs)
		checkPairs(t, once)
		if d := cmp.Diff(once, agent.Repair(once), cmpopts.EquateEmpty()); d != "" {
			rt.Fatalf("repairing twice differs: %s", d)
		}
	})
}
