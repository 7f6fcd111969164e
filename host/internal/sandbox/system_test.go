package sandbox

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func TestGuestSeesOnlyTheEnvironmentItWasGranted(t *testing.T) {
	t.Setenv("WAGENT_TEST_SECRET", "s3cret")
	m := load(t, newEngine(t), guestSource(t), func(s *Source) {
		s.Policy.Grants.Env = map[string]string{"LANG": "C.UTF-8", "A": ""}
	})
	if got := said(m.Call(t.Context(), Call{Tool: "env"})); got != "A=\nLANG=C.UTF-8" {
		t.Errorf("got %q", got)
	}
}

func TestClockIsRealOrFixed(t *testing.T) {
	e := newEngine(t)
	clock := func(change ...func(*Source)) time.Time {
		t.Helper()
		out := load(t, e, guestSource(t), change...).Call(t.Context(), Call{Tool: "clock"})
		at, err := time.Parse(time.RFC3339Nano, said(out))
		if err != nil {
			t.Fatal(err, out.Detail)
		}
		return at
	}
	before := time.Now().Truncate(time.Microsecond)
	if got := clock(); got.Before(before) || got.After(time.Now()) {
		t.Errorf("the guest's time is %v, the host's %v", got, before)
	}
	fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if got := clock(func(s *Source) { s.Policy.Grants.Clock.Fixed = fixed }); !got.Equal(fixed) {
		t.Errorf("got %v", got)
	}
}

func TestRandomBytesDifferUnlessSeeded(t *testing.T) {
	e := newEngine(t)
	real := load(t, e, guestSource(t))
	seeded := load(t, e, guestSource(t), func(s *Source) { s.Policy.Grants.Random = policy.Random{Seeded: true, Seed: 42} })
	get := func(m *Module) string { return said(m.Call(t.Context(), Call{Tool: "random"})) }
	if a, b := get(real), get(real); a == b || len(a) != 32 {
		t.Errorf("got %q and %q", a, b)
	}
	if a, b := get(seeded), get(seeded); a != b || len(a) != 32 {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestSleepingGuestIsStoppedInTime(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), within(300*time.Millisecond))
	start := time.Now()
	out := m.Call(t.Context(), Call{Tool: "sleep"})
	if took := time.Since(start); out.Fault != FaultTimeout || took > overrun {
		t.Errorf("%s after %v", out.Fault, took)
	}
}

func TestStandardInputOfAReactorIsEmpty(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	if got := said(m.Call(t.Context(), Call{Tool: "stdin"})); got != "0 EOF" {
		t.Errorf("got %q", got)
	}
}

func TestWhatAGuestPrintsIsLogAndProgress(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	var log, steps []string
	out := m.Call(t.Context(), Call{
		Tool:     "print",
		Log:      func(_ abi.Level, s string) { log = append(log, s) },
		Progress: func(n int, s string) { steps = append(steps, s) },
	})
	if said(out) != "printed" {
		t.Fatal(out.Detail)
	}
	if diff := cmp.Diff([]string{"to stdout", "to stderr", "to the log"}, log); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"half"}, steps); diff != "" {
		t.Error(diff)
	}
}

func TestGoPanicNamesItsReason(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	out := m.Call(t.Context(), Call{Tool: "panic"})
	if out.Fault != FaultExited && out.Fault != FaultTrap || !strings.Contains(said(out), "panic: out of cheese") {
		t.Errorf("%s %s %s", out.Fault, said(out), out.Detail)
	}
}

func TestGoGuestThatHoardsHitsItsMemoryLimit(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), func(s *Source) { s.Policy.Limits.Memory = 16 * policy.MiB })
	out := m.Call(t.Context(), Call{Tool: "hoard"})
	if out.Fault != FaultMemory || out.Receipt.PeakMemory > 16*policy.MiB || out.Receipt.PeakMemory < 8*policy.MiB {
		t.Errorf("%s %s %d", out.Fault, out.Detail, out.Receipt.PeakMemory)
	}
}

func TestNothingSurvivesACall(t *testing.T) {
	e := newEngine(t)
	for _, m := range []*Module{load(t, e, guestSource(t)), load(t, e, source(t, "counter"))} {
		for range 3 {
			if got := said(m.Call(t.Context(), Call{Tool: "count"})); got != "1" && got != "don1" {
				t.Errorf("got %q", got)
			}
		}
	}
}

func TestRequestTellsWhoCallsAndHowLong(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), func(s *Source) { s.Config = json.RawMessage(`{"lang":"en"}`) })
	out := m.Call(t.Context(), Call{ID: "c7", Tool: "request", Arguments: json.RawMessage(`{"a":[1]}`), Run: abi.RunRef{ID: "r1", Step: 3}})
	want := `{"v":1,"id":"c7","tool":"request","arguments":{"a":[1]},"config":{"lang":"en"},"deadline_ms":1,"run":{"id":"r1","step":3}}`
	if diff := cmp.Diff(want, said(out)); diff != "" {
		t.Error(diff, out.Detail)
	}
}

func TestArgumentsAreCheckedBeforeTheGuestStarts(t *testing.T) {
	m := load(t, newEngine(t), source(t, "startloop"), func(s *Source) { s.Policy.Limits.Input = 1000 })
	for args, want := range map[string]string{
		`{"a":`: "not valid JSON",
		`{"a":"` + strings.Repeat("x", 1000) + `"}`: "too large",
	} {
		out := m.Call(t.Context(), Call{Arguments: json.RawMessage(args)})
		if out.Fault != FaultInvalidArgs || !strings.Contains(said(out), want) {
			t.Errorf("%s %s", out.Fault, said(out))
		}
	}
}

func TestToolsOwnErrorKeepsItsKind(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	out := m.Call(t.Context(), Call{Tool: "nosuch"})
	if out.Fault != "" || !out.Result.IsError || said(out) != `not_found: there is no tool "nosuch"` {
		t.Errorf("%q %+v", out.Fault, out.Result)
	}
}
