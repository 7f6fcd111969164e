package sandbox

import (
	"context"
	"fmt"
	"sync"
)

// gate counts the calls of a module, so that closing can stop them and wait
// for them: the code must not go away under a guest.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside map[*guest]struct{}
	idle   chan struct{} // closed when the gate is shut and nobody is inside
	shut   chan struct{} // closed when the gate is
}

func newGate() gate { return gate{shut: make(chan struct{})} }

func moduleClosed() *FaultError {
	return fault(FaultCancelled, "the call was cancelled: the tool was closed")
}

// enter lets a call in, unless the gate is shut.
func (t *gate) enter(g *guest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	if t.inside == nil {
		t.inside = make(map[*guest]struct{})
	}
	t.inside[g] = struct{}{}
	return true
}

func (t *gate) leave(g *guest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.inside, g)
	if t.closed && len(t.inside) == 0 {
		close(t.idle)
	}
}

// close stops the calls inside and waits until they have left. It may be called
// again when ctx ended first.
func (t *gate) close(ctx context.Context) error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		close(t.shut)
		t.idle = make(chan struct{})
		if len(t.inside) == 0 {
			close(t.idle)
		}
		for g := range t.inside {
			g.watch.stop(moduleClosed())
		}
	}
	n := len(t.inside)
	t.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-t.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %d running calls: %w", n, context.Cause(ctx))
	}
}
