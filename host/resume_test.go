package host_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

func TestARunOfTheStoreIsResumed(t *testing.T) {
	store := new(run.Memory)
	yaml := "version: 1\nname: a\nmodel: {name: m}\nagent: {max_steps: 1}\ntools:\n  - module: ./word_count.wasm\n"
	call := modeltest.Calls(modeltest.Call("word_count", `{"text":"a b"}`))
	h := open(t, yaml, host.Options{Model: modeltest.New(call, modeltest.Text("2")), Store: store})
	in := host.Text("count")
	in.ID = "r"
	if got := last(t, h.Run(t.Context(), in)); got.ExitReason != run.ExitMaxSteps {
		t.Fatalf("%+v", got)
	}
	if got := last(t, h.Resume(t.Context(), "r")); got.ExitReason != run.ExitText || got.Output != "2" || got.StepCount != 2 {
		t.Errorf("%+v", got)
	}
	for _, err := range h.Resume(t.Context(), "nobody") {
		if !errors.Is(err, run.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
	other := open(t, yaml+"# changed\n", host.Options{Model: modeltest.New(), Store: store})
	for _, err := range other.Resume(t.Context(), "r") {
		if !errors.Is(err, host.ErrChanged) {
			t.Errorf("%v", err)
		}
	}
}

// The limits that a run was begun with hold after it was broken off.
func TestABudgetHoldsWhenARunIsResumed(t *testing.T) {
	three := 3
	for reason, budget := range map[run.ExitReason]host.Budget{
		run.ExitMaxSteps:       {MaxSteps: &three},
		run.ExitTokenBudget:    {MaxTotalTokens: 20},
		run.ExitCostBudget:     {MaxCost: 20},
		run.ExitToolCallBudget: {MaxToolCalls: 2},
	} {
		count := modeltest.Calls(modeltest.Call("word_count", `{"text":"a b"}`))
		m := modeltest.New(count, count, count, count, count, count, count, modeltest.Text("2"))
		yaml := "version: 1\nname: a\nmodel: {name: m, prices: {input: 1000000, output: 1000000}}\ntools:\n  - module: ./word_count.wasm\n"
		h := open(t, yaml, host.Options{Model: m})
		in := host.Text("count")
		in.ID, in.Budget = "r", budget
		for e, err := range h.Run(t.Context(), in) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Body.(run.Ended); ok {
				break
			}
		}
		if got := last(t, h.Resume(t.Context(), "r")); got.ExitReason != reason {
			t.Errorf("%s: %s after %d steps, %+v", reason, got.ExitReason, got.StepCount, got.TokenUsage)
		}
	}
}

// last is what a run comes to.
func last(t *testing.T, events iter.Seq2[run.Event, error]) *run.Result {
	t.Helper()
	var got *run.Result
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := e.Body.(run.Finished); ok {
			got = b.Result
		}
	}
	if got == nil {
		t.Fatal("the run did not finish")
	}
	return got
}
