package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

func inSession(s *Source) { s.Session = true }

// begun begins a session that the test closes at its end at the latest.
func begun(t testing.TB, e *Engine) *Session {
	t.Helper()
	s := e.NewSession()
	t.Cleanup(s.Close)
	return s
}

// askIn calls a tool in a session.
func askIn(t testing.TB, m *Module, s *Session, tool string) Outcome {
	t.Helper()
	return m.Call(t.Context(), Call{ID: "0", Tool: tool, Session: s})
}

// answersIn fails unless the calls of a tool in a session give these answers.
func answersIn(t testing.TB, m *Module, s *Session, tool string, want ...string) {
	t.Helper()
	for _, w := range want {
		if out := askIn(t, m, s, tool); out.Fault != "" || said(out) != w {
			t.Errorf("%s: %q %q %s, want %s", tool, out.Fault, said(out), out.Detail, w)
		}
	}
}

// countingModules are modules of both ABIs that count their calls, and what they say.
func countingModules(t testing.TB, e *Engine) map[string]struct {
	m    *Module
	says [3]string
} {
	t.Helper()
	return map[string]struct {
		m    *Module
		says [3]string
	}{
		"wagent": {load(t, e, source(t, "counter"), inSession), [3]string{"don1", "don2", "don3"}},
		"extism": {load(t, e, source(t, "extism-state"), plainTool("count"), inSession), [3]string{"11", "22", "33"}},
	}
}

// ISO-1 where a guest lives longer than a call: it is one session's and no
// other's, at the same time or later.
func TestASessionKeepsItsGuestAndSharesItWithNoOther(t *testing.T) {
	e := newEngine(t)
	for name, c := range countingModules(t, e) {
		a, b, later := begun(t, e), begun(t, e), begun(t, e)
		answersIn(t, c.m, a, name, c.says[0], c.says[1])
		answersIn(t, c.m, b, name, c.says[0])
		answersIn(t, c.m, a, name, c.says[2])
		answersIn(t, c.m, nil, name, c.says[0], c.says[0])
		a.Close()
		a.Close()
		answersIn(t, c.m, later, name, c.says[0])
		answersIn(t, c.m, b, name, c.says[1])
		if out := askIn(t, c.m, a, name); out.Fault != FaultCancelled {
			t.Errorf("%s: a call after the session: %q %q", name, out.Fault, said(out))
		}
		b.Close()
		later.Close()
	}
	if n := e.SessionGuests(); n != 0 {
		t.Errorf("%d guests are left", n)
	}
	if e.queue.taken != 0 {
		t.Errorf("%d bytes are taken", e.queue.taken)
	}
}

// A module that does not ask for it has a fresh guest in each call.
func TestWithoutSessionInTheSourceEachCallIsFresh(t *testing.T) {
	e := newEngine(t)
	m, s := load(t, e, source(t, "counter")), begun(t, e)
	answersIn(t, m, s, "counter", "don1", "don1")
}

func TestVariablesOfAPluginLiveAsLongAsItsGuest(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "extism-state"), plainTool("variable"), inSession)
	s := begun(t, e)
	answersIn(t, m, s, "", "0", "1", "2")
	answersIn(t, m, begun(t, e), "", "0")
	answersIn(t, m, nil, "", "0", "0")
}

// A guest that ended in a fault is in no state to go on. People and the model are
// told what is lost, unless nothing was.
func TestAFaultEndsTheGuestAndNotTheSession(t *testing.T) {
	e := newEngine(t)
	for function, want := range map[string]Fault{
		"traps": FaultTrap, "exits": FaultExited, "loops": FaultTimeout, "floods": FaultOutput, "fetches": FaultTrap,
	} {
		// A plugin has one function for its calls; that of the first is replaced.
		m := load(t, e, source(t, "extism-state"), plainTool("count"), inSession, within(500*time.Millisecond))
		s := begun(t, e)
		p := pluginOf(t, m)
		lost := func(out Outcome) bool {
			return strings.Contains(out.Detail, "is lost") && strings.Contains(said(out), "is lost")
		}
		call := func(f string) Outcome {
			p.src.Export = f
			return askIn(t, m, s, "")
		}
		if out := call(function); out.Fault != want || lost(out) {
			t.Errorf("%s at first: %q %s", function, out.Fault, out.Detail)
		}
		call("count")
		if out := call("count"); said(out) != "22" {
			t.Errorf("after %s it counts %q", function, said(out))
		}
		if out := call(function); out.Fault != want || !lost(out) || !strings.Contains(out.Detail, "2 earlier calls") {
			t.Errorf("%s: %q %s", function, out.Fault, out.Detail)
		}
		if out := call("count"); said(out) != "11" || lost(out) {
			t.Errorf("after %s it counts %q", function, said(out))
		}
		s.Close()
	}
	if n := e.SessionGuests(); n != 0 {
		t.Errorf("%d guests are left", n)
	}
}

// The tool's own error is an answer, and arguments that never reached the guest
// have not changed it.
func TestAToolsErrorKeepsTheGuest(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "extism-state"), plainTool("count"), inSession)
	s := begun(t, e)
	answersIn(t, m, s, "", "11")
	pluginOf(t, m).src.Export = "fails"
	if out := askIn(t, m, s, ""); out.Fault != "" || !out.Result.IsError || said(out) != "22" {
		t.Errorf("%q %q", out.Fault, said(out))
	}
	pluginOf(t, m).src.Export = "count"
	if out := m.Call(t.Context(), Call{Session: s, Arguments: []byte("{")}); out.Fault != FaultInvalidArgs || strings.Contains(out.Detail, "lost") {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
	answersIn(t, m, s, "", "33")
}

// An answer that the host does not take is a fault though the guest went well.
func TestAnAnswerThatIsNoneEndsTheGuest(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, guestSource(t), inSession)
	s := begun(t, e)
	answersIn(t, m, s, "count", "1", "2")
	m.src.Policy.Limits.Output = 8 // the guest's answer is larger
	if out := askIn(t, m, s, "count"); out.Fault != FaultOutput {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
	m.src.Policy.Limits.Output = policy.MiB
	answersIn(t, m, s, "count", "1", "2")
}

// A session's guest goes on as a program that waited: its memory stays as large
// as it was, its clock does not stand still, and its random numbers are not those
// of another session.
func TestAGoGuestGoesOnInItsSession(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, guestSource(t), inSession)
	rand := map[string]bool{}
	for range 3 {
		s := begun(t, e)
		var last time.Duration
		for i := range 20 {
			answersIn(t, m, s, "count", fmt.Sprint(i+1))
			took, err := time.ParseDuration(said(askIn(t, m, s, "elapsed")))
			if err != nil || took <= last {
				t.Fatalf("the clock went from %v to %v: %v", last, took, err)
			}
			last = took
			rand[said(askIn(t, m, s, "rand"))] = true
		}
	}
	if len(rand) != 60 {
		t.Errorf("%d different numbers in 60 calls", len(rand))
	}
}

func TestMemoryOfASessionCountsInEachCall(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "extism-state"), plainTool("grows"), inSession)
	s := begun(t, e)
	for i := range 5 {
		out := askIn(t, m, s, "")
		if said(out) != fmt.Sprint(i+1) || out.Receipt.PeakMemory != int64(i+2)*pageSize+extismKernel {
			t.Errorf("call %d: %q, peak %d", i, said(out), out.Receipt.PeakMemory)
		}
	}
	if e.queue.taken != 6*pageSize {
		t.Errorf("between calls %d bytes are taken", e.queue.taken)
	}
	s.Close()
	if e.queue.taken != 0 {
		t.Errorf("after the session %d bytes are taken", e.queue.taken)
	}
}

// A descriptor is one call's. The guest may keep its number, which is that of no
// file in the next.
func TestAnOpenFileIsClosedAtTheEndOfItsCall(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("tea"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t)
	m := load(t, e, source(t, "extism-state"), plainTool("reads"), inSession, func(s *Source) {
		s.Policy.Grants.Read = []policy.Mount{{Host: dir, Guest: "/d"}}
	})
	s := begun(t, e)
	answersIn(t, m, s, "", "tea")
	pluginOf(t, m).src.Export = "reads_on"
	answersIn(t, m, s, "", fmt.Sprint(uint16(wasiBadf)))
	pluginOf(t, m).src.Export = "reads"
	answersIn(t, m, s, "", "tea")
}

// Calls of one session take turns, so none of the guest's work is lost.
func TestCallsOfASessionTakeTurns(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, guestSource(t), inSession)
	s, other := begun(t, e), begun(t, e)
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range 16 {
		for _, s := range []*Session{s, other} {
			wg.Go(func() {
				out := m.Call(t.Context(), Call{Tool: "count", Session: s})
				mu.Lock()
				defer mu.Unlock()
				seen[said(out)]++
			})
		}
	}
	wg.Wait()
	for i := range 16 {
		if n := seen[fmt.Sprint(i+1)]; n != 2 {
			t.Errorf("%d was counted %d times in two sessions: %v", i+1, n, seen)
		}
	}
}

// A call that waits for its turn ends with its context, and its own time begins
// when it has the turn.
func TestACallThatWaitsForItsTurnEndsWithItsContext(t *testing.T) {
	e := newEngine(t)
	limit := 300 * time.Millisecond
	m := load(t, e, source(t, "loop"), inSession, within(limit))
	s := begun(t, e)
	seat, err := s.enter(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	soon, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	gone := errors.New("the run is over")
	told, tell := context.WithCancelCause(t.Context())
	cancel()
	tell(gone)
	for _, tc := range []struct {
		ctx  context.Context
		want Fault
	}{{ctx, FaultCancelled}, {soon, FaultTimeout}, {told, FaultCancelled}} {
		if out := m.Call(tc.ctx, Call{Session: s}); out.Fault != tc.want {
			t.Errorf("%q %s, want %q", out.Fault, out.Detail, tc.want)
		}
	}
	done := make(chan Outcome)
	for range 2 {
		go func() { done <- m.Call(t.Context(), Call{Session: s}) }()
	}
	seat.leave()
	for range 2 {
		// Both loop, one after the other; each has its limit.
		if out := <-done; out.Fault != FaultTimeout || out.Receipt.Wall < limit {
			t.Errorf("%q after %v", out.Fault, out.Receipt.Wall)
		}
	}
}

func TestClosingASessionOrAModuleWhileACallRuns(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "loop"), inSession, within(time.Minute))
	s := begun(t, e)
	run := func() (chan Outcome, func()) {
		done := make(chan Outcome, 1)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		go func() { done <- m.Call(ctx, Call{Session: s}) }()
		for e.SessionGuests() == 0 {
			if t.Context().Err() != nil {
				t.Fatal("the call does not begin")
			}
		}
		return done, cancel
	}
	done, cancel := run()
	s.Close()
	if n := e.SessionGuests(); n != 1 {
		t.Errorf("%d guests while one is in a call", n)
	}
	cancel()
	if out := <-done; out.Fault != FaultCancelled {
		t.Errorf("%q", out.Fault)
	}
	s = begun(t, e)
	done, _ = run()
	waits := make(chan Outcome, 1)
	go func() { waits <- m.Call(t.Context(), Call{Session: s}) }()
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []chan Outcome{done, waits} {
		if out := <-c; out.Fault != FaultCancelled {
			t.Errorf("%q %s", out.Fault, out.Detail)
		}
	}
	if n := e.SessionGuests(); n != 0 {
		t.Errorf("%d guests are left", n)
	}
}

// A module takes its guests with it, also those that wait for a call.
func TestClosingAModuleThrowsItsGuestsAway(t *testing.T) {
	e := newEngine(t)
	a, b := load(t, e, source(t, "counter"), inSession), load(t, e, source(t, "counter"), inSession)
	s := begun(t, e)
	answersIn(t, a, s, "", "don1")
	answersIn(t, b, s, "", "don1")
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := e.SessionGuests(); n != 1 {
		t.Errorf("%d guests are left", n)
	}
	answersIn(t, b, s, "", "don2")
}

// MEM-7: guests of sessions hold memory, so there is a most of them.
func TestGuestsOfSessionsAreBounded(t *testing.T) {
	e := newEngine(t)
	e.sessions.most = 2
	m := load(t, e, source(t, "counter"), inSession)
	a, b, c := begun(t, e), begun(t, e), begun(t, e)
	answersIn(t, m, a, "", "don1")
	answersIn(t, m, b, "", "don1")
	if out := askIn(t, m, c, ""); out.Fault != FaultDenied || !strings.Contains(said(out), "2 tools") {
		t.Errorf("%q %q", out.Fault, said(out))
	}
	answersIn(t, m, a, "", "don2")
	b.Close()
	answersIn(t, m, c, "", "don1")
}

// The handles of responses go on, so that one which a guest kept is not that of
// a later response.
func TestHandlesAreNotGivenAgainInASession(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "counter"), inSession)
	s := begun(t, e)
	for i := range int32(3) {
		seat, err := s.enter(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		m.run(t.Context(), m.src.Policy, Call{seat: seat}, func(g *guest) (Outcome, error) {
			l, err := m.speaks.(*reactor).guests.get(g)
			if err != nil {
				t.Fatal(err)
			}
			defer l.end(true)
			if h, e := g.responses.put([]byte("x")); h != i+1 || e != 0 {
				t.Errorf("handle %d, %v", h, e)
			}
			return Outcome{}, nil
		})
		seat.leave()
	}
}

func TestProgramsHaveNoSession(t *testing.T) {
	e := newEngine(t)
	for _, src := range []Source{
		source(t, "args"),
		{Name: "count_vowels_std", Wasm: pdkPlugin(t, "count_vowels_std"), Policy: policy.Default(), Export: "_start"},
	} {
		src.Session, src.Inspect = true, true
		_, err := e.Load(t.Context(), src)
		var refused *LoadError
		if !errors.As(err, &refused) || refused.Kind != LoadUnsupported || !strings.Contains(err.Error(), "instances: session is not for") {
			t.Errorf("%s: %v", src.Name, err)
		}
	}
}

// Fuel, logs and host calls are counted for each call.
func TestBudgetsOfASessionAreThoseOfEachCall(t *testing.T) {
	e := newEngine(t)
	m := load(t, e, source(t, "counter"), inSession, func(s *Source) { s.Policy.Limits.Fuel = 1000 })
	s := begun(t, e)
	first := askIn(t, m, s, "").Receipt.Fuel
	for range 200 {
		out := askIn(t, m, s, "")
		if out.Fault != "" || out.Receipt.Fuel != first || first == 0 {
			t.Fatalf("%q, fuel %d, and %d at first", out.Fault, out.Receipt.Fuel, first)
		}
	}
}
