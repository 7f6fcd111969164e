package sandbox

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func guestSource(t testing.TB) Source {
	t.Helper()
	src := source(t, "done")
	src.Name, src.Wasm = "guest.wasm", builds.Tool(t, "testdata/guest")
	src.Inspect = true // it imports http, which most tests do not grant
	return src
}

func TestGoGuestIsDescribedAndCalled(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	d, err := m.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := abi.Description{Tools: []abi.Tool{{Name: "echo", Description: "Answers its arguments."}}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	out := m.Call(t.Context(), Call{ID: "c1", Tool: "echo", Arguments: json.RawMessage(`{"a":1}`)})
	if out.Fault != "" || said(out) != `{"a":1}` {
		t.Errorf("%s %s %s", out.Fault, said(out), out.Detail)
	}
	r := out.Receipt
	if r.Module != m.Info().Digest || r.Wall <= 0 || r.PeakMemory < 1<<20 || r.InputBytes == 0 || r.OutputBytes == 0 {
		t.Errorf("%+v", r)
	}
}
