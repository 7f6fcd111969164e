package hostfn

// Attack: a guest reaches outside its folder by "..", links, hard links, mounts
// or a race between check and use, or holds the host up with a FIFO.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// Folders are the folders that one call was granted, over [os.Root]: a name
// cannot lead out of its folder, whoever changes the tree meanwhile. Only
// regular files and directories can be opened; links are followed inside the
// folder and cannot be made. Errors are fs.Err…, those of this package or bare
// errno values, and never hold a path. It is safe for concurrent use.
type Folders struct {
	mounts []*Folder
	quota  *quota

	mu    sync.Mutex
	files map[*File]struct{} // nil once closed
}

// OpenFolders opens the folders of one call, which share the limits. The caller
// closes them. The error names the guest's folder.
func OpenFolders(read, write []policy.Mount, lim policy.FileLimits) (*Folders, error) {
	all := &Folders{quota: newQuota(lim), files: map[*File]struct{}{}}
	seen := map[string]bool{}
	for i, m := range append(read[:len(read):len(read)], write...) {
		if seen[m.Guest] {
			return nil, errors.Join(fmt.Errorf("folder %q is granted twice", m.Guest), all.Close())
		}
		seen[m.Guest] = true
		d, err := openFolder(m, i >= len(read))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open the folder for %q: %w", m.Guest, err), all.Close())
		}
		d.all = all
		all.mounts = append(all.mounts, d)
	}
	return all, nil
}

func openFolder(m policy.Mount, writable bool) (*Folder, error) {
	root, err := os.OpenRoot(m.Host)
	if err != nil {
		return nil, guestError(err)
	}
	dev, err := rootDevice(root)
	if err == nil && dev.pseudo() {
		err = errors.New("a file system of the kernel cannot be granted")
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Folder{root: root, guest: m.Guest, writable: writable, device: dev}, nil
}

// Mounts returns the folders, those to read first, each in the order given.
func (all *Folders) Mounts() []*Folder { return all.mounts }

// Close closes every file that is still open, and the folders.
func (all *Folders) Close() error {
	all.mu.Lock()
	open := all.files
	all.files = nil
	all.mu.Unlock()
	var errs []error
	for f := range open {
		errs = append(errs, f.Close())
	}
	for _, d := range all.mounts {
		errs = append(errs, guestError(d.root.Close()))
	}
	return errors.Join(errs...)
}

func (all *Folders) add(f *File) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.files == nil {
		return fs.ErrClosed
	}
	all.files[f] = struct{}{}
	return nil
}

func (all *Folders) remove(f *File) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.files, f)
}

// Folder is one mounted folder. Names are relative to it, with slashes; "." is
// the folder itself.
type Folder struct {
	all      *Folders
	root     *os.Root
	guest    string
	writable bool
	device   device
	opened   atomic.Bool // the folder itself, for the first time
}

// GuestPath returns where the guest sees the folder.
func (d *Folder) GuestPath() string { return d.guest }

// Writable reports whether the folder may be changed.
func (d *Folder) Writable() bool { return d.writable }

// Stat describes a file or directory, links followed.
func (d *Folder) Stat(name string) (fs.FileInfo, error) {
	n, err := cleanName(name)
	if err != nil {
		return nil, err
	}
	info, err := d.root.Stat(n.path)
	if err == nil && n.dir && !info.IsDir() {
		err = errNotDir
	}
	return info, guestError(err)
}

// Lstat describes a file, directory or link. A name that ends in a slash means
// the directory that a link leads to, as everywhere.
func (d *Folder) Lstat(name string) (fs.FileInfo, error) {
	n, err := cleanName(name)
	if err != nil {
		return nil, err
	}
	if n.dir {
		return d.Stat(name)
	}
	info, err := d.root.Lstat(n.path)
	return info, guestError(err)
}

// Mkdir makes a directory. It counts against the number of files.
func (d *Folder) Mkdir(name string, perm fs.FileMode) error {
	return d.change(name, func(parent *os.Root, base string) error {
		if err := checkNewName(base); err != nil {
			return err
		}
		if err := d.all.quota.take(1); err != nil {
			return err
		}
		if err := parent.Mkdir(base, perm&0o777|0o700); err != nil {
			d.all.quota.giveBack(1)
			return err
		}
		return d.all.quota.enterName(parent, base)
	})
}

// Remove removes a file or a link, not a directory.
func (d *Folder) Remove(name string) error {
	return d.change(name, func(parent *os.Root, base string) error {
		info, err := parent.Lstat(base)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return errIsDir
		case !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
			return fs.ErrPermission
		}
		return d.all.quota.removing(parent, base, func() error { return parent.Remove(base) })
	})
}

// Rmdir removes an empty directory.
func (d *Folder) Rmdir(name string) error {
	return d.change(name, func(parent *os.Root, base string) error {
		info, err := parent.Lstat(base)
		if err == nil && !info.IsDir() {
			err = errNotDir
		}
		if err != nil {
			return err
		}
		return d.all.quota.removing(parent, base, func() error { return parent.Remove(base) })
	})
}

// Rename moves a file or directory within the folder. A link is not moved: it
// would point somewhere else.
func (d *Folder) Rename(from, to string) error {
	target, err := cleanName(to)
	if err != nil {
		return err
	}
	return d.change(from, func(parent *os.Root, base string) error {
		info, err := parent.Lstat(base)
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular() && !info.IsDir():
			return fs.ErrPermission
		case target.dir && !info.IsDir():
			return errNotDir
		}
		return d.change(to, func(newParent *os.Root, newBase string) error {
			if err := checkNewName(newBase); err != nil {
				return err
			}
			from, err := cleanName(from)
			if err != nil {
				return err
			}
			return d.all.quota.removing(newParent, newBase, func() error { return d.root.Rename(from.path, target.path) })
		})
	})
}

// Chtimes sets the times of a file or directory, links followed. A zero time
// stays as it is.
func (d *Folder) Chtimes(name string, atime, mtime time.Time) error {
	n, err := cleanName(name)
	if err != nil {
		return err
	}
	if !d.writable || d.ofGit(n.path) {
		return fs.ErrPermission
	}
	f, err := d.openExisting(n, os.O_RDONLY)
	if err != nil {
		return guestError(err)
	}
	err = refuseShared(f)
	if err == nil {
		err = d.root.Chtimes(n.path, atime, mtime)
	}
	return guestError(errors.Join(err, f.Close()))
}

// ChtimesOf is [Folder.Chtimes] for an open file, unless name is something else's
// by now: that is fs.ErrNotExist.
func (d *Folder) ChtimesOf(f *File, name string, atime, mtime time.Time) error {
	own, err := f.Stat()
	if err != nil {
		return err
	}
	is, err := d.Stat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(own, is) {
		return fs.ErrNotExist
	}
	return d.Chtimes(name, atime, mtime)
}

// change runs do on the directory that holds name, once it is clear that the
// folder may be changed there. Nothing is changed in a .git folder, and none is
// made: its files make Git run programs.
func (d *Folder) change(name string, do func(parent *os.Root, base string) error) error {
	n, err := cleanName(name)
	if err != nil {
		return err
	}
	dir, base := path.Split(n.path)
	if !d.writable || n.path == "." || isGit(base) || d.ofGit(path.Clean(dir)) {
		return fs.ErrPermission
	}
	parent, err := d.openDir(path.Clean(dir))
	if err != nil {
		return guestError(err)
	}
	dev, err := rootDevice(parent)
	if err == nil && !dev.same(d.device) {
		err = fs.ErrPermission
	}
	if err == nil {
		err = do(parent, base)
	}
	return guestError(errors.Join(err, parent.Close()))
}

// openDir opens a directory of the folder. os.Root opens whatever has the name,
// and opening a FIFO blocks: so look before. A guest cannot make a FIFO, so it
// cannot put one there in between.
func (d *Folder) openDir(dir string) (*os.Root, error) {
	info, err := d.root.Stat(dir)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, errNotDir
	}
	return d.root.OpenRoot(dir)
}

func rootDevice(r *os.Root) (device, error) {
	f, err := r.Open(".")
	if err != nil {
		return device{}, guestError(err)
	}
	dev, err := deviceOf(f)
	return dev, guestError(errors.Join(err, f.Close()))
}
