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
