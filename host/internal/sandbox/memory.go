package sandbox

import "github.com/tetratelabs/wazero/experimental"

// arena gives a guest its linear memories and bounds all of them together. A
// memory's whole range is reserved at once, so that growing never copies. The
// arena belongs to one call; it frees what it gave when the call is over, and
// not before: a guest that was stopped may still hold a view.
type arena struct {
	limit   int64
	total   int64
	peak    int64
	refused bool // more was asked for than the limit allows
	given   []*linear
}

// Allocate makes one linear memory of at most most bytes.
func (a *arena) Allocate(_, most uint64) experimental.LinearMemory {
	l := &linear{arena: a, most: min(most, uint64(max(a.limit, 0)))}
	a.given = append(a.given, l)
	return l
}

// free gives everything back. No guest may run any more.
func (a *arena) free() {
	for _, l := range a.given {
		release(l.reserved)
		l.reserved = nil
	}
	a.given = nil
}

// linear is one linear memory.
type linear struct {
	arena    *arena
	most     uint64
	size     uint64
	reserved []byte
}

// Reallocate grows the memory to size bytes, or returns nil.
func (l *linear) Reallocate(size uint64) []byte {
	more := int64(size) - int64(l.size)
	if size > l.most || l.arena.total+more > l.arena.limit {
		l.arena.refused = true
		return nil
	}
	if !l.hold(size) {
		l.arena.refused = true
		return nil
	}
	l.size = size
	l.arena.total += more
	l.arena.peak = max(l.arena.peak, l.arena.total)
	return l.reserved[:size:size]
}

// Free does nothing: see arena.free.
func (l *linear) Free() {}
