package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/replay"
	"github.com/wagent-dev/wagent/host/run"
)

// TestMain tries each law with as many scripts as checks says, unless the command line
// says so.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

// story is a random run: what the model says and how the agent is set up.
type story struct {
	replies []*model.Reply
	planner planner.Planner
	edit    func(*agent.Agent)
	again   map[string]bool // tools that may be called again
}

func tell(rt *rapid.T) *story {
	s := &story{replies: script(rt), edit: settings(rt), again: map[string]bool{"search_tools": true}}
	s.planner = rapid.SampledFrom([]planner.Planner{planner.Tools{}, planner.Tools{}, planner.React{}, planner.JSON{}}).Draw(rt, "planner")
	if rapid.Bool().Draw(rt, "idempotent") {
		s.again["a"] = true
	}
	if _, native := s.planner.(planner.Tools); !native {
		for i, r := range s.replies {
			s.replies[i] = written(rt, r, s.planner)
		}
	}
	return s
}

// written says in words what a reply says by calls. A form that takes one action has
// the first alone.
func written(rt *rapid.T, r *model.Reply, p planner.Planner) *model.Reply {
	said := strings.TrimSpace("thinking " + r.Message.Text())
	out := *r
	_, react := p.(planner.React)
	switch {
	case rapid.IntRange(0, 5).Draw(rt, "misread") == 0:
		said = "I do not know.\nAction: a"
	case len(r.Message.ToolCalls) > 0 && react:
		c := r.Message.ToolCalls[0]
		said += "\nAction: " + c.Name + "\nAction Input: " + string(c.Arguments)
	case len(r.Message.ToolCalls) > 0:
		var list []string
		for _, c := range r.Message.ToolCalls {
			list = append(list, fmt.Sprintf(`{"action":%q,"action_input":%s}`, c.Name, c.Arguments))
		}
		said = "[" + strings.Join(list, ",") + "]"
	case react:
		said += "\nFinal Answer: 4"
	default:
		said = `{"action":"Final Answer","action_input":"4"}`
	}
	out.Message = model.Text(model.Assistant, said)
	return &out
}

// says is a model that has given replies up to from already. It fails the test when
// it is sent what a provider would refuse.
func (s *story) says(t testing.TB, from int) model.Model {
	next := from
	return modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		if why := broken(req.Messages); why != "" {
			t.Errorf("a provider would refuse: %s", why)
		}
		if why := untold(req.Messages); why != "" {
			t.Error(why)
		}
		if err := unwilling(req); err != nil {
			return nil, err
		}
		if next++; next <= len(s.replies) {
			return s.replies[next-1], nil
		}
		return text("the end\nFinal Answer: 5"), nil
	})
}

// unwilling is the error of an endpoint that takes strict schemas alone.
func unwilling(req *model.Request) error {
	if req.Output != nil && !req.Output.Strict {
		return &model.Error{Kind: model.Rejected, Err: model.ErrOutputSchema}
	}
	return nil
}

// agent returns an agent that goes on behind so many replies.
func (s *story) agent(t testing.TB, from int, box agent.Toolbox) *agent.Agent {
	return newAgent(t, s.says(t, from), func(a *agent.Agent) {
		s.edit(a)
		a.Planner = s.planner
		for i := range a.Tools {
			a.Tools[i].Idempotent = s.again[a.Tools[i].Definition.Name]
		}
		if box != nil {
			a.Box = box
		}
	})
}

// differ is cmp.Diff, which is slow where there is nothing to tell.
func differ(a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b)
}

func stored(events []run.Event) []run.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e run.Event) bool { return e.Transient() })
}

// ends checks what holds at every end.
func ends(t testing.TB, a *agent.Agent, events []run.Event, got *run.Result) {
	t.Helper()
	if why := broken(got.Messages); why != "" {
		if _, native := a.Planner.(planner.Tools); native {
			t.Fatalf("the result cannot be sent again: %s", why)
		}
	}
	if got.ExitReason == "" || got.StepCount > a.MaxSteps {
		t.Fatalf("ended by %q after %d steps of %d", got.ExitReason, got.StepCount, a.MaxSteps)
	}
	within(t, a, got)
	folded, err := run.Load(t.Context(), a.Store, "r")
	if err != nil {
		t.Fatal(err)
	}
	if d := differ(got, folded.Result()); d != "" {
		t.Fatalf("the result is not what the events fold to: %s", d)
	}
	if last := stored(events); len(last) > 0 && last[len(last)-1].Seq != folded.Seq {
		t.Fatalf("seq %d was shown last, and %d is stored", last[len(last)-1].Seq, folded.Seq)
	}
}

// within checks the limits of what a run uses: the model call that goes over a limit
// of tokens is the last, but for that of a last answer, and no tool call goes over.
func within(t testing.TB, a *agent.Agent, got *run.Result) {
	t.Helper()
	most := a.Limits.Tokens + cost.TotalTokens - 1
	if a.Generate {
		most += cost.TotalTokens
	}
	if a.Limits.Tokens > 0 && got.TokenUsage.TotalTokens > most {
		t.Fatalf("%d tokens under a limit of %d", got.TokenUsage.TotalTokens, a.Limits.Tokens)
	}
	calls := 0
	for _, n := range got.ToolCallCounts {
		calls += n
	}
	if a.Limits.Calls > 0 && calls > a.Limits.Calls {
		t.Fatalf("%d tool calls under a limit of %d", calls, a.Limits.Calls)
	}
	if most := a.Limits.CallsOf["b"]; most > 0 && got.ToolCallCounts["b"] > most {
		t.Fatalf("%d calls of b under a limit of %d", got.ToolCallCounts["b"], most)
	}
}

// A process that is gone after any event leaves what is stored. The run that goes on
// from there ends as the one that was not broken off, but for calls whose outcome was
// lost: they are told, and none is made twice unless its tool allows it.
func TestLawACrashAfterAnyEventLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := tell(rt)
		a := s.agent(t, 0, nil)
		events, whole := finish(t, t.Context(), a)
		ends(t, a, events, whole)
		events = stored(events)
		for cut := 1; cut < len(events); cut++ {
			s.resume(t, rt, events[:cut], whole)
		}
	})
}

// crash is what a process leaves that is gone after some events.
type crash struct {
	store   *run.Memory
	state   run.State
	box     *effects // with the calls that it had begun
	replied int      // how often the model had answered
}

func crashed(t interface{ Fatal(...any) }, before []run.Event) crash {
	c := crash{store: new(run.Memory), box: &effects{times: map[string]int{}}}
	for _, e := range before {
		switch b := e.Body.(type) {
		case run.Replied:
			c.replied++
		case run.Called:
			c.box.times[b.CallID]++
		}
		if err := c.store.Append(context.Background(), "r", e.Seq-1, []run.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if c.state, err = run.Load(context.Background(), c.store, "r"); err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *story) resume(t *testing.T, rt *rapid.T, before []run.Event, whole *run.Result) {
	c, lost := crashed(rt, before), 0
	if t := c.state.Turn; t != nil && !t.Ended {
		for i, slot := range t.Slots {
			if slot.Called && slot.Returned == nil && !s.again[t.Plan.Actions[i].Tool] {
				lost++
			}
		}
	}
	a := s.agent(t, c.replied, c.box)
	a.Store = c.store
	events, got := collect(t, a.Resume(t.Context(), c.state))
	ends(t, a, events, got)
	checkSeq(rt, slices.Concat(before, events))
	for _, e := range stored(events) {
		if b, ok := e.Body.(run.Called); ok && c.box.times[b.CallID] > 1 {
			rt.Fatalf("after %d events: call %s was made %d times", len(before), b.CallID, c.box.times[b.CallID])
		}
	}
	for id, n := range c.box.times {
		if n > 1 && !s.again[toolOf(got, id)] {
			rt.Fatalf("after %d events: call %s was made %d times", len(before), id, n)
		}
	}
	if lost > 0 {
		checkLost(rt, got, lost)
		return
	}
	if d := differ(whole, got); d != "" {
		rt.Fatalf("after %d events the run ended differently: %s", len(before), d)
	}
}

func toolOf(r *run.Result, id string) string {
	for _, s := range r.Steps {
		if s.Action.CallID == id {
			return s.Action.Tool
		}
	}
	return ""
}

// A store that fails at any event ends the run with its error; what is stored goes on.
func TestLawAStoreThatFailsAnywhereLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := tell(rt)
		events, whole := finish(t, t.Context(), s.agent(t, 0, nil))
		at := rapid.IntRange(1, len(stored(events))-1).Draw(rt, "fails after")
		store := &dyingStore{left: at}
		a := s.agent(t, 0, nil)
		a.Store = store
		if !runUntilError(rt, a) {
			rt.Fatal("the store did not fail")
		}
		var before []run.Event
		for e, err := range store.Load(t.Context(), "r", 0) {
			if err != nil {
				rt.Fatal(err)
			}
			before = append(before, e)
		}
		if len(before) != at {
			rt.Fatalf("%d events are stored of %d", len(before), at)
		}
		s.resume(t, rt, before, whole)
	})
}

// Whenever a run is cancelled it ends, with what was done so far and in a form that
// can be sent again.
func TestLawCancellingAtAnyEventEndsTheRun(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := tell(rt)
		all, whole := finish(t, t.Context(), s.agent(t, 0, nil))
		at := rapid.IntRange(1, len(all)).Draw(rt, "cancelled at")
		box := &effects{times: map[string]int{}}
		a := s.agent(t, 0, box)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var events []run.Event
		var got *run.Result
		for e, err := range a.Run(ctx, "r", prompt()) {
			if err != nil {
				rt.Fatal(err)
			}
			if events = append(events, e); len(events) == at {
				cancel()
			}
			switch b := e.Body.(type) {
			case run.Finished:
				got = b.Result
			case run.Failed:
				got = b.Result
			}
		}
		ends(t, a, events, got)
		checkSeq(rt, events)
		for id, n := range box.times {
			if n != 1 {
				rt.Fatalf("call %s was made %d times", id, n)
			}
		}
		// An exit tool or an output that went well ends the run, where a call beside it
		// that was not made would have failed it.
		natural := got.ExitReason == run.ExitText || slices.Contains(a.Exit, string(got.ExitReason))
		missed := slices.ContainsFunc(got.Steps, func(s run.Step) bool { return s.ErrorKind == run.KindCancelled })
		if got.ExitReason != run.ExitInterrupted && got.ExitReason != whole.ExitReason && !(natural && missed) {
			rt.Fatalf("ended by %s, and uncancelled by %s", got.ExitReason, whole.ExitReason)
		}
		for i, step := range got.Steps {
			if step.ErrorKind != run.KindCancelled && i < len(whole.Steps) && step.Observation != whole.Steps[i].Observation {
				rt.Fatalf("step %d saw %q, and uncancelled %q", i, step.Observation, whole.Steps[i].Observation)
			}
		}
	})
}

// A caller that leaves at any event can go on there.
func TestLawLeavingAtAnyEventLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := tell(rt)
		all, _ := finish(t, t.Context(), s.agent(t, 0, nil))
		box := &effects{times: map[string]int{}}
		a := s.agent(t, 0, box)
		at := rapid.IntRange(1, len(all)).Draw(rt, "left at")
		seen := 0
		for range a.Run(t.Context(), "r", prompt()) {
			if seen++; seen == at {
				break
			}
		}
		state, err := run.Load(t.Context(), a.Store, "r")
		if err != nil {
			rt.Fatal(err)
		}
		if !state.Done {
			events, got := collect(t, a.Resume(t.Context(), state))
			ends(t, a, events, got)
		}
		for id, n := range box.times {
			if n != 1 {
				rt.Fatalf("call %s was made %d times", id, n)
			}
		}
	})
}

// What was recorded gives the same result, byte for byte, but for times and the id of
// the run.
func TestLawARecordingGivesTheSameResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := tell(rt)
		a := s.agent(t, 0, nil)
		a.Now = time.Now
		events, whole := finish(t, t.Context(), a)
		var lines bytes.Buffer
		for _, e := range events {
			if r, ok := e.Body.(run.Replied); ok {
				record(t, &lines, r)
			}
		}
		if lines.Len() == 0 {
			return
		}
		rec, err := replay.New(&lines)
		if err != nil {
			rt.Fatal(err)
		}
		b := s.agent(t, 0, nil)
		player := rec.Model()
		b.Model = modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
			if err := unwilling(req); err != nil { // it is not in the recording
				return nil, err
			}
			return player.Generate(ctx, req, sink)
		})
		b.Now = func() time.Time { return time.Unix(1, 0) }
		_, got := collect(t, b.Run(t.Context(), "another", prompt()))
		got.RunID = whole.RunID
		if want, have := asJSON(t, whole), asJSON(t, got); want != have {
			rt.Fatalf("recorded\n%s\nplayed\n%s", want, have)
		}
	})
}

// record writes a reply as a recording has it.
func record(t testing.TB, lines *bytes.Buffer, r run.Replied) {
	t.Helper()
	m := model.Message{Role: model.Assistant}
	if r.Message != nil {
		m = *r.Message
	}
	line, err := json.Marshal(map[string]any{"message": m, "usage": r.Usage, "finish_reason": r.Finish})
	if err != nil {
		t.Fatal(err)
	}
	lines.Write(append(line, '\n'))
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Nothing of what the caller gives is written to, in what it is, and in what is
// behind it.
func TestLawTheCallersValuesAreUnchanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := tell(rt)
		a := s.agent(t, 0, nil)
		given := append(conversation(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(rt, "given")), model.Text(model.User, "go"))
		given = append(given, make([]model.Message, 4)...)[:len(given)]
		tools, exits := slices.Clone(a.Tools), slices.Clone(a.Exit)
		before := encoded(t, given[:cap(given)])
		replies := asJSON(t, s.replies)
		collect(t, a.Run(t.Context(), "r", run.Prompted{Messages: given}))
		if after := encoded(t, given[:cap(given)]); after != before {
			rt.Fatalf("the caller's messages were changed:\n%s\n%s", before, after)
		}
		if after := asJSON(t, s.replies); after != replies {
			rt.Fatalf("the model's replies were changed:\n%s\n%s", replies, after)
		}
		for i := range tools {
			if tools[i].Definition.Name != a.Tools[i].Definition.Name || tools[i].Schema != a.Tools[i].Schema {
				rt.Fatalf("tool %d was changed", i)
			}
		}
		if !slices.Equal(exits, a.Exit) {
			rt.Fatalf("exits were changed: %q", a.Exit)
		}
	})
}
