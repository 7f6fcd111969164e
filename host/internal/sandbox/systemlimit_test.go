package sandbox

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// wait puts subscriptions into memory and returns their parameters of poll.
func (w *world) wait(subs ...string) []uint64 {
	w.t.Helper()
	w.put(atList, strings.Join(subs, ""))
	return []uint64{atList, atBuffer, uint64(len(subs)), atResult}
}

func onClock(userdata uint64, id uint32, at uint64, flags uint16) string {
	b := make([]byte, subscriptionSize)
	le.PutUint64(b, userdata)
	le.PutUint32(b[16:], id)
	le.PutUint64(b[24:], at)
	le.PutUint16(b[40:], flags)
	return string(b)
}

func onFile(userdata uint64, kind byte, fd uint32) string {
	b := make([]byte, subscriptionSize)
	le.PutUint64(b, userdata)
	b[8] = kind
	le.PutUint32(b[16:], fd)
	return string(b)
}

type event struct {
	userdata uint64
	err      errno
	kind     byte
	bytes    uint64
}

func (w *world) events() []event {
	w.t.Helper()
	var all []event
	for i := range w.u32(atResult) {
		b := []byte(w.bytes(atBuffer+i*eventSize, eventSize))
		all = append(all, event{le.Uint64(b), errno(le.Uint16(b[8:])), b[10], le.Uint64(b[16:])})
	}
	return all
}

func TestSystemPollTellsOfWhatHasComeAndOfNothingElse(t *testing.T) {
	fixed := time.Unix(100, 0)
	w, _ := newWorld(t, func(p *policy.Policy) { p.Grants.Clock.Fixed = fixed })
	file := uint32(w.open(3, "a.txt", 0, rightRead, 0))
	for name, tc := range map[string]struct {
		subs []string
		want []event
	}{
		"input is there at once": {
			[]string{onClock(1, clockMonotonic, uint64(time.Hour), 0), onFile(2, eventRead, 0)},
			[]event{{2, 0, eventRead, 5}},
		},
		"so are files": {
			[]string{onFile(1, eventRead, file), onFile(2, eventWrite, 1)},
			[]event{{1, 0, eventRead, 5}, {2, 0, eventWrite, 0}},
		},
		"what is not open is an event": {
			[]string{onFile(1, eventRead, 99), onClock(2, clockMonotonic, 0, 0)},
			[]event{{1, wasiBadf, eventRead, 0}, {2, 0, eventClock, 0}},
		},
		"the first clock ends it": {
			[]string{onClock(1, clockMonotonic, uint64(time.Hour), 0), onClock(2, clockRealtime, 1000, 0)},
			[]event{{2, 0, eventClock, 0}},
		},
		"a time that has passed": {
			[]string{onClock(1, clockRealtime, uint64(fixed.UnixNano()), 1), onClock(2, clockMonotonic, 0, 1)},
			[]event{{1, 0, eventClock, 0}, {2, 0, eventClock, 0}},
		},
		"no such clock": {
			[]string{onClock(1, 2, 1, 0)},
			[]event{{1, wasiInval, eventClock, 0}},
		},
	} {
		w.must("poll_oneoff", w.wait(tc.subs...)...)
		if got := w.events(); len(got) != len(tc.want) || len(got) > 0 && got[0] != tc.want[0] || got[len(got)-1] != tc.want[len(tc.want)-1] {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, bad := range []string{onClock(1, 0, 0, 2), onFile(1, 3, 0)} {
		w.want(wasiInval, "poll_oneoff", w.wait(bad)...)
	}
	w.want(wasiInval, "poll_oneoff", atList, atBuffer, 0, atResult)
	w.want(wasiInval, "poll_oneoff", atList, atBuffer, maxSubscriptions+1, atResult)
	w.want(wasiFault, "poll_oneoff", atList, atBuffer, maxSubscriptions, atResult)
	w.want(wasiFault, "poll_oneoff", pageEnd-47, atBuffer, 1, atResult)
	w.want(wasiFault, "poll_oneoff", atList, pageEnd-31, 1, atResult)
	w.want(wasiFault, "poll_oneoff", atList, atBuffer, 1, pageEnd-3)
}

func TestSystemFixedClockMovesByWhatTheGuestSleeps(t *testing.T) {
	w, _ := newWorld(t, func(p *policy.Policy) { p.Grants.Clock.Fixed = time.Unix(100, 0) })
	w.must("poll_oneoff", w.wait(onClock(1, clockMonotonic, uint64(time.Millisecond), 0))...)
	w.must("clock_time_get", clockMonotonic, 0, atResult)
	if got := w.u64(atResult); got != uint64(time.Millisecond)+1000 {
		t.Errorf("it is %d", got)
	}
}

func TestSystemSleepEndsWithTheCall(t *testing.T) {
	w, _ := newWorld(t, func(p *policy.Policy) { p.Limits.Timeout = 50 * time.Millisecond })
	start := time.Now()
	w.want(wasiIntr, "poll_oneoff", w.wait(onClock(1, clockMonotonic, 1<<64-1, 0))...)
	if took := time.Since(start); took > overrun {
		t.Errorf("took %v", took)
	}
}

// stopping is an output that ends the call with its third piece.
type stopping struct {
	guest *guest
	n     int
}

func (s *stopping) Write(p []byte) (int, error) {
	if s.n++; s.n == 3 {
		s.guest.watch.stop(fault(FaultCancelled, "enough"))
	}
	return len(p), nil
}

// Attack: a thousand buffers that are all the same memory.
func TestSystemTransferEndsWithTheCall(t *testing.T) {
	w, _ := newWorld(t)
	out := &stopping{guest: w.guest}
	w.guest.sys.open.byNumber[1].out = out
	list, n := w.buffers(append(make([]uint32, 0, 4000), bytesTwice(atBuffer, 40_000, 2000)...)...)
	w.must("fd_write", 1, list, n, atResult)
	if got := w.u32(atResult); got != 3*40_000 || out.n != 3 {
		t.Errorf("%d bytes in %d pieces", got, out.n)
	}
	for _, f := range wasiFuncs() {
		if f.work {
			w.want(wasiIntr, f.name, make([]uint64, len(f.params))...)
		}
	}
	w.must("clock_time_get", clockMonotonic, 0, atResult)
}

func bytesTwice(at, size uint32, n int) []uint32 {
	var all []uint32
	for range n {
		all = append(all, at, size)
	}
	return all
}

func TestSystemTransferHasAMostOfBuffers(t *testing.T) {
	w, _ := newWorld(t)
	list, n := w.buffers(bytesTwice(atBuffer+8000, 2, 2000)...)
	w.must("fd_write", 2, list, n, atResult)
	if got := w.u32(atResult); got != 2*maxBuffers {
		t.Errorf("%d bytes", got)
	}
}

func TestSystemOutputBeyondItsLimitStopsTheCall(t *testing.T) {
	w, _ := newWorld(t, func(p *policy.Policy) { p.Limits.Output = 10 })
	w.write(1, "1234567890")
	list, n := w.buffers(atBuffer, 1)
	w.want(wasiIntr, "fd_write", 1, list, n, atResult)
	if why := w.guest.watch.stopped(w.guest.ctx); why == nil || why.Fault != FaultOutput {
		t.Errorf("%v", why)
	}
}

func TestSystemCallsAreCounted(t *testing.T) {
	w, _ := newWorld(t)
	w.guest.sys.calls = maxSystemCalls - 1
	w.must("sched_yield")
	if w.guest.ctx.Err() != nil {
		t.Fatal("stopped too early")
	}
	w.must("sched_yield")
	if why := w.guest.watch.stopped(w.guest.ctx); why == nil || why.Fault != FaultHostCalls || !strings.Contains(why.Message, "10000000") {
		t.Errorf("%v", why)
	}
	w.want(wasiIntr, "random_get", 0, 1)
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("the host's bug") }

func TestSystemPanicIsAFaultOfTheHost(t *testing.T) {
	w, _ := newWorld(t)
	w.guest.sys.open.byNumber[1].out = panicking{}
	list, n := w.buffers(atBuffer, 1)
	w.want(wasiIO, "fd_write", 1, list, n, atResult)
	why := w.guest.watch.stopped(w.guest.ctx)
	if why == nil || why.Fault != FaultInternal || !strings.Contains(why.Detail, "the host's bug") {
		t.Errorf("%+v", why)
	}
}

func TestSystemWithoutMemoryOrCallRefuses(t *testing.T) {
	r, code := engineWith(t, 0, linkOurs)
	w := enter(t, r, code, policy.Default(), bytes.NewReader(nil))
	w.want(wasiFault, "random_get", 0, 0)
	w.want(wasiFault, "args_get", 0, 0)
	if why := w.guest.watch.stopped(w.guest.ctx); why != nil {
		t.Errorf("%v", why)
	}
	res, err := w.mod.ExportedFunction("sched_yield").Call(context.Background())
	if err != nil || errno(res[0]) != wasiNosys {
		t.Errorf("without a call: %v %v", res, err)
	}
}

// What one guest does to its descriptors, the next one with the same instance
// does not see.
func TestSystemOfACallLeavesNothingInTheInstance(t *testing.T) {
	w, _ := newWorld(t)
	w.must("fd_close", 0)
	w.must("fd_renumber", 4, 1)
	w.open(1, "f", openCreate, both, 0)
	w.guest.config(strings.NewReader("second"), w.out, "again")
	if got := w.read(0, 100); got != "second" {
		t.Errorf("standard input is %q", got)
	}
	w.must("args_sizes_get", atResult, atResult+4)
	if n := w.u32(atResult); n != 1 {
		t.Errorf("%d arguments", n)
	}
	if fd := w.open(4, "g", openCreate, both, 0); fd != 5 {
		t.Errorf("got %d", fd)
	}
}
