package sandbox

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/policy"
)

// CPU-6: the limit of the stack follows that of the memory, the message tells it,
// and what is within the limit runs.
func TestTheStackIsLimitedByTheMemoryLimit(t *testing.T) {
	e := newEngine(t)
	for memory, says := range map[int64]string{policy.MiB: "1 MiB", 16 * policy.MiB: "4 MiB", policy.GiB: "16 MiB"} {
		m := load(t, e, source(t, "recurse"), within(time.Minute), func(s *Source) { s.Policy.Limits.Memory = memory })
		out := m.Call(t.Context(), Call{})
		if out.Fault != FaultStack || !strings.Contains(said(out), says) {
			t.Errorf("memory %d: %q %s, want %s", memory, out.Fault, said(out), says)
		}
	}
}

// An engine that hides its stack is not used: the limit would be no limit.
func TestAnEngineThatHidesItsStackIsRefused(t *testing.T) {
	m := load(t, newEngine(t), source(t, "done"))
	g, err := newGuest(t.Context(), m.src.Policy, nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.close() }()
	in, err := m.speaks.(*reactor).code.instantiate(g, g.config(noInput(), g.log()), m.speaks.(*reactor).code.base)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	f := in.mod.ExportedFunction("wagent_abi")
	seen, err := newExport(f)
	if err != nil || seen.size() == 0 {
		t.Fatalf("the stack of a compiled function: %d bytes, %v", seen.size(), err)
	}
	// Not a function of the compiler: the interpreter bounds depth itself.
	if other, err := newExport(notCompiled{f}); err != nil || other.size() != 0 {
		t.Errorf("another engine's function: %d bytes, %v", other.size(), err)
	}
	for _, other := range []any{notCompiled{}, struct{ stack int }{}, struct{ stack []uint64 }{}, 5} {
		if _, err := stackOf(reflect.ValueOf(other)); !errors.Is(err, errHiddenStack) {
			t.Errorf("%T was taken for a compiled function: %v", other, err)
		}
	}
}

type notCompiled struct{ api.Function }
