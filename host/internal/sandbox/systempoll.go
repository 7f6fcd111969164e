package sandbox

// Attack: a guest sleeps past its deadline, on a clock that stands still, or
// waits for a million things at once.

import (
	"io"
	"math"
	"time"
)

const (
	subscriptionSize = 48
	eventSize        = 32
	// maxSubscriptions is more than every descriptor and a timer for each.
	maxSubscriptions = 4096
)

// What a subscription waits for.
const (
	eventClock = 0
	eventRead  = 1
	eventWrite = 2
)

// subscription is one thing that the guest waits for, and how long that takes.
type subscription struct {
	userdata uint64
	kind     byte
	delay    time.Duration
	err      errno
	bytes    uint64 // that can be read
}

// poll waits until the first of what the guest names has come, and tells of all
// that have. Streams and files never keep anyone waiting.
func (s *system) poll(m guestMemory, a []uint64) errno {
	n := a[2]
	if n == 0 || n > maxSubscriptions {
		return wasiInval
	}
	in, e := m.view(a[0], n*subscriptionSize)
	if e != 0 {
		return e
	}
	out, e := m.view(a[1], n*eventSize)
	if e != 0 {
		return e
	}
	if _, e = m.view(a[3], 4); e != 0 {
		return e
	}
	subs := make([]subscription, n)
	wait := time.Duration(math.MaxInt64)
	for i := range subs {
		if subs[i], e = s.subscription(in[i*subscriptionSize:]); e != 0 {
			return e
		}
		wait = min(wait, subs[i].delay)
	}
	if e := s.pause(wait); e != 0 {
		return e
	}
	events := uint32(0)
	for _, sub := range subs {
		if sub.delay <= wait {
			sub.put(out[events*eventSize:][:eventSize])
			events++
		}
	}
	return m.put32(a[3], events)
}

func (s *system) subscription(b []byte) (subscription, errno) {
	sub := subscription{userdata: le.Uint64(b), kind: b[8]}
	switch sub.kind {
	case eventClock:
		e := s.clockEvent(&sub, b)
		return sub, e
	case eventRead, eventWrite:
		d, e := s.open.find(uint64(le.Uint32(b[16:])))
		if e != 0 {
			sub.err = e
		} else {
			sub.bytes = d.ready()
		}
		return sub, 0
	}
	return sub, wasiInval
}

// clockEvent reads when a clock comes to a time.
func (s *system) clockEvent(sub *subscription, b []byte) errno {
	const absolute = 1
	id, at, flags := le.Uint32(b[16:]), le.Uint64(b[24:]), le.Uint16(b[40:])
	if flags > absolute {
		return wasiInval
	}
	if id != clockRealtime && id != clockMonotonic {
		sub.err = wasiInval
		return 0
	}
	delay := int64(min(at, math.MaxInt64))
	if flags == absolute {
		now, _ := s.now(uint64(id))
		delay = max(delay-now, 0)
	}
	sub.delay = time.Duration(delay)
	return 0
}

// ready is how many bytes can be read at once, where that is known.
func (d *descriptor) ready() uint64 {
	if d.dir || !d.read {
		return 0
	}
	if d.stream() {
		if in, ok := d.in.(interface{ Len() int }); ok {
			return uint64(in.Len())
		}
		return 1
	}
	info, err := d.file.Stat()
	if err != nil {
		return 0
	}
	at, err := d.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return uint64(max(info.Size()-at, 0))
}

// put writes the event of a subscription.
func (sub subscription) put(b []byte) {
	clear(b)
	le.PutUint64(b, sub.userdata)
	le.PutUint16(b[8:], uint16(sub.err))
	b[10] = sub.kind
	le.PutUint64(b[16:], sub.bytes)
}
