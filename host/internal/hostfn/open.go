package hostfn

// Attack: a guest opens what blocks, what is not a file, what a link leads to,
// or opens with flags by which a read-only folder changes all the same.

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// The flags of os.OpenFile that mean anything here.
const (
	access    = os.O_RDONLY | os.O_WRONLY | os.O_RDWR
	changing  = os.O_WRONLY | os.O_RDWR | os.O_CREATE | os.O_TRUNC | os.O_APPEND
	openFlags = access | changing | os.O_EXCL | os.O_SYNC
)

// OpenFile opens a regular file or a directory, with the flags of [os.OpenFile].
// A file that it makes counts against the number of files and has no execute
// bits; a dangling link is not followed to make one. A file with a second name
// (hard link) cannot be opened for writing. The caller closes the file. The first
// time that the folder itself is opened does not count against the open files:
// that is how a guest gets the folder, and not something it does.
func (d *Folder) OpenFile(name string, flag int, perm fs.FileMode) (*File, error) {
	n, err := cleanName(name)
	if err != nil {
		return nil, err
	}
	if err := d.checkFlags(flag); err != nil {
		return nil, err
	}
	if flag&changing != 0 && d.ofGit(n.path) {
		return nil, fs.ErrPermission
	}
	free := n.path == "." && flag == os.O_RDONLY && d.opened.CompareAndSwap(false, true)
	if !free {
		if err := d.all.quota.opened(); err != nil {
			return nil, err
		}
	}
	f, err := d.openFile(n, flag, perm)
	switch {
	case err == nil:
		f.free = free
	case free:
		d.opened.Store(false)
	default:
		d.all.quota.closed()
	}
	return f, err
}

func (d *Folder) openFile(n name, flag int, perm fs.FileMode) (*File, error) {
	h, err := d.open(n, flag, perm)
	if err != nil {
		return nil, guestError(err)
	}
	f, err := d.file(h, flag)
	if err != nil {
		return nil, guestError(errors.Join(err, h.Close()))
	}
	return f, nil
}

func (d *Folder) checkFlags(flag int) error {
	switch {
	case flag&^openFlags != 0, flag&access == access:
		return fs.ErrInvalid
	case !d.writable && flag&changing != 0:
		return fs.ErrPermission
	case flag&(os.O_TRUNC|os.O_APPEND) != 0 && flag&(os.O_WRONLY|os.O_RDWR) == 0:
		return fs.ErrInvalid
	}
	return nil
}

// open opens or makes the file. It never truncates: what it opened is not
// checked yet.
func (d *Folder) open(n name, flag int, perm fs.FileMode) (*os.File, error) {
	if flag&os.O_CREATE == 0 {
		return d.openExisting(n, flag&access)
	}
	if n.dir {
		return nil, errIsDir
	}
	if flag&os.O_EXCL != 0 {
		return d.create(n, flag&access, perm)
	}
	f, err := d.openExisting(n, flag&access)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f, err = d.create(n, flag&access, perm)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	// Someone else made it meanwhile, or it is a link to nothing.
	return d.openExisting(n, flag&access)
}

func (d *Folder) openExisting(n name, acc int) (*os.File, error) {
	info, err := d.root.Stat(n.path)
	if err != nil {
		return nil, err
	}
	// Opening a device can have effects, so look before; and look again after.
	if err := checkKind(info, n, acc); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(n.path, acc|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := d.checkOpened(f, n, acc); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d *Folder) checkOpened(f *os.File, n name, acc int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := checkKind(info, n, acc); err != nil {
		return err
	}
	dev, err := deviceOf(f)
	if err == nil && !dev.same(d.device) {
		err = fs.ErrPermission
	}
	if err == nil && acc != os.O_RDONLY {
		err = refuseShared(f)
	}
	return err
}

func checkKind(info fs.FileInfo, n name, acc int) error {
	switch {
	case info.IsDir() && acc != os.O_RDONLY:
		return errIsDir
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return fs.ErrPermission
	case n.dir:
		return errNotDir
	}
	return nil
}

func (d *Folder) create(n name, acc int, perm fs.FileMode) (f *os.File, err error) {
	err = d.change(n.path, func(parent *os.Root, base string) error {
		if err := checkNewName(base); err != nil {
			return err
		}
		if err := d.all.quota.take(1); err != nil {
			return err
		}
		f, err = parent.OpenFile(base, acc|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, perm&0o666|0o600)
		if err != nil {
			d.all.quota.giveBack(1)
			return err
		}
		return d.all.quota.enter(f)
	})
	if err != nil && f != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, err
}

// refuseShared refuses a file that has another name, which may lie outside.
func refuseShared(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return err
	}
	_, links, err := identityOf(f)
	if err == nil && links > 1 {
		err = fs.ErrPermission
	}
	return err
}

// file makes h the call's, and truncates it if that was asked for.
func (d *Folder) file(h *os.File, flag int) (*File, error) {
	info, err := h.Stat()
	if err != nil {
		return nil, err
	}
	f := &File{
		f: h, all: d.all, dir: info.IsDir(),
		read:   flag&os.O_WRONLY == 0,
		write:  flag&(os.O_WRONLY|os.O_RDWR) != 0,
		append: flag&os.O_APPEND != 0,
	}
	if f.cost, err = d.all.quota.hold(h); err != nil {
		return nil, err
	}
	if flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err == nil {
		err = d.all.add(f)
	}
	if err != nil {
		d.all.quota.letGo(f.cost, false)
		return nil, err
	}
	return f, nil
}
