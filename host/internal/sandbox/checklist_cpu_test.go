package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const forever = "loop br 0 end "

var timeout = []Fault{FaultTimeout}

// short is a source that has so little time that a test can wait for its end.
func short(s Source, change ...func(*Source)) Source {
	s.Policy.Limits.Timeout = 200 * time.Millisecond
	for _, f := range change {
		f(&s)
	}
	return s
}

// described asks for the description instead of a call.
func described(ctx context.Context) func(*Module) Outcome {
	return func(m *Module) Outcome {
		_, err := m.Describe(ctx)
		if f, ok := err.(*FaultError); ok {
			return f.outcome("").of(m)
		}
		return Outcome{Result: textResult(fmt.Sprint(err), false)}
	}
}

// of completes an outcome that is not one of a call.
func (o Outcome) of(m *Module) Outcome {
	o.Receipt.Module = m.info.Digest
	return o
}

// firstForm is an Extism plugin of the first form, with functions that do as said.
func firstForm(initialize, describe, call string) Source {
	code := func(text string) string { return testkit.Sized(testkit.Vec() + testkit.Code(text) + "\x0b") }
	return Source{Name: "plugin.wasm", Policy: policy.Default(), Wasm: testkit.Module(
		testkit.Section(1, testkit.Vec("\x60\x00\x01\x7f", "\x60\x00\x00")),
		testkit.Section(3, testkit.Vec("\x01", "\x00", "\x00")),
		testkit.Section(5, testkit.Vec("\x00\x01")),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", exported("_initialize", 0), exported("describe", 1), exported("call", 2))),
		testkit.Section(10, testkit.Vec(code(initialize), code(describe), code(call))),
	)}
}

// programOf is a WASI command that does as said.
func programOf(text string) Source {
	return Source{Name: "program.wasm", Policy: policy.Default(), Wasm: testkit.Module(
		testkit.Section(1, testkit.Vec("\x60\x00\x00")),
		testkit.Section(3, testkit.Vec("\x00")),
		testkit.Section(5, testkit.Vec("\x00\x01")),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", exported("_start", 0))),
		testkit.Section(10, testkit.Vec(testkit.Sized(testkit.Vec()+testkit.Code(text)+"\x0b"))),
	)}
}

func TestCPU1ALoopIsStoppedWhereverItIs(t *testing.T) {
	l := newLab(t)
	loop := func(p parts) Source { return short(p.source("loop")) }
	started := parts{funcs: []function{{typeNothing, "", forever}}, start: "$0"}
	initialised := parts{funcs: []function{{typeNothing, "", forever}}}
	initialised.exports = []string{exported("_initialize", initialised.number("$0"))}
	inDescribe := parts{describe: forever + "i64.const 0"}
	l.suffers(
		t,
		attack{what: "the call", src: loop(parts{call: forever + answers()}), want: timeout, says: "200ms"},
		attack{what: "the start section", src: loop(started), want: timeout},
		attack{what: "_initialize", src: loop(initialised), want: timeout},
		attack{what: "the version", src: loop(parts{abi: forever + "i32.const 1"}), want: timeout},
		attack{what: "alloc", src: loop(parts{alloc: forever + "i32.const 4096"}), want: timeout},
		attack{what: "describe", src: loop(inDescribe), on: described(t.Context()), want: timeout},
		attack{what: "describe before the first call", src: loop(inDescribe), want: timeout},
		attack{what: "_start", src: short(programOf(forever)), want: timeout},
		attack{what: "describing with _start", src: short(programOf(forever)), on: described(t.Context()), want: timeout},
		attack{what: "a plugin's _initialize", src: short(firstForm(forever, "i32.const 0", "i32.const 0")), want: timeout},
		attack{what: "a plugin's describe", src: short(firstForm("", forever+"i32.const 0", "i32.const 0")), on: described(t.Context()), want: timeout},
		attack{what: "a plugin's call", src: short(firstForm("", "i32.const 0", forever+"i32.const 0")), want: timeout},
		attack{what: "a plugin's start section", src: short(source(t, "extism-start")), want: timeout},
	)
	// Hooks are not served: one in a tool is never called, and one alone not loaded.
	hook := parts{funcs: []function{{typeCall, "", forever + answers()}}}
	hook.exports = []string{exported(abi.ExportHook, hook.number("$0"))}
	l.suffers(t, attack{what: "a hook", src: loop(hook), want: []Fault{""}, says: "done"})
}

func TestCPU2CallsWithoutLoopsAreStopped(t *testing.T) {
	const levels = 34
	var chain, mutual []function
	for i := range levels {
		chain = append(chain, function{typeNothing, "", fmt.Sprintf("call $%d call $%d", i+1, i+1)})
	}
	chain = append(chain, function{typeNothing, "", "nop"})
	// Two functions that call each other twice at each level, which a parameter counts.
	for other := range 2 {
		one := fmt.Sprintf("local.get 0 i32.const 1 i32.sub call $%d drop ", 1-other)
		mutual = append(mutual, function{typeAlloc, "", "local.get 0 if " + one + one + "end local.get 0"})
	}
	through := "local.get 0 i32.const 1 i32.sub i32.const 0 call_indirect 1 0 drop "
	table := parts{
		funcs:  []function{{typeAlloc, "", "local.get 0 if " + through + through + "end local.get 0"}},
		tables: []string{"\x70\x00\x01"},
		call:   "i32.const 34 call $0 drop " + answers(),
	}
	table.elems = []string{"\x00" + testkit.Code("i32.const 0") + "\x0b" + testkit.Vec(testkit.Uint(uint64(table.number("$0"))))}
	l := newLab(t)
	l.suffers(
		t,
		attack{what: "twice at each of 34 levels", src: short(parts{funcs: chain, call: "call $0 " + answers()}.source("chain")), want: timeout},
		attack{what: "one another", src: short(parts{funcs: mutual, call: "i32.const 34 call $0 drop " + answers()}.source("mutual")), want: timeout},
		attack{what: "through a table", src: short(table.source("table")), want: timeout},
	)
	for name, code := range map[string]string{"return_call": "return_call $0", "return_call_indirect": "i32.const 0 return_call_indirect 4 0"} {
		tail := parts{funcs: []function{{typeNothing, "", code}}, tables: []string{"\x70\x00\x01"}}
		l.refuses(t, tail.source(name), LoadUnsupported, "tail calls")
	}
}

// bulk is a tool that grows to its limit and then does something so many times,
// without a loop: two hundred times one after the other in each function.
func bulk(times int, what string) parts {
	const straight = 200
	p := parts{
		tables: []string{"\x70\x00" + testkit.Uint(200_000)},
		elems:  []string{"\x05\x70" + testkit.Uint(20_000) + strings.Repeat("\xd0\x70\x0b", 20_000)},
		data:   []string{"\x01" + testkit.Sized(strings.Repeat("x", 1<<20))},
		funcs:  []function{{typeNothing, "", strings.Repeat(what+" ", min(times, straight))}},
	}
	p.call = "i32.const 1022 memory.grow drop " + strings.Repeat("call $0 ", max(1, times/straight)) + answers()
	return p
}

func TestCPU3BulkOperationsAreStopped(t *testing.T) {
	l := newLab(t)
	all := fmt.Sprint("i32.const ", 64<<20-8200)
	ways := map[string]string{
		"memory.fill":          "i32.const 8192 i32.const 1 " + all + " memory.fill",
		"memory.copy":          "i32.const 8192 i32.const 8184 " + all + " memory.copy",
		"memory.copy downward": "i32.const 8192 i32.const 8200 " + all + " memory.copy",
		"memory.init":          "i32.const 4096 i32.const 0 i32.const 1048576 memory.init 2",
		"table.fill":           "i32.const 0 ref.null_func i32.const 200000 table.fill 0",
		"table.copy":           "i32.const 1 i32.const 0 i32.const 199999 table.copy 0 0",
		"table.init":           "i32.const 0 i32.const 0 i32.const 20000 table.init 0 0",
	}
	for name, code := range ways {
		once := bulk(1, code).source("once")
		once.Policy.Limits.Timeout = time.Minute
		// Done once, as much as the limits allow is soon done.
		l.suffers(t, attack{what: name + " of everything", src: once, on: func(m *Module) Outcome {
			start := time.Now()
			out := m.Call(t.Context(), Call{})
			if took := time.Since(start); took > overrun {
				t.Errorf("%s of everything takes %v", name, took)
			}
			return out
		}, want: []Fault{""}, says: "done"})
		l.suffers(t, attack{what: name + " over and over", src: short(bulk(100_000, code).source("often"), within(50*time.Millisecond)), want: timeout})
	}
	half := parts{call: "i32.const 16300 memory.grow drop i32.const 530000000 i32.const 4096 i32.const 530000000 memory.copy " +
		"i32.const 4096 i32.const 530000000 i32.const 530000000 memory.copy " + answers()}
	l.suffers(t, attack{what: "copies of half a gigabyte", want: timeout, src: short(half.source("half"), within(20*time.Millisecond), func(s *Source) {
		s.Policy.Limits.Memory = policy.GiB
	})})
}

// stalling serves on loopback in each way that keeps a client waiting.
func stalling(t *testing.T) (base string, grant func(*Source)) {
	t.Helper()
	mux := http.NewServeMux()
	wait := func(r *http.Request) { <-r.Context().Done() }
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { wait(r) })
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		wait(r)
	})
	mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		for tick := time.NewTicker(10 * time.Millisecond); r.Context().Err() == nil; <-tick.C {
			if _, err := io.WriteString(w, "x"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, grantOf(t, s.URL)
}

// mute is a server that takes connections and says nothing.
func mute(t *testing.T) (base string, grant func(*Source)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	base = "http://" + l.Addr().String()
	return base, grantOf(t, base) // the system takes connections that nobody accepts
}

func TestCPU4NoFunctionOfTheHostOutlastsTheCall(t *testing.T) {
	l := newLab(t)
	base, grant := stalling(t)
	nothing, alike := mute(t)
	for url, grant := range map[string]func(*Source){base + "/silent": grant, base + "/headers": grant, base + "/drip": grant, nothing + "/": alike} {
		_, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
		src := short(guestSource(t), grant, within(time.Second)) // a Go guest begins in it under the race detector, too
		get := func(ctx context.Context) func(*Module) Outcome {
			return func(m *Module) Outcome {
				return m.Call(ctx, Call{Tool: "fetch", Arguments: []byte(`"` + url + `"`)})
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		l.suffers(
			t,
			attack{what: "http /" + path, src: src, on: get(t.Context()), want: timeout, late: endless},
			attack{what: "http cancelled /" + path, src: short(src, within(time.Minute)), want: []Fault{FaultCancelled}, on: func(m *Module) Outcome {
				done := make(chan Outcome)
				go func() { done <- get(ctx)(m) }()
				inside(m)
				cancel()
				return <-done
			}},
			attack{what: "a plugin's http_request /" + path, src: short(stepsSource(t, grant)), want: timeout, late: endless, on: func(m *Module) Outcome {
				return m.run(t.Context(), m.src.Policy, Call{}, func(g *guest) (Outcome, error) {
					_, err := m.speaks.(*extismPlugin).exec(g, "run", ask(`{"url":"`+url+`"}`, "").program)
					return Outcome{}, err
				})
			}},
		)
	}
}

func TestCPU5ASleepEndsWithTheCall(t *testing.T) {
	l := newLab(t)
	poll := parts{
		types:   []string{"\x60\x04\x7f\x7f\x7f\x7f\x01\x7f"},
		imports: []string{imported(wasiModule, "poll_oneoff", typeOwn)},
	}
	// A subscription is 48 bytes: at 8 the kind, at 16 the clock, at 24 the time.
	sleep := func(nanoseconds int64, clock int) string {
		return fmt.Sprintf("i32.const 8208 i32.const %d i32.store i32.const 8216 i64.const %d i64.store ", clock, nanoseconds) +
			"i32.const 8192 i32.const 16384 i32.const 1 i32.const 8184 call 0 drop "
	}
	asleep := func(code string) Source {
		poll.call = code + answers()
		return short(poll.source("sleep"))
	}
	fixed := func(s *Source) { s.Policy.Grants.Clock = policy.Clock{Fixed: time.Unix(1, 0)} }
	l.suffers(
		t,
		attack{what: "an hour", src: short(source(t, "sleep")), want: timeout},
		attack{what: "three seconds", src: asleep(sleep(3e9, 1)), want: timeout},
		attack{what: "three seconds of the other clock", src: asleep(sleep(3e9, 0)), want: timeout},
		attack{what: "three centuries", src: asleep(sleep(9e18, 1)), want: timeout},
		attack{what: "a millisecond at a time", src: asleep("loop " + sleep(1e6, 1) + "br 0 end "), want: timeout},
		attack{what: "under a clock that stands still", src: short(asleep("loop "+sleep(3e9, 1)+"br 0 end "), fixed), want: timeout},
		attack{what: "in Go", src: short(guestSource(t), within(time.Second)), call: Call{Tool: "sleep"}, want: timeout},
	)
}

func TestCPU6RecursionEndsInLittleMemory(t *testing.T) {
	l := newLab(t)
	const deeper = "local.get 0 i32.const 1 i32.add call $0 i32.const 1 i32.add"
	direct := parts{funcs: []function{{typeAlloc, "", deeper}}, call: "i32.const 0 call $0 drop " + answers()}
	mutual := direct
	mutual.funcs = []function{{typeAlloc, "", "local.get 0 call $1 i32.const 1 i32.add"}, {typeAlloc, "", "local.get 0 call $0 i32.const 1 i32.add"}}
	indirect := parts{
		funcs:  []function{{typeAlloc, "", "local.get 0 i32.const 0 call_indirect 1 0 i32.const 1 i32.add"}},
		tables: []string{"\x70\x00\x01"}, call: direct.call,
		elems: []string{"\x00" + testkit.Code("i32.const 0") + "\x0b" + testkit.Vec("\x04")},
	}
	many := parts{
		types: []string{"\x60" + testkit.Uint(1000) + strings.Repeat("\x7e", 1000) + "\x01\x7e"},
		funcs: []function{{typeOwn, "", strings.Repeat("local.get 0 ", 1000) + "call $0 local.get 1 i64.add"}},
		call:  strings.Repeat("i64.const 1 ", 1000) + "call $0 drop " + answers(),
	}
	// Values that the engine can neither fold nor make again live across the call.
	var values strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&values, "local.get 0 i32.const %d i32.add ", i%64)
	}
	large := direct
	large.funcs = []function{{typeAlloc, "", values.String() + "local.get 0 call $0 " + strings.Repeat("i32.add ", 20_000)}}
	locals := direct
	locals.funcs = []function{{typeAlloc, testkit.Vec(testkit.Uint(1000) + "\x7e"), deeper}}
	vectors := direct
	vectors.funcs = []function{{typeAlloc, "", strings.Repeat("local.get 0 i32x4.splat ", 5000) + "local.get 0 call $0 " + "drop " +
		strings.Repeat("i32x4.extract_lane 0 drop ", 4999) + "i32x4.extract_lane 0"}}
	started := parts{funcs: []function{{typeNothing, "", "call $0 nop"}}, start: "$0"}
	deep := func(p parts) Source {
		s := p.source("deep")
		s.Policy.Limits.Timeout = 20 * time.Second
		return s
	}
	// A slice lets a stack grow by 24 MiB at most, and the engine doubles one that
	// is full and keeps both while it copies; see wasmbin.
	const stack = 3 * (24 << 20)
	stopped := []Fault{FaultStack}
	for _, a := range []attack{
		{what: "direct", src: deep(direct)},
		{what: "mutual", src: deep(mutual)},
		{what: "through a table", src: deep(indirect)},
		{what: "a thousand parameters", src: deep(many)},
		{what: "many values", src: deep(large)},
		{what: "many locals", src: deep(locals)},
		{what: "many vectors", src: deep(vectors)},
		{what: "in the start section", src: deep(started)},
	} {
		a.want, a.says, a.room = stopped, "deep", stack
		l.suffers(t, a)
	}
	l.suffers(t, attack{what: "twenty at once", src: deep(direct), want: stopped, room: 20 * stack, on: func(m *Module) Outcome {
		var wg sync.WaitGroup
		outs := make([]Outcome, 20)
		for i := range outs {
			wg.Go(func() { outs[i] = m.Call(t.Context(), Call{}) })
		}
		wg.Wait()
		for _, out := range outs {
			if out.Fault != FaultStack {
				return out
			}
		}
		return outs[0]
	}})
}

// TestModuleThatCompilesForLong… of compile_test.go has what passes all caps.
func TestCPU7CompileBombsAreRefusedBeforeTheyAreCompiled(t *testing.T) {
	l := newLab(t)
	const million = 1_000_000
	many := func(n int, s string) string { return testkit.Uint(uint64(n)) + strings.Repeat(s, n) }
	raw := func(sections ...string) Source {
		return Source{Name: "bomb.wasm", Wasm: testkit.Module(sections...), Policy: policy.Default()}
	}
	types, funcs := testkit.Section(1, testkit.Vec("\x60\x00\x00")), testkit.Section(3, testkit.Vec("\x00"))
	body := func(locals, code string) Source {
		return raw(types, funcs, testkit.Section(10, testkit.Vec(testkit.Sized(locals+code+"\x0b"))))
	}
	for name, src := range map[string]Source{
		"locals":                   body(testkit.Vec(testkit.Uint(50_001)+"\x7f"), ""),
		"four thousand million":    body(testkit.Vec(testkit.Uint(1<<32-1)+"\x7f"), ""),
		"locals of many groups":    body(many(million, "\x01\x7f"), ""),
		"functions":                raw(types, testkit.Section(3, many(million, "\x00")), testkit.Section(10, many(million, "\x02\x00\x0b"))),
		"labels of br_table":       body(testkit.Vec(), "\x41\x00\x0e"+testkit.Uint(million)+strings.Repeat("\x00", million+1)),
		"nested blocks":            body(testkit.Vec(), strings.Repeat("\x02\x40", 10_000)+strings.Repeat("\x0b", 10_000)),
		"blocks one after another": body(testkit.Vec(), strings.Repeat("\x02\x40\x0b", 500_000)),
		"exports":                  raw(types, funcs, testkit.Section(7, many(million, "\x01a\x00\x00")), testkit.Section(10, testkit.Vec("\x02\x00\x0b"))),
		"imports":                  raw(types, testkit.Section(2, many(million, "\x01a\x01b\x00\x00"))),
		"data segments":            raw(testkit.Section(5, testkit.Vec("\x00\x01")), testkit.Section(11, many(million, "\x00\x41\x00\x0b\x00"))),
		"element segments":         raw(types, funcs, testkit.Section(4, testkit.Vec("\x70\x00\x01")), testkit.Section(9, many(2*million, "\x03\x00\x00"))),
		"elements":                 raw(types, funcs, testkit.Section(9, testkit.Vec("\x01\x00"+many(million+1, "\x00")))),
		"globals":                  raw(testkit.Section(6, many(million, "\x7f\x00\x41\x00\x0b"))),
		"types":                    raw(testkit.Section(1, many(million, "\x60\x00\x00"))),
		"parameters":               raw(testkit.Section(1, testkit.Vec("\x60"+many(million, "\x7f")+"\x00"))),
		"one body":                 body(testkit.Vec(), strings.Repeat("\x01", 2<<20)),
	} {
		t.Run(name, func(t *testing.T) { l.refuses(t, src, LoadTooLarge, "refused for its size") })
	}
	for id, what := range map[byte]string{1: "types", 2: "imports", 3: "functions", 4: "tables", 6: "globals", 7: "exports", 9: "element segments", 10: "function bodies", 11: "data segments"} {
		t.Run(what+" that are not there", func(t *testing.T) {
			l.refuses(t, raw(testkit.Section(id, testkit.Uint(1<<32-1))), LoadMalformed, "")
		})
	}
}

// What passes the caps is compiled beside, and calls go on meanwhile. Thousands do;
// if they waited for the compiler one would, for as long as that takes. Both hold
// however busy the machine is.
func TestCPU7CallsGoOnWhileAnotherModuleIsCompiled(t *testing.T) {
	e := newEngineAt(t, Options{CacheDir: t.TempDir()}) // nothing is compiled yet
	l := &lab{e, load(t, e, source(t, "done"))}
	var twenty []function
	for range 20 {
		twenty = append(twenty, function{typeAlloc, "", strings.Repeat("local.get 0 i32.const 100000000 i32.add local.set 0 ", 2000) + "local.get 0"})
	}
	for name, p := range map[string]parts{
		"twenty functions of eight thousand instructions": {funcs: twenty},
		"ten thousand fills":                              {call: strings.Repeat("i32.const 0 i32.const 0 i32.const 9 memory.fill ", 10_000) + answers()},
	} {
		t.Run(name, func(t *testing.T) {
			settled(t)
			before := residentPeak(t)
			loaded := make(chan error)
			began, longest := time.Now(), time.Duration(0)
			go func() {
				m, err := l.engine.Load(t.Context(), p.source("large"))
				if err == nil {
					if out := m.Call(t.Context(), Call{}); said(out) != "done" {
						t.Errorf("%q %s", out.Fault, out.Detail)
					}
					err = m.Close(t.Context())
				}
				loaded <- err
			}()
			for n := 1; ; n++ {
				select {
				case err := <-loaded:
					if err != nil {
						t.Error(err)
					}
					if memory := residentPeak(t) - before; memory > slack {
						t.Errorf("%s were resident", size(memory))
					}
					if took := time.Since(began); n < 100 || longest > took/2 {
						t.Errorf("%d calls in %v, the longest took %v", n, took, longest)
					}
					t.Logf("%d calls meanwhile, the longest took %v", n, longest)
					return
				default:
					start := time.Now()
					l.works(t)
					longest = max(longest, time.Since(start))
				}
			}
		})
	}
}

// An answer that comes after the deadline is no answer, also when the timer that
// ends the context has been held up.
func TestCPU8ALateAnswerIsATimeout(t *testing.T) {
	l := newLab(t)
	p := policy.Default()
	for name, late := range map[string]func(*guest){
		"in time":                        func(*guest) {},
		"the copy lasts too long":        func(g *guest) { <-g.ctx.Done() },
		"and the timer has not run":      func(g *guest) { g.watch.end = time.Now() },
		"and the context ended meantime": func(g *guest) { g.watch.stop(moduleClosed()) },
	} {
		p.Limits.Timeout = time.Hour // the timer does not run
		want := timeout
		switch name {
		case "in time":
			want = []Fault{""}
		case "the copy lasts too long":
			p.Limits.Timeout = 200 * time.Millisecond
		case "and the context ended meantime":
			want = []Fault{FaultCancelled}
		}
		src := source(t, "done")
		src.Policy = p
		l.suffers(t, attack{what: name, src: src, want: want, on: func(m *Module) Outcome {
			return m.run(t.Context(), p, Call{}, func(g *guest) (Outcome, error) {
				req, err := m.request(g, Call{})
				if err != nil {
					return Outcome{}, err
				}
				ans, err := m.speaks.call(g, req)
				if err != nil {
					return Outcome{}, err
				}
				late(g)
				result, err := passedOn(ans.raw, g.limits.Output)
				return Outcome{Result: result}, err
			})
		}})
	}
}

// What interrupting costs is counted here and timed by make bench-sandbox: how
// many more instructions a loop has, how often a guest calls the host for the
// same work, and how much larger a real module becomes.
func TestCPU10InterruptingCostsLittle(t *testing.T) {
	guest := builds.Tool(t, "testdata/guest")
	if before, after := len(guest), len(interruptible(t, guest)); float64(after) > 1.15*float64(before) {
		t.Errorf("a Go guest has %d bytes, and %d when it can be interrupted", before, after)
	}
	// Ten million rounds of ten instructions: a call of the host takes 50 ns, so
	// one for each 10,000 units of work is not to be seen.
	const roundsOfLoop = 10_000_000
	counting := fmt.Sprintf("i32.const %d local.set 0 loop local.get 0 i32.const 1 i32.sub local.tee 0 br_if 0 end ", roundsOfLoop)
	wasm := parts{call: counting + answers()}.wasm()
	if n := pausesOf(t, wasm); n > roundsOfLoop*10/10_000 || n == 0 {
		t.Errorf("%d calls of the host for %d rounds", n, roundsOfLoop)
	}
}

// interruptible rewrites a module.
func interruptible(t *testing.T, wasm []byte) []byte {
	t.Helper()
	m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Rewrite(wasmbin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Wasm
}

// pausesOf counts how often a tool lets the host in during a call.
func pausesOf(t *testing.T, wasm []byte) (pauses int) {
	t.Helper()
	r := wazero.NewRuntime(t.Context())
	defer func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	pause := api.GoFunc(func(_ context.Context, result []uint64) { pauses++; result[0] = wasmbin.DefaultSlice })
	if _, err := r.NewHostModuleBuilder(wasmbin.HostModule).NewFunctionBuilder().
		WithGoFunction(pause, nil, []api.ValueType{i32}).Export(wasmbin.PauseImport).Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mod, err := r.Instantiate(t.Context(), interruptible(t, wasm))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mod.ExportedFunction(abi.ExportCall).Call(t.Context(), 0, 0); err != nil {
		t.Fatal(err)
	}
	return pauses
}
