// Package host makes an agent of a manifest and runs it. Every tool is a
// WebAssembly module under the limits and grants that the manifest gives it, or
// another agent, whose tools are such modules in the end.
//
//	h, err := host.Open(ctx, "wagent.yaml", nil)
//	if err != nil {
//		return err
//	}
//	defer h.Close(ctx)
//	for ev, err := range h.Run(ctx, host.Text("What changed in report.txt?")) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(ev.Text())
//		if end, ok := ev.Body.(run.Failed); ok {
//			return errors.New(end.Err.Message)
//		}
//	}
package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Host is an agent that is ready to run. It may be used by many goroutines at
// once, and belongs to whoever opened it, who closes it.
type Host struct {
	manifest *manifest.Manifest
	store    run.Store
	ceiling  *policy.Policy
	now      func() time.Time
	log      *slog.Logger
	models   models
	progress *loading
	kin      kin
	agents   []*Host // all that are opened with it and closed with it; an agent that is a tool has none

	engine *sandbox.Engine
	box    toolbox
	order  []*binding
	state  map[string]agent.StateKey
	output *agent.Output // that runs are asked for, but for the way; nil: a text

	parseError func(ctx context.Context, problem, reply string) (string, error) // of the manifest's module; may be nil

	cache  string            // where compiled code is kept; empty: in memory
	memory int64             // see Options.ToolMemory
	weak   bool              // Options.WeakIsolation
	late   bool              // see Options.Late
	loaded []string          // digests of the modules, by the entry; empty for an agent
	hook   string            // of the module of agent.on_parse_error; empty: there is none
	parts  map[string]string // see listParts
	said   [][]string        // what each module warned of while it described itself

	getenv  func(string) (string, bool)
	secrets []map[string]string // values, of each module, by their names
	redact  *redact.Set         // the values of all of them

	mu     sync.Mutex
	closed bool
	users  map[*int]context.CancelFunc // runs and calls under way
	runs   map[run.ID]bool             // that are under way
	idle   sync.WaitGroup
}

// ErrClosed says that the host was closed.
var ErrClosed = errors.New("the host is closed")

// Open reads the manifest at path and compiles its modules. A fault of the
// manifest or of a module is a [*manifest.Error], or several joined.
func Open(ctx context.Context, path string, opts *Options) (*Host, error) {
	getenv := os.LookupEnv
	if opts != nil && opts.Getenv != nil {
		getenv = opts.Getenv
	}
	m, err := manifest.Load(path, getenv)
	if err != nil {
		return nil, err
	}
	return New(ctx, m, opts)
}

// New makes a host of a manifest, which must not be changed any more. It blocks
// while the modules are compiled. The error holds every fault, those of what
// [manifest.Manifest.Check] finds and of all modules that could be loaded, and those of
// the manifests that it names as tools.
func New(ctx context.Context, m *manifest.Manifest, opts *Options) (*Host, error) {
	h := newHost(m, opts)
	f := newFamily(h, opts)
	f.gather(h, nil)
	var err error
	if h.engine, err = sandbox.New(sandbox.Options{CacheDir: h.cache, Memory: h.memory, WeakIsolation: h.weak, Logger: h.log}); err != nil {
		return nil, errors.Join(h.kin.faults, err)
	}
	f.settle()
	h.agents = f.all[1:]
	if err := f.open(ctx, h); err != nil {
		return nil, errors.Join(err, h.Close(context.WithoutCancel(ctx)))
	}
	for _, one := range f.all {
		one.parts = one.listParts()
	}
	return h, nil
}

func newHost(m *manifest.Manifest, opts *Options) *Host {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Store == nil {
		o.Store = new(run.Memory)
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	m = m.WithDefaults()
	return &Host{
		manifest: m, cache: o.CacheDir, memory: o.ToolMemory, weak: o.WeakIsolation, store: o.Store, ceiling: o.Ceiling,
		now: o.Now, getenv: o.Getenv, log: o.Logger,
		models: models{manifest: m, given: o.Model, log: o.Logger},
		box:    make(toolbox), users: make(map[*int]context.CancelFunc), runs: make(map[run.ID]bool), late: o.Late,
	}
}

// Close stops what still runs, waits for it until ctx ends, and frees the
// modules. It must not be called from inside a loop over [Host.Run].
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	for _, cancel := range h.users {
		cancel()
	}
	h.mu.Unlock()
	if !first {
		return nil
	}
	if err := h.wait(ctx); err != nil {
		return err
	}
	err := h.models.close()
	for _, c := range h.agents {
		err = errors.Join(err, c.models.close())
	}
	return errors.Join(err, h.engine.Close(ctx))
}

// wait blocks until nothing runs any more or ctx ends.
func (h *Host) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { h.idle.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing: runs have not ended: %w", ctx.Err())
	}
}

// enter registers a user of the modules: its context ends when the host is
// closed, and Close waits until leave is called.
func (h *Host) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	key := new(int)
	h.users[key] = cancel
	h.idle.Add(1)
	return ctx, func() {
		cancel()
		h.mu.Lock()
		delete(h.users, key)
		h.mu.Unlock()
		h.idle.Done()
	}, nil
}

// ErrRunning says that the run is under way in this host.
var ErrRunning = errors.New("the run is under way")

// begin notes that a run is under way until end is called, unless it is already.
func (h *Host) begin(id run.ID) (end func(), _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs[id] {
		return nil, fmt.Errorf("run %s: %w", id, ErrRunning)
	}
	h.runs[id] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.runs, id)
	}, nil
}

// Run runs the agent and yields what happens. The last item is an event with
// body [run.Finished] or [run.Failed], or, when the run could not be begun or
// its store failed, an error. Breaking out of the loop stops what runs and
// leaves the run unended in the store.
func (h *Host) Run(ctx context.Context, in Input) iter.Seq2[run.Event, error] {
	in.ID = cmp.Or(in.ID, run.NewID())
	return h.driven(ctx, in.ID, func(ctx context.Context) (*agent.Agent, iter.Seq2[run.Event, error], error) {
		a, prompted, err := h.prepare(&in)
		if err != nil {
			return nil, nil, err
		}
		return a, a.Run(ctx, in.ID, prompted), nil
	})
}

// driven is the run of this id that prepare makes, with the guests that live as long as it
// does.
func (h *Host) driven(ctx context.Context, id run.ID, prepare func(context.Context) (*agent.Agent, iter.Seq2[run.Event, error], error)) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		ctx, leave, err := h.enter(ctx)
		if err != nil {
			yield(run.Event{}, err)
			return
		}
		defer leave()
		end, err := h.begin(id)
		if err != nil {
			yield(run.Event{}, err)
			return
		}
		defer end()
		a, events, err := prepare(ctx)
		if err != nil {
			yield(run.Event{}, err)
			return
		}
		// However the loop ends, and if it panics: the guests of a run end with it.
		session := h.engine.NewSession()
		defer session.Close()
		a.Box = runBox{h.box, session}
		events(yield)
	}
}

// Ask runs the agent on one prompt and returns how it ended. A run that failed
// is an error; its result is in the error's [*RunError].
func (h *Host) Ask(ctx context.Context, prompt string) (run.Finished, error) {
	for ev, err := range h.Run(ctx, Text(prompt)) {
		if err != nil {
			return run.Finished{}, err
		}
		switch b := ev.Body.(type) {
		case run.Finished:
			return b, nil
		case run.Failed:
			return run.Finished{}, &RunError{Failure: b.Err, Result: b.Result}
		}
	}
	return run.Finished{}, errors.New("the run ended without an event")
}

// RunError is a run that failed.
type RunError struct {
	Failure run.Failure
	Result  *run.Result // what the run had come to
}

// Error says why the run failed.
func (e *RunError) Error() string { return e.Failure.Kind + ": " + e.Failure.Message }

// Tools returns the tools that the model sees, in the order of the manifest.
func (h *Host) Tools() []ToolInfo {
	infos := make([]ToolInfo, len(h.order))
	for i, b := range h.order {
		infos[i] = b.info
	}
	return infos
}

// Call calls one tool once, without a model, and blocks until it has ended. The
// error is for calls that could not be made at all; a tool that failed, or
// arguments that do not fit its schema, are an Outcome.
func (h *Host) Call(ctx context.Context, tool string, args json.RawMessage) (Outcome, error) {
	return h.Watch(ctx, tool, args, nil)
}

// Watch is Call, and tells watch what the tool says while it runs: bodies are
// [run.Logged] and [run.Progressed], one at a time. watch must not block; nil: it
// is not told.
func (h *Host) Watch(ctx context.Context, tool string, args json.RawMessage, watch func(run.Body)) (Outcome, error) {
	return h.called(ctx, tool, args, watch, nil)
}

// called makes a call outside of a run. trace may be nil.
func (h *Host) called(ctx context.Context, tool string, args json.RawMessage, watch func(run.Body), trace *sandbox.Trace) (Outcome, error) {
	ctx, leave, err := h.enter(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer leave()
	b := h.box[tool]
	if b == nil {
		return Outcome{}, h.unknown(tool)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	fit, err := b.fit(args)
	if err != nil {
		return Outcome{Kind: run.KindInvalidArgs, Result: abi.Result{
			IsError: true, Content: []abi.Content{{Type: "text", Text: "The arguments do not fit the tool's schema: " + err.Error()}},
		}}, nil
	}
	return b.call(ctx, fit, watch, trace), nil
}
