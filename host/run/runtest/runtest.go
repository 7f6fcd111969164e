// Package runtest is the suite that every [run.Store] passes.
//
//	func TestStore(t *testing.T) {
//		runtest.Run(t, func(t *testing.T) run.Store { return new(run.Memory) })
//	}
package runtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Run tests the stores that open makes. Each call of open must return a store
// that is empty; what it needs to close, it closes with t.Cleanup.
func Run(t *testing.T, open func(*testing.T) run.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(*testing.T, run.Store)
	}{
		{"what was appended is loaded", loadsWhatWasAppended},
		{"every kind of event survives", keepsEveryKind},
		{"loading begins after a seq", loadsAfter},
		{"an unknown run is not found", unknownRun},
		{"a wrong head is a conflict", wrongHead},
		{"a conflict leaves the run as it was", conflictChangesNothing},
		{"one of many writers wins", oneWriterWins},
		{"runs do not mix", runsDoNotMix},
		{"what cannot follow is refused", refusesNonsense},
		{"a context that has ended is obeyed", obeysContext},
		{"the caller keeps its slice", keepsNoSlice},
		{"breaking off a load is allowed", breaksOff},
		{"a state is folded", foldsAState},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// at is a time that survives every encoding.
var at = time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)

// Events returns the stored events of a small run with one call of a tool, from
// its beginning to its end.
func Events(id run.ID) []run.Event {
	call := model.ToolCall{ID: "call_1_1", Name: "count", Arguments: []byte(`{"text":"a b"}`)}
	action := run.Action{Tool: "count", Input: call.Arguments, CallID: call.ID}
	asked := model.Message{Role: model.Assistant, Content: []model.Part{}, ToolCalls: []model.ToolCall{call}}
	said := model.Text(model.Assistant, "Two words.")
	usage := model.Usage{PromptTokens: 10, CompletionTokens: 5, TotalTokens: 15}
	bodies := []run.Body{
		run.Prompted{Agent: "counter", Parts: map[string]string{"tools[0].module": "sha256:00"}, Messages: []model.Message{model.Text(model.User, "How many words?")}, Tools: []string{"count"}},
		run.Began{Step: 1},
		run.Replied{Step: 1, Message: &asked, Usage: usage, ContextTokens: 15, Finish: model.FinishToolCalls},
		run.Planned{Step: 1, Actions: []run.Action{action}},
		run.Called{Step: 1, CallID: call.ID, Tool: "count", Arguments: call.Arguments, Module: "sha256:00"},
		run.Returned{
			Step: 1, CallID: call.ID, Tool: "count", Content: model.TextParts("2"), Structured: []byte(`{"words":2}`),
			Receipt: &run.Receipt{Module: "sha256:00", WallMS: 1.5, PeakMemoryBytes: 65536, Hosts: []string{}}, NestedRun: "other",
		},
		run.Ended{Step: 1},
		run.Began{Step: 2},
		run.Replied{Step: 2, Message: &said, Usage: usage, ContextTokens: 15, Finish: model.FinishStop},
		run.Planned{Step: 2, Actions: []run.Action{}, Finish: &run.Finish{ReturnValues: map[string]any{"output": "Two words."}, Log: "Two words."}},
		run.Ended{Step: 2},
		run.Finished{ExitReason: run.ExitText, Output: "Two words."},
	}
	events := make([]run.Event, len(bodies))
	for i, b := range bodies {
		events[i] = run.Event{Run: id, Seq: uint64(i + 1), Time: at.Add(time.Duration(i) * time.Second), Body: b}
	}
	return events
}

// failed returns the events of a run that could not go on.
func failed(id run.ID) []run.Event {
	return append(Events(id)[:2:2], run.Event{
		Run: id, Seq: 3, Time: at,
		Body: run.Failed{Err: run.Failure{Kind: "model_unreachable", Message: "no route", Partial: "Two", DroppedTools: []string{"count"}}},
	})
}

// guarded returns the events of a step that reads and writes the state, is at a limit
// and is looked at by a hook.
func guarded(id run.ID) []run.Event {
	events := Events(id)[:7:7]
	for i := range events {
		switch b := events[i].Body.(type) {
		case run.Prompted:
			b.State = map[string]json.RawMessage{"notes": json.RawMessage(`["a"]`)}
			events[i].Body = b
		case run.Replied:
			b.Cost, b.Dropped, b.DroppedTools = 0.25, 1, []string{"count"}
			events[i].Body = b
		case run.Called:
			b.Wave = 1
			events[i].Body = b
		case run.Returned:
			b.Limited, b.Spent = true, &run.Spent{Usage: model.Usage{TotalTokens: 7}, Cost: 0.5, ToolCalls: 2, WallMS: 1.5}
			b.Writes = []run.Write{{Key: "notes", Value: json.RawMessage(`"b"`), Merge: run.Append}}
			events[i].Body = b
		}
	}
	return append(events, run.Event{
		Run: id, Seq: 8, Time: at, Body: run.Hooked{Hook: "repeat_guard", Step: 1, Append: []model.Message{model.Text(model.User, "Again?")}},
	})
}

// resumed returns the events of a run that was interrupted and goes on.
func resumed(id run.ID) []run.Event {
	return append(interrupted(id), run.Event{
		Run: id, Seq: 4, Time: at, Body: run.Resumed{Messages: []model.Message{model.Text(model.User, "Go on.")}},
	})
}

// interrupted returns the events of a run that was interrupted within a reply.
func interrupted(id run.ID) []run.Event {
	return append(Events(id)[:2:2], run.Event{
		Run: id, Seq: 3, Time: at, Body: run.Finished{ExitReason: run.ExitInterrupted, Partial: "Two"},
	})
}

func load(t *testing.T, s run.Store, id run.ID, after uint64) []run.Event {
	t.Helper()
	var got []run.Event
	for e, err := range s.Load(t.Context(), id, after) {
		if err != nil {
			t.Fatalf("load %s after %d: %v", id, after, err)
		}
		got = append(got, e)
	}
	return got
}

func appendTo(t *testing.T, s run.Store, id run.ID, head uint64, events ...run.Event) {
	t.Helper()
	if err := s.Append(t.Context(), id, head, events); err != nil {
		t.Fatalf("append to %s at %d: %v", id, head, err)
	}
}

func same(t *testing.T, want, got []run.Event) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("events differ (-want +got):\n%s", d)
	}
}

func loadsWhatWasAppended(t *testing.T, s run.Store) {
	want := Events("a")
	appendTo(t, s, "a", 0, want[:3]...)
	appendTo(t, s, "a", 3, want[3:]...)
	same(t, want, load(t, s, "a", 0))
}

func keepsEveryKind(t *testing.T, s run.Store) {
	for _, want := range [][]run.Event{failed("f"), interrupted("i"), guarded("g"), resumed("r")} {
		id := want[0].Run
		for i, e := range want {
			appendTo(t, s, id, uint64(i), e)
		}
		same(t, want, load(t, s, id, 0))
	}
}

func loadsAfter(t *testing.T, s run.Store) {
	want := Events("a")
	appendTo(t, s, "a", 0, want...)
	for _, after := range []uint64{1, 5, uint64(len(want)) - 1} {
		same(t, want[after:], load(t, s, "a", after))
	}
	for _, after := range []uint64{uint64(len(want)), 1 << 40, ^uint64(0)} {
		if got := load(t, s, "a", after); len(got) != 0 {
			t.Errorf("after %d there are %d events, want none", after, len(got))
		}
	}
}

func unknownRun(t *testing.T, s run.Store) {
	items := 0
	for _, err := range s.Load(t.Context(), "nobody", 0) {
		items++
		if !errors.Is(err, run.ErrNotFound) {
			t.Errorf("error is %v, want ErrNotFound", err)
		}
	}
	if items != 1 {
		t.Errorf("%d items, want the error alone", items)
	}
}

func wrongHead(t *testing.T, s run.Store) {
	events := Events("a")
	appendTo(t, s, "a", 0, events[:2]...)
	for _, head := range []uint64{0, 1, 3} {
		if err := s.Append(t.Context(), "a", head, events[head:head+1]); !errors.Is(err, run.ErrConflict) {
			t.Errorf("append at head %d: %v, want ErrConflict", head, err)
		}
	}
	if err := s.Append(t.Context(), "b", 1, Events("b")[1:2]); !errors.Is(err, run.ErrConflict) {
		t.Errorf("append to a run that was never begun: %v, want ErrConflict", err)
	}
}

func conflictChangesNothing(t *testing.T, s run.Store) {
	events := Events("a")
	appendTo(t, s, "a", 0, events[:2]...)
	_ = s.Append(t.Context(), "a", 1, events[1:5]) // a conflict, as tested elsewhere
	same(t, events[:2], load(t, s, "a", 0))
}

func oneWriterWins(t *testing.T, s run.Store) {
	events := Events("a")
	var won atomic.Int32
	for head := range uint64(4) {
		won.Store(0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				switch err := s.Append(t.Context(), "a", head, events[head:head+1]); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, run.ErrConflict):
					t.Errorf("the loser's error is %v, want ErrConflict", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d writers won at head %d", won.Load(), head)
		}
	}
	same(t, events[:4], load(t, s, "a", 0))
}

func runsDoNotMix(t *testing.T, s run.Store) {
	var wg sync.WaitGroup
	for i := range 8 {
		id := run.ID(fmt.Sprintf("run-%d", i))
		wg.Go(func() {
			for j, e := range Events(id) {
				if err := s.Append(t.Context(), id, uint64(j), []run.Event{e}); err != nil {
					t.Errorf("append to %s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 8 {
		id := run.ID(fmt.Sprintf("run-%d", i))
		same(t, Events(id), load(t, s, id, 0))
	}
}

func refusesNonsense(t *testing.T, s run.Store) {
	good := Events("a")
	transient := run.Event{Run: "a", Seq: 1, Time: at, Body: run.Delta{Text: "x"}}
	foreign := good[0]
	foreign.Run = "b"
	late := good[0]
	late.Seq = 2
	for name, events := range map[string][]run.Event{
		"transient": {transient}, "of another run": {foreign}, "with a gap": {late},
		"a gap inside": {good[0], good[2]}, "no body": {{Run: "a", Seq: 1, Time: at}},
	} {
		if err := s.Append(t.Context(), "a", 0, events); err == nil || errors.Is(err, run.ErrConflict) {
			t.Errorf("%s: error is %v, want a refusal", name, err)
		}
	}
	if err := s.Append(t.Context(), "", 0, good[:1]); err == nil {
		t.Error("an empty run id was taken")
	}
}

func obeysContext(t *testing.T, s run.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	events := Events("a")
	appendTo(t, s, "a", 0, events[:1]...)
	cancel()
	if err := s.Append(ctx, "a", 1, events[1:2]); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v, want context.Canceled", err)
	}
	items := 0
	for _, err := range s.Load(ctx, "a", 0) {
		items++
		if !errors.Is(err, context.Canceled) {
			t.Errorf("load: %v, want context.Canceled", err)
		}
	}
	if items != 1 {
		t.Errorf("a load with a context that has ended gave %d items, want its error alone", items)
	}
	same(t, events[:1], load(t, s, "a", 0))
}

func keepsNoSlice(t *testing.T, s run.Store) {
	events := Events("a")
	mine := append([]run.Event(nil), events[:2]...)
	appendTo(t, s, "a", 0, mine...)
	mine[0] = run.Event{}
	same(t, events[:2], load(t, s, "a", 0))
}

func breaksOff(t *testing.T, s run.Store) {
	events := Events("a")
	appendTo(t, s, "a", 0, events...)
	for range s.Load(t.Context(), "a", 0) {
		break
	}
	same(t, events, load(t, s, "a", 0))
}

func foldsAState(t *testing.T, s run.Store) {
	appendTo(t, s, "a", 0, Events("a")...)
	state, err := run.Load(t.Context(), s, "a")
	if err != nil {
		t.Fatal(err)
	}
	if !state.Done || state.Output != "Two words." || len(state.Messages) != 4 {
		t.Errorf("state is %+v", state)
	}
}
