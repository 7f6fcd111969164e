package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wagent-dev/wagent/host/internal/confine"
)

// workerArg is the only argument of a process that works for its parent. No
// program takes it for something else: what does not call Worker stumbles over it.
const workerArg = "--wagent-worker=compile"

// enclosedArg is the argument of one that has taken from itself what it could of
// the file system, and has executed itself again so that this holds for all of it.
const enclosedArg = workerArg + ",enclosed"

// workerGreeting is what the process says before it is given anything.
const workerGreeting = "wagent worker 1"

// entered says that Worker was called in this process, so that another one of the
// same program would be a worker. It is of the process: only its main knows.
var entered atomic.Bool //nolint:gochecknoglobals // see above

// Worker makes the process a worker of its parent, and ends it, if that is what it
// was started as. Otherwise it returns at once, and from then on engines have what
// they compile compiled by such workers, and can have guests run by them.
func Worker() {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case workerArg:
			open := enclose()
			os.Exit(work(os.Stdin, os.Stdout, open))
		case enclosedArg:
			os.Exit(work(os.Stdin, os.Stdout, nil))
		case isolateArg:
			open := encloseGuests()
			os.Exit(runGuests(polled(os.Stdin), os.Stdout, open))
		case isolateEnclosedArg:
			os.Exit(runGuests(polled(os.Stdin), os.Stdout, nil))
		}
	}
	entered.Store(true)
}

// order is what a worker is told; the module follows.
type order struct {
	Size    int64         // bytes of the module
	Memory  int64         // bytes that the worker may take
	CPU     time.Duration // that it may take of all processors, rounded up to seconds
	Workers int           // functions that are compiled at once
}

// report is how a worker ends, if it does by itself.
type report struct {
	Refused string `json:",omitempty"` // the engine's error about the module
	Unkept  string `json:",omitempty"` // it was compiled and could not be written
	Open    string `json:",omitempty"` // why the worker was not shut off from something
}

// The exit statuses of a worker that made no report.
const (
	exitMemory  = 3 // it reached its limit of memory
	exitTime    = 6 // it reached its limit of processor time
	exitOrphan  = 4 // its parent has gone
	exitUnheard = 5 // it could not read its order or write its report
)

// work compiles one module into the folder it was started in. open is why the
// process can still reach files that it does not need; nil: it cannot.
func work(in io.Reader, out io.Writer, open error) int {
	if _, err := fmt.Fprintln(out, workerGreeting); err != nil {
		return exitUnheard
	}
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	var o order
	if err != nil || json.Unmarshal(line, &o) != nil {
		return exitUnheard
	}
	bound(o)
	open = errors.Join(open, confine.Calls())
	debug.SetMemoryLimit(o.Memory / 16 * 15)
	go watchMemory(o.Memory)
	wasm := make([]byte, o.Size)
	if _, err := io.ReadFull(r, wasm); err != nil {
		return exitUnheard
	}
	go func() {
		_, _ = io.Copy(io.Discard, r) // it ends with the parent, whatever else it says
		os.Exit(exitOrphan)
	}()
	made := compileInto(".", wasm, o.Workers)
	if made == (report{}) {
		_ = shelter(".", wasm, o.Workers) // the code is there, under one name or the other
	}
	if open != nil {
		made.Open = open.Error()
	}
	if json.NewEncoder(out).Encode(made) != nil {
		return exitUnheard
	}
	return 0
}

// compileInto compiles a module that was rewritten and writes its code to dir.
func compileInto(dir string, wasm []byte, workers int) report {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return report{Unkept: err.Error()}
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), workers)
	_, err = wazero.NewRuntimeWithConfig(ctx, runtimeConfig(cache)).CompileModule(ctx, wasm)
	switch {
	case err == nil:
		return report{}
	case unwritten(err):
		return report{Unkept: err.Error()}
	default:
		return report{Refused: err.Error()}
	}
}

// unwritten says that err is one of a file, which the engine writes last.
func unwritten(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// memoryLook is how often a worker looks at its memory. In that time it takes a
// few megabytes.
const memoryLook = 10 * time.Millisecond

// watchMemory ends the process when it has more memory than limit. It is the only
// bound where the system has none, and the one with a clear end where it has.
func watchMemory(limit int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(memoryLook) {
		metrics.Read(samples)
		if samples[0].Value.Uint64()-samples[1].Value.Uint64() > uint64(limit) {
			os.Exit(exitMemory)
		}
	}
}
