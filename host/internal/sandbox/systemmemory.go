package sandbox

// Attack: a guest passes pointers and lengths whose sum wraps round, lies past
// its memory, or covers what the host reads from while it writes.

import (
	"encoding/binary"
	"math"
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

var le = binary.LittleEndian

// guestMemory is the memory of the guest that calls. Every place in it is
// checked before anything is read or written.
type guestMemory struct{ mem api.Memory }

// memoryOf returns the memory of an instance. A module may have none: then no
// place is in it.
func memoryOf(mod api.Module) guestMemory {
	mem := mod.Memory()
	if mem == nil || reflect.ValueOf(mem).IsNil() {
		return guestMemory{}
	}
	return guestMemory{mem}
}

// view is n bytes of the memory itself, valid until the host function returns.
// ptr is a 32-bit parameter of it; n may be a product, so it is a 64-bit number.
func (m guestMemory) view(ptr, n uint64) ([]byte, errno) {
	if m.mem == nil || n > math.MaxUint32 {
		return nil, wasiFault
	}
	b, ok := m.mem.Read(uint32(ptr), uint32(n))
	if !ok {
		return nil, wasiFault
	}
	return b, 0
}

func (m guestMemory) put32(ptr uint64, v uint32) errno {
	b, e := m.view(ptr, 4)
	if e == 0 {
		le.PutUint32(b, v)
	}
	return e
}

func (m guestMemory) put64(ptr, v uint64) errno {
	b, e := m.view(ptr, 8)
	if e == 0 {
		le.PutUint64(b, v)
	}
	return e
}

// strings writes texts, each ended by NUL, to buf and where each begins to list.
func (m guestMemory) strings(texts []string, list, buf uint64) errno {
	places, e := m.view(list, 4*uint64(len(texts)))
	if e != 0 {
		return e
	}
	into, e := m.view(buf, textBytes(texts))
	if e != 0 {
		return e
	}
	at := uint32(buf)
	for i, s := range texts {
		le.PutUint32(places[4*i:], at)
		n := copy(into, s)
		into[n] = 0
		into = into[n+1:]
		at += uint32(n + 1)
	}
	return 0
}

// sizes writes how much room strings needs.
func (m guestMemory) sizes(texts []string, count, bytes uint64) errno {
	if e := m.put32(count, uint32(len(texts))); e != 0 {
		return e
	}
	return m.put32(bytes, uint32(textBytes(texts)))
}

func textBytes(texts []string) uint64 {
	var n uint64
	for _, s := range texts {
		n += uint64(len(s)) + 1
	}
	return n
}
