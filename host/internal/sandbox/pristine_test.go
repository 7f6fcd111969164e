package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

func tell(t testing.TB, m *Module, tool string, args any) string {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	out := m.Call(t.Context(), Call{ID: "0", Tool: tool, Arguments: raw})
	if out.Fault != "" || out.Result.IsError {
		t.Fatalf("%s: %q %s %s", tool, out.Fault, said(out), out.Detail)
	}
	return said(out)
}

func reactorOf(t testing.TB, m *Module) *guests {
	t.Helper()
	r, ok := m.speaks.(*reactor)
	if !ok {
		t.Fatalf("the module speaks %T", m.speaks)
	}
	return r.guests
}

// A call finds nothing of the one before. Its guest is the same instance, put back
// byte for byte.
func TestISO1EveryCallFindsTheGuestAsItWasInitialised(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), here)
	for range 200 {
		if n := tell(t, m, "count", nil); n != "1" {
			t.Fatalf("the guest counts %s", n)
		}
		p := reactorOf(t, m).pool
		if len(p.free) != 1 {
			t.Fatalf("%d guests are idle", len(p.free))
		}
		in := p.free[0].in
		view, _ := in.mod.Memory().Read(0, in.mod.Memory().Size())
		if !bytes.Equal(view, p.start.memory.Bytes()) {
			t.Fatal("the memory of an idle guest is not the image")
		}
	}
}

// What is random differs in each call, though all guests come from one image:
// bytes of the system, Go's generator, and the order of a new map.
func TestISO5RandomThingsDifferInEachCall(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	for _, tool := range []string{"random", "rand", "maporder", "maphash"} {
		seen := map[string]bool{}
		for range 20 {
			seen[tell(t, m, tool, nil)] = true
		}
		if len(seen) < 19 {
			t.Errorf("%s: %d different answers in 20 calls", tool, len(seen))
		}
	}
	if !*isolatedRun && reactorOf(t, m).pool == nil {
		t.Error("the guest is not served from an image")
	}
	// With a seed they are the same, in the next process too.
	seeded := func() string {
		m := load(t, newEngine(t), guestSource(t), func(s *Source) { s.Policy.Grants.Random = policy.Random{Seeded: true, Seed: 3} })
		return tell(t, m, "rand", nil) + tell(t, m, "maporder", nil)
	}
	if a, b := seeded(), seeded(); a != b {
		t.Errorf("with one seed %q and %q", a, b)
	}
}

// A guest that grew, failed or took what cannot be put back is not used again,
// and the next call does not notice.
func TestAGuestThatCannotBePutBackIsNotKept(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), func(s *Source) { s.Policy.Limits.Memory = 32 * policy.MiB })
	tell(t, m, "count", nil)
	for _, tool := range []string{"panic", "hoard"} {
		if out := m.Call(t.Context(), Call{Tool: tool}); out.Fault == "" {
			t.Fatalf("%s went well", tool)
		}
		if n := len(reactorOf(t, m).pool.free); n != 0 {
			t.Errorf("after %s %d guests are idle", tool, n)
		}
		if n := tell(t, m, "count", nil); n != "1" {
			t.Errorf("after %s the guest counts %s", tool, n)
		}
	}
}

// The monotonic clock of a guest goes on from where its initialisation left it.
func TestTheMonotonicClockDoesNotGoBack(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t))
	for range 3 {
		if got := tell(t, m, "elapsed", nil); strings.HasPrefix(got, "-") {
			t.Errorf("since the start of the guest %s have gone by", got)
		}
	}
}

// Folders are opened for each call; the image knows their names alone.
func TestFoldersWorkInGuestsFromAnImage(t *testing.T) {
	dir := t.TempDir()
	m := load(t, newEngine(t), guestSource(t), func(s *Source) {
		s.Policy.Grants.Write = []policy.Mount{{Host: dir, Guest: "/d"}}
	})
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, "a"), fmt.Append(nil, i), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tell(t, m, "read", "/d/a"); got != fmt.Sprint(i) {
			t.Errorf("read %q, want %d", got, i)
		}
		tell(t, m, "write", "/d/b")
	}
	if reactorOf(t, m).pool == nil {
		t.Error("the guest is not served from an image")
	}
}

// The environment may be secret: it is in no image, and the guest sees it.
func TestAGuestWithAnEnvironmentIsInitialisedInEachCall(t *testing.T) {
	m := load(t, newEngine(t), guestSource(t), func(s *Source) { s.Policy.Grants.Env = map[string]string{"KEY": "hunter2"} })
	for range 2 {
		if got := tell(t, m, "env", nil); !strings.Contains(got, "KEY=hunter2") {
			t.Errorf("the environment is %q", got)
		}
	}
	if reactorOf(t, m).pool != nil {
		t.Error("an image was made")
	}
}

// Idle guests are bounded over all modules, and the one that waited longest goes
// first.
func TestMEM7IdleGuestsAreBounded(t *testing.T) {
	e := newEngine(t)
	e.idle.most = 3
	a, b := load(t, e, source(t, "counter"), here), load(t, e, source(t, "counter"), here)
	many := func(m *Module) {
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for range 4 {
			wg.Go(func() {
				<-gate
				if out := m.Call(t.Context(), Call{}); out.Fault != "" {
					t.Error(out.Detail)
				}
			})
		}
		close(gate)
		wg.Wait()
	}
	many(a)
	many(b)
	idle := len(reactorOf(t, a).pool.free) + len(reactorOf(t, b).pool.free)
	if idle > 3 || idle != e.idle.n || len(reactorOf(t, b).pool.free) == 0 {
		t.Errorf("%d guests are idle, %d counted, %d of the module used last", idle, e.idle.n, len(reactorOf(t, b).pool.free))
	}
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e.idle.n != len(reactorOf(t, b).pool.free) {
		t.Errorf("%d are counted after a module was closed", e.idle.n)
	}
}

// A command starts from its first image each time.
func TestACommandStartsAnewInEachCall(t *testing.T) {
	m := load(t, newEngine(t), source(t, "args"))
	first := m.Call(t.Context(), Call{Tool: "a"})
	for range 50 {
		if out := m.Call(t.Context(), Call{Tool: "a"}); said(out) != said(first) || out.Fault != first.Fault {
			t.Fatalf("%q, and %q at first", said(out), said(first))
		}
	}
	if n := len(m.speaks.(*command).pool.free); n != 1 {
		t.Errorf("%d guests are idle", n)
	}
}

// What is no generator must not be written over: pointers that moved, text that
// differs, a stretch of random bytes without counters behind it.
func TestOnlyGeneratorsAreTakenForGenerators(t *testing.T) {
	noise := func(b []byte, seed byte) {
		if _, err := rand.NewChaCha8([32]byte{seed}).Read(b); err != nil {
			t.Fatal(err)
		}
	}
	make2 := func(fill func(b []byte, seed byte)) ([]byte, []byte) {
		a, b := make([]byte, 4096), make([]byte, 4096)
		fill(a, 1)
		fill(b, 2)
		return a, b
	}
	state := func(b []byte, seed byte) {
		noise(b[1000:1000+generatorSize], seed)
		copy(b[1000+generatorSize:], []byte{3, 0, 0, 0, 32, 0, 0, 0, 4, 0, 0, 0})
	}
	for name, c := range map[string]struct {
		fill func(b []byte, seed byte)
		want int
	}{
		"a generator": {state, 1},
		"nothing":     {func([]byte, byte) {}, 0},
		"pointers": {func(b []byte, seed byte) {
			for i := 0; i < len(b); i += 8 {
				binary.LittleEndian.PutUint32(b[i:], uint32(i)<<8|uint32(seed))
			}
		}, 0},
		"random bytes":   {func(b []byte, seed byte) { noise(b[:2048], seed) }, 0},
		"at the end":     {func(b []byte, seed byte) { noise(b[len(b)-generatorSize:], seed) }, 0},
		"behind a word":  {func(b []byte, seed byte) { state(b, seed); noise(b[992:1000], seed) }, 1},
		"wrong counters": {func(b []byte, seed byte) { state(b, seed); b[1000+generatorSize] = 33 }, 0},
	} {
		a, b := make2(c.fill)
		if got := generators(a, b); len(got) != c.want || c.want == 1 && got[0] != (span{1000, 1000 + generatorSize}) {
			t.Errorf("%s: found %v", name, got)
		}
	}
}

// Calls that wait for the first to initialise the guest keep their own time.
func TestCallsDoNotWaitLongerThanTheyMayForAnImage(t *testing.T) {
	m := load(t, newEngine(t), source(t, "initloop"), within(200*time.Millisecond))
	var wg sync.WaitGroup
	start := time.Now()
	for range 20 {
		wg.Go(func() {
			if out := m.Call(t.Context(), Call{}); out.Fault != FaultTimeout {
				t.Errorf("%q %s", out.Fault, out.Detail)
			}
		})
	}
	wg.Wait()
	if took := time.Since(start); took > 200*time.Millisecond+overrun {
		t.Errorf("the last of 20 calls ended after %v", took)
	}
}
