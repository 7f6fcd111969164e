package sandbox

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The doors of a process that runs guests for its parent: each asks the parent and
// waits for its answer, or until the call ends.

// parentCall is a call as the process sees it that runs the guest. It is every door
// of it.
type parentCall struct {
	id      uint64
	out     *sender
	order   *callOrder
	ctx     context.Context // of the guest
	cancel  context.CancelFunc
	replies chan *message // holds one: a guest is at one door at a time
	ended   func(hostfn.HTTPEnd)
}

// open opens the doors that the guest was granted.
func (c *parentCall) open(g *guest) {
	g.parent = c
	if len(g.grants.HTTP) > 0 {
		g.http = c
	}
	if g.grants.KV {
		g.kv = awayStore{c}
	}
}

// ask asks the parent. It returns nil when the call ended first.
func (c *parentCall) ask(o *doorOrder, body []byte) (*doorReply, []byte) {
	if c.ctx.Err() != nil || c.out.send(&message{Kind: kindDoor, Call: c.id, Door: o, body: body}) != nil {
		return nil, nil
	}
	select {
	case m := <-c.replies:
		return m.Reply, m.body
	case <-c.ctx.Done():
		return nil, nil
	}
}

func (c *parentCall) progress(permille int, line string) {
	_ = c.out.send(&message{Kind: kindTold, Call: c.id, Told: &told{permille}, body: []byte(line)}) // the parent has gone: so will this process
}

// Do makes a request.
func (c *parentCall) Do(_ context.Context, req abi.HTTPRequest) abi.HTTPResponse {
	body := req.Body
	req.Body = nil
	r, got := c.ask(&doorOrder{Op: doorHTTP, HTTP: &req}, body)
	if r == nil || r.HTTP == nil {
		return abi.HTTPResponse{Error: &abi.HTTPError{Code: "timeout", Message: "the call has ended"}}
	}
	if c.ended != nil && r.End != nil {
		c.ended(*r.End)
	}
	r.HTTP.Body = got
	return *r.HTTP
}

// Hosts is known to the parent.
func (c *parentCall) Hosts() []string { return nil }

// Watch has each request's end told.
func (c *parentCall) Watch(tell func(hostfn.HTTPEnd)) { c.ended = tell }

// awayStore is the store of a run.
type awayStore struct{ c *parentCall }

func (s awayStore) ask(o *doorOrder, body []byte) ([]byte, abi.Errno) {
	r, got := s.c.ask(o, body)
	if r == nil {
		return nil, abi.ErrTimeout
	}
	return got, r.KV
}

// Get returns a value.
func (s awayStore) Get(key []byte) ([]byte, abi.Errno) {
	return s.ask(&doorOrder{Op: doorKVGet, Name: key}, nil)
}

// Set keeps a value.
func (s awayStore) Set(key, value []byte) abi.Errno {
	_, err := s.ask(&doorOrder{Op: doorKVSet, Name: key}, value)
	return err
}

// Delete forgets a value.
func (s awayStore) Delete(key []byte) abi.Errno {
	_, err := s.ask(&doorOrder{Op: doorKVDelete, Name: key}, nil)
	return err
}

// List returns a page of keys.
func (s awayStore) List(request []byte) ([]byte, abi.Errno) {
	return s.ask(&doorOrder{Op: doorKVList, Name: request}, nil)
}

// mounts are the folders of the guest, numbered as the parent numbers them.
func (c *parentCall) mounts(grants *policy.Grants) []folder {
	var out []folder
	for _, m := range grants.Read {
		out = append(out, awayFolder{c, len(out), m.Guest, false})
	}
	for _, m := range grants.Write {
		out = append(out, awayFolder{c, len(out), m.Guest, true})
	}
	return out
}

// file asks for something about a file or folder.
func (c *parentCall) file(o *doorOrder, body []byte) (*doorReply, []byte, error) {
	r, got := c.ask(o, body)
	switch {
	case r == nil:
		return &doorReply{}, nil, doorError(wasiIntr)
	case r.EOF:
		return r, got, io.EOF
	case r.Errno != 0:
		return r, got, doorError(r.Errno)
	}
	return r, got, nil
}

// awayFolder is a folder that the parent has opened.
type awayFolder struct {
	c        *parentCall
	n        int
	guest    string
	writable bool
}

// GuestPath returns where the guest sees the folder.
func (d awayFolder) GuestPath() string { return d.guest }

// Writable reports whether the folder may be changed.
func (d awayFolder) Writable() bool { return d.writable }

func (d awayFolder) do(o doorOrder) (*doorReply, error) {
	o.Folder = d.n
	r, _, err := d.c.file(&o, nil)
	return r, err
}

func (d awayFolder) stat(op doorOp, name string) (fs.FileInfo, error) {
	r, err := d.do(doorOrder{Op: op, Name: []byte(name)})
	return infoOf(r, err)
}

// Stat describes a file or directory, links followed.
func (d awayFolder) Stat(name string) (fs.FileInfo, error) { return d.stat(doorStat, name) }

// Lstat describes a file, directory or link.
func (d awayFolder) Lstat(name string) (fs.FileInfo, error) { return d.stat(doorLstat, name) }

// Mkdir makes a directory.
func (d awayFolder) Mkdir(name string, perm fs.FileMode) error {
	_, err := d.do(doorOrder{Op: doorMkdir, Name: []byte(name), Perm: perm})
	return err
}

// Remove removes a file or a link.
func (d awayFolder) Remove(name string) error {
	_, err := d.do(doorOrder{Op: doorRemove, Name: []byte(name)})
	return err
}

// Rmdir removes an empty directory.
func (d awayFolder) Rmdir(name string) error {
	_, err := d.do(doorOrder{Op: doorRmdir, Name: []byte(name)})
	return err
}

// Rename moves a file or directory.
func (d awayFolder) Rename(from, to string) error {
	_, err := d.do(doorOrder{Op: doorRename, Name: []byte(from), To: []byte(to)})
	return err
}

// Chtimes sets the times of a file or directory.
func (d awayFolder) Chtimes(name string, atime, mtime time.Time) error {
	_, err := d.do(doorOrder{Op: doorChtimes, Name: []byte(name), Times: [2]time.Time{atime, mtime}})
	return err
}

// OpenFile opens a file.
func (d awayFolder) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	r, err := d.do(doorOrder{Op: doorOpen, Name: []byte(name), Flag: flag, Perm: perm})
	if err != nil {
		return nil, err
	}
	return awayFile{d.c, r.File}, nil
}

// awayFile is a file that the parent has opened.
type awayFile struct {
	c  *parentCall
	id uint32
}

func (f awayFile) do(o doorOrder, body []byte) (*doorReply, []byte, error) {
	o.File = f.id
	return f.c.file(&o, body)
}

func (f awayFile) read(o doorOrder, p []byte) (int, error) {
	o.N = min(len(p), maxPiece)
	_, got, err := f.do(o, nil)
	return copy(p, got), err
}

// Read reads from the offset.
func (f awayFile) Read(p []byte) (int, error) { return f.read(doorOrder{Op: doorRead}, p) }

// ReadAt reads from off.
func (f awayFile) ReadAt(p []byte, off int64) (int, error) {
	return f.read(doorOrder{Op: doorReadAt, Off: off}, p)
}

func (f awayFile) write(o doorOrder, p []byte) (int, error) {
	r, _, err := f.do(o, p[:min(len(p), maxPiece)])
	return int(min(max(r.N, 0), int64(len(p)))), err
}

// Write writes at the offset.
func (f awayFile) Write(p []byte) (int, error) { return f.write(doorOrder{Op: doorWrite}, p) }

// WriteAt writes at off.
func (f awayFile) WriteAt(p []byte, off int64) (int, error) {
	return f.write(doorOrder{Op: doorWriteAt, Off: off}, p)
}

// Truncate sets the size.
func (f awayFile) Truncate(size int64) error {
	_, _, err := f.do(doorOrder{Op: doorTruncate, Off: size}, nil)
	return err
}

// Seek sets the offset.
func (f awayFile) Seek(offset int64, whence int) (int64, error) {
	r, _, err := f.do(doorOrder{Op: doorSeek, Off: offset, N: whence}, nil)
	return r.N, err
}

// Stat describes the file.
func (f awayFile) Stat() (fs.FileInfo, error) {
	r, _, err := f.do(doorOrder{Op: doorFstat}, nil)
	return infoOf(r, err)
}

// ReadDir returns the next entries of a directory.
func (f awayFile) ReadDir(n int) ([]hostfn.Entry, error) {
	r, _, err := f.do(doorOrder{Op: doorReadDir, N: n}, nil)
	out := make([]hostfn.Entry, len(r.Entries))
	for i, e := range r.Entries {
		out[i] = hostfn.Entry{Name: string(e.Name), Type: e.Type}
	}
	return out, err
}

// Sync has what was written put on the disk.
func (f awayFile) Sync() error {
	_, _, err := f.do(doorOrder{Op: doorSync}, nil)
	return err
}

// Close closes the file.
func (f awayFile) Close() error {
	_, _, err := f.do(doorOrder{Op: doorClose}, nil)
	return err
}

// Chtimes sets the times of the file if it still has that name.
func (f awayFile) Chtimes(name string, atime, mtime time.Time) error {
	_, _, err := f.do(doorOrder{Op: doorFchtimes, Name: []byte(name), Times: [2]time.Time{atime, mtime}}, nil)
	return err
}

// awayInfo describes a file of the parent. [sys.NewStat_t] takes its Sys as it is.
type awayInfo struct{ st sys.Stat_t }

func infoOf(r *doorReply, err error) (fs.FileInfo, error) {
	switch {
	case err != nil:
		return nil, err
	case r.Stat == nil:
		return nil, doorError(wasiIO)
	}
	return awayInfo{*r.Stat}, nil
}

func (i awayInfo) Name() string       { return "" }
func (i awayInfo) Size() int64        { return i.st.Size }
func (i awayInfo) Mode() fs.FileMode  { return i.st.Mode }
func (i awayInfo) ModTime() time.Time { return time.Unix(0, i.st.Mtim) }
func (i awayInfo) IsDir() bool        { return i.st.Mode.IsDir() }
func (i awayInfo) Sys() any           { return &i.st }

// awayLog keeps what the guest prints as every sink does, and passes it on to the
// parent, which counts for itself. What is over the limit it counts only: a flood
// would hold up the pipe.
type awayLog struct {
	logSink
	c    *parentCall
	full bool
	lost int64 // lines that were passed on and dropped
}

// pass passes on a text while there is room.
func (l *awayLog) pass(what logPiece, text []byte, take func()) {
	if !l.full {
		_ = l.c.out.send(&message{Kind: kindLog, Call: l.c.id, Log: &what, body: text}) // see progress
	}
	take()
	if !l.full && l.Cut() {
		l.full, l.lost = true, l.Lost()
	}
}

// kept is how many lines were dropped that the parent does not know of.
func (l *awayLog) kept() int64 { return max(l.Lost()-l.lost, 0) }

// Write passes on a piece of a stream.
func (l *awayLog) Write(p []byte) (n int, err error) {
	l.pass(logPiece{}, p, func() { n, err = l.logSink.Write(p) })
	return n, err
}

// Line passes on a record.
func (l *awayLog) Line(level abi.Level, text string) {
	l.pass(logPiece{Record: true, Level: level}, []byte(text), func() { l.logSink.Line(level, text) })
}
