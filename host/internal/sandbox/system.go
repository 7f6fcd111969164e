package sandbox

// Attack: a guest asks for more than it can be given in one call: all of its
// memory filled with random bytes, a sleep of years, ten million clock readings.

import (
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
)

// system is WASI preview 1 as one call sees it: everything that the host keeps
// for the guest between two calls of a function. It dies with the call, and an
// instance holds nothing of it.
type system struct {
	guest  *guest
	args   []string
	env    []string
	clock  *hostfn.Clock
	random io.Reader
	open   fdTable
	calls  int
	exited bool            // the guest ended itself
	called map[string]bool // the functions called, while a guest is captured; else nil
}

// newSystem prepares the system of a call. Every source is set by the grants of
// the guest, and what it does not name is not there.
func newSystem(g *guest, stdin io.Reader, stdout io.Writer, args []string) *system {
	s := &system{
		guest:  g,
		args:   args,
		clock:  hostfn.NewClock(g.grants.Clock),
		random: hostfn.NewRandom(g.grants.Random),
	}
	for _, name := range slices.Sorted(maps.Keys(g.grants.Env)) {
		s.env = append(s.env, name+"="+g.grants.Env[name])
	}
	s.open = newFDTable(stdin, stdout, g.log(), g.mounts(), g.limits.Files.Open)
	g.trace.probe(s)
	return s
}

// over says that the call has ended, so that what was begun is broken off.
func (s *system) over() bool { return s.guest.ctx.Err() != nil }

// count charges one call of a function.
func (s *system) count() {
	if s.calls++; s.calls > maxSystemCalls {
		s.guest.watch.stop(fault(FaultHostCalls, "the tool called the system more than %d times and was stopped; ask for less at once", maxSystemCalls))
	}
}

func (s *system) argsGet(m guestMemory, a []uint64) errno { return m.strings(s.args, a[0], a[1]) }

func (s *system) argsSizes(m guestMemory, a []uint64) errno { return m.sizes(s.args, a[0], a[1]) }

func (s *system) environGet(m guestMemory, a []uint64) errno   { return m.strings(s.env, a[0], a[1]) }
func (s *system) environSizes(m guestMemory, a []uint64) errno { return m.sizes(s.env, a[0], a[1]) }

// The clocks. There are none that measure the processor.
const (
	clockRealtime  = 0
	clockMonotonic = 1
)

func (s *system) clockResolution(m guestMemory, a []uint64) errno {
	own := s.clock.Resolution()
	switch a[0] {
	case clockRealtime:
		return m.put64(a[1], uint64(max(own, time.Microsecond)))
	case clockMonotonic:
		return m.put64(a[1], uint64(max(own, 1)))
	}
	return wasiInval
}

func (s *system) clockTime(m guestMemory, a []uint64) errno {
	now, ok := s.now(a[0])
	if !ok {
		return wasiInval
	}
	return m.put64(a[2], uint64(now))
}

// now reads a clock, in nanoseconds.
func (s *system) now(id uint64) (int64, bool) {
	switch id {
	case clockRealtime:
		sec, nsec := s.clock.Wall()
		return sec*int64(time.Second) + int64(nsec), true
	case clockMonotonic:
		return s.clock.Mono(), true
	}
	return 0, false
}

// pause lets time pass for the guest. The error is that the call ended first.
func (s *system) pause(d time.Duration) errno {
	if err := hostfn.Sleep(s.guest.ctx, d); err != nil {
		return wasiIntr
	}
	s.clock.Advance(d)
	return 0
}

// maxRandom is how many random bytes are made before the context is looked at.
const maxRandom = 64 << 10

func (s *system) randomGet(m guestMemory, a []uint64) errno {
	buf, e := m.view(a[0], a[1])
	if e != 0 {
		return e
	}
	for part := range slices.Chunk(buf, maxRandom) {
		if s.over() {
			return wasiIntr
		}
		if _, err := io.ReadFull(s.random, part); err != nil {
			return wasiIO
		}
	}
	return 0
}

func (s *system) schedYield(guestMemory, []uint64) errno {
	runtime.Gosched()
	return 0
}

// procRaise was taken out of WASI; there are no signals.
func (s *system) procRaise(guestMemory, []uint64) errno { return wasiNosys }

// socket answers every socket function: no descriptor is one.
func (s *system) socket(_ guestMemory, a []uint64) errno {
	if _, e := s.open.find(a[0]); e != 0 {
		return e
	}
	return wasiNotsock
}
