package host_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
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

// A run goes on with the files that it was begun with, those of the agents that it calls
// included, and with no others.
func TestARunIsResumedWithTheFilesItWasBegunWith(t *testing.T) {
	store := new(run.Memory)
	opened := func(reply string, changes ...string) *host.Host {
		dir := manifests(t, map[string]string{
			"wagent.yaml": "version: 1\nmodel: {name: m}\nagent: {on_parse_error: {module: hook.wasm}}\n" +
				"tools:\n  - module: done.wasm\n    name: done\n  - agent: researcher.yaml\n",
			"researcher.yaml": "version: 1\nname: researcher\nmodel: {name: m}\ntools:\n  - module: counter.wasm\n",
		})
		for _, name := range changes {
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			more := "# changed\n"
			if filepath.Ext(name) == ".wasm" {
				more = "\x00\x02\x01x" // a custom section
			}
			put(t, path, append(data, more...))
		}
		h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &host.Options{
			Model: modeltest.New(modeltest.Text(reply)), Store: store, CacheDir: cache.Dir(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return h
	}
	in := host.Text("go")
	in.ID = "r"
	if _, got := ended(t, opened("ok"), in); got.Output != "ok" {
		t.Fatalf("%+v", got)
	}
	if got := last(t, opened("more").Resume(t.Context(), "r")); got.Output != "more" {
		t.Errorf("%+v", got)
	}
	const was = "run r: what the run is made of has changed since it was begun: "
	for want, changes := range map[string][]string{
		"the manifest":                                   {"wagent.yaml"},
		"tools[0].module (done.wasm)":                    {"done.wasm"},
		"agent.on_parse_error.module (hook.wasm)":        {"hook.wasm"},
		"tools[1].agent (researcher.yaml)":               {"researcher.yaml"},
		"tools[1].agent: tools[0].module (counter.wasm)": {"counter.wasm"},
		"the manifest, tools[0].module (done.wasm), tools[1].agent (researcher.yaml)": {"wagent.yaml", "done.wasm", "researcher.yaml"},
	} {
		refused := false
		for _, err := range opened("no", changes...).Resume(t.Context(), "r") {
			refused = true
			if !errors.Is(err, host.ErrChanged) || err.Error() != was+want {
				t.Errorf("%v\nwant %s", err, was+want)
			}
		}
		if !refused {
			t.Errorf("%s: nothing was said", want)
		}
	}
}
