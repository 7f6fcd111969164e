package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Attack: a module finds a fault in the engine, and its native code does in the
// process what it likes.
//
// The guests of an isolated module run in a process that holds nothing, can reach
// nothing and serves no other module; see isolateguest.go. All that decides is on
// this side of its pipes: the policy, the doors, the secrets, the time.

// isolated is the speaker of a module whose guests run in another process. It has
// one process at a time, which begins with the module and anew after it was ended.
type isolated struct {
	src      *Source
	engine   *Engine
	write    func(*abi.Request) ([]byte, error) // as the module's ABI does
	order    loadOrder
	image    []byte      // code and memory
	dir      string      // where the code is kept; empty: nowhere
	verified []cacheFile // there, when it was compared with its digests
	limit    time.Duration
	atOnce   chan struct{}
	stopped  chan struct{} // is closed with the module

	mu     sync.Mutex
	proc   *guestProcess
	begun  *beginning // of the process that is being started; nil: none is
	kept   uint64     // the number of the last guest of a session
	closed bool
}

// maxTail bounds the tail of a log that a process has kept, in bytes.
const maxTail = 32 << 10

// callsAtOnce is how many calls of an isolated module run at once. Others wait.
const callsAtOnce = 16

// isolate makes the speaker and begins its process. It takes nothing of p, which
// is closed by the caller.
func (e *Engine) isolate(ctx context.Context, m *Module, p *part, code *guestCode, local speaker) (*isolated, error) {
	order := loadOrder{
		Name: m.src.Name, ABI: p.info.ABI, Export: m.src.Export, Text: m.src.Text, Role: m.src.Role, Config: m.src.Config,
		Policy: withoutHost(m.src.Policy), Info: p.info, Mutable: code.out.Mutable, Exact: code.out.Exact,
		FromGo: p.fromGo, Tables: m.tables, Code: len(code.out.Wasm), Calls: callsAtOnce, Weak: e.weak,
	}
	image := bytes.Clone(code.out.Wasm)
	if code.memory != nil {
		order.Memory = code.memory.Size()
		image = append(image, code.memory.Bytes()[:code.memory.Used()]...)
	}
	i := &isolated{
		src: &m.src, engine: e, write: local.encode, order: order, image: image,
		limit: fencesOf(len(code.out.Wasm)).time, atOnce: make(chan struct{}, callsAtOnce), stopped: make(chan struct{}),
	}
	if p.entry.onDisk() {
		i.dir, i.order.Cached = p.entry.dir, true
		i.verified, _ = p.entry.files()
	}
	_, err := i.process(ctx)
	return i, err
}

// errNoProcess refuses an isolated module before anything is done with it.
func errNoProcess() *LoadError {
	return refuse(LoadUnsupported, "the module wants a process of its own, and this program does not start any: host.Worker has to be called first in main", "")
}

// moveOut has the guests of m run in another process, and frees what was loaded for
// this one.
func (e *Engine) moveOut(ctx context.Context, m *Module, p *part, code *guestCode) error {
	away, err := e.isolate(ctx, m, p, code, m.speaks)
	err = errors.Join(err, m.speaks.close(context.WithoutCancel(ctx)))
	m.speaks = away
	if err != nil && away != nil {
		err = errors.Join(err, away.close(ctx))
	}
	return err
}

// withoutHost is a policy without what only this process has to know.
func withoutHost(p policy.Policy) policy.Policy {
	bare := func(ms []policy.Mount) []policy.Mount {
		out := slices.Clone(ms)
		for i := range out {
			out[i].Host = ""
		}
		return out
	}
	p.Grants.Read, p.Grants.Write = bare(p.Grants.Read), bare(p.Grants.Write)
	return p
}

// number is that of the process, as the system counts.
func (i *isolated) number() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.proc == nil {
		return 0
	}
	return i.proc.cmd.Process.Pid
}

func (i *isolated) encode(req *abi.Request) ([]byte, error) { return i.write(req) }

// close ends the process. No call runs any more.
func (i *isolated) close(context.Context) error {
	i.mu.Lock()
	i.closed = true
	b := i.begun
	i.mu.Unlock()
	if b != nil {
		b.cancel()
		<-b.done
	}
	i.mu.Lock()
	p := i.proc
	i.proc = nil
	i.mu.Unlock()
	if p != nil {
		p.end()
	}
	return nil
}

// beginning is a process on its way.
type beginning struct {
	done   chan struct{}
	cancel context.CancelFunc
	proc   *guestProcess
	err    error
}

// process returns the process, and begins one if there is none. To begin takes its
// own time: a call that has less does not have it begun in vain.
func (i *isolated) process(ctx context.Context) (*guestProcess, error) {
	i.mu.Lock()
	if i.closed {
		i.mu.Unlock()
		return nil, moduleClosed()
	}
	if p := i.proc; p != nil && p.alive() {
		i.mu.Unlock()
		return p, nil
	}
	b := i.begun
	if b == nil {
		b = i.beginLocked()
	}
	i.mu.Unlock()
	select {
	case <-b.done:
		return b.proc, b.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (i *isolated) beginLocked() *beginning {
	ctx, cancel := context.WithTimeout(context.Background(), i.limit)
	b := &beginning{done: make(chan struct{}), cancel: cancel}
	i.begun = b
	old := i.proc
	i.proc = nil
	go func() {
		defer cancel()
		if old != nil {
			old.end()
		}
		b.proc, b.err = i.engine.workers.begin(ctx, i)
		i.mu.Lock()
		i.proc, i.begun = b.proc, nil
		i.mu.Unlock()
		close(b.done)
	}()
	return b
}

func (i *isolated) describe(g *guest) ([]byte, error) {
	p, leave, err := i.enter(g)
	if err != nil {
		return nil, err
	}
	defer leave()
	ans, err := i.ask(g, p, &callOrder{Describe: true}, nil, nil)
	if err != nil {
		return nil, err
	}
	return ans.raw, nil
}

func (i *isolated) call(g *guest, req *request) (*answer, error) {
	p, leave, err := i.enter(g)
	if err != nil {
		return nil, err
	}
	defer leave()
	o := &callOrder{Tool: req.Tool, State: readableState(g)}
	if g.seat == nil {
		return i.ask(g, p, o, req.input, nil)
	}
	return i.inSession(g, p, o, req.input)
}

// enter waits until the process may make one more call, which has to leave it.
func (i *isolated) enter(g *guest) (_ *guestProcess, leave func(), _ error) {
	select {
	case i.atOnce <- struct{}{}:
	case <-g.ctx.Done():
		return nil, nil, context.Cause(g.ctx)
	}
	leave = func() { <-i.atOnce }
	p, err := i.process(g.ctx)
	if err != nil {
		leave()
		return nil, nil, unstarted(g, err)
	}
	return p, leave, nil
}

// readableState are the values of the run's state that the guest may read.
func readableState(g *guest) map[string][]byte {
	out := make(map[string][]byte)
	for key, value := range g.state {
		if slices.Contains(g.grants.State, key) {
			out[key] = value
		}
	}
	return out
}

// awayGuest is the guest of a session that another process keeps.
type awayGuest struct {
	in *guestProcess
	id uint64
}

func (a *awayGuest) forget() { a.in.tell(&message{Kind: kindForget, Keep: a.id}) }

// inSession makes a call with the guest of its session.
func (i *isolated) inSession(g *guest, p *guestProcess, o *callOrder, input []byte) (*answer, error) {
	s := g.seat
	s.used = true
	k, err := s.take()
	if err != nil {
		return nil, err
	}
	if k != nil && k.away.in != p {
		s.gone() // with its process
		if k, err = s.take(); err != nil {
			return nil, err
		}
	}
	if k == nil {
		i.mu.Lock()
		i.kept++
		k = &kept{away: &awayGuest{in: p, id: i.kept}}
		i.mu.Unlock()
	}
	o.Keep = k.away.id
	ans, err := i.ask(g, p, o, input, k)
	if k.size < 0 {
		s.gone()
	} else {
		s.retain(k)
	}
	return ans, err
}

// ask has the process make a call, and opens the doors meanwhile. Of a session's
// guest it sets the size, below 0 if it is not kept.
func (i *isolated) ask(g *guest, p *guestProcess, o *callOrder, input []byte, k *kept) (ans *answer, _ error) {
	o.Output, o.Fuel, o.Left = g.limits.Output, g.limits.Fuel, time.Until(g.watch.end)
	o.Progress = g.progress != nil
	if g.trace != nil {
		o.Trace, o.Probe = true, g.trace.Probe
	}
	if k != nil {
		k.size = -1
	}
	end, raw, err := p.call(g, o, input)
	if err != nil {
		return nil, err
	}
	g.fuel, g.arena.peak = plausible(end.Fuel), min(max(end.Peak, 0), g.limits.Memory)
	g.trace.merge(end.Trace)
	g.sink.Drop(plausible(end.Lost), end.Tail[max(0, len(end.Tail)-maxTail):])
	if k != nil && end.IsKept && end.Kept >= 0 {
		k.size = min(end.Kept, g.limits.Memory)
	}
	switch {
	case end.Fault != "":
		return nil, &FaultError{Fault: end.Fault.known(), Message: oneLine(end.Message, maxMessage), Detail: cleanLines(end.Detail, maxDetail)}
	case end.Said == nil:
		ans = &answer{raw: raw}
	default:
		text, raw := end.Said.split(raw)
		result := textResult(cleanText(text[:min(int64(len(text)), g.limits.Output+maxDetail)]), end.Said.Failed)
		ans = &answer{raw: raw, result: &result}
	}
	if int64(len(ans.raw)) > g.limits.Output {
		return nil, tooMuchOutput(g.limits.Output)
	}
	return ans, nil
}

// unstarted explains why there is no process for a call.
func unstarted(g *guest, err error) error {
	if g.ctx.Err() != nil {
		return context.Cause(g.ctx)
	}
	var known *FaultError
	if errors.As(err, &known) {
		return known
	}
	f := fault(FaultInternal, "the host could not start the process that runs the tool")
	f.Detail = cleanLines(err.Error(), maxDetail)
	return f
}

// known is the fault itself, or that of the host if there is no such fault.
func (f Fault) known() Fault {
	switch f {
	case FaultTrap, FaultTimeout, FaultFuel, FaultMemory, FaultStack, FaultOutput, FaultHostCalls,
		FaultDenied, FaultInvalidArgs, FaultInvalidResult, FaultExited, FaultCancelled:
		return f
	}
	return FaultInternal
}

// plausible is a number that another process has counted: none that overflows when
// it is added to others.
func plausible(n int64) int64 { return min(max(n, 0), 1<<53) }

// merge adds what another process has recorded, within the same bounds.
func (t *Trace) merge(r *traceEnd) {
	if t == nil || r == nil {
		return
	}
	for _, c := range r.Calls {
		c.Function, c.Result = oneLine(c.Function, maxAbout), oneLine(t.redact.String(c.Result), maxAbout)
		c.Door, c.Duration = oneLine(c.Door, maxAbout), time.Duration(plausible(int64(c.Duration)))
		t.add(c, verdict{denied: c.Denied, why: c.Why})
	}
	for _, n := range r.Needs {
		if n = n.believed(); n != (Need{}) && len(t.Needs) < maxNeeds {
			t.Needs = append(t.Needs, n)
		}
	}
	t.Dropped += min(max(r.Dropped, 0), math.MaxInt32/2)
	t.Kernel += min(max(r.Kernel, 0), math.MaxInt32/2)
	t.Environ = t.Environ || r.Environ
}

// believed is what would let the call pass that a need speaks of. A person is shown
// it as what to grant, so no more than the form of the call is taken from it.
func (n Need) believed() Need {
	switch {
	case n.HTTP != nil:
		return Need{HTTP: n.HTTP.Believed()}
	case n.Path != nil:
		if p := n.Path.Path; len(p) > maxNeedPath || !path.IsAbs(p) {
			return Need{}
		}
		return Need{Path: &PathNeed{Path: path.Clean(n.Path.Path), Write: n.Path.Write}}
	case n.Never != "":
		return Need{Never: oneLine(n.Never, maxAbout)}
	case n.Store:
		return Need{Store: true}
	}
	return Need{Config: oneLine(n.Config, maxAbout)}
}

// maxNeedPath is the most bytes of a path that a guest may have wanted.
const maxNeedPath = 4096

// Why a process has no answer.
var (
	errAway    = errors.New("the process that runs the tool has ended")
	errMeddled = errors.New("the process that runs the tool said what it may not")
)

// died is the fault of a call whose process ended.
func (p *guestProcess) died() *FaultError {
	kind, what := FaultInternal, "the process that runs the tool ended before it answered"
	if p.outOfMemory() {
		kind, what = FaultMemory, "the process that runs the tool ran out of memory; ask for less at once"
	}
	f := fault(kind, "%s", what)
	f.Detail = cleanLines(fmt.Sprintf("%v (%s)", p.reason(), p.how()), maxDetail)
	return f
}
