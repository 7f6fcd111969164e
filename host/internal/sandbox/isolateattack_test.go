package sandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// attacks are what a process tries that was taken over, beside robs.
func (t *robber) attacks() map[string]func() {
	return map[string]func(){
		"hoard": t.hoard,
		"neighbours": func() {
			var got []string
			for _, dir := range []string{".", os.TempDir(), "/tmp"} {
				if entries, err := os.ReadDir(dir); err == nil && (dir != "." || len(entries) > 0) && !isOwn(dir) {
					got = append(got, dir)
				}
			}
			t.ends("got: " + strings.Join(got, "; "))
		},
		"dies at a door": func() {
			t.say(&message{Kind: kindDoor, Door: &doorOrder{Op: doorHTTP, HTTP: &abi.HTTPRequest{URL: string(t.config())}}})
			m, err := receive(t.in, maxLoad) // of a second call
			must(m, err)
			os.Exit(7)
		},
		"talks on": func() {
			raw, err := json.Marshal(map[string]any{"v": abi.Version, "content": []abi.Content{{Type: "text", Text: "done"}}})
			must(raw, err)
			t.say(&message{Kind: kindDone, Done: &callEnd{}, body: raw})
			for {
				t.say(&message{Kind: kindLog, Log: &logPiece{}, body: []byte("and")})
			}
		},
		"overflow": func() {
			const most = 1<<63 - 1
			t.say(&message{Kind: kindDone, Done: &callEnd{
				Fault: FaultTrap, Fuel: most, Peak: most, Lost: most,
				Trace: &traceEnd{Dropped: most, Kernel: most, Calls: make([]HostCall, 5000)},
			}})
			select {}
		},
		"blow up": func() {
			head := `{"Kind":"done","Call":` + fmt.Sprint(t.call) + `,"Done":{"Fault":"trap","Trace":{"Calls":[{}` + strings.Repeat(",{}", 4<<20) + `]}}}`
			t.write([]byte(head))
			select {}
		},
	}
}

// config is the module's configuration: by that a test tells it something.
func (t *robber) config() []byte {
	m, err := receive(bytes.NewReader(t.got), maxLoad)
	must(m, err)
	var s string
	must(0, json.Unmarshal(m.Load.Config, &s))
	return []byte(s)
}

// write writes a message that has this head.
func (t *robber) write(head []byte) {
	var length [8]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(head)))
	binary.LittleEndian.PutUint32(length[4:], uint32(len(head)))
	must(os.Stdout.Write(append(length[:], head...)))
}

// isOwn says that a folder is that of the process itself in /proc.
func isOwn(dir string) bool {
	a, err := os.Stat(dir)
	must(a, err)
	b, err := os.Stat("/proc/self")
	return err == nil && os.SameFile(a, b)
}

// hoard stores values of one byte, each in a message of many.
func (t *robber) hoard() {
	for n := range 64 {
		head, err := json.Marshal(&message{Kind: kindDoor, Call: t.call, Door: &doorOrder{Op: doorKVSet, Name: fmt.Appendf(nil, "key %d", n)}})
		must(head, err)
		head = append(head, bytes.Repeat([]byte(" "), 4<<20)...)
		var length [8]byte
		binary.LittleEndian.PutUint32(length[:], uint32(len(head)+1))
		binary.LittleEndian.PutUint32(length[4:], uint32(len(head)))
		must(os.Stdout.Write(append(append(length[:], head...), 'v')))
		m, err := receive(t.in, maxLoad)
		must(m, err)
	}
	t.ends("done")
}

// Threat 4: what a process has stored takes no more memory here than is counted.
func TestThreat13AProcessCannotHoardMemoryOfItsParent(t *testing.T) {
	storing := func(s *Source) { s.Policy.Grants.KV = true }
	m := robbed(t, "hoard", inSession, storing, within(4*endless)) // 256 MB go through a pipe, and the race detector looks at each byte
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := begun(t, m.engine)
	if out := askIn(t, m, s, "done"); said(out) != "done" {
		t.Fatalf("%q %s %s", out.Fault, said(out), out.Detail)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if more := int64(after.HeapAlloc) - int64(before.HeapAlloc); more > 64<<20 {
		t.Errorf("64 values of one byte take %d bytes", more)
	}
}

// ISO-8: without a cache a process has no folder to read.
func TestISO8WithoutACacheAProcessHasNoFolder(t *testing.T) {
	e := newEngineAt(t, Options{WeakIsolation: true})
	e.workers.guests = []string{takenOverName + "neighbours", isolateArg}
	m := isolatedModule(t, e, source(t, "done"), func(s *Source) { s.Tool = &abi.Tool{Name: "done", InputSchema: json.RawMessage(`{}`)} })
	if out := m.Call(t.Context(), Call{Tool: "done"}); said(out) != "got: " {
		t.Errorf("%q %s %s", out.Fault, said(out), out.Detail)
	}
	e = newEngineAt(t, Options{})
	m = isolatedModule(t, e, source(t, "done"))
	if out := m.Call(t.Context(), Call{}); said(out) != "done" {
		t.Errorf("%q %s %s", out.Fault, said(out), out.Detail)
	}
}

// ISO-8: the cache may be removed at any time, also between two processes.
func TestISO8AProcessBeginsWhereTheCacheWasSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	m := isolatedModule(t, newEngineAt(t, Options{CacheDir: dir}), source(t, "done"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if out := m.Call(t.Context(), Call{}); said(out) != "done" {
			t.Fatalf("%q %s %s", out.Fault, said(out), out.Detail)
		}
		away := m.speaks.(*isolated).proc
		away.kill(errors.New("for this test"))
		<-away.ended
	}
}

// ISO-8: a call that waits at a door ends with its process, and keeps nobody from
// beginning another one.
func TestISO8ACallAtADoorEndsWithItsProcess(t *testing.T) {
	asked := make(chan struct{}, 8)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(site.Close)
	config, err := json.Marshal(site.URL)
	if err != nil {
		t.Fatal(err)
	}
	m := robbed(t, "dies at a door", grantOf(t, site.URL), within(endless), func(s *Source) { s.Config = config })
	outs := make(chan Outcome, 2)
	go func() { outs <- m.Call(t.Context(), Call{Tool: "done"}) }()
	<-asked
	start := time.Now()
	go func() { outs <- m.Call(t.Context(), Call{Tool: "done"}) }()
	for range 2 {
		if out := <-outs; out.Fault != FaultInternal || !strings.Contains(said(out), "process") {
			t.Errorf("%q %s", out.Fault, said(out))
		}
	}
	if took := time.Since(start); took > endless/2 {
		t.Errorf("took %v", took)
	}
}

// ISO-8: a session's guest that went with its process while the call waited for its
// turn is told to be lost, too.
func TestISO8AGuestThatIsLostWhileItsCallWaitsIsToldToBeLost(t *testing.T) {
	e := newEngine(t)
	m := isolatedModule(t, e, source(t, "counter"), inSession)
	s := begun(t, e)
	answersIn(t, m, s, "", "don1", "don2")
	away := m.speaks.(*isolated)
	for range callsAtOnce {
		away.atOnce <- struct{}{}
	}
	outs := make(chan Outcome)
	go func() { outs <- askIn(t, m, s, "") }()
	inside(m)
	p := away.proc
	p.kill(errors.New("for this test"))
	<-p.ended
	for range callsAtOnce {
		<-away.atOnce
	}
	if out := <-outs; !strings.Contains(said(out)+out.Detail, "lost") {
		t.Errorf("%q %q %s", out.Fault, said(out), out.Detail)
	}
	if n := e.SessionGuests(); n != 1 {
		t.Errorf("%d guests", n)
	}
}

// ISO-8: to end a process that has ended long ago hurts none that has its number by
// then.
func TestISO8NoOtherProcessIsEndedInPlaceOfOneThatHasEnded(t *testing.T) {
	m := isolatedModule(t, newEngine(t), source(t, "done"))
	p := m.speaks.(*isolated).proc
	p.kill(errors.New("for this test"))
	<-p.ended
	p.own.Wait()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(path, isolateArg)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	detach(other)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, len(workerGreeting))
	if _, err := out.Read(hello); err != nil {
		t.Fatal(err)
	}
	p.cmd.Process.Pid = other.Process.Pid
	p.kill(errors.New("for this test"))
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(); killed(other.ProcessState) {
		t.Errorf("another process was ended: %v", err)
	}
}

// ISO-8: no number that a process says of itself overflows one of ours.
func TestISO8WhatAProcessCountsIsBounded(t *testing.T) {
	trace := &Trace{}
	out := robbed(t, "overflow").Call(t.Context(), Call{Tool: "done", Trace: trace})
	if r := out.Receipt; r.Fuel < 0 || r.Fuel+r.Fuel < 0 || r.PeakMemory > policy.Default().Limits.Memory {
		t.Errorf("%+v", r)
	}
	if trace.Dropped < 5000-maxTraced || trace.Kernel < 0 || trace.Kernel > 1<<62 {
		t.Errorf("%d dropped, %d calls of the kernel", trace.Dropped, trace.Kernel)
	}
}

// ISO-8: a message takes about the memory of its bytes, not of what its JSON can be
// made to stand for.
func TestISO8AMessageDoesNotBlowUp(t *testing.T) {
	var before, after runtime.MemStats
	m := robbed(t, "blow up", within(endless))
	runtime.ReadMemStats(&before)
	out := m.Call(t.Context(), Call{Tool: "done", Trace: &Trace{}})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
		t.Errorf("%q: %d MB were taken for a message of 12", out.Fault, took>>20)
	}
}

// ISO-8: an answer within its limit is given, whatever its bytes are written as on
// the way.
func TestISO8AnAnswerOfItsLimitArrives(t *testing.T) {
	size := 4 << 20
	args, err := json.Marshal(strings.Repeat("<", size))
	if err != nil {
		t.Fatal(err)
	}
	args = bytes.ReplaceAll(args, []byte(`\u003c`), []byte("<"))
	large := func(s *Source) {
		s.Policy.Limits.Output, s.Policy.Limits.Input = int64(size)+1024, 2*int64(size)
	}
	for _, change := range []func(*Source){here, func(s *Source) { s.Isolated = true }} {
		m := load(t, newEngine(t), source(t, "extism-plain"), plainTool("echo"), large, within(endless), change)
		out := m.Call(t.Context(), Call{Tool: "echo", Arguments: args})
		if out.Fault != "" || len(said(out)) < size || out.Receipt.OutputBytes < int64(size) {
			t.Errorf("%q %.100s %s: %d bytes", out.Fault, said(out), out.Detail, len(said(out)))
		}
	}
}

// ISO-8: a value of the run's state is the same bytes in another process.
func TestISO8AValueOfTheStateIsTheSameBytes(t *testing.T) {
	value := json.RawMessage("{ \"a\" : \"<\" }\n")
	o := &callOrder{State: readableState(&guest{grants: policy.Grants{State: []string{"open"}}, state: map[string]json.RawMessage{"open": value, "other": value}})}
	var sent bytes.Buffer
	if err := (&sender{w: &sent}).send(&message{Kind: kindCall, Begin: o}); err != nil {
		t.Fatal(err)
	}
	got, err := receive(&sent, maxLoad)
	if err != nil || len(got.Begin.State) != 1 || string(got.Begin.State["open"]) != string(value) {
		t.Errorf("%v %q", err, got.Begin.State)
	}
}

// ISO-8: a process that says something when it is not asked is ended: it would keep
// its parent busy for ever.
func TestISO8AProcessThatTalksOnIsEnded(t *testing.T) {
	m := robbed(t, "talks on", within(endless))
	if out := m.Call(t.Context(), Call{Tool: "done"}); said(out) != "done" {
		t.Fatalf("%q %s %s", out.Fault, said(out), out.Detail)
	}
	p := m.speaks.(*isolated).proc
	select {
	case <-p.ended:
	case <-time.After(endless):
		t.Error("it goes on")
	}
}
