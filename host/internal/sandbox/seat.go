package sandbox

import (
	"fmt"
	"time"
)

// seat is where a session keeps its guest of one module between two calls.
type seat struct {
	session *Session
	turn    chan struct{} // holds one token: who has it may make a call

	used bool // the call that has the turn asked for the guest

	// Guarded by session.all.mu.
	kept  *kept // nil: there is none, or it is in a call
	alive bool  // there is one
	calls int   // that it has served
	lost  int   // the same of one that was thrown away in the call that has the turn
}

// kept is a guest and what it goes on with, beside its memory and globals. All
// else of a call dies with that: descriptors, budgets, the blocks of a plugin.
type kept struct {
	in     *instance
	away   *awayGuest        // that is in another process; then there is nothing else but size
	size   int64             // of the memory and the variables, in bytes
	mono   int64             // of the monotonic clock when the call ended, in nanoseconds
	since  time.Time         // then
	flags  map[uint64]uint16 // of descriptors, by number
	handle int32             // of the last response: no later one has its number
	vars   variables         // of a plugin
}

// leave ends a call and lets the next one have the guest.
func (s *seat) leave() {
	s.used = false
	s.turn <- struct{}{}
}

// lease gives a call the guest of the seat. Where there is none, it is one that
// from gives, which does not go back there.
func (s *seat) lease(g *guest, from *guests) (lease, error) {
	s.used = true
	k, err := s.take()
	if err != nil {
		return lease{}, err
	}
	if k != nil {
		if err := k.resume(g); err != nil {
			k.in.close()
			s.gone()
			return lease{}, err
		}
		return lease{instance: k.in, seat: s}, nil
	}
	l, err := from.fresh(g)
	if err != nil {
		s.gone()
		return lease{}, err
	}
	return lease{instance: l.instance, seat: s}, nil
}

// take returns the guest that is kept, or nil when one has to be made, which is
// counted then.
func (s *seat) take() (*kept, error) {
	all := s.session.all
	all.mu.Lock()
	defer all.mu.Unlock()
	k := s.kept
	switch {
	case s.session.closed:
		return nil, runEnded()
	case k != nil:
		s.kept = nil
		all.queue.hold(-k.size)
	case all.alive >= all.most:
		return nil, fault(FaultDenied, "the tool keeps its state for the whole run, and the host already keeps that of %d tools, which is the most; try again when other runs have ended", all.most)
	default:
		all.alive++
		s.alive = true
	}
	return k, nil
}

// put takes the guest back after a call. One whose call did not go well is
// thrown away.
func (s *seat) put(in *instance, well bool) {
	if !well {
		in.close()
		s.gone()
		return
	}
	s.retain(keep(in))
}

// retain keeps a guest whose call went well.
func (s *seat) retain(k *kept) {
	all := s.session.all
	all.mu.Lock()
	defer all.mu.Unlock()
	s.kept = k
	s.calls++
	all.queue.hold(k.size)
	if s.session.closed {
		s.throwAway()
	}
}

// gone says that the guest was thrown away.
func (s *seat) gone() {
	s.session.all.mu.Lock()
	defer s.session.all.mu.Unlock()
	s.goneLocked()
}

func (s *seat) goneLocked() {
	if !s.alive {
		return
	}
	s.session.all.alive--
	s.alive = false
	s.lost, s.calls = s.calls, 0
}

// throwAway discards the guest if it is in no call. The caller holds the lock.
func (s *seat) throwAway() {
	if s.kept == nil {
		return
	}
	s.kept.discard()
	s.session.all.queue.hold(-s.kept.size)
	s.kept = nil
	s.goneLocked()
}

// ended adds to the outcome of a call what became of the guest. After a fault
// nobody can say what state the guest is in, whoever noticed it.
func (s *seat) ended(out Outcome) Outcome {
	lost := s.settle(out.Fault != "")
	if lost == 0 {
		return out
	}
	why := fmt.Sprintf("what the tool kept of %d earlier calls of this run is lost; its next call begins anew", lost)
	if lost == 1 {
		why = "what the tool kept of the earlier call of this run is lost; its next call begins anew"
	}
	if out.Detail != "" {
		out.Detail += "\n"
	}
	out.Detail += why
	if c := out.Result.Content; len(c) > 0 {
		c[0].Text += "; " + why
	}
	return out
}

// settle throws away the guest of a call that ended with a fault, and returns how
// many calls had a part in what was lost.
func (s *seat) settle(fault bool) int {
	s.session.all.mu.Lock()
	defer s.session.all.mu.Unlock()
	if fault && s.used && s.kept != nil {
		s.calls-- // this one
		s.throwAway()
	}
	lost := s.lost
	s.lost = 0
	return lost
}

// discard ends a guest that is in no call.
func (k *kept) discard() {
	if k.away != nil {
		k.away.forget()
		return
	}
	k.in.discard()
}

// keep takes a guest out of its call without putting anything back.
func keep(in *instance) *kept {
	g := in.guest
	k := &kept{in: in, mono: g.sys.clock.Mono(), since: time.Now(), flags: g.sys.open.flags(), handle: g.responses.last}
	if g.plugin != nil {
		k.vars = g.plugin.vars
		k.size = k.vars.bytes
	}
	if in.memory != nil {
		k.size += int64(in.memory.size)
	}
	in.stay()
	return k
}

// resume makes the guest part of another call.
func (k *kept) resume(g *guest) error {
	g.config(noInput(), g.log()) // its system; an instance is there already
	if err := k.in.join(g, snapshot{}); err != nil {
		return err
	}
	if g.plugin != nil && !g.plugin.restore(k.vars) {
		return g.arena.tooMuch()
	}
	mono := k.mono
	if g.grants.Clock.Fixed.IsZero() {
		mono += int64(time.Since(k.since))
	}
	g.sys.clock.Continue(mono)
	g.sys.open.setFlags(k.flags)
	g.responses.last = k.handle
	return nil
}
