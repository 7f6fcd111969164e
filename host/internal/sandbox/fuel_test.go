package sandbox

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// Work is counted the same in each call, each instance and each engine, so that
// a limit on it means the same everywhere.
func TestFuelIsTheSameForTheSameCall(t *testing.T) {
	metered := func(s *Source) {
		s.Meter, s.Inspect = true, true
		s.Policy.Grants.Clock = policy.Clock{Fixed: time.Unix(1, 0)}
		s.Policy.Grants.Random = policy.Random{Seeded: true, Seed: 7}
	}
	guest := Source{Name: "guest.wasm", Wasm: builds.Tool(t, "testdata/guest"), Policy: policy.Default()}
	for name, src := range map[string]Source{"Go": guest, "text": source(t, "counter")} {
		var want int64
		for range 2 {
			e := newEngine(t)
			m := load(t, e, src, metered)
			d, err := m.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				out := m.Call(t.Context(), Call{ID: "0", Tool: d.Tools[0].Name, Arguments: json.RawMessage(`{}`)})
				if out.Fault != "" || out.Receipt.Fuel == 0 {
					t.Fatalf("%s: %q %s, fuel %d", name, out.Fault, out.Detail, out.Receipt.Fuel)
				}
				if want == 0 {
					want = out.Receipt.Fuel
				}
				if out.Receipt.Fuel != want {
					t.Errorf("%s: fuel %d, and %d before", name, out.Receipt.Fuel, want)
				}
			}
		}
	}
}

func TestFuelIsNotCountedUnlessAskedFor(t *testing.T) {
	m := load(t, newEngine(t), source(t, "done"))
	if out := m.Call(t.Context(), Call{}); out.Receipt.Fuel != 0 {
		t.Errorf("fuel %d", out.Receipt.Fuel)
	}
}

// CPU-1 by work instead of time: the same calls are stopped at the same point.
func TestAGuestIsStoppedWhenItsFuelIsUsedUp(t *testing.T) {
	const limit = 20_000_000
	m := load(t, newEngine(t), source(t, "spin"), within(time.Minute), func(s *Source) { s.Policy.Limits.Fuel = limit })
	for _, w := range waysToSpin(t, "spin", 15) {
		out := m.Call(t.Context(), Call{ID: w.id})
		if out.Fault == FaultStack && w.id == "c" || out.Fault == FaultStack && w.id == "d" {
			continue // recursion may reach the end of the stack first
		}
		if out.Fault != FaultFuel {
			t.Errorf("%s: got %q %s", w.what, out.Fault, out.Detail)
		}
		// A bulk operation is charged when it is done: one of 50 MB is 6 million.
		if out.Receipt.Fuel < limit || out.Receipt.Fuel > limit+limit/2 {
			t.Errorf("%s: %d of %d units used", w.what, out.Receipt.Fuel, limit)
		}
	}
	if out := m.Call(t.Context(), Call{ID: "!"}); out.Fault != FaultFuel {
		t.Errorf("the next call: %q", out.Fault)
	}
}

// A module that does not come to the end of its initialisation is stopped by its
// fuel, too, though that runs for all calls.
func TestFuelBoundsTheInitialisation(t *testing.T) {
	m := load(t, newEngine(t), source(t, "startloop"), within(time.Minute), func(s *Source) { s.Policy.Limits.Fuel = 1_000_000 })
	for range 2 {
		if out := m.Call(t.Context(), Call{}); out.Fault != FaultFuel {
			t.Errorf("got %q %s", out.Fault, out.Detail)
		}
	}
}
