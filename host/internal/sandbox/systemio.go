package sandbox

// Attack: one read or write names a million buffers that are all the same
// megabyte, and goes on long after the call has ended.

import (
	"errors"
	"io"
)

const (
	// maxBuffers is how many buffers one read or write uses. More are left for the
	// next: every library goes on after a short transfer.
	maxBuffers = 1024
	// maxTransfer is the most bytes of one read or write.
	maxTransfer = 1 << 30
	// maxPiece is how much is transferred before the context is looked at.
	maxPiece = 256 << 10
)

// transfer calls do with one piece after the other of the guest's buffers, and
// writes how many bytes that was to out. It ends early with the first piece that
// is not done whole; what was done before an error counts.
func (s *system) transfer(m guestMemory, list, n, out uint64, do func([]byte) (int, error)) errno {
	buffers, e := m.view(list, 8*n)
	if e != 0 {
		return e
	}
	if _, e = m.view(out, 4); e != 0 {
		return e
	}
	total := 0
	for i := range int(min(n, maxBuffers)) {
		// The guest's own buffers may lie over the list of them.
		size := uint64(le.Uint32(buffers[8*i+4:]))
		if size == 0 {
			continue
		}
		var whole bool
		var buf []byte
		if buf, e = m.view(uint64(le.Uint32(buffers[8*i:])), size); e != 0 {
			break
		}
		if total, whole, e = s.pieces(buf, total, do); !whole {
			break
		}
	}
	if e != 0 && total == 0 {
		return e
	}
	return m.put32(out, uint32(total))
}

// pieces transfers one buffer and returns the new total.
func (s *system) pieces(buf []byte, total int, do func([]byte) (int, error)) (_ int, whole bool, _ errno) {
	for len(buf) > 0 {
		if s.over() {
			return total, false, wasiIntr
		}
		part := buf[:min(len(buf), maxPiece, maxTransfer-total)]
		n, err := do(part)
		total += n
		switch {
		case errors.Is(err, io.EOF):
			return total, false, 0
		case err != nil && s.over():
			return total, false, wasiIntr
		case err != nil:
			return total, false, errnoOf(err)
		case n < len(part) || total == maxTransfer:
			return total, false, 0
		}
		buf = buf[n:]
	}
	return total, true, 0
}

// source returns what a descriptor can be read from.
func (s *system) source(fd uint64) (*descriptor, errno) {
	d, e := s.open.find(fd)
	switch {
	case e != 0:
		return nil, e
	case d.dir:
		return nil, wasiIsdir
	case !d.read:
		return nil, wasiBadf
	}
	return d, 0
}

// sink returns what a descriptor can be written to.
func (s *system) sink(fd uint64) (*descriptor, errno) {
	d, e := s.open.find(fd)
	switch {
	case e != 0:
		return nil, e
	case d.dir:
		return nil, wasiIsdir
	case !d.write:
		return nil, wasiBadf
	}
	return d, 0
}

func (s *system) fdRead(m guestMemory, a []uint64) errno {
	d, e := s.source(a[0])
	if e != 0 {
		return e
	}
	read := d.in
	if !d.stream() {
		read = d.file
	}
	return s.transfer(m, a[1], a[2], a[3], read.Read)
}

func (s *system) fdPread(m guestMemory, a []uint64) errno {
	d, e := s.source(a[0])
	if e != 0 {
		return e
	}
	if d.stream() {
		return wasiSpipe
	}
	off := int64(a[3])
	return s.transfer(m, a[1], a[2], a[4], func(p []byte) (int, error) {
		n, err := d.file.ReadAt(p, off)
		off += int64(n)
		return n, err
	})
}

func (s *system) fdWrite(m guestMemory, a []uint64) errno {
	d, e := s.sink(a[0])
	if e != 0 {
		return e
	}
	if d.stream() {
		return s.transfer(m, a[1], a[2], a[3], d.out.Write)
	}
	return d.synced(s.transfer(m, a[1], a[2], a[3], func(p []byte) (int, error) {
		if d.flags&fdAppend != 0 {
			if _, err := d.file.Seek(0, io.SeekEnd); err != nil {
				return 0, err
			}
		}
		return d.file.Write(p)
	}))
}

// fdPwrite writes at an offset, or at the end if that is where writes go.
func (s *system) fdPwrite(m guestMemory, a []uint64) errno {
	d, e := s.sink(a[0])
	if e != 0 {
		return e
	}
	if d.stream() {
		return wasiSpipe
	}
	off := int64(a[3])
	return d.synced(s.transfer(m, a[1], a[2], a[4], func(p []byte) (int, error) {
		if d.flags&fdAppend != 0 {
			info, err := d.file.Stat()
			if err != nil {
				return 0, err
			}
			off = info.Size()
		}
		n, err := d.file.WriteAt(p, off)
		off += int64(n)
		return n, err
	}))
}

// synced puts what was written on the disk if the guest opened the file so.
func (d *descriptor) synced(e errno) errno {
	if e == 0 && d.flags&(fdSync|fdDsync) != 0 {
		e = errnoOf(d.file.Sync())
	}
	return e
}
