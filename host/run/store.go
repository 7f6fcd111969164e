package run

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
)

// ErrConflict says that somebody else appended to the run first.
var ErrConflict = errors.New("run was changed by another writer")

// ErrNotFound says that there is no such run.
var ErrNotFound = errors.New("no such run")

// Store keeps the events of runs. All methods may be called by many goroutines
// at once. Every store passes the suite in
// [github.com/wagent-dev/wagent/host/run/runtest].
type Store interface {
	// Append adds events to a run whose last seq is head, all of them or none,
	// and returns when they are as safe as the store makes them. When the run's
	// last seq is another, it returns an error that wraps ErrConflict. A head of
	// 0 starts a run. The events must be stored ones, in order, from head+1. The
	// store may keep the slice's elements, which are immutable, but not the slice.
	// Events that cannot follow head (see [CheckAppend]) are another error and are
	// not stored. A ctx that has ended stores nothing and gives its error, wrapped
	// or not; when it ends on the way, they may have been stored.
	Append(ctx context.Context, id ID, head uint64, events []Event) error
	// Load yields the events of a run with a seq greater than after, in order.
	// The first error is the last item. An unknown run yields an error that wraps
	// ErrNotFound, and no event. When ctx ends before the last event was yielded,
	// its error, wrapped or not, is the last item: a run that was cut short is
	// never taken for a whole one. The caller may break off.
	Load(ctx context.Context, id ID, after uint64) iter.Seq2[Event, error]
}

// Memory is a store that forgets when the process ends. The zero Memory is ready.
type Memory struct {
	mu   sync.Mutex
	runs map[ID][]Event
}

// Append implements [Store].
func (m *Memory) Append(ctx context.Context, id ID, head uint64, events []Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckAppend(id, head, events); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if uint64(len(m.runs[id])) != head {
		return ErrConflict
	}
	if m.runs == nil {
		m.runs = make(map[ID][]Event)
	}
	m.runs[id] = append(m.runs[id], events...)
	return nil
}

// Load implements [Store]. It yields the events that were there when the
// iteration began.
func (m *Memory) Load(ctx context.Context, id ID, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		m.mu.Lock()
		events, ok := m.runs[id]
		events = slices.Clip(events)
		m.mu.Unlock()
		if !ok {
			yield(Event{}, ErrNotFound)
			return
		}
		for i := min(after, uint64(len(events))); i < uint64(len(events)); i++ {
			if err := ctx.Err(); err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(events[i], nil) {
				return
			}
		}
	}
}

// CheckAppend returns an error when events cannot follow head in run id: stores
// call it before they write.
func CheckAppend(id ID, head uint64, events []Event) error {
	if id == "" {
		return errors.New("append: empty run id")
	}
	for i := range events {
		e := &events[i]
		switch {
		case e.Body == nil || e.Transient():
			return errors.New("append: event is not a stored one")
		case e.Run != id:
			return errors.New("append: event of another run")
		case e.Seq != head+1+uint64(i):
			return errors.New("append: seq has a gap")
		}
	}
	return nil
}

// Load folds the events of a run into its state.
func Load(ctx context.Context, store Store, id ID) (State, error) {
	var s State
	for e, err := range store.Load(ctx, id, 0) {
		if err != nil {
			return State{}, err
		}
		if s, err = Apply(s, e); err != nil {
			return State{}, err
		}
	}
	return s, nil
}
