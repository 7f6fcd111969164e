package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// mistaken is a manifest with a tool that traps, one that fails, and one that goes
// well when it is given q. All have a secret in reach.
const mistaken = `version: 1
model: {name: m, base_url: "${BASE_URL}", api_key: "${KEY}", stream: %t, retry: {attempts: 1}}
agent: {system_prompt: hi}
tools:
  - module: ./trap.wasm
    secrets: &secrets [{env: TOKEN, host: example.com, header: Authorization}]
    allow: &allow {http: [{host: example.com}]}
  - module: ./fail.wasm
    abi: wasi
    name: fail
    description: Fails.
  - module: ./done.wasm
    secrets: *secrets
    allow: *allow
    parameters: {type: object, properties: {q: {type: string}}, required: [q]}
`

// files returns a folder with modules of testdata/wasm.
func files(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), testkit.Wasm(t, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mistakenHost(t *testing.T, url string, stream bool) *host.Host {
	t.Helper()
	dir := files(t, "trap", "fail", "done")
	if err := os.WriteFile(filepath.Join(dir, "wagent.yaml"), fmt.Appendf(nil, mistaken, stream), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &host.Options{
		CacheDir: cache.Dir(t), Getenv: env("BASE_URL", url, "KEY", "sk-"+canary, "TOKEN", canary),
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

type mistake struct {
	name string
	call model.ToolCall
	kind run.ErrorKind
	says string // the model is told
}

// mistakes are what a model and a tool can do wrong.
var mistakes = []mistake{
	{"unknown tool", modeltest.Call("dune", `{}`), run.KindUnknownTool, `There is no tool named "dune"; nothing was run. The tools are: trap, fail, done.`},
	{"bad arguments", modeltest.Call("done", `{"q":`), run.KindInvalidArgs, "ends too early"},
	{"missing field", modeltest.Call("done", `{"p":"x"}`), run.KindInvalidArgs, "q"},
	{"trapping tool", modeltest.Call("trap", `{}`), run.KindTrap, "the tool crashed (unreachable)"},
	{"failing tool", modeltest.Call("fail", `{}`), "", ""},
}

// Unknown tool, bad arguments, missing required field, trapping tool, failing tool:
// the model sees an error without a stack and without a secret, and the run goes on;
// with one call, with one among others that go well, with all at once; whole,
// streamed, and streamed in the smallest pieces.
func TestEveryMistakeIsToldAndTheRunGoesOn(t *testing.T) {
	for _, way := range []string{"whole", "streamed", "in pieces"} {
		t.Run(way, func(t *testing.T) {
			good := modeltest.Call("done", `{"q":"x"}`)
			for i, m := range mistakes {
				t.Run("one call, "+m.name, func(t *testing.T) { makeMistakes(t, way, []int{i}, m.call) })
				t.Run("several calls, "+m.name, func(t *testing.T) { makeMistakes(t, way, []int{-1, i, -1, i}, good, m.call, good, m.call) })
			}
			var all []model.ToolCall
			for _, m := range mistakes {
				all = append(all, m.call)
			}
			t.Run("all at once", func(t *testing.T) { makeMistakes(t, way, []int{0, 1, 2, 3, 4, -1}, append(all, good)...) })
		})
	}
}

// makeMistakes runs an agent whose model makes these calls, of which those with a
// place in mistakes go wrong.
func makeMistakes(t *testing.T, way string, which []int, calls ...model.ToolCall) {
	t.Helper()
	turn := modeltest.Calls(calls...)
	if way == "in pieces" {
		turn = modeltest.Turn{HTTP: inPieces(calls)}
	}
	end := modeltest.Server(t, turn, modeltest.Text("I see."))
	h := mistakenHost(t, end.URL, way != "whole")
	var result *run.Result
	for ev, err := range h.Run(t.Context(), host.Text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		told, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		hunt(t, "an event", string(told))
		if b, ok := ev.Body.(run.Finished); ok {
			result = b.Result
		}
	}
	if result == nil || result.ExitReason != run.ExitText || result.Output != "I see." || len(result.Steps) != len(calls) {
		t.Fatalf("result is %+v", result)
	}
	seen := shownResults(t, end)
	if len(seen) != len(calls) {
		t.Fatalf("the model sees %q", seen)
	}
	for i, at := range which {
		step := result.Steps[i]
		if step.IsError != (at >= 0) || step.Observation != seen[i] || seen[i] == "" {
			t.Errorf("call %d: %+v, and the model sees %q", i, step, seen[i])
		}
		if at < 0 {
			continue
		}
		m := mistakes[at]
		if step.ErrorKind == "" || m.kind != "" && step.ErrorKind != m.kind || !strings.Contains(seen[i], m.says) {
			t.Errorf("%s: %s %q", m.name, step.ErrorKind, seen[i])
		}
		if ran := step.Receipt != nil; ran != (m.name == "trapping tool" || m.name == "failing tool") {
			t.Errorf("%s: receipt is %+v", m.name, step.Receipt)
		}
		hasNoStack(t, seen[i])
	}
}

// hasNoStack fails when a text shows where in the host or in a module it comes from.
func hasNoStack(t *testing.T, text string) {
	t.Helper()
	hunt(t, "the observation", text)
	for _, trace := range []string{"goroutine", ".go:", "wasm stack", "wasm error", "0x", "runtime.", "wagent_call", "\x1b", "\x00", "/tmp"} {
		if strings.Contains(text, trace) {
			t.Errorf("the model sees %q", text)
		}
	}
}

// shownResults is what the model sees of the calls, in order, each under its own id.
func shownResults(t *testing.T, end *modeltest.Endpoint) []string {
	t.Helper()
	exchanges := end.Exchanges()
	if len(exchanges) != 2 {
		t.Fatalf("%d requests", len(exchanges))
	}
	hunt(t, "the request", string(exchanges[1].Body))
	var sent struct {
		Messages []struct {
			Role      string
			Content   string
			ToolCalls []struct{ ID string } `json:"tool_calls"`
			CallID    string                `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(exchanges[1].Body, &sent); err != nil {
		t.Fatal(err)
	}
	var asked, answered, out []string
	for _, m := range sent.Messages {
		for _, c := range m.ToolCalls {
			asked = append(asked, c.ID)
		}
		if m.Role == "tool" {
			answered, out = append(answered, m.CallID), append(out, m.Content)
		}
	}
	if d := cmp.Diff(asked, answered); d != "" {
		t.Errorf("calls and results: %s", d)
	}
	return out
}

// inPieces streams calls a byte of their arguments at a time, behind text.
func inPieces(calls []model.ToolCall) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(delta any, finish any) {
			line, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
			fmt.Fprintf(w, "data: %s\n\n", line)
			w.(http.Flusher).Flush()
		}
		send(map[string]any{"role": "assistant", "content": "I look."}, nil)
		for i, c := range calls {
			call := func(id, name, args string) {
				send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": id, "type": "function", "function": map[string]string{"name": name, "arguments": args}}}}, nil)
			}
			call(fmt.Sprint("call_", i), c.Name, "")
			for _, b := range c.Arguments {
				call("", "", string(rune(b)))
			}
		}
		send(map[string]any{}, "tool_calls")
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\ndata: [DONE]\n\n")
	}
}

// A run whose tools leave no exit condition that can be met would go on to its limit.
func TestARunThatCouldNotEndIsNotBegun(t *testing.T) {
	const yaml = "version: 1\nagent: {exit_conditions: [%s]}\ntools:\n  - module: trap.wasm\n  - module: trap.wasm\n    rename: {trap: other}\n%s"
	for _, c := range []struct {
		exits, direct string
		tools         []string
		ok            bool
	}{
		{"trap", "", nil, true},
		{"trap", "", []string{"trap"}, true},
		{"trap", "", []string{"other"}, false},
		{"trap, text", "", []string{"other"}, true},
		{"trap", "", []string{}, true}, // a plain chat
		{"trap", "    return_direct: true\n", []string{"other"}, true},
	} {
		h, err := host.Open(t.Context(), writeSmall(t, fmt.Sprintf(yaml, c.exits, c.direct)), &host.Options{CacheDir: cache.Dir(t), Model: modeltest.New(modeltest.Text("hi"), modeltest.Text("hi"))})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(t.Context())
		in := host.Text("hi")
		in.Tools = c.tools
		_, err = h.Preview(in)
		if ok := err == nil; ok != c.ok || !ok && err.Error() != "the run could not end: of its exit conditions (trap) none is text or a tool of this run" {
			t.Errorf("%+v: %v", c, err)
		}
		if c.ok {
			continue
		}
		for _, err := range h.Run(t.Context(), in) {
			if err == nil {
				t.Errorf("%+v: the run was begun", c)
			}
		}
	}
}
