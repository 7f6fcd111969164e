package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// sessionHost is a host whose counter counts its calls of a run. Its model calls
// the counter in each of so many steps, then answers.
func sessionHost(t *testing.T, steps, each int, opts host.Options) *host.Host {
	t.Helper()
	m := modulesOf(t, "counter.wasm")
	m.Tools[0].Instances = "session"
	if opts.Model == nil {
		opts.Model = modeltest.NewFunc(func(_ int, req *model.Request) modeltest.Turn {
			done := 0
			for _, msg := range req.Messages {
				if msg.Role == model.Tool {
					done++
				}
			}
			if done >= steps*each {
				return modeltest.Text("ok")
			}
			return modeltest.Calls(slices.Repeat([]model.ToolCall{modeltest.Call("counter", `{}`)}, each)...)
		})
	}
	opts.CacheDir = cache.Dir(t)
	h, err := host.New(t.Context(), m, &opts)
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

// observed returns what the calls of a run answered, in the order of the steps.
func observed(t *testing.T, h *host.Host, in host.Input) []string {
	t.Helper()
	for ev, err := range h.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := ev.Body.(run.Finished); ok {
			var got []string
			for _, s := range b.Result.Steps {
				got = append(got, s.Observation)
			}
			return got
		}
	}
	t.Fatal("the run did not finish")
	return nil
}

func TestAGuestLivesForARunAndNoLonger(t *testing.T) {
	h := sessionHost(t, 3, 1, host.Options{})
	for range 2 {
		if diff := cmp.Diff([]string{"don1", "don2", "don3"}, observed(t, h, host.Text("count"))); diff != "" {
			t.Error(diff)
		}
		if n := h.SessionGuests(); n != 0 {
			t.Errorf("%d guests are left", n)
		}
	}
	// A call without a run is alone.
	for range 2 {
		out, err := h.Call(t.Context(), "counter", json.RawMessage(`{}`))
		if err != nil || out.Result.Content[0].Text != "don1" {
			t.Errorf("%+v %v", out, err)
		}
	}
}

func TestCallsOfAStepTakeTurnsAtTheirGuest(t *testing.T) {
	h := sessionHost(t, 2, 4, host.Options{})
	got := observed(t, h, host.Text("count"))
	slices.Sort(got)
	if diff := cmp.Diff([]string{"don1", "don2", "don3", "don4", "don5", "don6", "don7", "don8"}, got); diff != "" {
		t.Error(diff)
	}
}

// Two runs never share a guest, whatever they are called, and the end of one does
// not end that of the other.
func TestRunsAtTheSameTimeHaveGuestsOfTheirOwn(t *testing.T) {
	h := sessionHost(t, 3, 1, host.Options{})
	in := host.Text("count")
	in.ID = run.NewID()
	var got []string
	for ev, err := range h.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		b, ok := ev.Body.(run.Returned)
		if !ok {
			continue
		}
		got = append(got, model.PartsText(b.Content))
		if diff := cmp.Diff([]string{"don1", "don2", "don3"}, observed(t, h, host.Text("count"))); diff != "" {
			t.Error(diff)
		}
		for _, err := range h.Run(t.Context(), in) {
			if err == nil {
				t.Error("a run with the id of another began")
			}
			break
		}
		if n := h.SessionGuests(); n != 1 {
			t.Errorf("%d guests are there", n)
		}
	}
	if diff := cmp.Diff([]string{"don1", "don2", "don3"}, got); diff != "" {
		t.Error(diff)
	}
}

// brokenStore panics when it is to keep the n-th event.
type brokenStore struct {
	run.Memory
	n int
}

func (s *brokenStore) Append(ctx context.Context, id run.ID, head uint64, events []run.Event) error {
	if s.n--; s.n == 0 {
		panic("the store broke")
	}
	return s.Memory.Append(ctx, id, head, events)
}

// However a run ends, its guests end with it.
func TestGuestsEndWithTheirRunHoweverThatEnds(t *testing.T) {
	call := modeltest.Calls(modeltest.Call("counter", `{}`))
	for name, c := range map[string]struct {
		opts host.Options
		body func(t *testing.T, ev run.Event) bool // false: the caller breaks off
		says string
	}{
		"the model fails": {opts: host.Options{Model: modeltest.New(call, modeltest.Fail(errors.New("no")))}},
		"the model panics": {opts: host.Options{Model: modeltest.NewFunc(func(n int, _ *model.Request) modeltest.Turn {
			if n > 1 {
				panic("the model broke")
			}
			return call
		})}},
		"the caller breaks off": {
			opts: host.Options{Model: modeltest.New(call, call)},
			body: func(_ *testing.T, ev run.Event) bool { _, ok := ev.Body.(run.Returned); return !ok },
		},
		"the caller panics": {
			opts: host.Options{Model: modeltest.New(call, call)}, says: "the caller broke",
			body: func(_ *testing.T, ev run.Event) bool {
				if _, ok := ev.Body.(run.Returned); ok {
					panic("the caller broke")
				}
				return true
			},
		},
		"the store panics": {opts: host.Options{Model: modeltest.New(call, call), Store: &brokenStore{n: 9}}, says: "the store broke"},
	} {
		t.Run(name, func(t *testing.T) {
			h := sessionHost(t, 0, 0, c.opts)
			most := 0
			func() {
				defer func() {
					if p := recover(); (p != nil || c.says != "") && p != c.says {
						t.Errorf("panic: %v", p)
					}
				}()
				for ev := range h.Run(t.Context(), host.Text("count")) {
					most = max(most, h.SessionGuests())
					if c.body != nil && !c.body(t, ev) {
						break
					}
				}
			}()
			if n := h.SessionGuests(); n != 0 || most != 1 {
				t.Errorf("%d guests are left of %d", n, most)
			}
		})
	}
}

func TestAnInterruptedRunEndsItsGuests(t *testing.T) {
	h := sessionHost(t, 0, 0, host.Options{Model: modeltest.New(modeltest.Calls(modeltest.Call("counter", `{}`)), modeltest.Hang())})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := false
	for ev, err := range h.Run(ctx, host.Text("count")) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case run.Returned:
			cancel()
		case run.Finished:
			ended = b.ExitReason == run.ExitInterrupted
		}
	}
	if n := h.SessionGuests(); n != 0 || !ended {
		t.Errorf("%d guests are left; interrupted: %v", n, ended)
	}
}

func TestAProgramCannotHaveASession(t *testing.T) {
	m := modulesOf(t, "cat.wasm")
	m.Tools[0].Name, m.Tools[0].Instances = "cat", "session"
	h, err := host.New(t.Context(), m, nil)
	if err == nil {
		t.Fatal("it is loaded", h.Close(t.Context()))
	}
	if !strings.Contains(err.Error(), "instances: session is not for programs") {
		t.Error(err)
	}
}
