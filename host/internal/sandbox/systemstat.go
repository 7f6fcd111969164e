package sandbox

// Attack: a guest learns from what describes a file where on the host it lies,
// or changes the times of what has the file's name now.

import (
	"io/fs"
	"math"
	"time"

	"github.com/tetratelabs/wazero/sys"
)

// The kinds of files. A stream is unknown, as a pipe is: it is no terminal.
const (
	typeUnknown   = 0
	typeBlock     = 1
	typeCharacter = 2
	typeDirectory = 3
	typeRegular   = 4
	typeLink      = 7
)

func filetype(mode fs.FileMode) byte {
	switch {
	case mode.IsRegular():
		return typeRegular
	case mode.IsDir():
		return typeDirectory
	case mode&fs.ModeSymlink != 0:
		return typeLink
	case mode&fs.ModeCharDevice != 0:
		return typeCharacter
	case mode&fs.ModeDevice != 0:
		return typeBlock
	}
	return typeUnknown
}

// Rights are what languages read to learn how a descriptor was opened. Nothing
// depends on them: what a guest may not do is refused where it does it, with an
// error that says why. A directory passes all of them on for the same reason.
const (
	rightDatasync     = 1 << 0
	rightRead         = 1 << 1
	rightSeek         = 1 << 2
	rightSetFlags     = 1 << 3
	rightSync         = 1 << 4
	rightTell         = 1 << 5
	rightWrite        = 1 << 6
	rightAdvise       = 1 << 7
	rightAllocate     = 1 << 8
	rightReaddir      = 1 << 14
	rightFilestat     = 1 << 21
	rightFileSetSize  = 1 << 22
	rightFileSetTimes = 1 << 23
	rightPoll         = 1 << 27

	rightsPaths     = 1<<9 | 1<<10 | 1<<11 | 1<<12 | 1<<13 | 1<<15 | 1<<16 | 1<<17 | 1<<18 | 1<<19 | 1<<20 | 1<<24 | 1<<25 | 1<<26
	rightsDirectory = rightsPaths | rightDatasync | rightSetFlags | rightSync | rightReaddir | rightFilestat | rightFileSetTimes
	rightsStream    = rightSetFlags | rightFilestat | rightPoll
	rightsRead      = rightsStream | rightRead | rightSeek | rightTell | rightAdvise | rightDatasync | rightSync | rightFileSetTimes
	rightsWrite     = rightsRead&^rightRead | rightWrite | rightAllocate | rightFileSetSize
	rightsFile      = rightsRead | rightsWrite
)

func (d *descriptor) rights() (base, inheriting uint64) {
	if d.dir {
		return rightsDirectory, rightsDirectory | rightsFile
	}
	if d.read {
		base |= rightsRead
	}
	if d.write {
		base |= rightsWrite
	}
	if d.stream() {
		base &= rightsStream | rightRead | rightWrite | rightDatasync | rightSync
	}
	return base, 0
}

func (d *descriptor) filetype() byte {
	switch {
	case d.stream():
		return typeUnknown
	case d.dir:
		return typeDirectory
	}
	return typeRegular
}

func (s *system) fdstatGet(m guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	if e != 0 {
		return e
	}
	b, e := m.view(a[1], 24)
	if e != 0 {
		return e
	}
	base, inheriting := d.rights()
	clear(b)
	b[0] = d.filetype()
	le.PutUint16(b[2:], d.flags)
	le.PutUint64(b[8:], base)
	le.PutUint64(b[16:], inheriting)
	return 0
}

// fdstatSetFlags sets where writes go. That nothing ever blocks is so already,
// and whether writes are synchronous stays as it was opened.
func (s *system) fdstatSetFlags(_ guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	switch {
	case e != 0:
		return e
	case a[1]&^fdFlags != 0:
		return wasiInval
	case d.dir:
		return wasiIsdir
	}
	const changes = fdAppend | fdNonblock
	d.flags = d.flags&^changes | uint16(a[1])&changes
	return 0
}

// fdstatSetRights refuses: rights that are taken away would still be there.
func (s *system) fdstatSetRights(_ guestMemory, a []uint64) errno {
	if _, e := s.open.find(a[0]); e != 0 {
		return e
	}
	return wasiNotsup
}

func (s *system) fdFilestatGet(m guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	if e != 0 {
		return e
	}
	if d.stream() {
		return m.putStat(a[1], sys.Stat_t{Nlink: 1, Mode: fs.ModeIrregular})
	}
	info, err := d.stat()
	if err != nil {
		return errnoOf(err)
	}
	return m.putStat(a[1], s.seen(info))
}

// stat describes the file of a descriptor that is no stream.
func (d *descriptor) stat() (fs.FileInfo, error) {
	if d.file == nil {
		return d.folder.Stat(d.path)
	}
	return d.file.Stat()
}

// seen is what the guest is told of a file, with times as fine as those of its
// clock: a write and its time are a clock, too.
func (s *system) seen(info fs.FileInfo) sys.Stat_t {
	st := sys.NewStat_t(info)
	for _, t := range []*int64{&st.Atim, &st.Mtim, &st.Ctim} {
		*t = s.clock.Seen(*t)
	}
	return st
}

// putStat writes a filestat. The number of the device is the host's business.
func (m guestMemory) putStat(ptr uint64, st sys.Stat_t) errno {
	b, e := m.view(ptr, 64)
	if e != 0 {
		return e
	}
	clear(b)
	le.PutUint64(b[8:], st.Ino)
	b[16] = filetype(st.Mode)
	le.PutUint64(b[24:], st.Nlink)
	for i, n := range []int64{st.Size, st.Atim, st.Mtim, st.Ctim} {
		le.PutUint64(b[32+8*i:], uint64(max(n, 0)))
	}
	return 0
}

func (s *system) fdSetTimes(_ guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	switch {
	case e != 0:
		return e
	case d.stream():
		return wasiInval
	}
	atime, mtime, e := s.times(a[1], a[2], a[3])
	if e != 0 {
		return e
	}
	if !d.folder.Writable() {
		return wasiRofs
	}
	return errnoOf(d.setTimes(atime, mtime))
}

func (d *descriptor) setTimes(atime, mtime time.Time) error {
	if d.file == nil { // a granted folder, which has no other name
		return d.folder.Chtimes(d.path, atime, mtime)
	}
	return d.file.Chtimes(d.path, atime, mtime)
}

// Which times are set, and to what.
const (
	setAtime    = 1 << 0
	setAtimeNow = 1 << 1
	setMtime    = 1 << 2
	setMtimeNow = 1 << 3
)

// times reads the times that a guest sets. One that stays is the zero time.
func (s *system) times(atime, mtime, flags uint64) (a, m time.Time, e errno) {
	sec, nsec := s.clock.Wall()
	now := time.Unix(sec, int64(nsec))
	if a, e = chosen(atime, flags&setAtime != 0, flags&setAtimeNow != 0, now); e != 0 {
		return a, m, e
	}
	m, e = chosen(mtime, flags&setMtime != 0, flags&setMtimeNow != 0, now)
	return a, m, e
}

func chosen(nanos uint64, set, setNow bool, now time.Time) (time.Time, errno) {
	switch {
	case set && (setNow || nanos > math.MaxInt64):
		return time.Time{}, wasiInval
	case set:
		return time.Unix(0, int64(nanos)), 0
	case setNow:
		return now, 0
	}
	return time.Time{}, 0
}
