package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/run/runtest"
)

func TestMemoryStore(t *testing.T) {
	runtest.Run(t, func(*testing.T) run.Store { return new(run.Memory) })
}

func fold(t testing.TB, s run.State, events []run.Event) run.State {
	t.Helper()
	for _, e := range events {
		var err error
		if s, err = run.Apply(s, e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestResultsBecomeMessagesInCallOrder(t *testing.T) {
	actions := []run.Action{{Tool: "a", CallID: "1"}, {Tool: "b", CallID: "2"}, {Tool: "c", CallID: "3"}}
	said := model.Text(model.Assistant, "both")
	bodies := []run.Body{
		run.Prompted{Messages: []model.Message{model.Text(model.User, "go")}},
		run.Began{Step: 1},
		run.Replied{Step: 1, Message: &said},
		run.Planned{Step: 1, Actions: actions},
	}
	for _, id := range []string{"3", "1", "2"} {
		bodies = append(bodies, run.Returned{Step: 1, CallID: id, Content: model.TextParts("result " + id)})
	}
	s := fold(t, run.State{}, number("r", append(bodies, run.Ended{Step: 1})))
	var got []string
	for _, m := range s.Messages[2:] {
		got = append(got, m.CallID+" "+m.Text())
	}
	if d := cmp.Diff([]string{"1 result 1", "2 result 2", "3 result 3"}, got); d != "" {
		t.Error(d)
	}
}

func number(id run.ID, bodies []run.Body) []run.Event {
	events := make([]run.Event, len(bodies))
	for i, b := range bodies {
		events[i] = run.Event{Run: id, Seq: uint64(i + 1), Time: time.Unix(int64(i), 0).UTC(), Body: b}
	}
	return events
}

func TestApplyRefusesWhatCannotFollow(t *testing.T) {
	all := runtest.Events("a")
	for _, c := range []struct {
		name  string
		after int
		event run.Body
	}{
		{"a second beginning", 1, run.Prompted{}},
		{"a step inside a step", 2, run.Began{Step: 2}},
		{"a step left out", 1, run.Began{Step: 2}},
		{"a reply without a step", 1, run.Replied{Step: 1}},
		{"a second reply", 3, run.Replied{Step: 1}},
		{"a plan without a reply", 2, run.Planned{Step: 1}},
		{"a second plan", 4, run.Planned{Step: 1}},
		{"a call that nobody planned", 4, run.Called{Step: 1, CallID: "x"}},
		{"the same call again", 5, run.Called{Step: 1, CallID: "call_1_1"}},
		{"a second result", 6, run.Returned{Step: 1, CallID: "call_1_1"}},
		{"the end of a step with an open call", 5, run.Ended{Step: 1}},
		{"the end of a step without a reply", 2, run.Ended{Step: 1}},
		{"the end of the run with an open call", 5, run.Finished{ExitReason: run.ExitText}},
		{"a failure with an open call", 5, run.Failed{}},
		{"anything after the end", len(all), run.Began{Step: 3}},
	} {
		s := fold(t, run.State{}, all[:c.after])
		before := s.Clone()
		_, err := run.Apply(s, run.Event{Run: "a", Seq: uint64(c.after) + 1, Body: c.event})
		if !errors.Is(err, run.ErrOrder) {
			t.Errorf("%s: error is %v, want ErrOrder", c.name, err)
		}
		if d := cmp.Diff(before, s); d != "" {
			t.Errorf("%s: the refused event changed the state:\n%s", c.name, d)
		}
	}
	s := fold(t, run.State{}, all[:1])
	for name, e := range map[string]run.Event{
		"a gap":       {Run: "a", Seq: 3, Body: run.Began{Step: 1}},
		"a repeat":    {Run: "a", Seq: 1, Body: run.Began{Step: 1}},
		"another run": {Run: "b", Seq: 2, Body: run.Began{Step: 1}},
		"no body":     {Run: "a", Seq: 2},
	} {
		if _, err := run.Apply(s, e); !errors.Is(err, run.ErrOrder) {
			t.Errorf("%s: error is %v, want ErrOrder", name, err)
		}
	}
}

// A state that was kept half way and folded on equals the one folded from the
// beginning, and the kept one is not touched by that.
func TestApplyFromASnapshotEqualsFromTheBeginning(t *testing.T) {
	all := runtest.Events("a")
	want := fold(t, run.State{}, all)
	rapid.Check(t, func(rt *rapid.T) {
		cut := rapid.IntRange(0, len(all)).Draw(rt, "cut")
		half := fold(t, run.State{}, all[:cut])
		kept := half.Clone()
		if d := cmp.Diff(want, fold(t, half, all[cut:])); d != "" {
			rt.Fatal(d)
		}
		if d := cmp.Diff(want, fold(t, kept, all[cut:])); d != "" {
			rt.Fatalf("the clone was changed: %s", d)
		}
	})
}

func TestEventsSurviveJSON(t *testing.T) {
	events := runtest.Events("a")
	for _, b := range []run.Body{
		run.Delta{Text: "<b>&"},
		run.Delta{Reasoning: "hm"},
		run.CallDelta{Index: 1, Name: "n", Arguments: "{"},
		run.CallDelta{Index: 0, Cut: true},
		run.Retried{Attempt: 1, WaitMS: 5, Error: "503"},
		run.Retried{Attempt: 4, Error: "401", Model: "another"},
		run.Progressed{CallID: "c", Tool: "t", Permille: 500},
		run.Logged{CallID: "c", Tool: "t", Level: "info", Message: "m"},
		run.Nested{CallID: "c", Tool: "t", Event: run.Event{Run: "a.c", Seq: 1, Time: time.Unix(8, 0).UTC(), Body: run.Began{Step: 1}}},
		run.Nested{CallID: "c", Tool: "t", Event: run.Event{Run: "a.c", After: 1, Time: time.Unix(8, 0).UTC(), Body: run.Nested{
			CallID: "d", Tool: "u", Event: run.Event{Run: "a.c.d", Time: time.Unix(7, 0).UTC(), Body: run.Delta{Text: "x"}},
		}}},
	} {
		events = append(events, run.Event{Run: "a", After: 3, Time: time.Unix(9, 0).UTC(), Body: b})
	}
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back run.Event
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if d := cmp.Diff(e, back); d != "" {
			t.Errorf("%s\n%s", data, d)
		}
	}
}

func TestEventsAreNotReadHoweverDeepTheyLieInEachOther(t *testing.T) {
	nested := func(n int) []byte {
		e := run.Event{Run: "a", Body: run.Began{Step: 1}}
		for range n {
			e = run.Event{Run: "a", Body: run.Nested{Event: e}}
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var e run.Event
	if err := json.Unmarshal(nested(16), &e); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal(nested(17), &e); err == nil || !strings.Contains(err.Error(), "more than 16 events inside each other") {
		t.Errorf("error is %v", err)
	}
	many := strings.Repeat(`{"type":"nested","event":`, 9000) + `{}` + strings.Repeat("}", 9000)
	if err := json.Unmarshal([]byte(many), &e); err == nil {
		t.Error("9000 levels are read")
	}
	for _, bad := range []string{`{"type":"nested"}`, `{"type":"nested","event":null}`, `{"type":"nested","event":{"type":"nope"}}`} {
		if err := json.Unmarshal([]byte(bad), &e); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestEventIsOneFlatObject(t *testing.T) {
	e := run.Event{Run: "a", After: 7, Time: time.Unix(0, 0).UTC(), Body: run.Delta{Text: "<hi>"}}
	got, err := e.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	call, err := run.Event{Run: "a", After: 7, Time: time.Unix(0, 0).UTC(), Body: run.CallDelta{Name: "t", Arguments: "{"}}.MarshalJSON()
	if want := `{"type":"tool_call_delta","run_id":"a","after":7,"time":"1970-01-01T00:00:00Z","index":0,"name":"t","arguments":"{"}`; err != nil || string(call) != want {
		t.Errorf("got  %s\nwant %s", call, want)
	}
	want := `{"type":"text_delta","run_id":"a","after":7,"time":"1970-01-01T00:00:00Z","text":"<hi>"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestActionsAndFinishesCarryTheirType(t *testing.T) {
	a, err := json.Marshal(run.Action{Tool: "t", CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"AgentAction","tool":"t","tool_input":{},"call_id":"c","log":""}`; string(a) != want {
		t.Errorf("got %s, want %s", a, want)
	}
	var f run.Finish
	if err := json.Unmarshal(a, &f); err == nil {
		t.Error("an action was read as a finish")
	}
}

func FuzzEventJSON(f *testing.F) {
	for _, e := range runtest.Events("a") {
		data, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"type":"step_started"}`))
	f.Add([]byte(`{"type":"nested","after":1,"event":{"type":"nested","event":{"type":"step_started"}}}`))
	f.Add([]byte(`{"type":"actions","actions":[{"type":"AgentFinish"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e run.Event
		if json.Unmarshal(data, &e) != nil {
			return
		}
		once, err := json.Marshal(e)
		if err != nil {
			return // a time that JSON cannot write
		}
		var again run.Event
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		twice, err := json.Marshal(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
		_, _ = run.Apply(run.State{}, e) // must not panic
	})
}
