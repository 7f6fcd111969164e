package sandbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// doorman opens the doors of one call to a process that runs its guest. What it is
// told may be the words of whoever has taken over that process: it does what the
// grants of the call allow and nothing else.
type doorman struct {
	g     *guest
	files map[uint32]file
	last  uint32
	asked int // questions at doors
}

// maxAsked is how many questions a guest can ask: what asks more is none.
const maxAsked = maxHostCalls + maxSystemCalls

// serve does what a message asks for. The error is that the process is not to be
// listened to any more.
func (d *doorman) serve(p *guestProcess, m *message) error {
	switch {
	case m.Kind == kindLog && m.Log != nil:
		d.log(m.Log, m.body)
	case m.Kind == kindTold && m.Told != nil:
		d.g.tell(m.Told.Permille, string(m.body[:min(len(m.body), 4*maxProgress)]))
	case m.Kind == kindDoor && m.Door != nil:
		if d.asked++; d.asked > maxAsked {
			return errMeddled
		}
		r, body := d.open(m.Door, m.body)
		return p.out.send(&message{Kind: kindReply, Call: m.Call, Reply: r, body: body})
	default:
		return errMeddled
	}
	return nil
}

func (d *doorman) log(l *logPiece, text []byte) {
	if d.g.ctx.Err() != nil {
		return
	}
	if l.Record {
		d.g.sink.Line(nearestLevel(int32(l.Level)), string(text))
		return
	}
	_, _ = d.g.sink.Write(text) // a sink takes all
}

// open does what the guest wants of a door.
func (d *doorman) open(o *doorOrder, body []byte) (*doorReply, []byte) {
	switch o.Op {
	case doorHTTP:
		return d.http(o, body)
	case doorKVGet, doorKVSet, doorKVDelete, doorKVList:
		return d.store(o, body)
	}
	r := &doorReply{}
	got, err := d.file(o, body, r)
	switch {
	case errors.Is(err, io.EOF):
		r.EOF = true
	case err != nil:
		r.Errno = errnoOf(err)
	}
	return r, got
}

func (d *doorman) http(o *doorOrder, body []byte) (*doorReply, []byte) {
	if d.g.http == nil || o.HTTP == nil {
		return &doorReply{HTTP: &abi.HTTPResponse{Error: &abi.HTTPError{Code: "denied", Message: "no grant covers it"}}}, nil
	}
	req := *o.HTTP
	req.Body = body
	if len(body) == 0 {
		req.Body = nil
	}
	var end *hostfn.HTTPEnd
	if t := d.g.trace; t != nil {
		t.http = nil
	}
	resp := d.g.http.Do(d.g.ctx, req)
	if t := d.g.trace; t != nil {
		end = t.http
	}
	got := resp.Body
	resp.Body = nil
	return &doorReply{HTTP: &resp, End: end}, got
}

func (d *doorman) store(o *doorOrder, body []byte) (*doorReply, []byte) {
	kv := d.g.kv
	var got []byte
	var err abi.Errno
	switch {
	case kv == nil:
		err = abi.ErrDenied
	case len(o.Name) > 2*abi.MaxKVKey+1 || int64(len(body)) > min(abi.MaxKVValue, d.g.limits.KV):
		err = abi.ErrTooLarge
	case o.Op == doorKVGet:
		got, err = kv.Get(o.Name)
	case o.Op == doorKVSet:
		err = kv.Set(o.Name, bytes.Clone(body)) // which is part of a message that may be much larger
	case o.Op == doorKVDelete:
		err = kv.Delete(o.Name)
	default:
		got, err = kv.List(o.Name)
	}
	return &doorReply{KV: err}, got
}

// file does something with a folder or an open file, and says what came of it in r.
func (d *doorman) file(o *doorOrder, body []byte, r *doorReply) ([]byte, error) {
	mounts := d.g.mounts()
	if o.File != 0 {
		f := d.files[o.File]
		if f == nil {
			return nil, doorError(wasiBadf)
		}
		return d.opened(f, o, body, r)
	}
	if o.Folder < 0 || o.Folder >= len(mounts) {
		return nil, doorError(wasiBadf)
	}
	return nil, d.folder(mounts[o.Folder], o, r)
}

func (d *doorman) folder(in folder, o *doorOrder, r *doorReply) (err error) {
	name := string(o.Name)
	switch o.Op {
	case doorStat:
		r.Stat, err = statOf(in.Stat(name))
	case doorLstat:
		r.Stat, err = statOf(in.Lstat(name))
	case doorMkdir:
		err = in.Mkdir(name, o.Perm)
	case doorRemove:
		err = in.Remove(name)
	case doorRmdir:
		err = in.Rmdir(name)
	case doorRename:
		err = in.Rename(name, string(o.To))
	case doorChtimes:
		err = in.Chtimes(name, o.Times[0], o.Times[1])
	case doorOpen:
		var f file
		if f, err = in.OpenFile(name, o.Flag, o.Perm); err == nil {
			d.last++
			d.files[d.last] = f
			r.File = d.last
		}
	default:
		err = doorError(wasiNosys)
	}
	return err
}

func (d *doorman) opened(f file, o *doorOrder, body []byte, r *doorReply) ([]byte, error) {
	switch o.Op {
	case doorRead, doorReadAt:
		return read(f, o)
	case doorWrite:
		n, err := f.Write(body)
		r.N = int64(n)
		return nil, err
	case doorWriteAt:
		n, err := f.WriteAt(body, o.Off)
		r.N = int64(n)
		return nil, err
	case doorSeek:
		var err error
		r.N, err = f.Seek(o.Off, o.N)
		return nil, err
	case doorFstat:
		var err error
		r.Stat, err = statOf(f.Stat())
		return nil, err
	case doorReadDir:
		page, err := f.ReadDir(o.N)
		for _, e := range page {
			r.Entries = append(r.Entries, awayEntry{[]byte(e.Name), e.Type})
		}
		return nil, err
	case doorTruncate:
		return nil, f.Truncate(o.Off)
	case doorSync:
		return nil, f.Sync()
	case doorFchtimes:
		return nil, f.Chtimes(string(o.Name), o.Times[0], o.Times[1])
	case doorClose:
		delete(d.files, o.File)
		return nil, f.Close()
	}
	return nil, doorError(wasiNosys)
}

func read(f file, o *doorOrder) (_ []byte, err error) {
	buf := make([]byte, min(max(o.N, 0), maxPiece))
	n := 0
	if o.Op == doorRead {
		n, err = f.Read(buf)
	} else {
		n, err = f.ReadAt(buf, o.Off)
	}
	return buf[:n], err
}

// statOf is what is told of a file. The number of its device is not.
func statOf(info fs.FileInfo, err error) (*sys.Stat_t, error) {
	if err != nil {
		return nil, err
	}
	st := sys.NewStat_t(info)
	st.Dev = 0
	return &st, nil
}
