package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// manifests writes manifests into a new folder, and beside them each small module that
// one of them names. It returns the folder.
func manifests(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), []byte(text))
		for line := range strings.Lines(text) {
			if _, module, ok := strings.Cut(line, "module: "); ok {
				if module, _, _ = strings.Cut(module, ".wasm"); module == "none" {
					continue // the test wants one that is not there
				}
				put(t, filepath.Join(dir, filepath.Dir(name), module+".wasm"), testkit.Wasm(t, filepath.Base(module)))
			}
		}
	}
	return dir
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// family opens wagent.yaml of the manifests.
func family(t *testing.T, files map[string]string, opts host.Options) *host.Host {
	t.Helper()
	opts.CacheDir = cache.Dir(t)
	h, err := host.Open(t.Context(), filepath.Join(manifests(t, files), "wagent.yaml"), &opts)
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

// roles returns a model that plays a script for each system prompt.
func roles(scripts map[string][]modeltest.Turn) *modeltest.Script {
	next := map[string]int{}
	return modeltest.NewFunc(func(_ int, req *model.Request) modeltest.Turn {
		role := req.Messages[0].Text()
		n := next[role]
		if next[role]++; n >= len(scripts[role]) {
			return modeltest.Fail(&model.Error{Kind: model.Rejected, Message: "the script of " + role + " is over"})
		}
		return scripts[role][n]
	})
}

// ended runs h and returns its events and the result.
func ended(t *testing.T, h *host.Host, in host.Input) ([]run.Event, *run.Result) {
	t.Helper()
	var events []run.Event
	var result *run.Result
	for ev, err := range h.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
		switch b := ev.Body.(type) {
		case run.Finished:
			result = b.Result
		case run.Failed:
			result = b.Result
		}
	}
	return events, result
}

const boss = "version: 1\nmodel: {name: m}\nagent: {system_prompt: boss}\ntools:\n  - agent: ./researcher.yaml\n"

const researcher = "version: 1\nname: researcher\nmodel: {name: m}\nagent: {system_prompt: research}\ntools:\n  - module: counter.wasm\n"

func two() map[string]string {
	return map[string]string{"wagent.yaml": boss, "researcher.yaml": researcher}
}

func ask(prompt string) modeltest.Turn {
	args, _ := json.Marshal(map[string]string{"prompt": prompt})
	return modeltest.Calls(modeltest.Call("researcher", string(args)))
}

var counts = modeltest.Calls(modeltest.Call("counter", "{}"))

// The whole way: an agent asks another, which has a real module for its tool.
func TestFieldH17AnAgentIsAToolOfAnother(t *testing.T) {
	m := roles(map[string][]modeltest.Turn{
		"boss":     {ask("count, please"), modeltest.Text("It counted.")},
		"research": {counts, modeltest.Text("One.")},
	})
	store := new(run.Memory)
	h := family(t, two(), host.Options{Model: m, Store: store})
	in := host.Text("go")
	in.ID = "top"
	events, got := ended(t, h, in)
	step := got.Steps[0]
	if got.Output != "It counted." || step.Observation != "One." || step.IsError || step.NestedRun != "top.call_1_1" || step.Receipt != nil {
		t.Errorf("result is %+v", got)
	}
	if want := (model.Usage{PromptTokens: 40, CompletionTokens: 20, TotalTokens: 60}); got.TokenUsage != want {
		t.Errorf("usage is %+v, want that of all four calls", got.TokenUsage)
	}
	if d := cmp.Diff(map[string]int{"researcher": 1}, got.ToolCallCounts); d != "" {
		t.Error(d)
	}
	s, err := run.Load(t.Context(), store, "top.call_1_1")
	if err != nil || s.Output != "One." || s.Agent != "researcher" || s.CallCounts["counter"] != 1 || s.Steps[0].Receipt == nil {
		t.Errorf("the agent's run is %+v, %v", s, err)
	}
	var seqs []uint64
	for _, e := range events {
		if n, ok := e.Body.(run.Nested); ok && !n.Event.Transient() {
			seqs = append(seqs, n.Event.Seq)
		}
	}
	if len(seqs) != int(s.Seq) || seqs[0] != 1 || !slices.IsSorted(seqs) {
		t.Errorf("the run shows %v of the agent's %d events", seqs, s.Seq)
	}
	reqs := m.Requests()
	def := reqs[0].Tools[0]
	if def.Name != "researcher" || !strings.Contains(def.Description, "counter") || !strings.Contains(string(def.Parameters), `"required":["prompt"]`) {
		t.Errorf("the model is shown %+v", def)
	}
	if texts := []string{reqs[1].Messages[0].Text(), reqs[1].Messages[1].Text()}; len(reqs[1].Messages) != 2 || texts[1] != "count, please" {
		t.Errorf("the agent begins with %q", texts)
	}
}

func TestCallsOfTheSameAgentAreRunsOfTheirOwn(t *testing.T) {
	files := two()
	files["researcher.yaml"] = strings.Replace(researcher, "counter.wasm", "counter.wasm\n    instances: session", 1)
	both := modeltest.Calls(ask("a").Message.ToolCalls[0], ask("b").Message.ToolCalls[0], ask("c").Message.ToolCalls[0])
	m := modeltest.NewFunc(func(_ int, req *model.Request) modeltest.Turn {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case req.Messages[0].Text() == "boss" && last.Role == model.User:
			return both
		case req.Messages[0].Text() == "boss":
			return modeltest.Text("done")
		case len(req.Messages) < 6: // two steps
			return counts
		}
		return modeltest.Text(req.Messages[1].Text() + " " + last.Text())
	})
	h := family(t, files, host.Options{Model: m})
	_, got := ended(t, h, host.Text("go"))
	var said []string
	for _, s := range got.Steps {
		said = append(said, s.Observation)
	}
	if d := cmp.Diff([]string{"a don2", "b don2", "c don2"}, said); d != "" {
		t.Error(d)
	}
	if n := h.SessionGuests(); n != 0 {
		t.Errorf("%d guests outlive their run", n)
	}
}

// What an agent was stopped with is kept, and not taken for its answer.
func TestAnAgentThatDoesNotComeToItsEnd(t *testing.T) {
	limited := func(turn modeltest.Turn, finish model.FinishReason) modeltest.Turn {
		turn.Finish = finish
		return turn
	}
	thinking := counts
	thinking.Message.Content = model.TextParts("I begin to count.")
	for _, c := range []struct {
		name, agent, entry string
		turns              []modeltest.Turn
		kind               run.ErrorKind
		want               string
	}{
		{"no limit", "", "", []modeltest.Turn{modeltest.Text("One.")}, "", "One."},
		{"an exit tool", ", exit_conditions: [counter]", "", []modeltest.Turn{counts}, "", "don1"},
		{
			"the limit of steps", ", max_steps: 1", "",
			[]modeltest.Turn{counts},
			run.KindToolError, "The agent was stopped before it had answered (max_steps). What it had by then:\ndon1",
		},
		{
			"the limit of steps, after it had said something", ", max_steps: 1", "",
			[]modeltest.Turn{thinking},
			run.KindToolError, "The agent was stopped before it had answered (max_steps). What it had by then:\nI begin to count.",
		},
		{
			"no steps at all", ", max_steps: 0", "",
			nil, run.KindToolError, "The agent was stopped before it had answered (max_steps). It had nothing by then.",
		},
		{
			"the limit of steps with a last answer", ", max_steps: 1, early_stopping: generate", "",
			[]modeltest.Turn{counts, modeltest.Text("About one.")},
			"", "The agent was stopped before it was done (max_steps). Its answer from what it had by then:\nAbout one.",
		},
		{
			"a reply that is cut", "", "",
			[]modeltest.Turn{limited(modeltest.Text("One and"), model.FinishLength)},
			run.KindToolError, "The agent was stopped before it had answered (length). What it had by then:\nOne and",
		},
		{
			"a budget of its own", ", max_total_tokens: 10", "",
			[]modeltest.Turn{counts},
			run.KindToolError, "The agent was stopped before it had answered (token_budget_exceeded). What it had by then:\ndon1",
		},
		{
			"a model that fails", "", "",
			[]modeltest.Turn{modeltest.Fail(&model.Error{Kind: model.Rejected, Message: "no\nsuch\x1b[31m model"})},
			run.KindToolError, `The agent failed: model_rejected: `,
		},
		{
			"a tool failure that ends it", ", on_tool_error: fail", "",
			[]modeltest.Turn{modeltest.Calls(modeltest.Call("trap", "{}"))},
			run.KindToolError, "The agent failed: tool_failed: ",
		},
		{
			"its own time", ", max_duration: 50ms", "",
			[]modeltest.Turn{{Message: model.Text(model.Assistant, "One is the beginning"), Hang: true}},
			run.KindToolError, "The agent was stopped before it had answered (max_duration). What it had by then:\nOne is the",
		},
		{
			"the time of the call", "", "    limits: {timeout: 50ms}\n",
			[]modeltest.Turn{{Message: model.Text(model.Assistant, "One is the beginning"), Hang: true}},
			run.KindTimeout, "The agent was stopped after 50ms, the time of a call (limits.timeout). What it had by then:\nOne is the",
		},
		{
			"the time of the call, in a tool", "", "    limits: {timeout: 300ms}\n",
			[]modeltest.Turn{modeltest.Calls(modeltest.Call("loop", "{}"))},
			run.KindTimeout, "The agent was stopped after 300ms, the time of a call (limits.timeout). It had nothing by then.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := two()
			files["wagent.yaml"] += c.entry
			files["researcher.yaml"] = strings.Replace(researcher, "prompt: research", "prompt: research"+c.agent, 1) +
				"  - module: trap.wasm\n  - module: loop.wasm\n    limits: {timeout: 1h}\n"
			h := family(t, files, host.Options{Model: roles(map[string][]modeltest.Turn{"boss": {ask("x"), modeltest.Text("ok")}, "research": c.turns})})
			_, got := ended(t, h, host.Text("go"))
			step := got.Steps[0]
			if got.Output != "ok" || step.ErrorKind != c.kind || step.IsError != (c.kind != "") || !strings.HasPrefix(step.Observation, c.want) {
				t.Errorf("output %q, step %+v", got.Output, step)
			}
			if strings.ContainsAny(step.Observation, "\x1b") || strings.Contains(step.Observation, "goroutine") {
				t.Errorf("observation is %q", step.Observation)
			}
		})
	}
}

// The caller's end is the agent's, whatever it is doing.
func TestTheCallersTimeAndCancellingEndTheAgent(t *testing.T) {
	for name, turn := range map[string]modeltest.Turn{
		"a model that hangs":      modeltest.Hang(),
		"a tool that never ends":  modeltest.Calls(modeltest.Call("loop", "{}")),
		"an agent without an end": counts,
	} {
		for _, how := range []string{"max_duration", "cancel", "close"} {
			t.Run(name+", "+how, func(t *testing.T) {
				files := two()
				files["researcher.yaml"] += "  - module: loop.wasm\n    limits: {timeout: 1h}\n"
				files["researcher.yaml"] = strings.Replace(files["researcher.yaml"], "prompt: research", "prompt: research, max_steps: 100000, max_repeated_calls: 0", 1)
				if how == "max_duration" {
					files["wagent.yaml"] = strings.Replace(boss, "prompt: boss", "prompt: boss, max_duration: 500ms", 1)
				}
				m := modeltest.NewFunc(func(_ int, req *model.Request) modeltest.Turn {
					if req.Messages[0].Text() == "boss" {
						return ask("x")
					}
					return turn
				})
				m.Forget = true
				store := new(run.Memory)
				h := family(t, files, host.Options{Model: m, Store: store})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var reason run.ExitReason
				var stopped time.Time
				in := host.Text("go")
				in.ID = "top"
				var closing sync.WaitGroup
				for ev, err := range h.Run(ctx, in) {
					if err != nil {
						t.Fatal(err)
					}
					if n, ok := ev.Body.(run.Nested); ok && stopped.IsZero() && how != "max_duration" {
						if _, begun := n.Event.Body.(run.Began); begun {
							stopped = time.Now()
							if how == "cancel" {
								cancel()
							} else {
								closing.Go(func() {
									if err := h.Close(context.WithoutCancel(ctx)); err != nil {
										t.Error(err)
									}
								})
							}
						}
					}
					if f, ok := ev.Body.(run.Finished); ok {
						reason = f.ExitReason
					}
				}
				closing.Wait()
				want := run.ExitInterrupted
				if how == "max_duration" {
					want = run.ExitMaxDuration
				}
				if reason != want {
					t.Errorf("the run ended with %s", reason)
				}
				if !stopped.IsZero() && time.Since(stopped) > 20*time.Second { // far more than a busy machine takes, and far less than the hour of the tool
					t.Errorf("it took %s to end", time.Since(stopped))
				}
				s, err := run.Load(t.Context(), store, "top.call_1_1")
				if err != nil || !s.Done || s.ExitReason != run.ExitInterrupted {
					t.Errorf("the agent's run: done %v, %s, %v", s.Done, s.ExitReason, err)
				}
			})
		}
	}
}

// What the caller may spend is all that the agents below it may spend.
func TestBudgetsOfTheCallerBindTheAgent(t *testing.T) {
	for _, c := range []struct{ budget, inner, outer string }{
		{"max_total_tokens: 40", "token_budget_exceeded", "token_budget_exceeded"},
		{"max_tool_calls: 2", "tool_call_budget_exceeded", "text"},
	} {
		files := two()
		files["wagent.yaml"] = strings.Replace(boss, "prompt: boss", "prompt: boss, "+c.budget, 1)
		store := new(run.Memory)
		h := family(t, files, host.Options{Store: store, Model: roles(map[string][]modeltest.Turn{
			"boss":     {ask("x"), ask("more"), modeltest.Text("ok")},
			"research": {counts, counts, counts, modeltest.Text("inner")},
		})})
		in := host.Text("go")
		in.ID = "top"
		_, got := ended(t, h, in)
		s, err := run.Load(t.Context(), store, "top.call_1_1")
		if err != nil || string(s.ExitReason) != c.inner || string(got.ExitReason) != c.outer {
			t.Errorf("%s: inner %s, outer %s, %v", c.budget, s.ExitReason, got.ExitReason, err)
		}
		if c.budget == "max_total_tokens: 40" && got.TokenUsage.TotalTokens != 45 {
			t.Errorf("%d tokens were used", got.TokenUsage.TotalTokens)
		}
		if c.budget == "max_tool_calls: 2" {
			if n := s.CallCounts["counter"]; n != 1 || len(got.Steps) != 2 || got.Steps[1].Observation == "inner" || !got.Steps[1].IsError {
				t.Errorf("the agent made %d calls; steps are %+v", n, got.Steps)
			}
			last := s.Steps[len(s.Steps)-1].Observation
			if !strings.Contains(last, "at its limit of 2 tool calls of the run that this one is part of, so") {
				t.Errorf("the agent's model was told %q", last)
			}
		}
	}
}

func TestAnAgentsAnswerGoesToTheState(t *testing.T) {
	files := two()
	files["wagent.yaml"] = strings.Replace(boss, "prompt: boss", "prompt: boss, state: {notes: {schema: {type: array}}}", 1) + "    outputs_to_state: {notes: {}}\n    return_direct: true\n"
	h := family(t, files, host.Options{Model: roles(map[string][]modeltest.Turn{"boss": {ask("x")}, "research": {modeltest.Text("One.")}})})
	_, got := ended(t, h, host.Text("go"))
	if got.ExitReason != run.ExitReturnDirect || got.Output != "One." || string(got.State["notes"]) != `["One."]` {
		t.Errorf("result is %+v", got)
	}
}

// An agent that gives a value gives it to whoever calls it, as a module does.
func TestAnAgentsValueIsItsStructuredResult(t *testing.T) {
	files := two()
	files["wagent.yaml"] = strings.Replace(boss, "prompt: boss", "prompt: boss, state: {total: {schema: {type: integer}}}", 1) + "    outputs_to_state: {total: {from: n}}\n"
	for planner, says := range map[string][]modeltest.Turn{
		"strategy: prompt": {modeltest.Text(`{"n":"one"}`), modeltest.Text(`{"n":1}`)},
		"strategy: tool":   {modeltest.Calls(modeltest.Call("final_output", `{"n":"one"}`)), modeltest.Calls(modeltest.Call("final_output", `{"n":1}`))},
	} {
		files["researcher.yaml"] = strings.Replace(researcher, "prompt: research", "prompt: research, output: {schema: {type: object, properties: {n: {type: integer}}, required: [n]}, "+planner+"}", 1)
		m := modeltest.NewFunc(func(n int, req *model.Request) modeltest.Turn {
			switch {
			case strings.HasPrefix(req.Messages[0].Text(), "research"):
				for i := range says {
					for j := range says[i].Message.ToolCalls { // whatever it is called here
						says[i].Message.ToolCalls[j].Name = req.Tools[len(req.Tools)-1].Name
					}
				}
				return says[n-1]
			case n == 0:
				return ask("x")
			}
			return modeltest.Text("ok")
		})
		events, got := ended(t, family(t, files, host.Options{Model: m}), host.Text("go"))
		if string(got.State["total"]) != "1" || got.Steps[0].IsError || got.Steps[0].Observation != `{"n":1}` {
			t.Errorf("%s: result is %+v", planner, got)
		}
		for _, e := range events {
			if r, ok := e.Body.(run.Returned); ok && string(r.Structured) != `{"n":1}` {
				t.Errorf("%s: the result is %s", planner, r.Structured)
			}
		}
	}
}

func TestFieldH16AModelThatCallsAnAgentWithNonsenseIsToldHow(t *testing.T) {
	call := func(args string) modeltest.Turn { return modeltest.Calls(modeltest.Call("researcher", args)) }
	h := family(t, two(), host.Options{Model: roles(map[string][]modeltest.Turn{
		"boss":     {call(`{}`), call(`{"a":"x","b":"y"}`), call(`{"prompt":7}`), call(`{"question":"how many?"}`), modeltest.Text("ok")},
		"research": {modeltest.Text("One.")},
	})})
	_, got := ended(t, h, host.Text("go"))
	const told = `The arguments do not fit the tool's schema, so it was not run: give the agent one text, as {"prompt": "what it is to do"}`
	var said []string
	for _, s := range got.Steps {
		said = append(said, string(s.ErrorKind)+": "+s.Observation)
	}
	if d := cmp.Diff([]string{"invalid_args: " + told, "invalid_args: " + told, "invalid_args: " + told, ": One."}, said); d != "" {
		t.Error(d)
	}
	if got.ToolCallCounts["researcher"] != 1 || got.Output != "ok" {
		t.Errorf("result is %+v", got)
	}
}

func TestAnAgentCanBeCalledOutsideOfARun(t *testing.T) {
	store := new(run.Memory)
	h := family(t, two(), host.Options{Store: store, Model: roles(map[string][]modeltest.Turn{"research": {counts, modeltest.Text("One.")}})})
	var shown []string
	out, err := h.Watch(t.Context(), "researcher", json.RawMessage(`{"prompt":"count"}`), func(b run.Body) {
		if n, ok := b.(run.Nested); ok {
			shown = append(shown, fmt.Sprintf("%T", n.Event.Body))
		}
	})
	if err != nil || out.Kind != "" || out.Result.Content[0].Text != "One." || out.NestedRun == "" || !slices.Contains(shown, "run.Returned") {
		t.Errorf("%+v, %v, %v", out, err, shown)
	}
	if s, err := run.Load(t.Context(), store, out.NestedRun); err != nil || s.Output != "One." {
		t.Errorf("%+v, %v", s, err)
	}
	out, err = h.Call(t.Context(), "researcher", json.RawMessage(`{"prompt":""}`))
	if err != nil || out.Kind != run.KindInvalidArgs || out.NestedRun != "" {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = h.Call(t.Context(), "researcher", json.RawMessage(`{"prompt":"again"}`))
	if err != nil || out.Kind != run.KindToolError || !out.Result.IsError || !strings.Contains(out.Result.Content[0].Text, "model_rejected") {
		t.Errorf("%+v, %v", out, err)
	}
	_, trace, suggestion, err := h.Trace(t.Context(), "researcher", json.RawMessage(`{"prompt":"again"}`), &host.TraceOptions{Suggest: true})
	if err != nil || len(trace.Calls) != 0 || !suggestion.Empty() {
		t.Errorf("%+v, %+v, %v", trace, suggestion, err)
	}
}

func TestNamesAndDescriptionsOfAgents(t *testing.T) {
	for path, want := range map[string]string{
		"/a/researcher.yaml": "researcher", "my helper.v2.yml": "my_helper_v2", "7-zip.yaml": "zip", "ü.yaml": "agent", ".yaml": "agent",
		strings.Repeat("a", 80) + ".yaml": strings.Repeat("a", 64), "x\x1b[31m.yaml": "x__31m",
	} {
		if got := host.NameOf(path); got != want {
			t.Errorf("%q is called %q, want %q", path, got, want)
		}
	}
	files := map[string]string{
		"wagent.yaml": "version: 1\ntools:\n  - agent: a.yaml\n  - agent: a.yaml\n    name: other\n    description: Ours.\n    limits: {timeout: 1m}\n  - agent: b.yaml\n  - agent: c.yaml\n",
		"a.yaml":      researcher + "description: Looks things up.\n",
		"b.yaml":      "version: 1\nmodel: {name: m}\n",
		"c.yaml":      strings.Replace(researcher, "name: researcher", "name: third", 1),
	}
	loaded := map[string]int{}
	h := family(t, files, host.Options{Loading: func(module string, _, of int) { loaded[fmt.Sprint(module, " of ", of)]++ }})
	var got []string
	for _, i := range h.Tools() {
		var tools []string
		for _, in := range i.Agent.Tools {
			tools = append(tools, in.Name)
		}
		got = append(got, fmt.Sprintf("%s: %s %v %s", i.Name, i.Description, tools, i.Agent.Timeout))
		if !strings.HasPrefix(i.Digest, "sha256:") || !filepath.IsAbs(i.Agent.Manifest) || i.Source != "" {
			t.Errorf("tool is %+v", i)
		}
	}
	want := []string{
		"researcher: Looks things up. [counter] 0s",
		"other: Ours. [counter] 1m0s",
		"b: An agent, which answers one prompt. It has no tools. [] 0s",
		"third: The agent third, which works on one prompt with tools of its own and answers it. Its tools: counter. [counter] 0s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if keys := slices.Collect(maps.Keys(loaded)); len(keys) != 1 || keys[0] != "counter.wasm of 2" {
		t.Errorf("the loading was told as %v", loaded)
	}
}

// endings is a store that closes ended when a run has ended.
type endings struct {
	run.Memory
	id    run.ID
	ended chan struct{}
}

func (s *endings) Append(ctx context.Context, id run.ID, head uint64, events []run.Event) error {
	err := s.Memory.Append(ctx, id, head, events)
	for _, e := range events {
		if _, over := e.Body.(run.Finished); over && id == s.id {
			close(s.ended)
		}
	}
	return err
}

// An agent does not wait for whoever watches the run that calls it, however much it says.
func TestAnAgentThatSaysMuchIsNotHeldAndNotKeptWhole(t *testing.T) {
	flood := modeltest.Text(strings.Repeat("x ", 200_000))
	store := &endings{id: "top.call_1_1", ended: make(chan struct{})}
	h := family(t, two(), host.Options{Store: store, Model: roles(map[string][]modeltest.Turn{
		"boss": {ask("x"), modeltest.Text("ok")}, "research": {flood},
	})})
	in := host.Text("go")
	in.ID = "top"
	shown, lost := 0, ""
	for ev, err := range h.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case run.Nested:
			shown++
			select { // nobody takes what the agent says before it has ended
			case <-store.ended:
			case <-time.After(time.Minute): // it takes less than a second
				t.Fatal("the agent waits to be watched")
			}
		case run.Logged:
			lost = b.Message
		case run.Returned:
			if len(b.Content[0].Text) != 400_000 {
				t.Errorf("the answer has %d bytes", len(b.Content[0].Text))
			}
		}
	}
	if shown > 100_000 || !strings.Contains(lost, "events of the agent's run were not shown") {
		t.Errorf("%d events were shown, and told: %q", shown, lost)
	}
}

func TestWarningsOfAnAgentsManifestAreLogged(t *testing.T) {
	const key = "sk-abcdefghijklmnopqrstuvwxyz"
	files := two()
	files["researcher.yaml"] = strings.Replace(researcher, "{name: m}", "{name: m, api_key: "+key+"}", 1)
	var log bytes.Buffer
	family(t, files, host.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if text := log.String(); strings.Count(text, "researcher.yaml:3:27: model.api_key: a key is written in the manifest") != 1 || strings.Contains(text, key) {
		t.Errorf("the log says %q", text)
	}
}

// Models without tool calls ask an agent as well: the text that they write is the prompt.
func TestAnAgentIsAskedWithEveryPlanner(t *testing.T) {
	for planner, said := range map[string][2]string{
		"react": {"Thought: ask\nAction: researcher\nAction Input: count \"all\"\nplease", "Thought: I know\nFinal Answer: done"},
		"json":  {`{"action":"researcher","action_input":{"prompt":"count \"all\"\nplease"}}`, `{"action":"Final Answer","action_input":"done"}`},
	} {
		boss := []modeltest.Turn{modeltest.Text(said[0]), modeltest.Text(said[1])}
		var prompts []string
		m := modeltest.NewFunc(func(n int, req *model.Request) modeltest.Turn {
			if req.Messages[0].Text() == "research" {
				prompts = append(prompts, req.Messages[1].Text())
				return modeltest.Text("One.")
			}
			return boss[n/2]
		})
		files := two()
		files["wagent.yaml"] = strings.Replace(files["wagent.yaml"], "prompt: boss", "prompt: boss, planner: "+planner, 1)
		_, got := ended(t, family(t, files, host.Options{Model: m}), host.Text("go"))
		if d := cmp.Diff([]string{"count \"all\"\nplease"}, prompts); d != "" || got.Output != "done" || got.Steps[0].Observation != "One." {
			t.Errorf("%s: %s, result %+v", planner, d, got)
		}
	}
}
