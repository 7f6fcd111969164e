package sandbox

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/policy"
)

// The attack: a module that passes every cap and keeps the compiler busy. Two
// megabytes of calls in one function take ten seconds and 1.6 GB, and the
// engine looks at its context between functions at best. So what is not in the
// cache, and not known to be cheap, is compiled in a process that can be killed.

// compile compiles code, which was made of wasm, or loads what was compiled
// before. It owns the entry.
func (e *Engine) compile(ctx context.Context, entry *cacheEntry, wasm []byte, code *guestCode) (*part, error) {
	if refused := checkTypes(code.module); refused != nil {
		return nil, errors.Join(refused, entry.close(context.WithoutCancel(ctx)))
	}
	if expense(code) <= cheap {
		return compileOrRetry(ctx, entry, wasm, code, alone)
	}
	if !entry.onDisk() {
		return e.compileAnew(ctx, entry, wasm, code)
	}
	p, err := compileIn(ctx, entry, wasm, code, fromCache)
	if err == nil || ctx.Err() != nil {
		return p, err
	}
	if errors.Is(err, errNotKept) {
		again, err := entry.again()
		if err != nil { // the cache was deleted meanwhile
			again = entry.inMemory()
		}
		return e.compileAnew(ctx, again, wasm, code)
	}
	p, again := e.compileAnew(ctx, entry.inMemory(), wasm, code)
	if again == nil {
		entry.discard(err)
	}
	return p, again
}

// compileAnew compiles what is not in the cache.
func (e *Engine) compileAnew(ctx context.Context, entry *cacheEntry, wasm []byte, code *guestCode) (*part, error) {
	if e.workers == nil {
		e.told.Do(func() {
			e.log.Warn("modules are compiled in this process, where nothing can stop that: the program does not call host.Worker", "module", entry.name)
		})
		return compileOrRetry(ctx, entry, wasm, code, together)
	}
	p, err := e.workers.compile(ctx, entry, wasm, code)
	var none *noWorkerError
	if !errors.As(err, &none) {
		return p, err
	}
	if code.apart && !none.unkept {
		return nil, refuse(LoadUnsupported, "the module wants a process of its own, and none could be started: "+oneLine(none.Error(), maxMessage), "")
	}
	e.log.Warn("a module is compiled in this process, where nothing can stop that", "module", entry.name, "error", none)
	if none.unkept {
		entry = entry.inMemory()
	}
	return compileOrRetry(ctx, entry, wasm, code, together)
}

// compiling says how the engine comes to native code.
type compiling int

const (
	// fromCache compiles nothing: what is not kept is errNotKept.
	fromCache compiling = iota
	// alone compiles in one goroutine, which looks at no context. A panic of the
	// compiler is an error.
	alone
	// together compiles in several, which look at the context between functions.
	together
)

var errNotKept = errors.New("the module's code is not in the cache")

// context returns the context for the engine's compiler.
func (c compiling) context(ctx context.Context) context.Context {
	switch c {
	case alone:
		return experimental.WithCompilationWorkers(ctx, 1)
	case together:
		return experimental.WithCompilationWorkers(ctx, atOnce())
	default:
		// The engine looks for kept code first, and asks a context only between
		// functions that several goroutines compile: of one that has ended none is.
		ended, end := context.WithCancelCause(ctx)
		end(errNotKept)
		return experimental.WithCompilationWorkers(ended, 2)
	}
}

// atOnce is how many functions are compiled at once. With one the engine would
// not look at its context.
func atOnce() int { return max(2, min(runtime.GOMAXPROCS(0), 4)) }

// failed explains an error of the engine's compiler.
func (c compiling) failed(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errNotKept):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return refuse(LoadMalformed, "this is not a valid core module: "+oneLine(err.Error(), maxMessage), "")
	}
}

// The time that a compiler of one goroutine takes at most, as measured with the
// code that it is slowest with: calls, empty functions, many locals.
const (
	perByte  = 4 * time.Microsecond
	perFunc  = 10 * time.Microsecond
	perLocal = 25 * time.Nanosecond
)

// cheap is what is compiled at once. To start a process takes a third of it.
const cheap = 50 * time.Millisecond

// expense is the time that compiling may take. Modules of a few kilobytes are
// within [cheap], other ones are not, whatever they hold.
func expense(code *guestCode) time.Duration {
	total := time.Duration(len(code.out.Wasm)) * perByte
	if total > cheap {
		return total
	}
	s := code.module.CodeSize()
	return total + time.Duration(s.Funcs)*perFunc + time.Duration(s.Locals)*perLocal
}

// maxTypes bounds what function types name, types counted as typeValues. The
// engine makes native code for each type whenever it loads a module, in this
// process: that many take a third of a second. Large modules have a tenth.
const (
	maxTypes   = 100_000
	typeValues = 4
)

func checkTypes(m *wasmbin.Module) *LoadError {
	if n := m.TypeSize() + typeValues*len(m.Types); n > maxTypes {
		return refuse(LoadTooLarge, fmt.Sprintf("the module is refused for its size: its %d function types have %d parameters and results", len(m.Types), m.TypeSize()), "")
	}
	return nil
}

// fences bound the process that compiles one module.
type fences struct {
	time   time.Duration
	cpu    time.Duration // of all processors, where the system has that limit
	memory int64
}

// A megabyte of code from the compilers of real languages takes 2 s of a processor
// and 25 MB.
const (
	baseCPU      = 30 * time.Second
	cpuPerMiB    = 10 * time.Second
	baseMemory   = policy.GiB
	memoryPerMiB = 16 * policy.MiB
)

// patience is how often longer than on processors of its own a compiler may take:
// a machine with much to do is not the module's fault.
const patience = 4

// fencesOf are the fences for so many bytes of code.
func fencesOf(code int) fences {
	n := (int64(code) + policy.MiB - 1) / policy.MiB
	f := fences{cpu: slowness * (baseCPU + time.Duration(n)*cpuPerMiB), memory: baseMemory + n*memoryPerMiB}
	f.time = patience * f.cpu
	return f
}

// largest says which function keeps the compiler busy, as likely as can be told.
func largest(m *wasmbin.Module) string {
	f := m.CodeSize().Largest
	name := ""
	if f.Name != "" {
		name = " (" + oneLine(f.Name, maxWords) + ")"
	}
	return fmt.Sprintf("its largest function is %d%s with %s", f.Index, name, size(int64(f.Bytes)))
}
