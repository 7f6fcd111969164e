package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Attack: a process that a guest has taken over says whatever hurts its parent: a
// message of gigabytes, one for another call, a thousand at once.
//
// What both say to each other is one message after the other: its length and that
// of its head, four bytes each, the head as JSON, and bytes that the head is about.
// A parent takes no message that is larger than the limits of its module allow, and
// of its head nothing that becomes much larger when it is read.

// message is one message. Kind says which of its parts is there.
type message struct {
	Kind  messageKind
	Call  uint64     `json:",omitempty"` // that it belongs to
	Load  *loadOrder `json:",omitempty"`
	Begin *callOrder `json:",omitempty"`
	Ready *readiness `json:",omitempty"`
	Door  *doorOrder `json:",omitempty"`
	Reply *doorReply `json:",omitempty"`
	Done  *callEnd   `json:",omitempty"`
	Log   *logPiece  `json:",omitempty"`
	Told  *told      `json:",omitempty"`
	Keep  uint64     `json:",omitempty"` // guest of a session

	body []byte
}

type messageKind string

const (
	kindLoad   messageKind = "load"   // to the worker: the module
	kindReady  messageKind = "ready"  // from it: it was loaded
	kindCall   messageKind = "call"   // to it: begin a call
	kindCancel messageKind = "cancel" // to it: end a call
	kindForget messageKind = "forget" // to it: throw away the guest of a session
	kindReply  messageKind = "reply"  // to it: what a door answered
	kindDoor   messageKind = "door"   // from it: the guest is at a door
	kindLog    messageKind = "log"    // from it: the guest printed or logPiece
	kindTold   messageKind = "told"   // from it: how far the guest is
	kindDone   messageKind = "done"   // from it: a call has ended
)

// loadOrder is a module and the terms on which it runs; the code that was
// rewritten and the memory that it starts with follow.
type loadOrder struct {
	Name    string
	ABI     ABI
	Export  string          `json:",omitempty"`
	Text    bool            `json:",omitempty"`
	Role    string          `json:",omitempty"`
	Config  json.RawMessage `json:",omitempty"`
	Policy  policy.Policy
	Info    Info // as far as an ABI wants to know
	Mutable []wasmbin.MutableGlobal
	Exact   bool
	FromGo  bool
	Tables  int64 // bytes

	Code   int  // bytes of the code
	Memory int  // bytes that the memory has at the start; those that follow begin it
	Cached bool // the code is in the folder where the worker was started
	Calls  int  // that may run at once
	Weak   bool // go on where the system has no walls
}

// readiness is what a worker says of itself. The module was loaded if Refused is
// empty and it is shut off, or may go on without.
type readiness struct {
	Refused string `json:",omitempty"`
	Open    string `json:",omitempty"` // why it is not shut off from something
}

// callOrder begins a call; the input follows. It describes the module if Describe
// is set.
type callOrder struct {
	Describe bool `json:",omitempty"`
	Tool     string
	Left     time.Duration // until its deadline
	Output   int64         // bytes of the answer
	Fuel     int64
	State    map[string][]byte `json:",omitempty"` // JSON, as it is
	Progress bool              `json:",omitempty"` // somebody is told
	Trace    bool              `json:",omitempty"`
	Probe    bool              `json:",omitempty"`
	Keep     uint64            `json:",omitempty"` // guest of a session; 0: none
}

// callEnd is how a call ended; the answer follows.
type callEnd struct {
	Fault   Fault        `json:",omitempty"`
	Message string       `json:",omitempty"`
	Detail  string       `json:",omitempty"`
	Said    *plainAnswer `json:",omitempty"` // where the ABI itself tells success from failure
	Fuel    int64        `json:",omitempty"`
	Peak    int64        `json:",omitempty"`
	Kept    int64        `json:",omitempty"` // bytes of the guest that is kept
	IsKept  bool         `json:",omitempty"`
	Lost    int64        `json:",omitempty"` // lines that were not passed on
	Tail    string       `json:",omitempty"` // of what was not
	Trace   *traceEnd    `json:",omitempty"`
}

// plainAnswer is an answer that is one text. A program and a plugin have no other.
// The text is what follows the answer itself, or that if Same is set.
type plainAnswer struct {
	Same   bool `json:",omitempty"`
	Text   int  `json:",omitempty"` // bytes
	Failed bool `json:",omitempty"`
}

// say adds the text of an answer to what is sent of it.
func (p *plainAnswer) say(text string, raw []byte) []byte {
	if p.Same = text == cleanText(string(raw)); p.Same {
		return raw
	}
	p.Text = len(text)
	return append(raw[:len(raw):len(raw)], text...)
}

// split takes the text of an answer from what was sent of it.
func (p *plainAnswer) split(sent []byte) (text string, raw []byte) {
	if p.Same {
		return string(sent), sent
	}
	at := len(sent) - min(max(p.Text, 0), len(sent))
	return string(sent[at:]), sent[:at]
}

// traceEnd is what a trace has recorded.
type traceEnd struct {
	Calls   []HostCall
	Dropped int
	Kernel  int
	Needs   []Need
	Environ bool
}

// UnmarshalJSON takes no more than a trace may have: an empty call is two bytes, and
// fifty times as many when it was read.
func (t *traceEnd) UnmarshalJSON(b []byte) error {
	var raw struct {
		Calls, Needs    json.RawMessage
		Dropped, Kernel int
		Environ         bool
	}
	err := json.Unmarshal(b, &raw)
	if err == nil {
		t.Calls, err = firstOf[HostCall](raw.Calls, maxTraced)
	}
	if err == nil {
		t.Needs, err = firstOf[Need](raw.Needs, maxNeeds)
	}
	t.Dropped, t.Kernel, t.Environ = raw.Dropped, raw.Kernel, raw.Environ
	return err
}

// firstOf are the first elements of a list, at most most.
func firstOf[T any](list json.RawMessage, most int) (out []T, _ error) {
	if len(list) == 0 || list[0] != '[' {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for len(out) < most && d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// logPiece is a record of the log, or a piece of a stream if it is none. The text
// follows.
type logPiece struct {
	Record bool      `json:",omitempty"`
	Level  abi.Level `json:",omitempty"`
}

// told is how far a guest is; the line follows.
type told struct{ Permille int }

// doorOrder is what a guest wants of a door; bytes to write follow.
type doorOrder struct {
	Op     doorOp
	Folder int              `json:",omitempty"`
	File   uint32           `json:",omitempty"`
	Name   []byte           `json:",omitempty"`
	To     []byte           `json:",omitempty"`
	Flag   int              `json:",omitempty"`
	Perm   fs.FileMode      `json:",omitempty"`
	N      int              `json:",omitempty"`
	Off    int64            `json:",omitempty"`
	Times  [2]time.Time     `json:",omitzero"`
	HTTP   *abi.HTTPRequest `json:",omitempty"` // without its body
}

type doorOp string

const (
	doorHTTP     doorOp = "http"
	doorKVGet    doorOp = "kv_get"
	doorKVSet    doorOp = "kv_set"
	doorKVDelete doorOp = "kv_delete"
	doorKVList   doorOp = "kv_list"
	doorStat     doorOp = "stat"
	doorLstat    doorOp = "lstat"
	doorMkdir    doorOp = "mkdir"
	doorRemove   doorOp = "remove"
	doorRmdir    doorOp = "rmdir"
	doorRename   doorOp = "rename"
	doorChtimes  doorOp = "chtimes"
	doorOpen     doorOp = "open"
	doorRead     doorOp = "read"
	doorReadAt   doorOp = "read_at"
	doorWrite    doorOp = "write"
	doorWriteAt  doorOp = "write_at"
	doorTruncate doorOp = "truncate"
	doorSeek     doorOp = "seek"
	doorFstat    doorOp = "fstat"
	doorReadDir  doorOp = "read_dir"
	doorSync     doorOp = "sync"
	doorClose    doorOp = "close"
	doorFchtimes doorOp = "fchtimes"
)

// doorReply is what a door answered; bytes that were read follow.
type doorReply struct {
	Errno   errno             `json:",omitempty"` // of a file
	EOF     bool              `json:",omitempty"`
	KV      abi.Errno         `json:",omitempty"` // of the store
	File    uint32            `json:",omitempty"`
	N       int64             `json:",omitempty"`
	Stat    *sys.Stat_t       `json:",omitempty"`
	Entries []awayEntry       `json:",omitempty"`
	HTTP    *abi.HTTPResponse `json:",omitempty"` // without its body
	End     *hostfn.HTTPEnd   `json:",omitempty"`
}

// awayEntry is an entry of a directory. Its name may be any bytes.
type awayEntry struct {
	Name []byte
	Type fs.FileMode
}

// doorError is an answer of the parent.
type doorError errno

// Error says which.
func (e doorError) Error() string { return fmt.Sprintf("errno %d", uint32(e)) }

var errTooLong = errors.New("a message is longer than it may be")

// sender writes messages. Its methods may be called by several goroutines.
type sender struct {
	mu sync.Mutex
	w  io.Writer
}

// send writes a message and blocks until all of it was taken.
func (s *sender) send(m *message) error {
	head, err := json.Marshal(m)
	if err != nil {
		return err
	}
	buf := make([]byte, 8, 8+len(head)+len(m.body))
	binary.LittleEndian.PutUint32(buf, uint32(len(head)+len(m.body)))
	binary.LittleEndian.PutUint32(buf[4:], uint32(len(head)))
	buf = append(append(buf, head...), m.body...)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.w.Write(buf)
	return err
}

// receive reads a message of at most most bytes. io.EOF says that there are no
// more.
func receive(r io.Reader, most int64) (*message, error) {
	head, body, err := receiveRaw(r, most)
	if err != nil {
		return nil, err
	}
	m := &message{body: body}
	return m, json.Unmarshal(head, m)
}

// hear receives a message of a process that runs guests: what else its head has than
// such a process says is not read.
func hear(r io.Reader, most int64) (*message, error) {
	head, body, err := receiveRaw(r, most)
	if err != nil {
		return nil, err
	}
	var said struct {
		Kind  messageKind
		Call  uint64
		Ready *readiness
		Door  *doorOrder
		Done  *callEnd
		Log   *logPiece
		Told  *told
	}
	if err := json.Unmarshal(head, &said); err != nil {
		return nil, err
	}
	return &message{Kind: said.Kind, Call: said.Call, Ready: said.Ready, Door: said.Door, Done: said.Done, Log: said.Log, Told: said.Told, body: body}, nil
}

// receiveRaw reads the head and the body of a message.
func receiveRaw(r io.Reader, most int64) (head, body []byte, _ error) {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, nil, err
	}
	all, first := int64(binary.LittleEndian.Uint32(length[:])), int64(binary.LittleEndian.Uint32(length[4:]))
	if all > most || first > all {
		return nil, nil, errTooLong
	}
	buf := make([]byte, all)
	_, err := io.ReadFull(r, buf)
	return buf[:first], buf[first:], err
}
