package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// keepers are tools that keep something in each place where a module can, and
// break off when they find it there. exact says that a guest is used again.
func keepers() map[string]struct {
	p     parts
	exact bool
} {
	is := func(check string) string { return check + " if unreachable end " }
	const f32, f64 = "\x43\x00\x00\x80\x3f", "\x44\x00\x00\x00\x00\x00\x00\xf0\x3f"
	vector := "\xfd\x0c" + strings.Repeat("\x00", 16)
	own := func(raw string) parts {
		return parts{raw: raw, funcs: []function{{typeNothing, "", ""}}, call: "call $0 " + answers()}
	}
	floats := own("\x23\x00" + f32 + "\x5b\x04\x40\x00\x0b\x23\x01" + f64 + "\x61\x04\x40\x00\x0b" + f32 + "\x24\x00" + f64 + "\x24\x01")
	floats.globals = []string{"\x7d\x01\x43\x00\x00\x00\x00\x0b", "\x7c\x01\x44\x00\x00\x00\x00\x00\x00\x00\x00\x0b"}
	vectors := own("\x23\x00\xfd\x53\x04\x40\x00\x0b\x41\x01\xfd\x11\x24\x00") // v128.any_true
	vectors.globals = []string{"\x7b\x01" + vector + "\x0b"}
	entry := []string{"\x70\x00\x02"}
	passive := "\x01" + testkit.Sized("kept")
	return map[string]struct {
		p     parts
		exact bool
	}{
		"memory":            {parts{call: is("i32.const 32 i32.load8_u") + "i32.const 32 i32.const 1 i32.store8 " + answers()}, true},
		"the end of memory": {parts{call: is("i32.const 131071 i32.load8_u") + "i32.const 131071 i32.const 1 i32.store8 " + answers()}, true},
		"all of memory":     {parts{call: is("i32.const 90000 i32.load8_u") + "i32.const 8192 i32.const 255 i32.const 122880 memory.fill " + answers()}, true},
		"its own answer": {parts{call: fmt.Sprintf("i32.const %[1]d i32.load8_u i32.const 100 i32.ne if unreachable end "+
			"i32.const 8192 i32.const %[2]d i32.const %[3]d memory.copy i32.const %[1]d i32.const 120 i32.store8 ",
			partsAnswer+strings.Index(partsResponse, "done"), partsAnswer, len(partsResponse)) + packed(8192, len(partsResponse))}, true},
		"more memory":   {parts{call: "memory.size i32.const 2 i32.ne if unreachable end i32.const 3 memory.grow drop " + answers()}, true},
		"whole numbers": {parts{globals: []string{"\x7f\x01\x41\x00\x0b", "\x7e\x01\x42\x00\x0b"}, call: is("global.get 0") + is("global.get 1 i64.eqz i32.eqz") + "i32.const 1 global.set 0 i64.const -1 global.set 1 " + answers()}, true},
		"floats":        {floats, true},
		"vectors":       {vectors, false},
		"a function":    {parts{globals: []string{"\x70\x01\xd0\x70\x0b"}, elems: []string{"\x03\x00\x01\x00"}, call: is("global.get 0 ref.is_null i32.eqz") + "ref.func 0 global.set 0 " + answers()}, false},
		"a reference":   {parts{globals: []string{"\x6f\x01\xd0\x6f\x0b"}, call: is("global.get 0 ref.is_null i32.eqz") + answers()}, false},
		"a table":       {parts{tables: entry, elems: []string{"\x03\x00\x01\x00"}, call: is("i32.const 0 table.get 0 ref.is_null i32.eqz") + "i32.const 0 ref.func 0 table.set 0 " + answers()}, false},
		"a filled table": {parts{tables: entry, elems: []string{"\x03\x00\x01\x00"}, call: is("i32.const 1 table.get 0 ref.is_null i32.eqz") +
			"i32.const 0 ref.func 0 i32.const 2 table.fill 0 " + answers()}, false},
		"a copied table": {parts{tables: entry, elems: []string{"\x00\x41\x00\x0b\x01\x00"}, call: is("i32.const 1 table.get 0 ref.is_null i32.eqz") +
			"i32.const 1 i32.const 0 i32.const 1 table.copy 0 0 " + answers()}, false},
		"a larger table":     {parts{tables: entry, call: "table.size 0 i32.const 2 i32.ne if unreachable end ref.null_func i32.const 1 table.grow 0 drop " + answers()}, false},
		"a table from parts": {parts{tables: entry, elems: []string{"\x01\x00\x01\x00"}, call: is("i32.const 0 table.get 0 ref.is_null i32.eqz") + "i32.const 0 i32.const 0 i32.const 1 table.init 0 0 " + answers()}, false},
		"dropped data":       {parts{data: []string{passive}, call: "i32.const 8192 i32.const 0 i32.const 4 memory.init 2 data.drop 2 " + answers()}, false},
		"dropped elements":   {parts{tables: entry, elems: []string{"\x01\x00\x01\x00"}, call: "i32.const 0 i32.const 0 i32.const 1 table.init 0 0 elem.drop 0 " + answers()}, false},
	}
}

func TestISO1NothingIsKeptBetweenCalls(t *testing.T) {
	l := newLab(t)
	for name, k := range keepers() {
		src := k.p.source("keeps")
		l.suffers(t, attack{what: name, src: src, want: well, says: "done", on: func(m *Module) Outcome {
			for range 4 {
				if out := m.Call(t.Context(), Call{}); said(out) != "done" {
					return out
				}
			}
			// Only what is put back exactly is used again.
			if !*isolatedRun {
				if again := reactorOf(t, m).pool != nil; again != k.exact {
					t.Errorf("%s: a guest is used again: %t", name, again)
				}
			}
			return m.Call(t.Context(), Call{})
		}})
	}
	// Nor by a call that does not end well.
	first := "local.get 0 i32.const 13 i32.add i32.load8_u i32.const %d i32.eq if %s end "
	how := fmt.Sprintf(first, 't', "unreachable") + fmt.Sprintf(first, 'l', "loop br 0 end") + fmt.Sprintf(first, 'e', "i32.const 0 call 0") + fmt.Sprintf(first, 'd', "call $0")
	bad := parts{
		types: []string{"\x60\x01\x7f\x00"}, imports: []string{imported(wasiModule, "proc_exit", typeOwn)},
		funcs:   []function{{typeNothing, "", "call $0"}},
		globals: []string{"\x7f\x01\x41\x00\x0b"},
		call: "global.get 0 i32.const 32 i32.load8_u i32.or if i32.const 1060 i32.const 33 i32.store8 " + answers() + " return end " +
			"i32.const 1 global.set 0 i32.const 32 i32.const 1 i32.store8 " + how + answers(),
	}
	for id, want := range map[string]Fault{"t": FaultTrap, "l": FaultTimeout, "e": FaultExited, "d": FaultStack} {
		src := bad.source("bad")
		if id == "l" {
			src = short(src)
		}
		l.suffers(t, attack{what: "after " + string(want), src: src, want: well, says: "done", on: func(m *Module) Outcome {
			for range 2 {
				if out := m.Call(t.Context(), Call{ID: id}); out.Fault != want {
					t.Errorf("%s: %q %q %s", id, out.Fault, said(out), out.Detail)
				}
			}
			return m.Call(t.Context(), Call{ID: "-"})
		}})
	}
}

// spelling is code that writes n bytes of memory as two letters each.
func spelling(from, to, n int) string {
	letter := func(i int, of string) string {
		return fmt.Sprintf("i32.const %d local.get 2 i32.const 2 i32.mul i32.add local.get 2 i32.const %d i32.add i32.load8_u %s i32.const 97 i32.add i32.store8 ", to+i, from, of)
	}
	return "i32.const 0 local.set 2 loop " + letter(0, "i32.const 4 i32.shr_u") + letter(1, "i32.const 15 i32.and") +
		fmt.Sprintf("local.get 2 i32.const 1 i32.add local.tee 2 i32.const %d i32.lt_u br_if 0 end ", n)
}

// spelled are the bytes that spelling wrote.
func spelled(t *testing.T, s string) []byte {
	t.Helper()
	out := make([]byte, len(s)/2)
	for i := range out {
		high, low := s[2*i]-'a', s[2*i+1]-'a'
		if high > 15 || low > 15 {
			t.Fatalf("got %q", s)
		}
		out[i] = high<<4 | low
	}
	return out
}

// askingSystem is a tool that answers with 16 random bytes that it took at one of
// three times, and with two times.
func askingSystem(when string) Source {
	const take = "i32.const 8192 i32.const 16 call 0 if unreachable end "
	const clocks = "i32.const 0 i64.const 0 i32.const 8208 call 1 if unreachable end i32.const 1 i64.const 0 i32.const 8216 call 1 if unreachable end "
	p := parts{
		types:   []string{"\x60\x02\x7f\x7f\x01\x7f", "\x60\x03\x7f\x7e\x7f\x01\x7f"},
		imports: []string{imported(wasiModule, "random_get", typeOwn), imported(wasiModule, "clock_time_get", typeOwn+1)},
		funcs:   []function{{typeNothing, "", take}},
		locals:  testkit.Vec("\x01\x7f"),
	}
	p.call = clocks + spelling(8192, 12288, 32) + packed(12288, 64)
	switch when {
	case "start":
		p.start = "$0"
	case "_initialize":
		p.exports = []string{exported("_initialize", p.number("$0"))}
	default:
		p.call = take + p.call
	}
	return p.source("asks")
}

func TestISO5RandomAndTimeAreAsDeclared(t *testing.T) {
	l := newLab(t)
	for _, when := range []string{"call", "_initialize", "start"} {
		answer := func(e *Engine, times int, change ...func(*Source)) (random [][]byte, clock [][2]uint64) {
			m := load(t, e, askingSystem(when), change...)
			for range times {
				out := m.Call(t.Context(), Call{})
				b := spelled(t, said(out))
				if len(b) != 32 {
					t.Fatalf("%s: %q %q %s", when, out.Fault, said(out), out.Detail)
				}
				random = append(random, b[:16])
				clock = append(clock, [2]uint64{binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])})
			}
			return random, clock
		}
		seen := map[string]bool{}
		before := uint64(time.Now().Add(-time.Microsecond).UnixNano()) // the clock has steps of a microsecond
		for range 2 {
			random, clock := answer(newEngine(t), 20)
			for i, r := range random {
				seen[string(r)] = true
				if now := clock[i][0]; now < before || now > uint64(time.Now().UnixNano()) {
					t.Errorf("%s: the guest's time is %d", when, now)
				}
			}
		}
		if len(seen) != 40 {
			t.Errorf("%s: %d different answers in 40 calls", when, len(seen))
		}
		// With a seed and a fixed clock a replay sees the same, and other seeds do not.
		declared := func(seed uint64) func(*Source) {
			return func(s *Source) {
				s.Policy.Grants.Random = policy.Random{Seeded: true, Seed: seed}
				s.Policy.Grants.Clock = policy.Clock{Fixed: time.Unix(1e9, 0)}
			}
		}
		one, oneClock := answer(newEngine(t), 3, declared(7))
		two, twoClock := answer(newEngine(t), 3, declared(7))
		other, _ := answer(newEngine(t), 3, declared(8))
		for i := range one {
			if string(one[i]) != string(two[i]) || oneClock[i] != twoClock[i] || oneClock[i][0] != 1e18 {
				t.Errorf("%s: a replay is not the same: %x %d, %x %d", when, one[i], oneClock[i], two[i], twoClock[i])
			}
			if string(one[i]) == string(other[i]) {
				t.Errorf("%s: another seed is the same: %x", when, one[i])
			}
		}
	}
	l.works(t)
}

func TestThreat1OnlyOneReadingOfAModuleIsPossible(t *testing.T) {
	l := newLab(t)
	code := func(raw string) Source {
		return parts{raw: raw, funcs: []function{{typeNothing, "", ""}}, tables: []string{"\x70\x00\x01"}}.source("code")
	}
	for name, raw := range map[string]string{
		"fc in two bytes":       "\x41\x00\x41\x00\x41\x00\xfc\x8b\x00\x00",
		"fc in five bytes":      "\x41\x00\x41\x00\x41\x00\xfc\x8b\x80\x80\x80\x00\x00",
		"fc that is not":        "\xfc\x12",
		"fd in two bytes":       "\x41\x00\xfd\x91\x00\x1a",
		"fd in three bytes":     "\x41\x00\xfd\x91\x80\x00\x1a",
		"fd above":              "\xfd\x80\x82\x00",
		"fd that is not":        "\x41\x00\xfd\x11\xfd\x9a\x01\x1a",
		"fe":                    "\xfe\x03\x00",
		"ff":                    "\xff",
		"27":                    "\x27",
		"a number too long":     "\x41\x80\x80\x80\x80\x80\x00\x1a",
		"bits that are lost":    "\x41\xff\xff\xff\xff\x4f\x1a",
		"an index too long":     "\x10\x80\x80\x80\x80\x80\x00",
		"a memory of its own":   "\x41\x00\x28\x42\x00\x00\x1a",
		"memory 1":              "\x3f\x01\x1a",
		"memory 0 in two":       "\x3f\x80\x00\x1a",
		"alignment":             "\x41\x00\x28\x03\x00\x1a",
		"a lane":                "\x41\x00\xfd\x11\xfd\x1b\x04\x1a",
		"an else alone":         "\x05",
		"an end too many":       "\x0b\x0b",
		"no end":                "\x02\x40",
		"too few operands":      "\x6a\x1a",
		"another type":          "\x42\x00\x45\x1a",
		"too much left":         "\x41\x00",
		"a label":               "\x0c\x05",
		"a local":               "\x20\x00\x1a",
		"two types of select":   "\x41\x00\x41\x00\x41\x00\x1c\x02\x7f\x7f\x1a\x1a",
		"no type of select":     "\x41\x00\x41\x00\x41\x00\x1c\x00\x1a",
		"select of references":  "\xd0\x70\xd0\x70\x41\x00\x1b\x1a",
		"a function undeclared": "\xd2\x04\x1a",
	} {
		t.Run(name, func(t *testing.T) { l.refusesAt(t, code(raw)) })
	}
	// A value type is one of seven, in every position.
	for _, b := range []string{"\x00", "\x01", "\x40", "\x5f", "\x60", "\x63", "\x64", "\x65", "\x69", "\x6b", "\x6e", "\x71", "\x74", "\x77", "\x78", "\x7a", "\x80", "\xff"} {
		for where, src := range map[string]Source{
			"a parameter":     parts{types: []string{"\x60\x01" + b + "\x00"}}.source("type"),
			"a result":        parts{types: []string{"\x60\x00\x01" + b}}.source("type"),
			"a local":         parts{funcs: []function{{typeNothing, "\x01\x01" + b, ""}}}.source("type"),
			"a global":        parts{globals: []string{b + "\x00\x41\x00\x0b"}}.source("type"),
			"a table":         parts{tables: []string{b + "\x00\x01"}}.source("type"),
			"a select":        code("\x41\x00\x41\x00\x41\x00\x1c\x01" + b + "\x1a"),
			"a null":          code("\xd0" + b + "\x1a"),
			"an element":      parts{elems: []string{"\x05" + b + "\x00"}}.source("type"),
			"an import":       parts{foreign: []string{"\x01a\x01b\x03" + b + "\x00"}}.source("type"),
			"an import table": parts{foreign: []string{"\x01a\x01b\x01" + b + "\x00\x01"}}.source("type"),
		} {
			t.Run(fmt.Sprintf("%x in %s", b, where), func(t *testing.T) { l.refusesAt(t, src) })
		}
		if b != "\x40" && b[0] > 5 { // no type, and the types that there are
			t.Run(fmt.Sprintf("%x in a block", b), func(t *testing.T) { l.refusesAt(t, code("\x02"+b+"\x0b")) })
		}
	}
	// Everything is written anew: what may be written in more ways comes out in one.
	long := code("\x41\x81\x80\x80\x80\x00\x1a\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00\x1a\x41\x00\x28\x02\x80\x80\x80\x80\x00\x1a")
	m := load(t, l.engine, long)
	defer closed(t, m)
	entry := l.engine.cache.open("sha256:threat1", "code.wasm")
	again, refused := rewrite(long, entry)
	if refused != nil {
		t.Fatal(refused)
	}
	if strings.Contains(string(again.out.Wasm), "\x80\x80\x80\x80\x00") || strings.Contains(string(again.out.Wasm), "\x80\x80\x80\x00") {
		t.Error("a number is still written longer than needed")
	}
	if err := again.close(); err != nil {
		t.Error(err)
	}
	if err := entry.tidy(); err != nil {
		t.Error(err)
	}
}

// refusesAt checks that a module is refused with the place where it is wrong.
func (l *lab) refusesAt(t *testing.T, src Source) {
	t.Helper()
	m, err := l.engine.Load(t.Context(), src)
	if err == nil {
		closed(t, m)
	}
	got, ok := err.(*LoadError)
	if !ok || !slices.Contains([]LoadKind{LoadMalformed, LoadUnsupported, LoadTooLarge}, got.Kind) || !strings.Contains(err.Error(), "offset 0x") {
		t.Errorf("got %v", err)
	}
}

// What a memory takes long for counts more, so that a slice is no longer than
// one of other work.
func TestThreat2WorkIsCountedByWhatItTakes(t *testing.T) {
	l := newLab(t)
	const n = 500_000
	round := func(what string) parts {
		counting := fmt.Sprintf("i32.const %d local.set 0 loop %s local.get 0 i32.const 1 i32.sub local.tee 0 br_if 0 end ", n, what)
		return parts{call: counting + answers()}
	}
	const fill = "i32.const 65536 i32.const 1 i32.const 1000 memory.fill "
	plain := strings.Repeat("i32.const 65536 i32.const 1 i32.and drop ", 8)
	loads := strings.Repeat("i32.const 65536 i32.load drop nop nop ", 8)
	stores := strings.Repeat("i32.const 65536 i32.const 1 i32.store nop ", 8)
	few := pausesOf(t, round(plain).wasm())
	for name, code := range map[string]string{"loads": loads, "stores": stores} {
		if got := pausesOf(t, round(code).wasm()); got < 2*few {
			t.Errorf("%s let the host in %d times, other work %d times", name, got, few)
		}
	}
	used := func(p parts) int64 {
		src := p.source("work")
		src.Meter = true
		src.Policy.Limits.Timeout = time.Minute
		m := load(t, l.engine, src)
		defer closed(t, m)
		out := m.Call(t.Context(), Call{})
		if out.Fault != "" {
			t.Fatalf("%q %s", out.Fault, out.Detail)
		}
		return out.Receipt.Fuel
	}
	least := used(round(plain))
	if got := used(round(loads)); got-least < 8*4*n {
		t.Errorf("loads use %d, other work %d", got, least)
	}
	if got := used(round(fill)); got < n*1000/16 {
		t.Errorf("a fill of 1000 bytes uses %d", got/n)
	}
	// Pointers that lead through all of 64 MiB, no cache line twice soon.
	chase := source(t, "spin")
	l.suffers(t, attack{what: "a chase of pointers", src: short(chase), call: Call{ID: "g"}, want: timeout})
}

// What is compiled in a process that can be killed, and named when it is, is in
// compile_test.go.
func TestThreat3BranchesTimesLocalsAreBounded(t *testing.T) {
	l := newLab(t)
	branchy := func(branches, locals int) function {
		return function{typeNothing, testkit.Vec(testkit.Uint(uint64(locals)) + "\x7e"), strings.Repeat("block br 0 end ", branches)}
	}
	l.refuses(t, parts{funcs: []function{{typeNothing, "", ""}, branchy(251, 1000)}}.source("one"), LoadTooLarge, "function 5 at offset")
	l.suffers(t, attack{what: "just below", src: short(parts{funcs: []function{branchy(249, 1000)}}.source("below"), within(5*time.Second)), want: well, says: "done"})
	l.refuses(t, parts{funcs: slices.Repeat([]function{branchy(249, 1000)}, 41)}.source("sum"), LoadTooLarge, "refused for its size")
}

func TestThreat4WhatAModuleSaysOfItselfIsHarmless(t *testing.T) {
	l := newLab(t)
	name := func(body string) string { return testkit.CustomSection("name", body) }
	functionNames := func(index byte, text string) string {
		return name("\x01" + testkit.Sized("\x01"+string([]byte{index})+testkit.Sized(text)))
	}
	hostileName := "\x1b]0;owned\x07\n\r\x00" + strings.Repeat("\u202e\U000e0041x", 300)
	for what, custom := range map[string][]string{
		"debug information":       {testkit.CustomSection(".debug_info", strings.Repeat("\xff", 1<<20)), testkit.CustomSection(".debug_line", "\x00"), testkit.CustomSection("sourceMappingURL", "\x10http://evil/x.map")},
		"a thousand sections":     slices.Repeat([]string{testkit.CustomSection("x", strings.Repeat("x", 1000))}, 1000),
		"names that are none":     {name("\x01\xff\xff\xff\xff\x0f"), name(strings.Repeat("\xff", 1000))},
		"names twice":             {functionNames(3, "first"), functionNames(3, "second")},
		"a million names":         {name("\x01" + testkit.Sized(testkit.Uint(1_000_000)+strings.Repeat("\x00\x00", 1_000_000)))},
		"names of what is not":    {functionNames(99, "nobody")},
		"names with escapes":      {functionNames(3, hostileName)},
		"a name that is no text":  {functionNames(3, strings.Repeat("\xff", 1000))},
		"languages that are none": {testkit.CustomSection("producers", "\xff\xff\xff\xff\x0f"), testkit.CustomSection("producers", "\x01\x08language\x01\x02Go\x00")},
		"an empty section":        {testkit.CustomSection("", "")},
	} {
		p := parts{custom: custom}
		l.suffers(t, attack{what: what, src: p.source("custom"), want: well, says: "done"})
		p.call = "unreachable"
		l.suffers(t, attack{what: what + " in a trap", src: p.source("custom"), want: []Fault{FaultTrap}, says: "crashed", on: func(m *Module) Outcome {
			out := m.Call(t.Context(), Call{})
			if len(out.Detail) > maxDetail || strings.ContainsAny(out.Detail, "\x1b\x07\r\u202e\U000e0041") || strings.Contains(out.Detail, "evil") {
				t.Errorf("%.1000q", out.Detail)
			}
			return out
		}})
		src := p.source("custom")
		entry := l.engine.cache.open(digest(src.Wasm), "custom.wasm")
		code, refused := rewrite(src, entry)
		if refused != nil {
			t.Fatal(refused)
		}
		for _, s := range customSections(t, code.out.Wasm) {
			if s != "name" {
				t.Errorf("%s: the engine sees a section %q", what, s)
			}
		}
		if err := code.close(); err != nil {
			t.Error(err)
		}
	}
	l.refuses(t, parts{custom: []string{testkit.CustomSection(strings.Repeat("x", 2000), "")}}.source("custom"), LoadTooLarge, "name of 2000 bytes")
	l.refuses(t, parts{custom: []string{testkit.CustomSection("\xff", "")}}.source("custom"), LoadMalformed, "UTF-8")
}

// customSections are the names of a module's custom sections.
func customSections(t *testing.T, wasm []byte) (names []string) {
	t.Helper()
	for b := wasm[8:]; len(b) > 0; {
		id := b[0]
		n, width := binary.Uvarint(b[1:])
		body := b[1+width : 1+width+int(n)]
		b = b[1+width+int(n):]
		if id == 0 {
			length, width := binary.Uvarint(body)
			names = append(names, string(body[width:width+int(length)]))
		}
	}
	return names
}

func TestThreat6AllStateOfTheHostEndsWithTheCall(t *testing.T) {
	l := newLab(t)
	base, grant := site(t)
	request := fmt.Sprintf(`{"method":"GET","url":"%s/hello"}`, base)
	// No handle of the call before is there; then a response is asked for and kept.
	// Standard output and error are there; then they are closed and moved.
	write := func(fd int) string {
		return fmt.Sprintf("i32.const %d i32.const 8448 i32.const 1 i32.const 8464 call 2 if unreachable end ", fd)
	}
	var read strings.Builder
	for handle := range 20 {
		fmt.Fprintf(&read, "i32.const %d i32.const 12288 i32.const 64 call 1 i32.const -2147483648 i32.and i32.eqz if unreachable end ", handle)
	}
	p := parts{
		types: []string{
			"\x60\x02\x7f\x7f\x01\x7e", "\x60\x03\x7f\x7f\x7f\x01\x7f", "\x60\x04\x7f\x7f\x7f\x7f\x01\x7f", "\x60\x01\x7f\x01\x7f", "\x60\x02\x7f\x7f\x01\x7f",
		},
		imports: []string{
			imported("wagent", "http", typeOwn), imported("wagent", "read", typeOwn+1),
			imported(wasiModule, "fd_write", typeOwn+2), imported(wasiModule, "fd_close", typeOwn+3), imported(wasiModule, "fd_renumber", typeOwn+4),
			imported(wasiModule, "fd_fdstat_set_flags", typeOwn+4),
		},
		data: []string{dataAt(8192, request), dataAt(8448, "\x00\x22\x00\x00\x05\x00\x00\x00"), dataAt(8704, "hello")},
	}
	p.call = read.String() + write(1) + write(2) +
		fmt.Sprintf("i32.const 8192 i32.const %d call 0 i64.const 0 i64.lt_s if unreachable end ", len(request)) +
		"i32.const 1 i32.const 1 call 5 drop i32.const 0 call 3 drop i32.const 1 call 3 if unreachable end i32.const 2 i32.const 0 call 4 drop i32.const 2 call 3 drop " +
		answers()
	src := p.source("state")
	grant(&src)
	m := load(t, l.engine, src, here)
	for range 5 {
		if out := m.Call(t.Context(), Call{}); said(out) != "done" || out.Receipt.LogBytes == 0 {
			t.Errorf("%q %q %s %+v", out.Fault, said(out), out.Detail, out.Receipt)
		}
	}
	if reactorOf(t, m).pool == nil {
		t.Error("the guest is not put back: the test shows nothing")
	}
	// A plugin finds no status and no headers of the request before.
	plugin := load(t, l.engine, stepsSource(t, grant))
	for range 3 {
		var before steps
		before.do("http_status_code")
		before.do("http_headers")
		if got := before.run(t, plugin); !slices.Equal(got, []uint64{0, 0}) {
			t.Errorf("a plugin begins with %d", got)
		}
		s := ask(`{"url":"`+base+`/hello"}`, "")
		if r := perform(t, plugin, "leave", s.program); r.Out != "hello" {
			t.Errorf("%+v", r)
		}
	}
	// What cannot be put back is not: see keepers for vectors and references.
	for name, k := range keepers() {
		m := load(t, l.engine, k.p.source("keeps"), here)
		if out := m.Call(t.Context(), Call{}); said(out) != "done" {
			t.Errorf("%s: %q %s", name, out.Fault, out.Detail)
		}
		if p := reactorOf(t, m).pool; !k.exact && p != nil {
			t.Errorf("%s: %d guests are idle", name, len(p.free))
		}
		closed(t, m)
	}
	l.works(t)
}
