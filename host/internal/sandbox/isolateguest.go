package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/wagent-dev/wagent/host/internal/confine"
	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// This file is what a process does that runs the guests of one module for its
// parent. It has two pipes and nothing else: no file but the module's code, to
// read, no network, no environment, no secret. It does to its guests what the
// sandbox does in any process; what they reach outside of them its parent does.

// isolateArg is the argument of such a process, and isolateEnclosedArg that of one
// that was shut off from the files and has executed itself again.
const (
	isolateArg         = "--wagent-worker=guests"
	isolateEnclosedArg = isolateArg + ",enclosed"
)

// maxLoad bounds the first message: code that was rewritten may be twice as long.
const maxLoad = 4 * maxModule

// guestWorker runs the guests of one module.
type guestWorker struct {
	engine *Engine
	module *Module
	out    *sender

	mu       sync.Mutex
	calls    map[uint64]*parentCall
	sessions map[uint64]*Session
}

// runGuests loads a module and serves its calls until the parent has gone. open is
// why the process can still reach files; nil: it cannot.
func runGuests(in io.Reader, out io.Writer, open error) int {
	if _, err := fmt.Fprintln(out, workerGreeting); err != nil {
		return exitUnheard
	}
	r := bufio.NewReaderSize(in, 64<<10)
	m, err := receive(r, maxLoad)
	if err != nil || m.Load == nil || m.Load.Code > len(m.body) {
		return exitUnheard
	}
	boundGuests(m.Load)
	open = errors.Join(open, confine.Calls())
	go watchMemory(guestsMemory)
	w := &guestWorker{out: &sender{w: out}, calls: make(map[uint64]*parentCall), sessions: make(map[uint64]*Session)}
	ready := &readiness{}
	if open != nil {
		ready.Open = open.Error()
	}
	if open == nil || m.Load.Weak {
		if err := w.load(m.Load, m.body); err != nil {
			ready.Refused = err.Error()
		}
	}
	if w.out.send(&message{Kind: kindReady, Ready: ready}) != nil || w.module == nil {
		return exitUnheard
	}
	for {
		m, err := receive(r, maxLoad)
		if err != nil {
			return exitOrphan
		}
		w.take(m)
	}
}

// guestsMemory is what the process may have beside the memories of its guests.
const guestsMemory = policy.GiB

// load makes the module from code that was rewritten by the parent.
func (w *guestWorker) load(o *loadOrder, body []byte) (err error) {
	ctx := context.Background()
	if w.engine, err = New(Options{}); err != nil {
		return err
	}
	out := &wasmbin.Output{Wasm: body[:o.Code], Mutable: o.Mutable, Exact: o.Exact}
	p, err := compileAway(ctx, o, out)
	if err != nil {
		return err
	}
	var img *linear.Image
	if o.Memory > 0 {
		mem := make([]byte, o.Memory)
		copy(mem, body[o.Code:])
		if img, err = linear.NewImage(mem); err != nil {
			return err
		}
	}
	p.base = startOf(img, out)
	p.info, p.fromGo = o.Info, o.FromGo
	src := Source{Name: o.Name, ABI: o.ABI, Export: o.Export, Text: o.Text, Role: o.Role, Config: o.Config, Policy: o.Policy, Session: true}
	m := &Module{src: src, engine: w.engine, gate: newGate(), tables: o.Tables, info: o.Info}
	if m.speaks, err = p.speaker(ctx, src, w.engine.idle); err == nil {
		w.module = m
	}
	return err
}

// compileAway takes the code from where the process was started, or compiles it.
func compileAway(ctx context.Context, o *loadOrder, out *wasmbin.Output) (*part, error) {
	if o.Cached {
		cache, err := wazero.NewCompilationCacheWithDir(".")
		if err == nil {
			p := &part{compiled: compiled{entry: &cacheEntry{cache: cache}}}
			if p.compile(ctx, out, fromCache) == nil {
				return p, nil
			}
		}
	}
	p := &part{compiled: compiled{entry: newMemoryEntry()}}
	return p, p.compile(ctx, out, together)
}

// take does what a message asks for.
func (w *guestWorker) take(m *message) {
	switch m.Kind {
	case kindCall:
		w.begin(m)
	case kindCancel:
		if c := w.call(m.Call); c != nil {
			c.cancel()
		}
	case kindReply:
		if c := w.call(m.Call); c != nil {
			c.replies <- m
		}
	case kindForget:
		w.forget(m.Keep)
	}
}

func (w *guestWorker) call(id uint64) *parentCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[id]
}

// begin runs a call beside the others.
func (w *guestWorker) begin(m *message) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &parentCall{id: m.Call, out: w.out, order: m.Begin, cancel: cancel, replies: make(chan *message, 1)}
	w.mu.Lock()
	w.calls[c.id] = c
	w.mu.Unlock()
	go func() {
		defer cancel()
		end, answer := w.do(ctx, c, m.body)
		w.mu.Lock()
		delete(w.calls, c.id)
		w.mu.Unlock()
		if w.out.send(&message{Kind: kindDone, Call: c.id, Done: end, body: answer}) != nil {
			os.Exit(exitOrphan)
		}
	}()
}

// do runs a call to its end.
func (w *guestWorker) do(ctx context.Context, c *parentCall, input []byte) (*callEnd, []byte) {
	o, p := c.order, w.module.src.Policy
	if o.Describe {
		p.Grants = policy.Grants{}
	}
	p.Limits.Timeout, p.Limits.Output, p.Limits.Fuel = o.Left, o.Output, o.Fuel
	call := Call{State: make(map[string]json.RawMessage), Trace: o.newTrace(), parent: c, shared: &shared{}}
	for key, value := range o.State {
		call.State[key] = value
	}
	if o.Progress {
		call.Progress = c.progress
	}
	g, err := newGuest(ctx, p, nil, call)
	if err != nil {
		return &callEnd{Fault: FaultInternal, Message: "the host could not run the tool", Detail: err.Error()}, nil
	}
	c.ctx = g.ctx
	log := &awayLog{logSink: g.sink, c: c}
	g.sink = log
	end := &callEnd{}
	seat, err := w.seat(g.ctx, o.Keep)
	if seat != nil {
		g.seat = seat
	}
	var ans *answer
	if err == nil {
		_, err = guarded(g, func(g *guest) (_ Outcome, err error) {
			ans, err = w.ask(g, o, input)
			return Outcome{}, err
		})
	}
	if err != nil {
		f := g.explain(err)
		end.Fault, end.Message, end.Detail = f.Fault, f.Message, f.Detail
		ans = &answer{}
	}
	if seat != nil {
		end.Kept, end.IsKept = w.leave(o.Keep, seat, err == nil)
	}
	if end.Lost = log.kept(); end.Lost > 0 {
		end.Tail = g.sink.Tail()
	}
	sent := ans.raw
	if r := ans.result; r != nil {
		end.Said = &plainAnswer{Failed: r.IsError}
		sent = end.Said.say(r.Content[0].Text, ans.raw)
	}
	end.Fuel, end.Peak, end.Trace = g.fuel, g.arena.peak, g.trace.end()
	_ = g.close() // there is no folder to close
	return end, sent
}

func (w *guestWorker) ask(g *guest, o *callOrder, input []byte) (*answer, error) {
	if o.Describe {
		raw, err := w.module.speaks.describe(g)
		return &answer{raw: raw}, err
	}
	return w.module.speaks.call(g, &request{Request: abi.Request{Tool: o.Tool}, input: input})
}

// seat returns where the guest of a session is kept between its calls, nil without
// a session. There is one session for each guest.
func (w *guestWorker) seat(ctx context.Context, keep uint64) (*seat, error) {
	if keep == 0 {
		return nil, nil
	}
	w.mu.Lock()
	s := w.sessions[keep]
	if s == nil {
		s = w.engine.NewSession()
		w.sessions[keep] = s
	}
	w.mu.Unlock()
	return s.enter(ctx, w.module)
}

// leave ends a call of a session, and says how large the guest is that is kept.
func (w *guestWorker) leave(keep uint64, s *seat, well bool) (size int64, kept bool) {
	s.settle(!well)
	s.session.all.mu.Lock()
	if s.kept != nil {
		size, kept = s.kept.size, true
	}
	s.session.all.mu.Unlock()
	s.leave()
	if !kept {
		w.forget(keep)
	}
	return size, kept
}

func (w *guestWorker) forget(keep uint64) {
	w.mu.Lock()
	s := w.sessions[keep]
	delete(w.sessions, keep)
	w.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

func (o *callOrder) newTrace() *Trace {
	if !o.Trace {
		return nil
	}
	return &Trace{Probe: o.Probe}
}

// end is what is sent of a trace.
func (t *Trace) end() *traceEnd {
	if t == nil {
		return nil
	}
	return &traceEnd{t.Calls, t.Dropped, t.Kernel, t.Needs, t.Environ}
}
