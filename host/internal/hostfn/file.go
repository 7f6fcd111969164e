package hostfn

// Attack: a guest fills the disk, by writing, overwriting or one byte at an
// offset of a terabyte, or the memory, with one listing of a million names.

import (
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
)

// maxPage is the most entries that one ReadDir returns.
const maxPage = 1024

// File is an open file or directory of a [Folder].
type File struct {
	f    *os.File
	all  *Folders
	once sync.Once

	dir, read, write, append bool

	free bool  // does not count against the open files
	cost *cost // nil for what the call did not make
}

// Entry is one name in a directory.
type Entry struct {
	Name string
	Type fs.FileMode // type bits only; a link is a link
}

// Read reads from the offset. The end is io.EOF.
func (f *File) Read(p []byte) (int, error) {
	if err := f.readable(); err != nil {
		return 0, err
	}
	n, err := f.f.Read(p)
	return n, guestError(err)
}

// ReadAt reads from off, as [io.ReaderAt] says.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if err := f.readable(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	n, err := f.f.ReadAt(p, off)
	return n, guestError(err)
}

// Write writes at the offset, or at the end if the file was opened to append.
// Over the quota nothing is written and the error is [ErrQuota].
func (f *File) Write(p []byte) (int, error) {
	if err := f.writable(); err != nil {
		return 0, err
	}
	q := f.all.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	whence := io.SeekCurrent
	if f.append {
		whence = io.SeekEnd
	}
	off, err := f.f.Seek(0, whence)
	if err != nil {
		return 0, guestError(err)
	}
	return f.charged(off, p, f.f.Write)
}

// WriteAt writes at off, which for a file opened to append is its end whatever
// off is. The quota is as in [File.Write].
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	if err := f.writable(); err != nil {
		return 0, err
	}
	q := f.all.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if f.append {
		info, err := f.f.Stat()
		if err != nil {
			return 0, guestError(err)
		}
		off = info.Size()
	}
	return f.charged(off, p, func(p []byte) (int, error) { return f.f.WriteAt(p, off) })
}

// charged writes p, which begins at off, if the quota has room for it and for
// the hole before it. The quota is locked.
func (f *File) charged(off int64, p []byte, write func([]byte) (int, error)) (int, error) {
	if off < 0 || off > math.MaxInt64-int64(len(p)) {
		return 0, fs.ErrInvalid
	}
	if len(p) == 0 {
		return 0, nil
	}
	info, err := f.f.Stat()
	if err != nil {
		return 0, guestError(err)
	}
	cost := max(0, off-info.Size())
	if cost > math.MaxInt64-int64(len(p)) || cost+int64(len(p)) > f.all.quota.bytes {
		return 0, ErrQuota
	}
	n, err := write(p)
	if n > 0 {
		f.all.quota.charge(f.cost, cost+int64(n))
	}
	return n, guestError(err)
}

// Truncate sets the size. What it adds counts as written.
func (f *File) Truncate(size int64) error {
	if err := f.writable(); err != nil {
		return err
	}
	if size < 0 {
		return fs.ErrInvalid
	}
	q := f.all.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	info, err := f.f.Stat()
	if err != nil {
		return guestError(err)
	}
	cost := max(0, size-info.Size())
	if cost > q.bytes {
		return ErrQuota
	}
	if err := f.f.Truncate(size); err != nil {
		return guestError(err)
	}
	q.charge(f.cost, cost)
	return nil
}

// Seek sets the offset. A directory can only be set back to its beginning.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if f.dir && (offset != 0 || whence != io.SeekStart) {
		return 0, fs.ErrInvalid
	}
	n, err := f.f.Seek(offset, whence)
	return n, guestError(err)
}

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) {
	info, err := f.f.Stat()
	return info, guestError(err)
}

// ReadDir returns the next entries of a directory, at most n and at most 1,024,
// which is also what n below 1 means, in the order of the file system. The end
// is io.EOF.
func (f *File) ReadDir(n int) ([]Entry, error) {
	if !f.dir {
		return nil, errNotDir
	}
	if n < 1 || n > maxPage {
		n = maxPage
	}
	list, err := f.f.ReadDir(n)
	out := make([]Entry, len(list))
	for i, e := range list {
		out[i] = Entry{Name: e.Name(), Type: e.Type()}
	}
	return out, guestError(err)
}

// Sync asks the operating system to put what was written on the disk. For a
// file that cannot be written it does nothing.
func (f *File) Sync() error {
	if !f.write {
		return nil
	}
	return guestError(f.f.Sync())
}

// Close closes the file and gives its place back, and what it cost if the call
// made the file and has removed it. Only the first Close does anything.
func (f *File) Close() error {
	var err error
	f.once.Do(func() {
		f.all.remove(f)
		gone := f.cost != nil && hasNoName(f.f)
		err = guestError(f.f.Close())
		f.all.quota.letGo(f.cost, gone)
		if !f.free {
			f.all.quota.closed()
		}
	})
	return err
}

func (f *File) readable() error {
	switch {
	case f.dir:
		return errIsDir
	case !f.read:
		return fs.ErrPermission
	}
	return nil
}

func (f *File) writable() error {
	switch {
	case f.dir:
		return errIsDir
	case !f.write:
		return fs.ErrPermission
	}
	return nil
}
