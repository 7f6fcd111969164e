package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// isolatedModule loads a module whose guests run in another process.
func isolatedModule(t testing.TB, e *Engine, src Source, change ...func(*Source)) *Module {
	t.Helper()
	return load(t, e, src, append(change, func(s *Source) { s.Isolated = true })...)
}

// takenOverName begins the name of a process that a guest has taken over: it is one
// of this test, and says to its parent what the rest of the name tells it to.
const takenOverName = "taken-over:"

func takenOver() {
	what, ok := strings.CutPrefix(os.Args[0], takenOverName)
	if !ok {
		return
	}
	t := &robber{in: bufio.NewReader(os.Stdin), out: &sender{w: os.Stdout}}
	if len(os.Args) == 3 {
		must(io.WriteString(os.Stdout, workerGreeting+"\n"))
		must(receive(t.in, maxLoad))
		must(0, t.out.send(&message{Kind: kindReady, Ready: &readiness{Open: "no wall here"}}))
		select {}
	}
	if what == "look" {
		lookAround()
	}
	if what == "neighbours" && os.Args[1] == isolateArg {
		must(0, encloseGuests())
	}
	t.begin()
	robs := t.robs()
	maps.Copy(robs, t.attacks())
	robs[what]()
	os.Exit(0)
}

// robber is in the process that runs guests, without a guest.
type robber struct {
	in    *bufio.Reader
	out   *sender
	got   []byte // all that the parent said before the call began
	call  uint64
	state map[string][]byte // in got it is not as it reads
}

// begin does what such a process does, until it is given a call.
func (t *robber) begin() {
	must(io.WriteString(os.Stdout, workerGreeting+"\n"))
	var heard bytes.Buffer
	in := io.TeeReader(t.in, &heard)
	load, err := receive(in, maxLoad)
	must(load, err)
	must(0, t.out.send(&message{Kind: kindReady, Ready: &readiness{}}))
	m, err := receive(in, maxLoad)
	must(m, err)
	t.call, t.got, t.state = m.Call, heard.Bytes(), m.Begin.State
}

func must(_ any, err error) {
	if err != nil {
		panic(err)
	}
}

func (t *robber) say(m *message) {
	m.Call = t.call
	must(0, t.out.send(m))
}

// ends gives an answer.
func (t *robber) ends(text string) {
	raw, err := json.Marshal(map[string]any{"v": abi.Version, "content": []abi.Content{{Type: "text", Text: text}}})
	must(raw, err)
	t.say(&message{Kind: kindDone, Done: &callEnd{}, body: raw})
	_, _ = io.Copy(io.Discard, t.in) // until the parent ends it
}

// ask is at a door.
func (t *robber) ask(o doorOrder, body []byte) (*doorReply, []byte) {
	t.say(&message{Kind: kindDoor, Door: &o, body: body})
	m, err := receive(t.in, maxLoad)
	must(m, err)
	return m.Reply, m.body
}

// robs are what it tries.
func (t *robber) robs() map[string]func() {
	return map[string]func(){
		"files": t.files,
		"net":   t.net,
		"store": t.store,
		"heard": func() { t.ends(string(t.got) + fmt.Sprintf("%s", t.state)) },
		"large": func() { must(os.Stdout.Write(bytes.Repeat([]byte{0xff}, 64))) },
		"noise": func() { must(os.Stdout.Write(bytes.Repeat([]byte{8, 0, 0, 0, 4, 0, 0, 0, 'x'}, 64))) },
		"exits": func() { os.Exit(7) },
		"mute":  func() { select {} },
		"twice": func() {
			t.say(&message{Kind: kindReady, Ready: &readiness{}})
			t.ends("done")
		},
		"others": func() {
			own := t.call
			for t.call = 1000; t.call < 2000; t.call++ {
				t.say(&message{Kind: kindDone, Done: &callEnd{}})
			}
			t.call = own
			t.ends("done")
		},
		"deaf": func() {
			for range 10_000 {
				t.say(&message{Kind: kindDoor, Door: &doorOrder{Op: doorKVGet, Name: []byte("k")}, body: make([]byte, 10)})
			}
			select {}
		},
		"flood": func() {
			for {
				t.say(&message{Kind: kindLog, Log: &logPiece{Record: true, Level: 99}, body: bytes.Repeat([]byte("\x1b[2J"), 1<<12)})
			}
		},
		"liar": func() {
			end := &callEnd{
				Fault: "\x1b[2Jfault", Message: strings.Repeat("m\n\x1b[2J", 1<<16), Detail: strings.Repeat("d\x1b[2J\n", 1<<16),
				Fuel: -1, Peak: 1 << 62, Kept: 1 << 62, IsKept: true, Lost: 1 << 62, Tail: strings.Repeat("\x1b[2J\n", 1<<16),
				Trace: &traceEnd{Dropped: -1, Calls: slices.Repeat([]HostCall{{Door: "\x1b[2J", Function: strings.Repeat("f\n", 300), Result: strings.Repeat("r\n", 300)}}, 6000)},
			}
			t.say(&message{Kind: kindDone, Done: end, body: bytes.Repeat([]byte("x"), 1<<20)})
			select {}
		},
	}
}

// files tries doors of the file system.
func (t *robber) files() {
	var got []string
	for _, name := range []string{"../outside", "/etc/passwd", "link", "sub/../../outside", "\x00", ""} {
		for n := -1; n < 3; n++ {
			for _, op := range []doorOp{doorOpen, doorStat, doorLstat, doorRemove, doorMkdir, doorRename, doorRmdir} {
				r, _ := t.ask(doorOrder{Op: op, Folder: n, Name: []byte(name), To: []byte("../moved"), Flag: os.O_RDWR | os.O_CREATE}, nil)
				if r.Errno == 0 {
					got = append(got, string(op)+" "+name)
				}
			}
		}
	}
	// What is granted to read is not to write.
	for _, o := range []doorOrder{
		{Op: doorOpen, Name: []byte("in"), Flag: os.O_WRONLY},
		{Op: doorOpen, Name: []byte("new"), Flag: os.O_CREATE | os.O_WRONLY},
		{Op: doorOpen, Name: []byte("in"), Flag: os.O_RDONLY | os.O_TRUNC},
		{Op: doorRemove, Name: []byte("in")},
		{Op: doorRead, File: 12345, N: 1 << 30},
		{Op: "exec", Name: []byte("in")},
	} {
		if r, _ := t.ask(o, nil); r.Errno == 0 {
			got = append(got, string(o.Op)+" "+string(o.Name))
		}
	}
	r, _ := t.ask(doorOrder{Op: doorOpen, Name: []byte("in")}, nil)
	if r.Errno != 0 {
		got = append(got, "what is granted cannot be read")
	}
	for _, o := range []doorOrder{{Op: doorWrite}, {Op: doorWriteAt, Off: -1}, {Op: doorTruncate, Off: -1}, {Op: doorFchtimes}} {
		o.File = r.File
		if r, _ := t.ask(o, []byte("x")); r.Errno == 0 {
			got = append(got, string(o.Op)+" an open file")
		}
	}
	for _, n := range []int{-1, 1 << 40} {
		if _, body := t.ask(doorOrder{Op: doorRead, File: r.File, N: n}, nil); len(body) > maxPiece {
			got = append(got, "a piece is too large")
		}
	}
	t.ends("got: " + strings.Join(got, "; "))
}

// net tries to reach what was not granted.
func (t *robber) net() {
	var got []string
	for _, url := range []string{"http://127.0.0.1:1/", "https://example.com/", "file:///etc/passwd", "http://169.254.169.254/"} {
		r, body := t.ask(doorOrder{Op: doorHTTP, HTTP: &abi.HTTPRequest{URL: url}}, nil)
		if r.HTTP == nil || r.HTTP.Error == nil || !slices.Contains([]string{"denied", "invalid"}, r.HTTP.Error.Code) || len(body) > 0 {
			got = append(got, url)
		}
	}
	r, body := t.ask(doorOrder{Op: doorHTTP}, nil)
	if r.HTTP == nil || r.HTTP.Error == nil || len(body) > 0 {
		got = append(got, "no request")
	}
	t.ends("got: " + strings.Join(got, "; "))
}

// store tries the store of the run.
func (t *robber) store() {
	var got []string
	for _, op := range []doorOp{doorKVGet, doorKVSet, doorKVDelete, doorKVList} {
		for _, o := range []struct {
			name, value []byte
			want        abi.Errno
		}{
			{[]byte("k"), []byte("v"), abi.ErrDenied},
			{bytes.Repeat([]byte("k"), 1<<20), nil, abi.ErrDenied},
		} {
			if r, _ := t.ask(doorOrder{Op: op, Name: o.name}, o.value); r.KV != o.want {
				got = append(got, string(op))
			}
		}
	}
	t.ends("got: " + strings.Join(got, "; "))
}

// robbed loads a module whose process does what name says.
func robbed(t *testing.T, name string, change ...func(*Source)) *Module {
	t.Helper()
	e := newEngine(t)
	e.workers.guests = []string{takenOverName + name, isolateArg}
	named := func(s *Source) { s.Tool = &abi.Tool{Name: "done", InputSchema: json.RawMessage(`{}`)} }
	return isolatedModule(t, e, source(t, "done"), append(change, named)...)
}

// Threat 13: a process that was taken over has the grants of its module at the
// doors of its parent, and nothing more.
func TestThreat13AProcessThatWasTakenOverHasItsGrantsAndNoMore(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "folder")
	for _, err := range []error{
		os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "in"), []byte("in"), 0o600),
		os.WriteFile(filepath.Join(root, "outside"), []byte("outside"), 0o600), os.Symlink("../outside", filepath.Join(folder, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	reading := func(s *Source) { s.Policy.Grants.Read = []policy.Mount{{Host: folder, Guest: "/in"}} }
	for name, change := range map[string][]func(*Source){
		"files": {reading}, "net": {func(s *Source) {
			s.Policy.Grants.HTTP = []policy.HTTPRule{{Scheme: "https", Host: "granted.example", Port: 443}}
		}}, "store": nil,
	} {
		out := robbed(t, name, change...).Call(t.Context(), Call{Tool: "done"})
		// Lstat of the link in the folder shows a link, and the folder itself is there.
		if got := said(out); got != "got: " && got != "got: lstat link" {
			t.Errorf("%s: %q %s %s", name, out.Fault, got, out.Detail)
		}
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 2 {
		t.Errorf("there are %v %v", entries, err)
	}
}

// SEC-1 and NET-11 where a process was taken over: it is told no secret, no path of
// the host and no value that was not granted.
func TestThreat13AProcessThatWasTakenOverWasToldNoSecret(t *testing.T) {
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	folder := t.TempDir()
	t.Setenv("WAGENT_TEST_SECRET", canary)
	m := robbed(t, "heard", knowing(t, site.URL), func(s *Source) {
		s.Policy.Grants.Read = []policy.Mount{{Host: folder, Guest: "/in"}}
		s.Policy.Grants.State = []string{"open"}
		s.Redact = nil // what it was told is to be seen
		s.Policy.Limits.Output = 16 * policy.MiB
	})
	out := m.Call(t.Context(), Call{Tool: "done", State: map[string]json.RawMessage{"open": []byte(`"may see"`), "other": []byte(`"` + canary + `"`)}})
	heard := said(out)
	if !strings.Contains(heard, "may see") || !strings.Contains(heard, "/in") {
		t.Fatalf("%q %.300s %s", out.Fault, heard, out.Detail)
	}
	for _, secret := range []string{canary, folder} {
		if strings.Contains(heard, secret) {
			t.Errorf("it was told %q", secret)
		}
	}
}

// ISO-8: whatever a process says or leaves unsaid, its call ends in time with a
// fault, what is shown of it is bounded and clean, and the host goes on.
func TestISO8AProcessThatWasTakenOverHurtsNobody(t *testing.T) {
	good := load(t, newEngine(t), source(t, "done"), here)
	for name, want := range map[string]Fault{
		"large": FaultInternal, "noise": FaultInternal, "exits": FaultInternal, "twice": FaultInternal, "liar": FaultInternal,
		"mute": FaultTimeout, "deaf": FaultTimeout, "flood": FaultTimeout, "others": FaultInternal,
	} {
		t.Run(name, func(t *testing.T) {
			limit := endless
			if want == FaultTimeout {
				limit = 300 * time.Millisecond
			}
			m := robbed(t, name, within(limit))
			var lines, bytes int
			trace := &Trace{}
			start := time.Now()
			out := m.Call(t.Context(), Call{Tool: "done", Trace: trace, Log: func(_ abi.Level, text string) {
				lines, bytes = lines+1, bytes+len(text)
				if strings.ContainsAny(text, "\x1b\n") {
					t.Errorf("a line of the log is %.100q", text)
				}
			}})
			if took := time.Since(start); took > limit+2*killAfter+overrun {
				t.Errorf("took %v", took)
			}
			if out.Fault != want {
				t.Errorf("got %q %.300s %.300s", out.Fault, said(out), out.Detail)
			}
			checkShown(t, out)
			if int64(bytes) > 2*out.Receipt.LogBytes+1024 || out.Receipt.LogBytes > m.src.Policy.Limits.Logs {
				t.Errorf("%d lines of %d bytes, %d were counted", lines, bytes, out.Receipt.LogBytes)
			}
			if out.Receipt.PeakMemory > m.src.Policy.Limits.Memory || out.Receipt.Fuel < 0 {
				t.Errorf("%+v", out.Receipt)
			}
			if len(trace.Calls) > maxTraced || trace.bytes > maxTracedBytes+4*maxAbout || trace.Dropped < 0 {
				t.Errorf("%d calls are traced", len(trace.Calls))
			}
			for _, c := range trace.Calls {
				if s := c.Door + c.Function + c.About + c.Why + c.Result; len(s) > 5*maxAbout || strings.ContainsAny(s, "\x1b\n") {
					t.Fatalf("the trace has %.100q", s)
				}
			}
			if out := good.Call(t.Context(), Call{}); said(out) != "done" {
				t.Errorf("the next call: %q", out.Fault)
			}
		})
	}
}

// A process whose system shuts it off from nothing is not used unless that is
// allowed; a program that starts none has none.
func TestIsolationIsRefusedWhereItCannotBeHad(t *testing.T) {
	e := newEngine(t)
	src := source(t, "done")
	src.Isolated = true
	e.workers.guests = []string{takenOverName + "look", isolateArg, "open"}
	_, err := e.Load(t.Context(), src)
	var refused *LoadError
	if !errors.As(err, &refused) || refused.Kind != LoadUnsupported || !strings.Contains(err.Error(), "no wall here") {
		t.Errorf("got %v", err)
	}
	e.workers = nil
	if _, err = e.Load(t.Context(), src); !errors.As(err, &refused) || !strings.Contains(err.Error(), "host.Worker") {
		t.Errorf("got %v", err)
	}
}

// The guest of a session lives in the process, and what it kept is lost with that.
func TestASessionKeepsItsGuestInItsProcess(t *testing.T) {
	e := newEngine(t)
	m := isolatedModule(t, e, source(t, "counter"), inSession)
	one, two := begun(t, e), begun(t, e)
	answersIn(t, m, one, "", "don1", "don2")
	answersIn(t, m, two, "", "don1")
	answersIn(t, m, one, "", "don3")
	away := m.speaks.(*isolated)
	away.proc.kill(errors.New("for this test"))
	<-away.proc.ended
	out := askIn(t, m, one, "")
	if said(out) == "don4" || !strings.Contains(said(out)+out.Detail, "lost") {
		t.Errorf("%q %q %s", out.Fault, said(out), out.Detail)
	}
	answersIn(t, m, one, "", "don2")
	two.Close()
	if n := e.SessionGuests(); n != 1 {
		t.Errorf("%d guests", n)
	}
}
