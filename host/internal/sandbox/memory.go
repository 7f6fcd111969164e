package sandbox

import (
	"fmt"
	"math"
	"slices"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
)

// arena gives a call its memories and bounds all of them together. A memory's
// whole range is reserved at once, so that growing never copies. The arena
// belongs to one call; what it gave it frees when the call is over, and not
// before: a guest that was stopped may still hold a view.
type arena struct {
	limit   int64
	total   int64
	peak    int64
	refused bool    // more was asked for than the limit allows
	last    refusal // the last time
	given   []*memory
	inLong  func() bool // the guest is in a long slice and has time; nil: it never is
}

// refusal is what a guest had when it was refused more, in bytes.
type refusal struct{ had, asked int64 }

// refuse remembers that n more bytes were asked for. Those of a guest may be any
// number.
func (a *arena) refuse(n uint64) {
	a.refused = true
	a.last = refusal{a.total, int64(min(n, math.MaxInt64))}
}

// tooMuch is the fault of a guest that was refused more memory.
func (a *arena) tooMuch() *FaultError {
	how := ""
	if a.last.asked > 0 {
		how = fmt.Sprintf(" (it had %s and asked for %s more)", roughly(a.last.had), roughly(a.last.asked))
	}
	return fault(FaultMemory, "the tool needed more memory than its limit of %s%s; ask for less at once", size(a.limit), how)
}

// Allocate makes one memory of at most most bytes that begins with zeros.
func (a *arena) Allocate(_, most uint64) experimental.LinearMemory { return a.allocate(nil, most) }

// allocate makes one that begins with an image.
func (a *arena) allocate(img *linear.Image, most uint64) *memory {
	m := &memory{arena: a, image: img, most: min(most, uint64(max(a.limit, 0)))}
	a.given = append(a.given, m)
	return m
}

// hasty says that the guest may do much before the host has its turn.
func (a *arena) hasty() bool { return a.inLong != nil && a.inLong() }

// fits counts n more bytes, unless that is more than the limit.
func (a *arena) fits(n int64) bool {
	if a.total+n > a.limit {
		a.refuse(uint64(max(n, 0)))
		return false
	}
	a.total += n
	a.peak = max(a.peak, a.total)
	return true
}

// free gives everything back. No guest may run any more.
func (a *arena) free() {
	for _, m := range a.given {
		m.close()
	}
	a.given = nil
}

// imageAllocator gives the memory of one instance, which begins with an image.
type imageAllocator struct {
	arena *arena
	image *linear.Image
	made  *memory
}

// Allocate makes the memory.
func (i *imageAllocator) Allocate(_, most uint64) experimental.LinearMemory {
	i.made = i.arena.allocate(i.image, most)
	return i.made
}

// memory is one linear memory.
type memory struct {
	arena    *arena // of the call that uses it
	image    *linear.Image
	most     uint64
	size     uint64
	brought  uint64 // so much of it is there, written or not
	reserved *linear.Range
}

// Reallocate grows the memory to size bytes, or returns nil.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.most {
		m.arena.refuse(size - m.size)
		return nil
	}
	if m.reserved == nil {
		r, err := linear.NewRange(m.image, int(m.most))
		if err != nil {
			m.arena.refuse(size - m.size)
			return nil
		}
		m.reserved = r
	}
	if !m.arena.fits(int64(size) - int64(m.size)) {
		return nil
	}
	m.size = size
	mem := m.reserved.Slice(int(size))
	m.grown()
	return mem
}

// A page comes when it is written for the first time. That takes microseconds, in
// which the collector waits, and a slice of work can be thousands of such writes.
// So slices are short while much of a memory has not come (see pace), and what a
// guest is about to write is brought by the host, during which nobody waits.
const (
	// fewBytes is how much may come as it is written: 512 pages, 2 ms in all.
	fewBytes = 2 << 20
	// imagePiece and zeroPiece are brought at once, in some 0.3 ms each: pages of an
	// image are copied one by one, zeros come in large pages.
	imagePiece = 256 << 10
	zeroPiece  = 2 << 20
)

// lazy says that much of the memory has not come yet.
func (m *memory) lazy() bool { return m.size > m.brought+fewBytes }

// piece is where the next piece of it ends, and says whether that is of zeros.
func (m *memory) piece() (to uint64, zeros bool) {
	to, zeros = m.brought+imagePiece, m.brought >= uint64(m.image.Used())
	if zeros {
		to = (m.brought/zeroPiece + 1) * zeroPiece
	}
	return min(to, m.size), zeros
}

// used says that the guest has come to the next piece. One that has only grown its
// memory takes none of the machine's.
func (m *memory) used() bool {
	to, zeros := m.piece()
	return !zeros || m.reserved.Touched(int(m.brought), int(to))
}

// bring brings the next piece of it.
func (m *memory) bring() {
	to, _ := m.piece()
	m.reserved.Bring(int(m.brought), int(to))
	m.brought = to
}

// grown is what happens when a guest has grown its memory in the middle of a
// slice. A long one could write all of it.
func (m *memory) grown() {
	for m.arena.hasty() && m.lazy() {
		m.bring()
	}
}

// reset puts the memory back to its image.
func (m *memory) reset() error {
	written, err := m.reserved.Reset()
	if written < 0 {
		m.brought = 0
	}
	return err
}

// Free does nothing: see arena.
func (m *memory) Free() {}

// join makes a memory that was kept part of another call.
func (m *memory) join(a *arena) bool {
	m.arena = a
	a.given = append(a.given, m)
	return a.fits(int64(m.size))
}

// leave makes it part of no call.
func (m *memory) leave() {
	m.arena.given = slices.DeleteFunc(m.arena.given, func(g *memory) bool { return g == m })
	m.arena = nil
}

func (m *memory) close() {
	if m.reserved == nil {
		return
	}
	// The range came from the system as it is, so this cannot fail.
	_ = m.reserved.Close()
	m.reserved = nil
}
