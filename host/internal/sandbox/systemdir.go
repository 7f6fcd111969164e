package sandbox

// Attack: a guest reads a directory of a million names into a buffer as large as
// its memory, or jumps back and forth in it to make the host read it anew.

import (
	"errors"
	"io"
	"io/fs"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
)

// listing is how far the guest has read a directory: one page of its entries. A
// cookie is the number of an entry, from 0 on. A guest that goes back to what is
// before the page makes the listing begin again.
type listing struct {
	page  []hostfn.Entry
	start uint64 // cookie of page[0]
	end   bool   // nothing comes after page
}

// rewind goes to the beginning, where the names are that the host's system
// leaves out.
func (l *listing) rewind(f file) errno {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return errnoOf(err)
	}
	*l = listing{page: []hostfn.Entry{{Name: ".", Type: fs.ModeDir}, {Name: "..", Type: fs.ModeDir}}}
	return 0
}

// next replaces the page by the one after it.
func (l *listing) next(f file) errno {
	page, err := f.ReadDir(0)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(page) == 0:
		l.end = true
		return 0
	case err != nil && len(page) == 0:
		return errnoOf(err)
	}
	l.start += uint64(len(l.page))
	l.page = page
	return 0
}

// at returns the entry with a cookie, or false behind the last one.
func (s *system) at(d *descriptor, cookie uint64) (hostfn.Entry, bool, errno) {
	l := &d.listing
	for cookie >= l.start+uint64(len(l.page)) && !l.end {
		if s.over() {
			return hostfn.Entry{}, false, wasiIntr
		}
		if e := l.next(d.file); e != 0 {
			return hostfn.Entry{}, false, e
		}
	}
	if cookie >= l.start+uint64(len(l.page)) {
		return hostfn.Entry{}, false, 0
	}
	return l.page[cookie-l.start], true, 0
}

// direntSize is how long an entry is without its name.
const direntSize = 24

// fdReaddir fills the buffer with entries, the last one cut off where it ends. A
// buffer that is not full says that there are no more. It answers EBADF for what
// is no directory: the standard library of Rust does not expect ENOTDIR.
func (s *system) fdReaddir(m guestMemory, a []uint64) errno {
	d, e := s.open.find(a[0])
	switch {
	case e != 0:
		return e
	case !d.dir:
		return wasiBadf
	case a[2] < direntSize:
		return wasiInval // it would not learn how much it needs
	}
	buf, e := m.view(a[1], a[2])
	if e != 0 {
		return e
	}
	if _, e = m.view(a[4], 4); e != 0 {
		return e
	}
	f, e := d.opened()
	if e != 0 {
		return e
	}
	cookie := a[3]
	if cookie == 0 || cookie < d.listing.start || d.listing.page == nil {
		if e := d.listing.rewind(f); e != 0 {
			return e
		}
	}
	used, e := s.fill(d, buf, cookie)
	if e != 0 {
		return e
	}
	return m.put32(a[4], uint32(used))
}

// fill writes entries from a cookie on and returns how many bytes that was.
func (s *system) fill(d *descriptor, buf []byte, cookie uint64) (int, errno) {
	used := 0
	for ; used < len(buf); cookie++ {
		entry, ok, e := s.at(d, cookie)
		if e != 0 {
			return 0, e
		}
		if !ok {
			break
		}
		var head [direntSize]byte
		le.PutUint64(head[:], cookie+1)
		le.PutUint64(head[8:], d.inode(cookie))
		le.PutUint32(head[16:], uint32(len(entry.Name)))
		head[20] = filetype(entry.Type)
		used += copy(buf[used:], head[:])
		used += copy(buf[used:], entry.Name)
	}
	return used, 0
}

// inode is known of the directory itself. Zero tells the guest to ask for that
// of a name.
func (d *descriptor) inode(cookie uint64) uint64 {
	if cookie != 0 {
		return 0
	}
	info, err := d.stat()
	if err != nil {
		return 0
	}
	return sys.NewStat_t(info).Ino
}

// granted returns a folder that the guest was given.
func (s *system) granted(fd uint64) (*descriptor, errno) {
	d, e := s.open.find(fd)
	if e == 0 && !d.granted {
		e = wasiBadf
	}
	return d, e
}

func (s *system) prestatGet(m guestMemory, a []uint64) errno {
	d, e := s.granted(a[0])
	if e != 0 {
		return e
	}
	return m.put64(a[1], uint64(len(d.folder.GuestPath()))<<32)
}

func (s *system) prestatName(m guestMemory, a []uint64) errno {
	d, e := s.granted(a[0])
	if e != 0 {
		return e
	}
	name := d.folder.GuestPath()
	if a[2] < uint64(len(name)) {
		return wasiNametoolong
	}
	b, e := m.view(a[1], uint64(len(name)))
	copy(b, name)
	return e
}
