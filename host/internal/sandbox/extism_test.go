package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

type abiLevel = abi.Level

// plainTool makes a source call one function of a plugin.
func plainTool(export string) func(*Source) {
	return func(s *Source) {
		s.Export = export
		s.Tool = &abi.Tool{Name: export}
	}
}

func TestExtismPluginsOfBothForms(t *testing.T) {
	e := newEngine(t)
	for _, form := range []string{"v1", "v2"} {
		m := load(t, e, source(t, "extism-"+form))
		d, err := m.Describe(t.Context())
		if err != nil || len(d.Tools) != 1 || d.Tools[0].Name != form {
			t.Fatalf("%s: %+v %v", form, d, err)
		}
		out := m.Call(t.Context(), Call{Tool: form})
		if said(out) != form+" answers" {
			t.Errorf("%s: %s %s %s", form, out.Fault, said(out), out.Detail)
		}
		if out.Receipt.PeakMemory < extismKernel+pageSize {
			t.Errorf("%s: the kernel's memory is not counted: %d", form, out.Receipt.PeakMemory)
		}
	}
}

func TestExtismRequestsHaveTheShapeOfTheForm(t *testing.T) {
	req := &abi.Request{ID: "c1", Tool: "t", Arguments: json.RawMessage(`{"a":"b"}`)}
	for form, want := range map[extismForm]string{
		extismV1:    `{"params":{"name":"t","arguments":{"a":"b"}}}`,
		extismV2:    `{"request":{"name":"t","arguments":{"a":"b"}},"context":{"id":"c1","_meta":{}}}`,
		extismPlain: `{"a":"b"}`,
	} {
		got, err := (&extismPlugin{form: form}).encode(req)
		if err != nil || string(got) != want {
			t.Errorf("got %s %v, want %s", got, err, want)
		}
	}
}

func TestPlainExtismFunctionGetsArgumentsOrItsOneString(t *testing.T) {
	e := newEngine(t)
	whole := load(t, e, source(t, "extism-plain"), plainTool("echo"))
	if out := whole.Call(t.Context(), Call{Arguments: json.RawMessage(`{"a":"b"}`)}); said(out) != `{"a":"b"}` {
		t.Errorf("%s %s %s", out.Fault, said(out), out.Detail)
	}
	text := load(t, e, source(t, "extism-plain"), plainTool("echo"), func(s *Source) { s.Text = true })
	for args, want := range map[string]Fault{
		`{"a":"tea\u0000"}`: "", `{"a":1}`: FaultInvalidArgs, `{}`: FaultInvalidArgs, `{"a":"b","c":"d"}`: FaultInvalidArgs, `"x"`: FaultInvalidArgs,
	} {
		out := text.Call(t.Context(), Call{Arguments: json.RawMessage(args)})
		if out.Fault != want || want == "" && said(out) != "tea\uFFFD" {
			t.Errorf("%s: %q %q", args, out.Fault, said(out))
		}
	}
}

func TestExtismPluginsOwnErrorIsTheToolsError(t *testing.T) {
	m := load(t, newEngine(t), source(t, "extism-plain"), plainTool("fails"))
	out := m.Call(t.Context(), Call{})
	if out.Fault != "" || !out.Result.IsError || said(out) != "no cheese today" {
		t.Errorf("%q %q", out.Fault, said(out))
	}
}

func TestExtismLogsReachTheCall(t *testing.T) {
	m := load(t, newEngine(t), source(t, "extism-plain"), plainTool("warns"))
	var got []string
	out := m.Call(t.Context(), Call{Log: func(l abi.Level, s string) {
		if l == abi.LevelWarn {
			got = append(got, s)
		}
	}})
	if out.Fault != "" || strings.Join(got, "|") != "no cheese today" {
		t.Errorf("%s %q", out.Detail, got)
	}
}

func TestExtismVariablesDoNotOutliveACall(t *testing.T) {
	m := load(t, newEngine(t), source(t, "extism-plain"), plainTool("remembers"))
	for range 3 {
		if out := m.Call(t.Context(), Call{}); out.Fault != "" {
			t.Fatal(out.Detail)
		}
	}
}

// Larger than its memory, extism/go-sdk would give the plugin an empty input.
func TestExtismInputArrivesWholeOrNotAtAll(t *testing.T) {
	const memory = 2 << 20
	m := load(t, newEngine(t), source(t, "extism-plain"), plainTool("echo"), func(s *Source) {
		s.Text = true
		s.Policy.Limits.Memory = memory
		s.Policy.Limits.Output = memory
	})
	// What the limit leaves beside the guest's page and the memory that Extism
	// starts with, and what of the latter's first page is free.
	const room = memory - extismKernel - 2*kernelRoot - blockHeader
	for _, n := range []int{0, 1, 64 << 10, room - 1, room, room + 1, memory, 3 << 20} {
		arg, err := json.Marshal(map[string]string{"s": strings.Repeat("x", n)})
		if err != nil {
			t.Fatal(err)
		}
		out := m.Call(t.Context(), Call{Arguments: arg})
		switch {
		case n <= room && (out.Fault != "" || len(said(out)) != n):
			t.Errorf("%d bytes: %q, %d bytes came back: %s", n, out.Fault, len(said(out)), out.Detail)
		case n > room && out.Fault != FaultMemory:
			t.Errorf("%d bytes: %q", n, out.Fault)
		}
	}
}

func TestExtismConfigIsStrings(t *testing.T) {
	got := extismConfig(json.RawMessage(`{"a":"b","n":1,"o":{"x":[]}}`))
	if diff := cmp.Diff(map[string]string{"a": "b", "n": "1", "o": `{"x":[]}`}, got); diff != "" {
		t.Error(diff)
	}
	if got := extismConfig(nil); len(got) != 0 {
		t.Error(got)
	}
}

func TestPlainPluginCanBeInspected(t *testing.T) {
	m := load(t, newEngine(t), source(t, "extism-plain"), func(s *Source) { s.Inspect = true })
	if info := m.Info(); !info.exports("echo") || info.ABI != Extism {
		t.Errorf("%+v", info)
	}
	if _, err := m.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "no such function (describe)") {
		t.Errorf("got %v", err)
	}
}

// A plugin is started as Extism does it: by its start function, then WASI's
// initialisation, which sees the input, then Haskell's.
func TestExtismPluginIsInitialisedInOrder(t *testing.T) {
	m := load(t, newEngine(t), source(t, "extism-init"), plainTool("marks"))
	if r := perform(t, m, "marks", []byte("123")); r.Out != "si3h" {
		t.Errorf("%+v", r)
	}
	if r := perform(t, m, "_initialize", []byte("123")); r.Out != "" || r.Trap != "" {
		t.Errorf("%+v", r)
	}
}

// A plugin that goes through its input byte by byte may call the host as often
// as that takes; what makes work for the host is counted.
func TestExtismHostCallsAreCountedWhereTheyCost(t *testing.T) {
	e := newEngine(t)
	bytes := load(t, e, source(t, "extism-bytes"), plainTool("copy"), within(time.Minute))
	input := strings.Repeat("tea ", 50_000)
	if r := perform(t, bytes, "copy", []byte(input)); r.Out != input {
		t.Errorf("%q, %d bytes came back", r.Trap, len(r.Out))
	}
	m := load(t, e, source(t, "extism-flood"), plainTool("log_debug"), within(time.Minute))
	for _, function := range []string{"log_debug", "config_get", "var_get", "reset", "list_roots"} {
		if r := perform(t, m, function, nil); r.fault != FaultHostCalls {
			t.Errorf("%s: %q %q", function, r.fault, r.Trap)
		}
	}
}
