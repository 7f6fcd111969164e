package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// workers start processes of this program that compile one module each.
type workers struct {
	path   string
	lost   error // why path is not known; nil: it is
	args   []string
	guests []string // of one that runs guests
	fences func(code int) fences
}

// newWorkers returns nil where this program would not become a worker.
func newWorkers() *workers {
	if !entered.Load() {
		return nil
	}
	path, err := program()
	if err != nil {
		err = fmt.Errorf("the file of this program is not found, which other processes of it are started from (%w)", err)
	}
	return &workers{path, err, []string{os.Args[0], workerArg}, []string{os.Args[0], isolateArg}, fencesOf}
}

// noWorkerError says why no worker made code that can be loaded, where the module
// is not to blame. A module that was compiled within the fences has unkept set.
type noWorkerError struct {
	why    error
	unkept bool
}

func (e *noWorkerError) Error() string { return e.why.Error() }

func (e *noWorkerError) Unwrap() error { return e.why }

// compile has the module compiled, loads the code and keeps it in the entry. The
// error is a *noWorkerError where another way may be tried.
func (w *workers) compile(ctx context.Context, entry *cacheEntry, wasm []byte, code *guestCode) (_ *part, err error) {
	dir, err := entry.scratch()
	if err != nil {
		return nil, &noWorkerError{why: err}
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			entry.log.Warn("removing what a compiler wrote", "module", entry.name, "error", err)
		}
	}()
	began := time.Now()
	if err := w.run(ctx, dir, code, entry.log); err != nil {
		return nil, err
	}
	made := *entry
	if made.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
		return nil, &noWorkerError{err, true}
	}
	p, err := compileIn(ctx, &made, wasm, code, fromCache)
	switch {
	case err == nil:
		entry.log.Debug("compiled", "module", entry.name, "took", time.Since(began))
	case ctx.Err() == nil:
		return nil, &noWorkerError{err, true}
	default:
		return nil, err
	}
	if err := entry.adopt(dir); err != nil {
		entry.log.Warn("compiled code could not be kept", "module", entry.name, "error", err)
	}
	return p, nil
}

// run starts a worker in dir and waits until it has ended, which is at the latest
// when ctx does or a fence is reached. log is told what the worker is not shut off from.
func (w *workers) run(ctx context.Context, dir string, code *guestCode, log *slog.Logger) error {
	if w.lost != nil {
		return &noWorkerError{why: w.lost}
	}
	f := w.fences(len(code.out.Wasm))
	limited, cancel := context.WithTimeout(ctx, f.time)
	defer cancel()
	// A process whose parent is to end it is ended with the thread that made it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var said head
	cmd := exec.CommandContext(limited, w.path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.Stderr = w.args, []string{}, dir, &said
	detach(cmd)
	cmd.Cancel = func() error { return kill(cmd) }
	cmd.WaitDelay = time.Second // for the pipe of errors, which nobody else holds
	in, err := cmd.StdinPipe()
	if err != nil {
		return &noWorkerError{why: err}
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return &noWorkerError{why: errors.Join(err, in.Close())}
	}
	if err := cmd.Start(); err != nil {
		return &noWorkerError{why: err}
	}
	o := order{Size: int64(len(code.out.Wasm)), Memory: f.memory, CPU: f.cpu, Workers: atOnce()}
	e := ending{fences: f, code: code}
	e.greeted, e.report = converse(in, out, o, code.out.Wasm)
	e.late = limited.Err() != nil
	if !e.greeted {
		cancel()
	}
	_ = cmd.Wait() // what it says is in the state
	e.state, e.said = cmd.ProcessState, said.String()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e.report != nil && e.report.Open != "" {
		log.Debug("a module was compiled by a process that was not shut off from the system", "why", oneLine(e.report.Open, maxMessage))
	}
	return e.explain()
}

// maxReport bounds what a worker says.
const maxReport = 64 << 10

// converse gives a worker its order and returns what it says. The report is nil
// when it did not come to its end. It returns when the worker has ended, too.
func converse(in io.Writer, out io.Reader, o order, wasm []byte) (greeted bool, _ *report) {
	lines := bufio.NewReader(io.LimitReader(out, maxReport))
	if hello, _ := lines.ReadString('\n'); strings.TrimSuffix(hello, "\n") != workerGreeting {
		return false, nil
	}
	if json.NewEncoder(in).Encode(o) != nil {
		return true, nil
	}
	if _, err := in.Write(wasm); err != nil {
		return true, nil
	}
	var r report
	if json.NewDecoder(lines).Decode(&r) != nil {
		return true, nil
	}
	return true, &r
}

// ending is what there is to know of a worker that has ended.
type ending struct {
	fences  fences
	code    *guestCode
	greeted bool
	report  *report
	late    bool // the time was over
	state   *os.ProcessState
	said    string
}

// explain returns nil when the code was written.
func (e *ending) explain() error {
	r := e.report
	switch {
	case !e.greeted && !e.late:
		return &noWorkerError{why: errors.New("the process that compiles did not begin (" + e.how() + "): host.Worker has to be called first in main, whatever the arguments and the environment are")}
	case r != nil && r.Unkept != "":
		return &noWorkerError{errors.New(oneLine(r.Unkept, maxMessage)), true}
	case r != nil && r.Refused != "":
		return refuse(LoadMalformed, "this is not a valid core module: "+oneLine(r.Refused, maxMessage), "")
	case r != nil:
		return nil
	case e.late:
		return e.refuse(LoadTooLarge, fmt.Sprintf("compiling the module takes longer than %v", e.fences.time))
	case e.state.ExitCode() == exitTime:
		return e.refuse(LoadTooLarge, fmt.Sprintf("compiling the module takes more than %v of a processor", e.fences.cpu))
	case e.state.ExitCode() == exitMemory || outOfMemory(e.said):
		return e.refuse(LoadTooLarge, "compiling the module takes more memory than "+size(e.fences.memory))
	case killed(e.state):
		return e.refuse(LoadTooLarge, "the system ended the process that compiled the module, as it does where memory is short")
	default:
		return e.refuse(LoadMalformed, "the compiler crashed on the module ("+e.how()+")")
	}
}

func (e *ending) refuse(kind LoadKind, what string) *LoadError {
	return refuse(kind, what+"; "+largest(e.code.module), "split large functions, or build the module without inlining")
}

// outOfMemory says that Go's runtime, or its race detector, ended a process
// because the system gave it no more memory.
func outOfMemory(said string) bool {
	return slices.ContainsFunc([]string{"out of memory", "cannot allocate memory", "failed to allocate"},
		func(words string) bool { return strings.Contains(said, words) })
}

// how says how the process ended, and why if it said so.
func (e *ending) how() string {
	if words := e.words(); words != "" {
		return fmt.Sprintf("%v: %s", e.state, words)
	}
	return e.state.String()
}

// words is the line with which Go's runtime says why it ended a process.
func (e *ending) words() string {
	for line := range strings.Lines(e.said) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return oneLine(line, maxWords)
		}
	}
	return oneLine(e.said, maxWords)
}

// maxHead bounds what is kept of what a worker complains of.
const maxHead = 8 << 10

// head keeps the beginning of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	_, err := h.Buffer.Write(p[:min(len(p), maxHead-h.Len())])
	return len(p), err
}
