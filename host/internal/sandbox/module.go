package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Module is a module that was checked and compiled. Its methods may be called
// by several goroutines; each call has a guest of its own. It must be closed.
type Module struct {
	src    Source
	info   Info
	engine *Engine
	speaks speaker
	http   *hostfn.HTTP // nil without a grant
	gate   gate
	tables int64 // bytes that its tables may take in each guest

	once     sync.Once
	closeErr error
}

// speaker is one ABI: how a fresh guest is made, asked and thrown away.
type speaker interface {
	// encode writes a request down as the guest is given it.
	encode(req *abi.Request) ([]byte, error)
	// describe returns the guest's description as JSON.
	describe(g *guest) ([]byte, error)
	// call hands the request over and returns the answer, at most
	// limits.Output bytes.
	call(g *guest, req *request) (*answer, error)
	// close frees the code. No guest runs any more.
	close(ctx context.Context) error
}

// request is one call in every form that an ABI may want.
type request struct {
	abi.Request
	input []byte // what the guest is given
}

// answer is what the guest gave.
type answer struct {
	raw    []byte
	result *abi.Result // set where the ABI itself tells success from failure
}

// describeTime bounds describe, initialisation included.
const describeTime = 2 * time.Second

// Info says what the module is.
func (m *Module) Info() Info { return m.info }

// Role returns what the module is called for, empty for one that has tools.
func (m *Module) Role() string { return m.src.Role }

// Process returns the number of the process that runs the guests of an isolated
// module, 0 while there is none.
func (m *Module) Process() int {
	if away, ok := m.speaks.(*isolated); ok {
		return away.number()
	}
	return 0
}

// Close stops the calls that are running, waits for them and frees the code.
// When ctx ends first nothing is freed and Close may be called again.
func (m *Module) Close(ctx context.Context) error {
	if err := m.gate.close(ctx); err != nil {
		return fmt.Errorf("closing %s: %w", m.src.Name, err)
	}
	m.once.Do(func() {
		if m.http != nil {
			m.closeErr = m.http.Close()
		}
		m.engine.sessions.forget(m)
		m.closeErr = errors.Join(m.closeErr, m.speaks.close(context.WithoutCancel(ctx)))
		m.engine.forget(m)
	})
	return m.closeErr
}

// Describe asks the module for its tools, with no grants and two seconds. A
// tool that the source declares is returned as it is, and nothing runs. The
// error is a *FaultError.
func (m *Module) Describe(ctx context.Context) (abi.Description, error) {
	if m.src.Tool != nil {
		return abi.Description{Tools: []abi.Tool{*m.src.Tool}}, nil
	}
	p := policy.Policy{Limits: m.src.Policy.Limits}
	p.Limits.Timeout = describeTime
	p.Limits.Fuel = 0
	p.Limits.Output = abi.MaxDescription

	var d abi.Description
	out := m.run(ctx, p, Call{Log: m.src.Log}, func(g *guest) (Outcome, error) {
		raw, err := m.speaks.describe(g)
		if err == nil {
			d, err = parseDescription(raw)
		}
		return Outcome{}, err
	})
	if out.Fault != "" {
		return abi.Description{}, &FaultError{Fault: out.Fault, Message: out.Result.Content[0].Text, Detail: out.Detail}
	}
	return d, nil
}

// Call runs a tool in a fresh guest, or in that of the call's session. It returns
// when the guest has ended, which is at the latest when ctx does or the time limit
// is reached. Calls of a session that share a guest take turns; the time of each
// begins with its turn.
func (m *Module) Call(ctx context.Context, c Call) Outcome {
	own, done := m.sharedBy(c.Session)
	defer done()
	c.shared = own
	if !m.src.Session || c.Session == nil {
		return m.call(ctx, c)
	}
	p, err := c.Session.enter(ctx, m)
	if err != nil {
		return m.notBegun(err)
	}
	defer p.leave()
	c.seat = p
	return p.ended(m.call(ctx, c))
}

func (m *Module) call(ctx context.Context, c Call) Outcome {
	return m.run(ctx, m.src.Policy, c, func(g *guest) (Outcome, error) {
		req, err := m.request(g, c)
		if err != nil {
			return Outcome{}, err
		}
		out := Outcome{Receipt: Receipt{InputBytes: int64(len(req.input))}}
		ans, err := m.speaks.call(g, req)
		if err != nil {
			return out, err
		}
		out.Receipt.OutputBytes = int64(len(ans.raw))
		if ans.result != nil {
			out.Result = *ans.result
			return out, nil
		}
		out.Result, err = passedOn(ans.raw, g.limits.Output)
		return out, err
	})
}

// request checks the arguments and writes them down for the guest.
func (m *Module) request(g *guest, c Call) (*request, error) {
	args := c.Arguments
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	switch {
	case int64(len(args)) > g.limits.Input: // before anything reads them
		return nil, tooMuchInput(len(args), g.limits.Input)
	case !json.Valid(args):
		return nil, fault(FaultInvalidArgs, "the arguments are not valid JSON")
	case strings.ContainsRune(c.Tool, 0):
		return nil, fault(FaultInvalidArgs, "the tool's name is not valid")
	}
	req := &request{Request: abi.Request{
		V: abi.Version, ID: c.ID, Tool: c.Tool, Arguments: args, Config: m.src.Config,
		DeadlineMS: g.watch.left(), Run: c.Run,
	}}
	var err error
	if req.input, err = m.speaks.encode(&req.Request); err != nil {
		return nil, err
	}
	if int64(len(req.input)) > g.limits.Input {
		return nil, tooMuchInput(len(req.input), g.limits.Input)
	}
	return req, nil
}

func tooMuchInput(n int, limit int64) *FaultError {
	return fault(FaultInvalidArgs, "the arguments are too large: %s, the limit is %s", size(int64(n)), size(limit))
}

// run prepares a guest, lets do use it, and accounts for it whatever happens.
func (m *Module) run(ctx context.Context, p policy.Policy, c Call, do func(*guest) (Outcome, error)) (out Outcome) {
	need := p.Limits.Memory + stackLimit(p.Limits.Memory) + m.tables
	if err := m.engine.queue.enter(ctx, m, need); err != nil {
		return m.notBegun(err)
	}
	defer m.engine.queue.leave(need)
	start := time.Now()
	g, err := newGuest(ctx, p, m.http, c)
	if err != nil {
		out = (&FaultError{Fault: FaultDenied, Message: "a folder that the tool was granted cannot be opened", Detail: err.Error()}).outcome("")
		out.Receipt = Receipt{Module: m.info.Digest, Wall: time.Since(start)}
		return out
	}
	g.redact = m.src.Redact
	g.sink.Hide(g.redact)
	g.trace.hide(g.redact)
	if !m.gate.enter(g) {
		g.watch.stop(moduleClosed())
	} else {
		defer m.gate.leave(g)
	}
	out, err = guarded(g, do)
	if err != nil {
		spent := out.Receipt
		out = g.explain(err).outcome(g.sink.Tail())
		out.Receipt = spent
	}
	out.Receipt = m.account(g, out.Receipt, start)
	out.hide(g.redact)
	if err := g.close(); err != nil {
		m.engine.log.Warn("closing the folders of a call", "module", m.src.Name, "error", err)
	}
	return out
}

// notBegun is the outcome of a call that ended while it waited for its turn.
func (m *Module) notBegun(err error) Outcome {
	var why *FaultError
	switch {
	case errors.As(err, &why):
	case errors.Is(err, context.DeadlineExceeded):
		why = fault(FaultTimeout, "the tool did not begin in the time that was left: others took all the memory there is for tools")
	default:
		why = fault(FaultCancelled, "the call was cancelled before it began")
	}
	out := why.outcome("")
	out.Receipt = Receipt{Module: m.info.Digest}
	return out
}

// guarded runs do and turns a panic under it into a fault of the host. A call
// whose time ended while its answer was copied has no answer.
func guarded(g *guest, do func(*guest) (Outcome, error)) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = g.panicked(p)
		}
	}()
	if g.ctx.Err() != nil {
		return Outcome{}, context.Cause(g.ctx)
	}
	out, err = do(g)
	if err == nil {
		if late := g.watch.stopped(g.ctx); late != nil {
			err = late
		}
	}
	return out, err
}

// panicked explains a panic that came through the engine.
func (g *guest) panicked(p any) error {
	if g.arena.refused {
		return fault(FaultMemory, "the tool needs more memory to start than its limit of %s", size(g.limits.Memory))
	}
	f := fault(FaultInternal, "the host failed while it ran the tool")
	f.Detail = cleanLines(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()), maxDetail)
	return f
}

func (m *Module) account(g *guest, spent Receipt, start time.Time) Receipt {
	r := g.receipt()
	r.Module = m.info.Digest
	r.Wall = time.Since(start)
	r.InputBytes, r.OutputBytes = spent.InputBytes, spent.OutputBytes
	return r
}
