package run_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// submitting are the events of a run that looks for a tool, gives an output that is
// refused in each of two ways, and one that is taken.
func submitting() []run.Event {
	said := model.Text(model.Assistant, "4")
	step := func(n int, p run.Planned, results ...run.Returned) []run.Body {
		p.Step = n
		bodies := []run.Body{run.Began{Step: n}, run.Replied{Step: n, Message: &said, NoSchema: n == 1}, p}
		for _, r := range results {
			r.Step = n
			bodies = append(bodies, r)
		}
		return append(bodies, run.Ended{Step: n})
	}
	out := func(id string) run.Planned {
		return run.Planned{Actions: []run.Action{{Tool: "s", CallID: id, Input: json.RawMessage("{}")}, {Tool: "a", CallID: id + "b", Input: json.RawMessage("{}")}}, Outputs: []string{id}}
	}
	bodies := []run.Body{run.Prompted{Messages: []model.Message{model.Text(model.User, "go")}}}
	for _, s := range [][]run.Body{
		step(1, out("1"), run.Returned{CallID: "1b", Found: []string{"x", "y"}}, run.Returned{CallID: "1", IsError: true}),
		step(2, run.Planned{Actions: []run.Action{}, Feedback: "not that"}),
		step(3, run.Planned{Actions: []run.Action{}, Unreadable: true}),
		step(4, out("4"), run.Returned{CallID: "4b", Found: []string{"z", "x"}}, run.Returned{CallID: "4", Structured: json.RawMessage(`{"n":4}`)}),
		{run.Finished{ExitReason: run.ExitText, Output: `{"n":4}`, Structured: json.RawMessage(`{"n":4}`)}},
	} {
		bodies = append(bodies, s...)
	}
	return number("r", bodies)
}

func TestOutputsThatAreRefusedAreCounted(t *testing.T) {
	all := submitting()
	var s run.State
	var refused []int
	for _, e := range all {
		var err error
		if s, err = run.Apply(s, e); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(run.Ended); ok {
			refused = append(refused, s.Refused)
		}
	}
	if d := cmp.Diff([]int{1, 2, 2, 0}, refused); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"x", "y", "z"}, s.Found); d != "" || !s.NoSchema {
		t.Errorf("%s, %v", d, s.NoSchema)
	}
	if r := s.Result(); string(r.Structured) != r.Output || r.Messages[5].Role != model.User || r.Messages[5].Text() != "not that" {
		t.Errorf("result is %+v", r)
	}
}

// A kept state is not touched by what follows, and JSON keeps each event.
func TestOutputsSurviveSnapshotsAndJSON(t *testing.T) {
	all := submitting()
	want := fold(t, run.State{}, all)
	for cut := range all {
		half := fold(t, run.State{}, all[:cut])
		kept := half.Clone()
		fold(t, half, all[cut:])
		if d := cmp.Diff(want, fold(t, kept, all[cut:])); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
		data, err := json.Marshal(all[cut])
		if err != nil {
			t.Fatal(err)
		}
		var back run.Event
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(all[cut], back); d != "" {
			t.Errorf("%s\n%s", data, d)
		}
	}
}

// A run that goes on has the value of its last end no more, nor what led to it.
func TestARunThatGoesOnHasNoValueOfBefore(t *testing.T) {
	all := submitting()
	s := fold(t, run.State{}, append(all[:11:11], run.Event{Run: "r", Seq: 12, Body: run.Finished{ExitReason: run.ExitParseErrors}}))
	if s.Refused != 2 {
		t.Fatalf("%d were refused", s.Refused)
	}
	for _, s := range []run.State{s, fold(t, run.State{}, all)} {
		s, err := run.Apply(s, run.Event{Run: "r", Seq: s.Seq + 1, Body: run.Resumed{}})
		if err != nil || s.Refused != 0 || s.Structured != nil || s.Result().Structured != nil {
			t.Errorf("%d refused, %s, %v", s.Refused, s.Structured, err)
		}
	}
}

func TestApplyRefusesOutputsThatCannotBe(t *testing.T) {
	all := submitting()
	action := []run.Action{{Tool: "a", CallID: "1"}}
	for name, c := range map[string]struct {
		after int
		body  run.Body
	}{
		"an output that is no action": {3, run.Planned{Step: 1, Outputs: []string{"1"}}},
		"feedback beside actions":     {3, run.Planned{Step: 1, Actions: action, Feedback: "no"}},
		"feedback beside an end":      {3, run.Planned{Step: 1, Finish: &run.Finish{}, Feedback: "no"}},
		"a call of an output":         {4, run.Called{Step: 1, CallID: "1"}},
	} {
		s := fold(t, run.State{}, all[:c.after])
		if _, err := run.Apply(s, run.Event{Run: "r", Seq: uint64(c.after) + 1, Body: c.body}); !errors.Is(err, run.ErrOrder) {
			t.Errorf("%s: error is %v, want ErrOrder", name, err)
		}
	}
}
