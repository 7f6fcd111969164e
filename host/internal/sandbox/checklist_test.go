package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// The tests of checklist_*_test.go are the list of what an untrusted guest can
// do, one function for each row and named by its id. Each asserts how the attack
// ends, when, in how much memory, and that the next call of another tool works.

// parts are a tool of the wagent ABI, each of which a test may replace by
// something hostile. Code is in the words of [testkit.Code]; $0 is the first of
// funcs. The tool answers done; what it answers is at [partsAnswer].
type parts struct {
	types   []string // from 5 on
	imports []string // functions
	foreign []string // imports of other kinds
	funcs   []function
	tables  []string
	memory  string // instead of two pages
	globals []string
	exports []string // besides the ABI's
	without string   // one of the ABI's that is left out
	start   string   // index of the function
	elems   []string
	data    []string // from 2 on
	custom  []string // sections, at the end
	raw     string   // code that goes before that of the last function, as bytes

	abi, alloc, describe, call string
	locals                     string // of call, from 2 on: a vector
}

// function is one function: its type, locals and code.
type function struct {
	typ    int
	locals string
	code   string
}

// The types that every tool has.
const (
	typeVersion  = iota // () -> i32
	typeAlloc           // (i32) -> i32
	typeDescribe        // () -> i64
	typeCall            // (i32, i32) -> i64
	typeNothing         // () -> ()
	typeOwn             // the first of parts.types
)

const (
	partsDescription = `{"tools":[{"name":"t","description":"Does harm."}]}`
	partsResponse    = `{"v":1,"content":[{"type":"text","text":"done"}]}`
	partsAnswer      = 1024
)

func packed(at, n int) string { return fmt.Sprint("i64.const ", uint64(at)<<32|uint64(n)) }

// answers is the end of a call that went well.
func answers() string { return packed(partsAnswer, len(partsResponse)) }

// wasm writes the tool down.
func (p parts) wasm() []byte {
	or := func(s, otherwise string) string {
		if s == "" {
			return otherwise
		}
		return s
	}
	all := append([]function{
		{typeVersion, "", or(p.abi, "i32.const 1")},
		{typeAlloc, "", or(p.alloc, "i32.const 4096")},
		{typeDescribe, "", or(p.describe, packed(64, len(partsDescription)))},
		{typeCall, p.locals, or(p.call, answers())},
	}, p.funcs...)
	var types, codes []string
	for i, f := range all {
		raw := ""
		if i == len(all)-1 {
			raw = p.raw
		}
		types = append(types, testkit.Uint(uint64(f.typ)))
		codes = append(codes, testkit.Sized(or(f.locals, testkit.Vec())+raw+testkit.Code(p.numbered(f.code))+"\x0b"))
	}
	sections := []string{
		testkit.Section(1, testkit.Vec(append([]string{
			"\x60\x00\x01\x7f", "\x60\x01\x7f\x01\x7f", "\x60\x00\x01\x7e", "\x60\x02\x7f\x7f\x01\x7e", "\x60\x00\x00",
		}, p.types...)...)),
	}
	some := func(id byte, items []string) {
		if len(items) > 0 {
			sections = append(sections, testkit.Section(id, testkit.Vec(items...)))
		}
	}
	some(2, append(slices.Clone(p.imports), p.foreign...))
	some(3, types)
	some(4, p.tables)
	some(5, []string{or(p.memory, "\x00\x02")})
	some(6, p.globals)
	some(7, append(p.abiExports(), p.exports...))
	if p.start != "" {
		sections = append(sections, testkit.Section(8, testkit.Uint(uint64(p.number(p.start)))))
	}
	some(9, p.elems)
	if len(p.data) > 0 {
		sections = append(sections, testkit.Section(12, testkit.Uint(uint64(2+len(p.data)))))
	}
	some(10, codes)
	some(11, append([]string{dataAt(64, partsDescription), dataAt(partsAnswer, partsResponse)}, p.data...))
	return testkit.Module(append(sections, p.custom...)...)
}

func (p parts) abiExports() []string {
	all := []string{testkit.Sized("memory") + "\x02\x00"}
	for i, name := range []string{"wagent_abi", "wagent_alloc", "wagent_describe", "wagent_call"} {
		all = append(all, exported(name, len(p.imports)+i))
	}
	return slices.DeleteFunc(all, func(e string) bool {
		return p.without != "" && strings.HasPrefix(e, testkit.Sized(p.without))
	})
}

var ownFunction = regexp.MustCompile(`\$(\d+)`)

// numbered puts the indices of functions into code.
func (p parts) numbered(code string) string {
	return ownFunction.ReplaceAllStringFunc(code, func(s string) string { return strconv.Itoa(p.number(s)) })
}

func (p parts) number(s string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "$"))
	if err != nil {
		panic(err)
	}
	return len(p.imports) + 4 + n
}

func (p parts) source(name string) Source {
	return Source{Name: name + ".wasm", Wasm: p.wasm(), Policy: policy.Default()}
}

func exported(name string, function int) string {
	return testkit.Sized(name) + "\x00" + testkit.Uint(uint64(function))
}

func imported(module, name string, typ int) string {
	return testkit.Sized(module) + testkit.Sized(name) + "\x00" + testkit.Uint(uint64(typ))
}

// dataAt is a data segment.
func dataAt(at int, s string) string {
	return "\x00" + testkit.Code(fmt.Sprint("i32.const ", at)) + "\x0b" + testkit.Sized(s)
}

// lab is where attacks are suffered: an engine with a tool that must go on working.
type lab struct {
	engine *Engine
	good   *Module
}

func newLab(t *testing.T) *lab {
	t.Helper()
	e := newEngine(t)
	return &lab{e, load(t, e, source(t, "done"))}
}

// attack is what a guest does and how that ends.
type attack struct {
	what string
	src  Source
	call Call
	on   func(*Module) Outcome // instead of call
	want []Fault
	says string
	room int64         // more bytes than the limit and the slack that may be resident
	most int64         // bytes that may be resident; 0: the limits, the slack and room
	late time.Duration // that it may end after its limit; 0: overrun
}

// endless is how much later than its limit a call may end that waits for what never
// comes: nothing else would end it, however long a busy machine takes.
const endless = 30 * time.Second

// slack is what a host may take beside a guest's memory: the answer, compiled
// code, what the collector has not given back.
const slack = 128 * policy.MiB

// suffers checks all that holds whatever a guest does.
func (l *lab) suffers(t *testing.T, attacks ...attack) {
	t.Helper()
	for _, a := range attacks {
		t.Run(a.what, func(t *testing.T) {
			m := load(t, l.engine, a.src)
			defer closed(t, m)
			do := a.on
			if do == nil {
				do = func(m *Module) Outcome { return m.Call(t.Context(), a.call) }
			}
			goroutines := runtime.NumGoroutine()
			settled(t)
			before := residentPeak(t)
			longest := collecting()
			start := time.Now()
			out := do(m)
			took := time.Since(start)
			gc := longest()
			t.Logf("took %v, collections at most %v", took, gc)
			// What guests take of the host, such as stacks, the race detector marks byte
			// by byte, and a collection waits for it.
			if gc > overrun*slowness {
				t.Errorf("a collection took %v", gc)
			}
			memory := residentPeak(t) - before
			if !slices.Contains(a.want, out.Fault) || !strings.Contains(said(out), a.says) {
				t.Errorf("got %q %.300q (%.300s), want %q %q", out.Fault, said(out), out.Detail, a.want, a.says)
			}
			limits := m.src.Policy.Limits
			if took > limits.Timeout+cmp.Or(a.late, overrun) {
				t.Errorf("took %v of %v", took, limits.Timeout)
			}
			most := a.most
			if most == 0 {
				most = limits.Memory + 2*stackLimit(limits.Memory) + slack + a.room
			}
			if memory > most {
				t.Errorf("%s were resident, of %s", size(memory), size(most))
			}
			if out.Receipt.PeakMemory > limits.Memory {
				t.Errorf("the guest had %d bytes of %d", out.Receipt.PeakMemory, limits.Memory)
			}
			checkShown(t, out)
			ended(t, goroutines)
			l.works(t)
		})
	}
}

// works checks that the next call works.
func (l *lab) works(t *testing.T) {
	t.Helper()
	if out := l.good.Call(t.Context(), Call{}); said(out) != "done" {
		t.Errorf("the next call: %q %s", out.Fault, out.Detail)
	}
}

// refuses checks that modules are not loaded, at once and with the reason.
func (l *lab) refuses(t *testing.T, src Source, kind LoadKind, says string) {
	t.Helper()
	settled(t)
	before := residentPeak(t)
	start := time.Now()
	m, err := l.engine.Load(t.Context(), src)
	took := time.Since(start)
	memory := residentPeak(t) - before
	if err == nil {
		closed(t, m)
	}
	got, ok := err.(*LoadError)
	if !ok || got.Kind != kind || !strings.Contains(err.Error(), says) {
		t.Errorf("got %.300v, want %s %q", err, kind, says)
	}
	if ok && (len(err.Error()) > maxProblem+maxMessage || strings.ContainsAny(err.Error(), "\n\r\x1b\x00")) {
		t.Errorf("not one clean line: %.500q", err)
	}
	if took > overrun {
		t.Errorf("took %v", took)
	}
	if memory > slack {
		t.Errorf("%s were resident", size(memory))
	}
	l.works(t)
}

func closed(t *testing.T, m *Module) {
	t.Helper()
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// ended waits until no more goroutines run than did. One that is left stays.
func ended(t *testing.T, goroutines int) {
	t.Helper()
	for start := time.Now(); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Since(start) > endless {
			t.Errorf("%d goroutines, and %d before", runtime.NumGoroutine(), goroutines)
			return
		}
	}
}

// settled lets the collector finish what tests before have left.
func settled(t *testing.T) {
	t.Helper()
	runtime.GC()
	residentPeak(t)
}

// entries are how many files of a folder of the process's system there are.
func entries(t *testing.T, dir string) int {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// awaitQueued waits until so many calls wait for their turn.
func awaitQueued(q *queue, n int) {
	for {
		q.mu.Lock()
		got := 0
		for _, l := range q.lines {
			got += len(l.calls)
		}
		q.mu.Unlock()
		if got == n {
			return
		}
		runtime.Gosched()
	}
}
