package sandbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	wazerosys "github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
)

// The engine's own folder mounts follow links out of the folder, those that the
// guest made included. Here every operation goes to hostfn, which decides; this
// file only translates flags, results and errors, and ends transfers with the
// call: one read or write of the guest can name millions of buffers.

// mounts makes the folders of a call visible to its guest.
func mounts(ctx context.Context, folders *hostfn.Folders) wazero.FSConfig {
	c := wazero.NewFSConfig()
	for _, f := range folders.Mounts() {
		c = c.(sysfs.FSConfig).WithSysFSMount(&folderFS{ctx: ctx, f: f}, f.GuestPath())
	}
	return c
}

// folderFS is one folder. Links and modes cannot be made or changed: what is
// not implemented here answers ENOSYS.
type folderFS struct {
	sys.UnimplementedFS
	ctx context.Context // the call's
	f   *hostfn.Folder
}

func local(path string) string {
	if path == "" || path == "/" {
		return "."
	}
	return path
}

// OpenFile opens a file or directory.
func (d *folderFS) OpenFile(path string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	path = local(path)
	if flag&sys.O_NOFOLLOW != 0 {
		if info, err := d.f.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, sys.ELOOP
		}
	}
	f, err := d.f.OpenFile(path, osFlags(flag), perm)
	if err != nil {
		return nil, errno(err)
	}
	o := &openFile{ctx: d.ctx, f: f, append: flag&sys.O_APPEND != 0}
	info, err := f.Stat()
	if err == nil && flag&sys.O_DIRECTORY != 0 && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, errno(errors.Join(err, f.Close()))
	}
	o.dir = info.IsDir()
	return o, 0
}

func osFlags(flag sys.Oflag) int {
	var out int
	switch flag & (sys.O_RDWR | sys.O_WRONLY) {
	case sys.O_RDWR:
		out = os.O_RDWR
	case sys.O_WRONLY:
		out = os.O_WRONLY
	}
	for _, p := range []struct {
		from sys.Oflag
		to   int
	}{
		{sys.O_APPEND, os.O_APPEND},
		{sys.O_CREAT, os.O_CREATE},
		{sys.O_EXCL, os.O_EXCL},
		{sys.O_TRUNC, os.O_TRUNC},
		{sys.O_SYNC | sys.O_DSYNC | sys.O_RSYNC, os.O_SYNC},
	} {
		if flag&p.from != 0 {
			out |= p.to
		}
	}
	return out
}

// Stat describes a file, links followed.
func (d *folderFS) Stat(path string) (wazerosys.Stat_t, sys.Errno) {
	return stat(d.f.Stat(local(path)))
}

// Lstat describes a file or link.
func (d *folderFS) Lstat(path string) (wazerosys.Stat_t, sys.Errno) {
	return stat(d.f.Lstat(local(path)))
}

// Mkdir makes a directory.
func (d *folderFS) Mkdir(path string, perm fs.FileMode) sys.Errno {
	return errno(d.f.Mkdir(local(path), perm))
}

// Rename moves a file or directory.
func (d *folderFS) Rename(from, to string) sys.Errno {
	return errno(d.f.Rename(local(from), local(to)))
}

// Rmdir removes an empty directory.
func (d *folderFS) Rmdir(path string) sys.Errno { return errno(d.f.Rmdir(local(path))) }

// Unlink removes a file.
func (d *folderFS) Unlink(path string) sys.Errno { return errno(d.f.Remove(local(path))) }

// Link refuses: a second name could lead anywhere.
func (d *folderFS) Link(_, _ string) sys.Errno { return sys.EPERM }

// Symlink refuses, as Link does.
func (d *folderFS) Symlink(_, _ string) sys.Errno { return sys.EPERM }

// Readlink refuses: where a link leads is the host's business.
func (d *folderFS) Readlink(string) (string, sys.Errno) { return "", sys.EPERM }

// Chmod refuses.
func (d *folderFS) Chmod(string, fs.FileMode) sys.Errno { return sys.EPERM }

// Utimens sets the times of a file.
func (d *folderFS) Utimens(path string, atim, mtim int64) sys.Errno {
	return errno(d.f.Chtimes(local(path), nanos(atim), nanos(mtim)))
}

func nanos(n int64) time.Time {
	if n == sys.UTIME_OMIT {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// stat keeps the host's device numbers to itself.
func stat(info fs.FileInfo, err error) (wazerosys.Stat_t, sys.Errno) {
	if err != nil {
		return wazerosys.Stat_t{}, errno(err)
	}
	st := wazerosys.NewStat_t(info)
	st.Dev = 0
	return st, 0
}

// openFile is an open file or directory.
type openFile struct {
	sys.UnimplementedFile
	ctx         context.Context
	f           *hostfn.File
	dir, append bool
}

// Dev is always zero.
func (o *openFile) Dev() (uint64, sys.Errno) { return 0, 0 }

// Ino returns the number of the file in its file system.
func (o *openFile) Ino() (wazerosys.Inode, sys.Errno) {
	st, e := o.Stat()
	return st.Ino, e
}

// IsDir says whether this is a directory.
func (o *openFile) IsDir() (bool, sys.Errno) { return o.dir, 0 }

// IsAppend says whether writes go to the end.
func (o *openFile) IsAppend() bool { return o.append }

// Stat describes the file.
func (o *openFile) Stat() (wazerosys.Stat_t, sys.Errno) { return stat(o.f.Stat()) }

// Read reads from the offset. The end is 0 bytes.
func (o *openFile) Read(p []byte) (int, sys.Errno) {
	if o.ctx.Err() != nil {
		return 0, sys.EINTR
	}
	return count(o.f.Read(p))
}

// Pread reads from off.
func (o *openFile) Pread(p []byte, off int64) (int, sys.Errno) {
	if o.ctx.Err() != nil {
		return 0, sys.EINTR
	}
	return count(o.f.ReadAt(p, off))
}

// Write writes at the offset.
func (o *openFile) Write(p []byte) (int, sys.Errno) {
	if o.ctx.Err() != nil {
		return 0, sys.EINTR
	}
	return count(o.f.Write(p))
}

// Pwrite writes at off.
func (o *openFile) Pwrite(p []byte, off int64) (int, sys.Errno) {
	if o.ctx.Err() != nil {
		return 0, sys.EINTR
	}
	return count(o.f.WriteAt(p, off))
}

// offset is int64 under a name by which vet does not take Seek for that of
// io.Seeker.
type offset = int64

// Seek sets the offset.
func (o *openFile) Seek(off offset, whence int) (int64, sys.Errno) {
	n, err := o.f.Seek(off, whence)
	return n, errno(err)
}

// Readdir returns the next n entries; fewer mean that there are no more.
func (o *openFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	var all []sys.Dirent
	for (n < 1 || len(all) < n) && o.ctx.Err() == nil {
		page, err := o.f.ReadDir(n - len(all))
		for _, e := range page {
			all = append(all, sys.Dirent{Name: e.Name, Type: e.Type})
		}
		if errors.Is(err, io.EOF) || err == nil && len(page) == 0 {
			break
		} else if err != nil {
			return all, errno(err)
		}
	}
	return all, 0
}

// Truncate sets the size.
func (o *openFile) Truncate(size int64) sys.Errno { return errno(o.f.Truncate(size)) }

// Sync writes through to the disk.
func (o *openFile) Sync() sys.Errno { return errno(o.f.Sync()) }

// Datasync is Sync.
func (o *openFile) Datasync() sys.Errno { return errno(o.f.Sync()) }

// Close closes the file.
func (o *openFile) Close() sys.Errno { return errno(o.f.Close()) }

func count(n int, err error) (int, sys.Errno) {
	if errors.Is(err, io.EOF) {
		return n, 0
	}
	return n, errno(err)
}

// errno translates what hostfn says.
func errno(err error) sys.Errno {
	if err == nil {
		return 0
	}
	for _, p := range []struct {
		from error
		to   sys.Errno
	}{
		{hostfn.ErrQuota, sys.EPERM},
		{hostfn.ErrTooManyOpen, sys.EAGAIN},
		{syscall.EISDIR, sys.EISDIR},
		{syscall.ENOTDIR, sys.ENOTDIR},
		{syscall.ENOTEMPTY, sys.ENOTEMPTY},
		{syscall.ENAMETOOLONG, sys.ENAMETOOLONG},
		{syscall.ELOOP, sys.ELOOP},
		{fs.ErrInvalid, sys.EINVAL},
		{syscall.EINVAL, sys.EINVAL},
		{fs.ErrClosed, sys.EBADF},
		{fs.ErrNotExist, sys.ENOENT},
		{fs.ErrExist, sys.EEXIST},
		{fs.ErrPermission, sys.EACCES},
	} {
		if errors.Is(err, p.from) {
			return p.to
		}
	}
	return sys.EIO
}
