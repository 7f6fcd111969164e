package sandbox

import (
	"errors"
	"fmt"
	"sync"

	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
)

// spareMemory keeps the memories that the calls of a plugin start with: to have
// the system make one takes longer than a short call does. They are zeros.
type spareMemory struct {
	mu   sync.Mutex
	idle []*linear.Range
}

const (
	maxSpare      = 4         // kept
	maxSpareDirty = 256 << 10 // bytes; what was written more is not worth clearing
)

func (s *spareMemory) take() (*linear.Range, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		r := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return r, nil
	}
	r, err := linear.NewRange(nil, extismKernel)
	if err != nil {
		return nil, fmt.Errorf("memory for a plugin: %w", err)
	}
	return r, nil
}

// put takes back a memory of which the first bytes were written.
func (s *spareMemory) put(r *linear.Range, dirty uint64) {
	keep := dirty <= maxSpareDirty
	if keep {
		clear(r.Slice(extismKernel)[:dirty])
		s.mu.Lock()
		defer s.mu.Unlock()
		if keep = len(s.idle) < maxSpare; keep {
			s.idle = append(s.idle, r)
		}
	}
	if !keep {
		_ = r.Close() // it came from the system as it is, so this cannot fail
	}
}

// close frees what is kept. No call runs any more.
func (s *spareMemory) close() error {
	var errs []error
	for _, r := range s.idle {
		errs = append(errs, r.Close())
	}
	s.idle = nil
	return errors.Join(errs...)
}
