package sandbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

func TestProgramIsDescribedAndGetsItsRequest(t *testing.T) {
	src := Source{Name: "program.wasm", Wasm: builds.Command(t, "testdata/program"), Policy: policy.Default()}
	m := load(t, newEngine(t), src)
	d, err := m.Describe(t.Context())
	if err != nil || len(d.Tools) != 1 || d.Tools[0].Name != "shout" {
		t.Fatal(d, err)
	}
	out := m.Call(t.Context(), Call{Tool: "shout", Arguments: json.RawMessage(`{"a":1}`)})
	if want := `program.wasm ["shout"] {"a":1}`; said(out) != want || out.Fault != "" {
		t.Errorf("got %q %s, want %q", said(out), out.Detail, want)
	}
}

func TestProgramThatFailsIsAToolErrorWithWhatItSaid(t *testing.T) {
	m := load(t, newEngine(t), source(t, "fail"))
	out := m.Call(t.Context(), Call{Tool: "x"})
	if out.Fault != "" || !out.Result.IsError || said(out) != "the tool ended with code 3:\nno such \\u{0}cheese" {
		t.Errorf("%q %q", out.Fault, said(out))
	}
	if _, err := m.Describe(t.Context()); err == nil || !strings.Contains(err.Error(), "code 3") {
		t.Errorf("described: %v", err)
	}
}

func TestProgramsOutputIsBoundedAndItsArgumentsPlain(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "cat"), func(s *Source) { s.Policy.Limits.Output = 100 })
	small, big := json.RawMessage(`"x"`), json.RawMessage(`"`+strings.Repeat("x", 200)+`"`)
	if out := m.Call(t.Context(), Call{Arguments: small}); out.Fault != "" || out.Receipt.OutputBytes != out.Receipt.InputBytes {
		t.Errorf("%s %+v", out.Detail, out.Receipt)
	}
	if out := m.Call(t.Context(), Call{Arguments: big}); out.Fault != FaultOutput {
		t.Errorf("%q", out.Fault)
	}
	args := load(t, e, source(t, "args"))
	for _, name := range []string{"word_count", "a b", "-x", ""} {
		out := args.Call(t.Context(), Call{Tool: name})
		if out.Fault != "" {
			t.Errorf("%q: %s", name, out.Detail)
		}
	}
	// An argument that holds NUL cannot be passed: the host says so itself.
	if out := args.Call(t.Context(), Call{Tool: "a\x00b"}); out.Fault != FaultInvalidArgs {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
}
