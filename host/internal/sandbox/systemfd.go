package sandbox

// Attack: a guest takes descriptor numbers so large that the table of them fills
// the host's memory, or closes and renumbers what the host wants to use next.

import (
	"io"
	"math"
	"os"
)

// descriptor is what a number of the guest stands for: a stream, a folder that
// was granted, or a file or directory in one.
type descriptor struct {
	in  io.Reader // standard input
	out io.Writer // standard output or error

	folder  folder // nil for a stream
	path    string // in the folder; "." is the folder itself
	file    file   // nil for a granted folder that was not read yet
	granted bool   // the guest was given it and did not open it
	dir     bool

	read, write bool
	flags       uint16 // fdflags
	listing     listing
}

// The flags of a descriptor.
const (
	fdAppend   = 1 << 0
	fdDsync    = 1 << 1
	fdNonblock = 1 << 2
	fdRsync    = 1 << 3
	fdSync     = 1 << 4
	fdFlags    = 1<<5 - 1
)

func (d *descriptor) stream() bool { return d.folder == nil }

// opened returns the file behind a descriptor. A granted folder is opened when
// the guest first reads it.
func (d *descriptor) opened() (file, errno) {
	if d.stream() {
		return nil, wasiSpipe
	}
	if d.file == nil {
		f, err := d.folder.OpenFile(d.path, os.O_RDONLY, 0)
		if err != nil {
			return nil, errnoOf(err)
		}
		d.file = f
	}
	return d.file, 0
}

// close gives the file back. Streams belong to the host.
func (d *descriptor) close() errno {
	if d.file == nil {
		return 0
	}
	return errnoOf(d.file.Close())
}

// fdTable are the descriptors of one call by their numbers, all below a limit.
type fdTable struct {
	byNumber map[uint64]*descriptor
	limit    uint64
	low      uint64 // every smaller number is taken
}

// flags returns those of the descriptors that have any.
func (t *fdTable) flags() map[uint64]uint16 {
	out := make(map[uint64]uint16)
	for n, d := range t.byNumber {
		if d.flags != 0 {
			out[n] = d.flags
		}
	}
	return out
}

// setFlags sets what flags returned, where the descriptor is there.
func (t *fdTable) setFlags(flags map[uint64]uint16) {
	for n, f := range flags {
		if d := t.byNumber[n]; d != nil {
			d.flags = f
		}
	}
}

// newFDTable gives the streams and folders their numbers, and leaves room
// for as many files as may be open.
func newFDTable(stdin io.Reader, stdout, stderr io.Writer, folders []folder, files int) fdTable {
	t := fdTable{byNumber: make(map[uint64]*descriptor)}
	first := []*descriptor{
		{in: stdin, read: true},
		{out: stdout, write: true},
		{out: stderr, write: true},
	}
	for _, f := range folders {
		first = append(first, &descriptor{folder: f, path: ".", granted: true, dir: true, read: true})
	}
	for i, d := range first {
		t.byNumber[uint64(i)] = d
	}
	t.low = uint64(len(first))
	t.limit = t.low + uint64(min(max(files, 0), math.MaxInt32))
	return t
}

func (t *fdTable) find(fd uint64) (*descriptor, errno) {
	d := t.byNumber[fd]
	if d == nil {
		return nil, wasiBadf
	}
	return d, 0
}

// free returns the lowest number that is not taken.
func (t *fdTable) free() (uint64, errno) {
	for ; t.low < t.limit; t.low++ {
		if t.byNumber[t.low] == nil {
			return t.low, 0
		}
	}
	return 0, wasiMfile
}

func (t *fdTable) put(fd uint64, d *descriptor) { t.byNumber[fd] = d }

func (t *fdTable) remove(fd uint64) {
	delete(t.byNumber, fd)
	t.low = min(t.low, fd)
}

func (s *system) fdClose(_ guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	if e != 0 {
		return e
	}
	s.open.remove(a[0])
	return d.close()
}

// fdRenumber moves a descriptor to another number and closes what had it.
func (s *system) fdRenumber(_ guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	switch {
	case e != 0:
		return e
	case a[1] >= s.open.limit:
		return wasiBadf
	case a[0] == a[1]:
		return 0
	}
	old := s.open.byNumber[a[1]]
	s.open.remove(a[0])
	s.open.put(a[1], d)
	if old == nil {
		return 0
	}
	return old.close()
}

// fdSeek refuses directories: their place is a cookie.
func (s *system) fdSeek(m guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	switch {
	case e != 0:
		return e
	case d.dir:
		return wasiIsdir
	case d.stream():
		return wasiSpipe
	case a[2] > io.SeekEnd:
		return wasiInval
	}
	out, e := m.view(a[3], 8)
	if e != 0 {
		return e
	}
	n, err := d.file.Seek(int64(a[1]), int(a[2]))
	if err != nil {
		return errnoOf(err)
	}
	le.PutUint64(out, uint64(n))
	return 0
}

func (s *system) fdTell(m guestMemory, a []uint64) errno {
	return s.fdSeek(m, []uint64{a[0], 0, io.SeekCurrent, a[1]})
}

// fdSync does nothing for streams: what was written is with the host.
func (s *system) fdSync(_ guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	if e != 0 || d.file == nil {
		return e
	}
	return errnoOf(d.file.Sync())
}

// fdAdvise takes the advice and does nothing with it.
func (s *system) fdAdvise(_ guestMemory, a []uint64) errno {
	const last = 5 // noreuse
	if _, e := s.open.find(a[0]); e != 0 {
		return e
	}
	if a[3] > last {
		return wasiInval
	}
	return 0
}

// fdAllocate makes a file at least so long. The bytes count as written.
func (s *system) fdAllocate(_ guestMemory, a []uint64) errno {
	d, e := s.changeable(a[0])
	if e != 0 {
		return e
	}
	if a[1] > math.MaxInt64 || a[2] > math.MaxInt64-a[1] {
		return wasiInval
	}
	info, err := d.file.Stat()
	if err != nil {
		return errnoOf(err)
	}
	if end := int64(a[1] + a[2]); end > info.Size() {
		err = d.file.Truncate(end)
	}
	return errnoOf(err)
}

func (s *system) fdSetSize(_ guestMemory, a []uint64) errno {
	d, e := s.changeable(a[0])
	if e != 0 {
		return e
	}
	if a[1] > math.MaxInt64 {
		return wasiInval
	}
	return errnoOf(d.file.Truncate(int64(a[1])))
}

// changeable returns a file that is open for writing.
func (s *system) changeable(fd uint64) (*descriptor, errno) {
	d, e := s.open.find(fd)
	switch {
	case e != 0:
		return nil, e
	case d.dir:
		return nil, wasiIsdir
	case d.stream():
		return nil, wasiInval
	case !d.write:
		return nil, wasiBadf
	}
	return d, 0
}
