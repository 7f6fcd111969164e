package sandbox

import (
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
)

// Attack: a tool finds what another tool, or the same tool in another run, has put
// into its store.
//
// What calls have in common is found by the session and the module, never by a name
// that could be chosen, and it ends with either.

// shared is what the calls of a run have in common with one module, beside a guest
// that lives as long as they do.
type shared struct {
	kv       *hostfn.KV // nil without a grant
	progress pacer
}

// share makes what a module's calls have in common.
func (m *Module) share() *shared {
	s := &shared{progress: pacer{every: time.Second / 10}}
	if m.src.Policy.Grants.KV {
		s.kv = hostfn.NewKV(m.src.Policy.Limits.KV, m.engine.queue.hold)
	}
	return s
}

func (s *shared) close() {
	if s.kv != nil {
		s.kv.Close()
	}
}

// sharedBy returns what the calls of m in the session have in common, and how to
// end the use of it. Without a session, or in one that is closed, a call has it for
// itself.
func (m *Module) sharedBy(s *Session) (_ *shared, done func()) {
	if s == nil {
		own := m.share()
		return own, own.close
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.closed {
		own := m.share()
		own.close()
		return own, func() {}
	}
	have := s.shares[m]
	if have == nil {
		have = m.share()
		s.shares[m] = have
	}
	return have, func() {}
}

// pacer lets something through so often and no more. It is safe for concurrent use.
type pacer struct {
	every time.Duration

	mu   sync.Mutex
	last time.Time
}

func (p *pacer) lets(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) < p.every {
		return false
	}
	p.last = now
	return true
}
