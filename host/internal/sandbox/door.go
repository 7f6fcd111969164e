package sandbox

import (
	"context"
	"io/fs"
	"time"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// What a guest reaches of the world outside of itself is behind the interfaces of
// this file. In this process hostfn opens the doors; in one that runs guests for
// its parent, and can reach nothing, the parent does.

// httpDoor makes the requests of one call; see [hostfn.HTTPSession].
type httpDoor interface {
	Do(ctx context.Context, req abi.HTTPRequest) abi.HTTPResponse
	Hosts() []string
	Watch(tell func(hostfn.HTTPEnd))
}

// store keeps values for the calls of a run; see [hostfn.KV].
type store interface {
	Get(key []byte) ([]byte, abi.Errno)
	Set(key, value []byte) abi.Errno
	Delete(key []byte) abi.Errno
	List(request []byte) ([]byte, abi.Errno)
}

// logSink takes what the guest prints and logs; see [hostfn.LogSink].
type logSink interface {
	Write(p []byte) (int, error)
	Line(level abi.Level, message string)
	Hide(values *redact.Set)
	Flush()
	Tail() string
	Bytes() int64
	Cut() bool
	Lost() int64
	Drop(lines int64, tail string)
}

// folder is a granted folder; see [hostfn.Folder].
type folder interface {
	GuestPath() string
	Writable() bool
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	Mkdir(name string, perm fs.FileMode) error
	Remove(name string) error
	Rmdir(name string) error
	Rename(from, to string) error
	Chtimes(name string, atime, mtime time.Time) error
	// OpenFile opens a file as [hostfn.Folder.OpenFile] does.
	OpenFile(name string, flag int, perm fs.FileMode) (file, error)
}

// file is an open file or directory of a folder; see [hostfn.File].
type file interface {
	Read(p []byte) (int, error)
	ReadAt(p []byte, off int64) (int, error)
	Write(p []byte) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
	Stat() (fs.FileInfo, error)
	ReadDir(n int) ([]hostfn.Entry, error)
	Sync() error
	Close() error
	// Chtimes sets the times of the file if it still has that name.
	Chtimes(name string, atime, mtime time.Time) error
}

// localFolder is a folder that this process has opened.
type localFolder struct{ *hostfn.Folder }

// OpenFile opens a file.
func (d localFolder) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := d.Folder.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return localFile{f, d}, nil
}

// localFile is a file that this process has opened.
type localFile struct {
	*hostfn.File
	in localFolder
}

// Chtimes goes by the name, as hostfn has nothing else.
func (f localFile) Chtimes(name string, atime, mtime time.Time) error {
	return f.in.ChtimesOf(f.File, name, atime, mtime)
}

// mounts are the folders that a call was granted.
func (g *guest) mounts() []folder {
	if g.parent != nil {
		return g.parent.mounts(&g.grants)
	}
	if g.folders == nil {
		return nil
	}
	var out []folder
	for _, f := range g.folders.Mounts() {
		out = append(out, localFolder{f})
	}
	return out
}
