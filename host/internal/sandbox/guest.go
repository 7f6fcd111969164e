package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/tetratelabs/wazero"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
)

// guest is everything the host holds for one call. It dies with the call.
type guest struct {
	ctx    context.Context // ends when the guest has to
	watch  *stopwatch
	limits policy.Limits
	grants policy.Grants
	trace  *Trace // nil: nobody watches what it calls

	running    *export // that was called; nil: none
	stackLimit int64   // bytes
	pace       pace
	pieces     int // of memory that were brought before the slice

	arena     *arena
	parent    *parentCall // whose process opens the doors; nil: this one does
	sink      logSink
	redact    *redact.Set     // what is taken out of all it says; nil: nothing
	http      httpDoor        // nil without a grant
	folders   *hostfn.Folders // nil without a grant
	kv        store           // of the run; nil without a grant
	state     map[string]json.RawMessage
	responses responses
	sys       *system      // nil until the guest is configured
	plugin    *extismState // nil for the other ABIs
	seat      *seat        // where its session keeps the instance; nil: it is in none
	shared    bool         // it is initialised for all calls and is part of none

	fuel      int64 // work that was counted
	outOfFuel bool
	hostCalls int
	progress  func(permille int, message string) // nil: nobody is told
	pacer     *pacer                             // of progress
}

// maxHostCalls is the most calls of wagent functions that one call may make.
const maxHostCalls = 100_000

type guestKey struct{}

// guestOf finds the guest of a host function. The engine shares host modules
// between instances, so the context is the only thing that tells them apart.
func guestOf(ctx context.Context) *guest {
	g, _ := ctx.Value(guestKey{}).(*guest)
	return g
}

// newGuest prepares a call under p. It must be closed.
func newGuest(ctx context.Context, p policy.Policy, h *hostfn.HTTP, c Call) (*guest, error) {
	g := &guest{limits: p.Limits, grants: p.Grants, state: c.State, seat: c.seat}
	g.arena = &arena{limit: p.Limits.Memory}
	g.stackLimit = stackLimit(p.Limits.Memory)
	g.trace = c.Trace
	g.sink = hostfn.NewLogSink(p.Limits.Logs, c.Log)
	g.responses.limit = 2 * p.Limits.HTTPResponse
	if c.shared != nil {
		g.progress, g.pacer = c.Progress, &c.shared.progress
	}
	if c.parent != nil {
		c.parent.open(g)
	} else if err := g.open(h, c.shared); err != nil {
		return nil, err
	}
	if g.kv != nil {
		g.responses.limit += storeAnswers(p.Limits.KV)
	}
	if g.http != nil {
		g.trace.watch(g.http)
	}
	ctx, g.watch = newStopwatch(ctx, p.Limits.Timeout)
	ctx = context.WithValue(ctx, guestKey{}, g)
	g.ctx = ctx
	g.arena.inLong = g.inLong
	return g, nil
}

// open opens the doors that were granted.
func (g *guest) open(h *hostfn.HTTP, common *shared) error {
	if common != nil && common.kv != nil {
		g.kv = common.kv
	}
	if h != nil && len(g.grants.HTTP) > 0 {
		g.http = h.Session()
	}
	if len(g.grants.Read)+len(g.grants.Write) == 0 {
		return nil
	}
	var err error
	g.folders, err = hostfn.OpenFolders(g.grants.Read, g.grants.Write, g.limits.Files)
	return err
}

// close gives back what the call held. The guest does not run any more.
func (g *guest) close() error {
	g.watch.release()
	g.arena.free()
	if g.folders != nil {
		return g.folders.Close()
	}
	return nil
}

// config makes the system that the guest sees, and is how the engine makes an
// instance: with nothing of its own. It runs no start function: that is ours.
func (g *guest) config(stdin io.Reader, stdout io.Writer, args ...string) wazero.ModuleConfig {
	g.sys = newSystem(g, stdin, stdout, args)
	return wazero.NewModuleConfig().WithName("").WithStartFunctions()
}

// log is where what the guest prints goes. It refuses when the call is over:
// one call of the system interface can ask for millions of writes.
func (g *guest) log() io.Writer { return &guestLog{g} }

type guestLog struct{ guest *guest }

// Write takes p, unless the guest has to end.
func (l *guestLog) Write(p []byte) (int, error) {
	if err := l.guest.ctx.Err(); err != nil {
		return 0, err
	}
	return l.guest.sink.Write(p)
}

func noInput() io.Reader { return bytes.NewReader(nil) }

// receipt says what the call cost so far.
func (g *guest) receipt() Receipt {
	g.sink.Flush()
	r := Receipt{Fuel: g.fuel, PeakMemory: g.arena.peak, LogBytes: g.sink.Bytes(), LogsCut: g.sink.Cut()}
	if g.http != nil {
		r.Hosts = g.http.Hosts()
	}
	return r
}

var errOutputLimit = errors.New("output limit reached")

// output collects a command's standard output, and ends the call when there is
// too much of it.
type output struct {
	guest *guest
	buf   bytes.Buffer
}

// Write keeps p, or stops the guest.
func (o *output) Write(p []byte) (int, error) {
	if err := o.guest.ctx.Err(); err != nil {
		return 0, err
	}
	if int64(o.buf.Len())+int64(len(p)) > o.guest.limits.Output {
		o.guest.watch.stop(tooMuchOutput(o.guest.limits.Output))
		return 0, errOutputLimit
	}
	return o.buf.Write(p)
}

func tooMuchOutput(limit int64) *FaultError {
	return fault(FaultOutput, "the tool's answer is larger than its limit of %s; ask for less at once", size(limit))
}
