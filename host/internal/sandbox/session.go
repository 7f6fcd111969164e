package sandbox

import (
	"context"
	"errors"
	"sync"
)

// Attack: what one run told a tool comes to another run, because the guest that
// heard it is still there.
//
// A session is found by reference and never by a name that two runs could share,
// and it ends with its run. It has at most one guest of each module.

// Session is what the calls of one run share: the guests of those modules whose
// source asks for it. Its methods may be called by several goroutines. It belongs
// to the run and must be closed when that has ended, however it did.
type Session struct {
	all *sessions

	// Guarded by all.mu.
	seats  map[*Module]*seat
	shares map[*Module]*shared
	closed bool
}

// sessions are the open sessions of an engine and what they keep.
type sessions struct {
	queue *queue
	most  int // guests that may be alive

	mu    sync.Mutex
	alive int // guests that are kept or in a call
	open  map[*Session]struct{}
}

// maxSessionGuests is how many guests all sessions of an engine may have. Each
// holds as much memory as its limit allows.
const maxSessionGuests = 64

func newSessions(q *queue) *sessions {
	return &sessions{queue: q, most: maxSessionGuests, open: make(map[*Session]struct{})}
}

// NewSession begins a session. It must be closed.
func (e *Engine) NewSession() *Session {
	s := &Session{all: e.sessions, seats: make(map[*Module]*seat), shares: make(map[*Module]*shared)}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.open[s] = struct{}{}
	return s
}

// SessionGuests returns how many guests sessions have, in calls or between them.
func (e *Engine) SessionGuests() int {
	e.sessions.mu.Lock()
	defer e.sessions.mu.Unlock()
	return e.sessions.alive
}

// Close throws away the guests of the session and what their tools have stored. One that is in a call goes when
// the call has ended. A call after Close is an outcome with [FaultCancelled].
func (s *Session) Close() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.closed = true
	delete(s.all.open, s)
	for _, p := range s.seats {
		p.throwAway()
	}
	for _, own := range s.shares {
		own.close()
	}
	clear(s.shares)
}

// forget throws away the guests of a module, of which none is in a call, and what
// it has stored.
func (a *sessions) forget(m *Module) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for s := range a.open {
		if p := s.seats[m]; p != nil {
			p.throwAway()
			delete(s.seats, m)
		}
		if own := s.shares[m]; own != nil {
			own.close()
			delete(s.shares, m)
		}
	}
}

// enter waits until no other call of the session uses its guest of m. The seat
// must be left. The error is that of ctx, or a *FaultError.
func (s *Session) enter(ctx context.Context, m *Module) (*seat, error) {
	p, err := s.seat(m)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.turn:
		return p, nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return nil, fault(FaultTimeout, "the tool did not begin in the time that was left: its calls in one run take turns, and others came first")
		}
		return nil, context.Cause(ctx)
	case <-m.gate.shut:
		return nil, moduleClosed()
	}
}

func (s *Session) seat(m *Module) (*seat, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.closed {
		return nil, runEnded()
	}
	p := s.seats[m]
	if p == nil {
		p = &seat{session: s, turn: make(chan struct{}, 1)}
		p.turn <- struct{}{}
		s.seats[m] = p
	}
	return p, nil
}

func runEnded() *FaultError {
	return fault(FaultCancelled, "the call was cancelled: its run has ended")
}

// checkSession refuses programs: what ends after each call keeps nothing.
func checkSession(src Source, info *Info) *LoadError {
	switch {
	case !src.Session:
		return nil
	case info.ABI == WASI:
		return refuse(LoadUnsupported, "instances: session is not for programs (abi wasi): a program ends after each call and keeps nothing",
			"leave instances out, or build the tool as a reactor: "+buildReactor)
	case info.ABI == Extism && startsItself(src.Export):
		return refuse(LoadUnsupported, "instances: session is not for the function "+src.Export+": it begins anew in each call",
			"leave instances out, or name another function")
	}
	return nil
}
