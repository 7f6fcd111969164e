package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/policy"
)

// straight is a command whose function 1, busy, holds so many bytes of calls: the
// code that the engine's compiler is slowest with, a second for about 300 KB.
func straight(code int) []byte {
	section := func(id byte, body string) string {
		return string(binary.AppendUvarint([]byte{id}, uint64(len(body)))) + body
	}
	sized := func(s string) string { return string(binary.AppendUvarint(nil, uint64(len(s)))) + s }
	busy := "\x00" + strings.Repeat("\x10\x00", code/2) + "\x0b"
	return []byte("\x00asm\x01\x00\x00\x00" +
		section(1, "\x01\x60\x00\x00") +
		section(3, "\x02\x00\x00") +
		section(5, "\x01\x00\x01") +
		section(7, "\x02"+sized("memory")+"\x02\x00"+sized("_start")+"\x00\x01") +
		section(10, "\x02"+sized("\x00\x0b")+sized(busy)) +
		section(0, sized("name")+"\x01"+sized("\x01\x01"+sized("busy"))))
}

func lined(code int) Source {
	return Source{Name: "straight.wasm", Wasm: straight(code), Policy: policy.Default()}
}

const (
	bomb  = 2<<20 - 100 // of the 2 MiB that a function may have
	dozen = 60 << 10    // a few tenths of a second: not cheap, and soon there
)

// logged makes an engine with a cache and a folder for temporary files of its own.
func logged(t *testing.T) (_ *Engine, dir string, _ *bytes.Buffer) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	dir, log := filepath.Join(t.TempDir(), "cache"), new(bytes.Buffer)
	return newEngineAt(t, Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))}), dir, log
}

// killing is how long it may take to read two megabytes, write them anew, start
// a process and end it, under the race detector on a machine with other things to
// do. Compiling them there takes minutes.
const killing = 30 * time.Second

// checkRefused checks that nothing but the refusal is left of a load.
func checkRefused(t *testing.T, e *Engine, dir string, src Source, kind LoadKind, says ...string) {
	t.Helper()
	began := time.Now()
	_, err := e.Load(t.Context(), src)
	if took := time.Since(began); took > killing {
		t.Errorf("it took %v", took)
	}
	var got *LoadError
	if !errors.As(err, &got) || got.Kind != kind || got.Module != src.Name {
		t.Fatalf("got %v", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("it says %q and not %q", err, s)
		}
	}
	checkNothingLeft(t, dir)
}

func checkNothingLeft(t *testing.T, dir string) {
	t.Helper()
	if left := stored(t, cmp.Or(dir, os.TempDir())); len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	if left := scratches(t, dir); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func scratches(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, at := range []string{filepath.Join(dir, scratchName+"*"), filepath.Join(os.TempDir(), "wagent-"+scratchName+"*")} {
		some, err := filepath.Glob(at)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	return found
}

// CPU-7.
func TestModuleThatCompilesForLongIsStoppedAndNamed(t *testing.T) {
	e, dir, log := logged(t)
	e.workers.fences = func(int) fences { return fences{300 * time.Millisecond, time.Minute, 4 * policy.GiB} }
	checkRefused(t, e, dir, lined(bomb), LoadTooLarge,
		"longer than 300ms", fmt.Sprintf("its largest function is 1 (busy) with %d bytes", bomb+2), "split")
	e.workers.fences = fencesOf
	if out := load(t, e, lined(dozen)).Call(t.Context(), Call{}); out.Fault != "" {
		t.Errorf("the next load: %s %s", out.Fault, out.Detail)
	}
	if log.Len() > 0 {
		t.Error(log)
	}
}

// CPU-7.
func TestModuleThatTakesMuchMemoryToCompileIsStoppedAndNamed(t *testing.T) {
	e, dir, _ := logged(t)
	e.workers.fences = func(int) fences { return fences{time.Minute, time.Minute, 64 * policy.MiB} }
	checkRefused(t, e, dir, lined(bomb), LoadTooLarge, "more memory than 64 MiB", "1 (busy)")
}

// CPU-7.
func TestContextEndsTheCompilerAtOnce(t *testing.T) {
	for name, dir := range map[string]string{"on disk": filepath.Join(t.TempDir(), "cache"), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			e := newEngineAt(t, Options{CacheDir: dir})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() {
				_, err := e.Load(ctx, lined(bomb))
				done <- err
			}()
			awaitWorker(t, dir)
			cancel()
			began := time.Now()
			err := <-done
			if took := time.Since(began); !errors.Is(err, context.Canceled) || took > time.Second {
				t.Errorf("%v after %v", err, took)
			}
			checkNothingLeft(t, dir)
		})
	}
}

func TestCompilerThatCrashesIsAnErrorOfTheModule(t *testing.T) {
	for how, says := range map[string]string{
		"panic": "panic: out of cheese",
		"exit":  "exit status 9",
	} {
		e, dir, _ := logged(t)
		e.workers.args = badWorkerArgs(how)
		checkRefused(t, e, dir, lined(dozen), LoadMalformed, "crashed on the module", says, "1 (busy)")
	}
}

func TestWithoutAWorkerModulesAreCompiledHereAndTheLogSaysSo(t *testing.T) {
	for name, change := range map[string]func(*Engine){
		"the program has none": func(e *Engine) { e.workers = nil },
		"its file is lost":     func(e *Engine) { e.workers.lost = errors.New("gone") },
		"it cannot be started": func(e *Engine) { e.workers.path = filepath.Join(t.TempDir(), "gone") },
		"it does not greet":    func(e *Engine) { e.workers.args = badWorkerArgs("mute") },
		"it writes nothing":    func(e *Engine) { e.workers.args = badWorkerArgs("idle") },
		"its disk is full":     func(e *Engine) { e.workers.args = badWorkerArgs("full") },
	} {
		t.Run(name, func(t *testing.T) {
			e, dir, log := logged(t)
			change(e)
			if out := load(t, e, lined(dozen)).Call(t.Context(), Call{}); out.Fault != "" {
				t.Errorf("%s %s", out.Fault, out.Detail)
			}
			if got := strings.Count(log.String(), "compiled in this process"); got != 1 {
				t.Error(log)
			}
			if left := append(children(t), scratches(t, dir)...); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// Where /proc is not mounted a program does not find its own file. That is not for
// want of a call in its main.
func TestAProgramWhoseFileIsLostSaysSo(t *testing.T) {
	e, _, log := logged(t)
	e.workers.lost = errors.New("gone")
	load(t, e, lined(dozen))
	src := lined(dozen)
	src.Isolated = true
	_, err := e.Load(t.Context(), src)
	for _, got := range []string{log.String(), fmt.Sprint(err)} {
		if !strings.Contains(got, "gone") || strings.Contains(got, "host.Worker") {
			t.Error(got)
		}
	}
}

// A program may call Worker where it does not help: late, or under a condition that
// a process without an environment does not meet.
func TestAWorkerThatDoesNotBeginSaysWhatMainLacks(t *testing.T) {
	const lacks = "): host.Worker has to be called first in main, whatever the arguments and the environment are\""
	for how, says := range map[string]string{
		"mute":  "did not begin (signal: killed" + lacks,
		"upset": "did not begin (exit status 2: panic: no configuration" + lacks,
	} {
		e, _, log := logged(t)
		e.workers.args = badWorkerArgs(how)
		load(t, e, lined(dozen))
		if got := log.String(); !strings.Contains(got, "compiled in this process") || !strings.Contains(got, says) {
			t.Errorf("%s: %s", how, got)
		}
	}
}

// In this process the engine's compiler is asked to look at the context.
func TestContextEndsACompilerInThisProcess(t *testing.T) {
	e, dir, _ := logged(t)
	e.workers = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	entry := e.cache.open("sha256:00", "straight.wasm")
	code, refused := rewrite(lined(dozen), entry)
	if refused != nil {
		t.Fatal(refused)
	}
	if _, err := e.compile(ctx, entry, nil, code); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(entry.tidy(), code.close()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, dir)
}

func TestKeptCodeStartsNoProcess(t *testing.T) {
	e, dir, log := logged(t)
	load(t, e, lined(dozen))
	before := times(t, stored(t, dir))
	again := newEngineAt(t, Options{CacheDir: dir, Logger: e.log})
	again.workers.path = filepath.Join(t.TempDir(), "gone")
	if out := load(t, again, lined(dozen)).Call(t.Context(), Call{}); out.Fault != "" || log.Len() > 0 {
		t.Errorf("%s %s\n%s", out.Fault, out.Detail, log)
	}
	after := times(t, stored(t, dir))
	if len(before) != len(after) || len(after) != 3 { // rewritten, native, sealed
		t.Errorf("kept %v", after)
	}
	for path, at := range after {
		if !at.Equal(before[path]) {
			t.Errorf("%s was written again", path)
		}
	}
}

func TestSmallModuleIsCompiledHere(t *testing.T) {
	e, _, log := logged(t)
	e.workers.path = filepath.Join(t.TempDir(), "gone")
	load(t, e, source(t, "done"))
	load(t, e, source(t, "extism-v1"))
	if log.Len() > 0 {
		t.Error(log)
	}
}

// What is small can be slow: these take a tenth of a second and more.
func TestSmallModuleWithMuchToCompileIsNotCheap(t *testing.T) {
	locals := append(binary.AppendUvarint([]byte{1}, 50_000), 0x7f, 0x0b)
	for name, bodies := range map[string][][]byte{
		"locals":    slices.Repeat([][]byte{locals}, 99),
		"functions": slices.Repeat([][]byte{{0, 0x0b}}, 6000),
	} {
		if got := expense(bodiesOf(t, bodies)); got <= cheap {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// bodiesOf is a module of functions without parameters.
func bodiesOf(t *testing.T, bodies [][]byte) *guestCode {
	t.Helper()
	section := func(id byte, body []byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...)
	}
	funcs := append(binary.AppendUvarint(nil, uint64(len(bodies))), make([]byte, len(bodies))...)
	codes := binary.AppendUvarint(nil, uint64(len(bodies)))
	for _, b := range bodies {
		codes = append(binary.AppendUvarint(codes, uint64(len(b))), b...)
	}
	wasm := slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, []byte{1, 0x60, 0, 0}), section(3, funcs), section(10, codes))
	m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Rewrite(wasmbin.Options{Bare: true})
	if err != nil {
		t.Fatal(err)
	}
	return &guestCode{module: m, out: out}
}

// The engine makes code for every type when it loads a module, kept or not.
func TestTypesAreBounded(t *testing.T) {
	one := "\x60" + string(binary.AppendUvarint(nil, 1000)) + strings.Repeat("\x7f", 1000) + "\x00"
	types := string(binary.AppendUvarint(nil, 200)) + strings.Repeat(one, 200)
	wasm := "\x00asm\x01\x00\x00\x00" + string(binary.AppendUvarint([]byte{1}, uint64(len(types)))) + types
	e, dir, _ := logged(t)
	checkRefused(t, e, dir, Source{Name: "types.wasm", Wasm: []byte(wasm), Policy: policy.Default()}, LoadTooLarge, "200 function types have 200000 parameters")
}

func TestNothingIsCompiledFromTheCache(t *testing.T) {
	src := lined(dozen)
	entry := newMemoryEntry()
	code, refused := rewrite(src, entry)
	if refused != nil {
		t.Fatal(refused)
	}
	if _, err := compileIn(t.Context(), entry, src.Wasm, code, fromCache); !errors.Is(err, errNotKept) {
		t.Errorf("got %v", err)
	}
	if err := code.close(); err != nil {
		t.Error(err)
	}
}

func TestOneModuleMayBeCompiledSeveralTimesAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // tests of other packages compile in that of all
	dir := filepath.Join(t.TempDir(), "cache")
	var log syncBuffer
	var all sync.WaitGroup
	for range 3 {
		e := newEngineAt(t, Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		all.Go(func() {
			m, err := e.Load(t.Context(), lined(dozen))
			if err != nil {
				t.Error(err)
				return
			}
			if out := m.Call(t.Context(), Call{}); out.Fault != "" {
				t.Errorf("%s %s", out.Fault, out.Detail)
			}
		})
	}
	all.Wait()
	if log.Len() > 0 {
		t.Error(log.String())
	}
	if left := append(scratches(t, dir), children(t)...); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// syncBuffer is a buffer that several loggers write to.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func TestFoldersOfKilledProcessesAreRemoved(t *testing.T) {
	e, dir, _ := logged(t)
	old, young := filepath.Join(dir, scratchName+"1"), filepath.Join(dir, scratchName+"2")
	for _, at := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(at, "wazero"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	load(t, e, lined(dozen))
	if got := scratches(t, dir); !slices.Equal(got, []string{young}) {
		t.Errorf("left: %v", got)
	}
}
