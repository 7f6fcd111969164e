package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/wagent-dev/wagent/host/policy"
)

// Options configure an Engine. The zero value is usable.
type Options struct {
	// CacheDir is where compiled code is kept between runs. It holds native code
	// that the host executes, so it must belong to this user alone; it is made
	// with mode 0700. Empty, or not safe to use: code is kept in memory only.
	CacheDir string
	// Memory is how much the guests of all calls that run at once may be limited
	// to together, in bytes; a call that does not fit waits for its turn. One whose
	// own limit is larger runs alone. 0: half of the machine's memory, or of what
	// the process may use of it where the system says.
	Memory int64
	// Isolated has every module run its guests in a process of its own, whatever its
	// source says, but for modules that are only inspected.
	Isolated bool
	// WeakIsolation lets isolated modules run in a process that is not shut off from
	// the system where the system has no walls. False: they are refused there.
	WeakIsolation bool
	// Logger is told what an operator should know. Nil: nothing is logged.
	Logger *slog.Logger
}

// Engine compiles modules. Its methods may be called by several goroutines.
type Engine struct {
	cache    codeCache
	log      *slog.Logger
	idle     *idlers
	isolated bool      // see Options.Isolated
	weak     bool      // see Options.WeakIsolation
	workers  *workers  // nil: modules are compiled in this process
	told     sync.Once // that modules are
	queue    *queue
	sessions *sessions

	mu      sync.Mutex
	modules map[*Module]struct{}
	closed  bool
}

// maxIdle is how many guests of all modules wait for a call. One of a Go tool
// holds about a megabyte.
const maxIdle = 64

// minTotal is what guests may be limited to together at least, in bytes.
const minTotal = policy.GiB

// New makes an engine. A cache folder that cannot be used is a warning in the
// log and not an error. The engine must be closed.
func New(o Options) (*Engine, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if o.Memory <= 0 {
		o.Memory = max(machineMemory()/2, minTotal)
	}
	knowVersion()
	all := newQueue(o.Memory)
	return &Engine{
		isolated: o.Isolated, weak: o.WeakIsolation,
		queue: all, sessions: newSessions(all),
		cache:   openCodeCache(o.CacheDir, log),
		log:     log,
		idle:    newIdlers(maxIdle),
		workers: newWorkers(),
		modules: make(map[*Module]struct{}),
	}, nil
}

// knowVersion has the engine find out its own version, which it does the first time
// that it is needed and without a lock.
var knowVersion = sync.OnceFunc(func() {
	r := wazero.NewRuntime(context.Background())
	_ = r.Close(context.Background()) // there is nothing in it
})

// Close closes the modules that are still open, as their own Close does.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	open := make([]*Module, 0, len(e.modules))
	for m := range e.modules {
		open = append(open, m)
	}
	e.mu.Unlock()

	var errs []error
	for _, m := range open {
		errs = append(errs, m.Close(ctx))
	}
	return errors.Join(errs...)
}

var errEngineClosed = errors.New("the sandbox is closed")

func (e *Engine) adopt(m *Module) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errEngineClosed
	}
	e.modules[m] = struct{}{}
	return nil
}

func (e *Engine) forget(m *Module) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.modules, m)
}
