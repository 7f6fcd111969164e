package sandbox

// Attack: a guest names what is outside of its folders, by "..", an absolute
// name or a link that it makes, or opens with flags that empty a file it may not
// change.

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"unicode/utf8"
)

// maxSystemPath is the longest path that is read from the guest.
const maxSystemPath = 4095

// place is where a path of the guest leads.
type place struct {
	folder folder
	name   string
}

// place reads a path, which is relative to a directory of the guest. One that
// leads out of it is refused by its form; what links do, hostfn looks after.
func (s *system) place(m guestMemory, fd, ptr, n uint64) (place, errno) {
	d, e := s.open.find(fd)
	switch {
	case e != 0:
		return place{}, e
	case !d.dir:
		return place{}, wasiNotdir
	case n > maxSystemPath:
		return place{}, wasiNametoolong
	}
	b, e := m.view(ptr, n)
	if e != 0 {
		return place{}, e
	}
	name := string(b)
	switch {
	case name == "":
		return place{}, wasiNoent
	case !utf8.ValidString(name):
		return place{}, wasiIlseq
	case !fs.ValidPath(path.Clean(name)):
		return place{}, wasiPerm
	case d.path != ".":
		name = d.path + "/" + name
	}
	return place{d.folder, name}, 0
}

// change is place for what changes the folder.
func (s *system) change(m guestMemory, fd, ptr, n uint64) (place, errno) {
	at, e := s.place(m, fd, ptr, n)
	if e == 0 && !at.folder.Writable() {
		e = wasiRofs
	}
	return at, e
}

// isLink says that the name itself is a link, which is not followed.
func (p place) isLink() bool {
	info, err := p.folder.Lstat(p.name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

const followLinks = 1 // of lookupflags

func (s *system) pathMkdir(m guestMemory, a []uint64) errno {
	at, e := s.change(m, a[0], a[1], a[2])
	if e != 0 {
		return e
	}
	return errnoOf(at.folder.Mkdir(at.name, 0o700))
}

func (s *system) pathRmdir(m guestMemory, a []uint64) errno {
	at, e := s.change(m, a[0], a[1], a[2])
	if e != 0 {
		return e
	}
	return errnoOf(at.folder.Rmdir(at.name))
}

// pathUnlink removes a file or a link. A name that ends in a slash means a
// directory.
func (s *system) pathUnlink(m guestMemory, a []uint64) errno {
	at, e := s.change(m, a[0], a[1], a[2])
	if e != 0 {
		return e
	}
	if strings.HasSuffix(at.name, "/") {
		if _, err := at.folder.Stat(at.name); err != nil {
			return errnoOf(err)
		}
		return wasiIsdir
	}
	return errnoOf(at.folder.Remove(at.name))
}

func (s *system) pathRename(m guestMemory, a []uint64) errno {
	from, e := s.change(m, a[0], a[1], a[2])
	if e != 0 {
		return e
	}
	to, e := s.change(m, a[3], a[4], a[5])
	if e != 0 {
		return e
	}
	if from.folder != to.folder {
		return wasiXdev
	}
	return errnoOf(from.folder.Rename(from.name, to.name))
}

// pathLink refuses: a second name could lead anywhere.
func (s *system) pathLink(m guestMemory, a []uint64) errno {
	if _, e := s.place(m, a[0], a[2], a[3]); e != 0 {
		return e
	}
	if _, e := s.change(m, a[4], a[5], a[6]); e != 0 {
		return e
	}
	return wasiPerm
}

// pathSymlink refuses, as pathLink does.
func (s *system) pathSymlink(m guestMemory, a []uint64) errno {
	if _, e := s.change(m, a[2], a[3], a[4]); e != 0 {
		return e
	}
	return wasiPerm
}

// pathReadlink refuses: where a link leads is the host's business. What is no
// link is so to the guest: that is how libraries resolve a path.
func (s *system) pathReadlink(m guestMemory, a []uint64) errno {
	at, e := s.place(m, a[0], a[1], a[2])
	if e != 0 {
		return e
	}
	info, err := at.folder.Lstat(at.name)
	switch {
	case err != nil:
		return errnoOf(err)
	case info.Mode()&fs.ModeSymlink == 0:
		return wasiInval
	}
	return wasiPerm
}

func (s *system) pathFilestatGet(m guestMemory, a []uint64) errno {
	at, e := s.place(m, a[0], a[2], a[3])
	if e != 0 {
		return e
	}
	look := at.folder.Lstat
	if a[1]&followLinks != 0 {
		look = at.folder.Stat
	}
	info, err := look(at.name)
	if err != nil {
		return errnoOf(err)
	}
	return m.putStat(a[4], s.seen(info))
}

// pathSetTimes does not set those of a link itself.
func (s *system) pathSetTimes(m guestMemory, a []uint64) errno {
	at, e := s.change(m, a[0], a[2], a[3])
	if e != 0 {
		return e
	}
	atime, mtime, e := s.times(a[4], a[5], a[6])
	if e != 0 {
		return e
	}
	if a[1]&followLinks == 0 && at.isLink() {
		return wasiNotsup
	}
	return errnoOf(at.folder.Chtimes(at.name, atime, mtime))
}

// How a path is opened.
const (
	openCreate    = 1 << 0
	openDirectory = 1 << 1
	openExclusive = 1 << 2
	openTruncate  = 1 << 3
	openBits      = 1<<4 - 1
)

// pathOpen opens a file or directory. The number and its place are there before
// anything is made or emptied.
func (s *system) pathOpen(m guestMemory, a []uint64) errno {
	at, e := s.place(m, a[0], a[2], a[3])
	if e != 0 {
		return e
	}
	flag, e := openFlags(a[4], a[5], a[7])
	if e != 0 {
		return e
	}
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 && !at.folder.Writable() {
		return wasiRofs
	}
	out, e := m.view(a[8], 4)
	if e != 0 {
		return e
	}
	fd, e := s.open.free()
	if e != 0 {
		return e
	}
	if a[1]&followLinks == 0 && at.isLink() {
		return wasiLoop
	}
	d, err := at.open(flag, a[4]&openDirectory != 0)
	if err != nil {
		return errnoOf(err)
	}
	d.flags = uint16(a[7])
	s.open.put(fd, d)
	le.PutUint32(out, uint32(fd))
	return 0
}

// open opens the file and says how.
func (p place) open(flag int, directory bool) (*descriptor, error) {
	f, err := p.folder.OpenFile(p.name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && directory && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &descriptor{
		folder: p.folder, path: path.Clean(p.name), file: f, dir: info.IsDir(),
		read:  flag&os.O_WRONLY == 0,
		write: flag&(os.O_WRONLY|os.O_RDWR) != 0,
	}, nil
}

// openFlags translates how the guest wants to open. As rights mean nothing else,
// they say whether it reads or writes; a guest that names neither gets what its
// other flags need. Appending is done by the descriptor.
func openFlags(oflags, rights, fdflags uint64) (int, errno) {
	if oflags&^openBits != 0 || fdflags&^fdFlags != 0 {
		return 0, wasiInval
	}
	if oflags&openDirectory != 0 {
		if oflags&(openCreate|openTruncate) != 0 {
			return 0, wasiInval
		}
		return os.O_RDONLY, 0 // a directory cannot be opened to write
	}
	flag := os.O_RDONLY
	switch rights & (rightRead | rightWrite) {
	case rightRead | rightWrite:
		flag = os.O_RDWR
	case rightWrite:
		flag = os.O_WRONLY
	case 0:
		if oflags&(openCreate|openTruncate) != 0 || fdflags&fdAppend != 0 {
			flag = os.O_RDWR
		}
	}
	for _, p := range []struct {
		from uint64
		to   int
	}{{openCreate, os.O_CREATE}, {openExclusive, os.O_EXCL}, {openTruncate, os.O_TRUNC}} {
		if oflags&p.from != 0 {
			flag |= p.to
		}
	}
	return flag, 0
}
