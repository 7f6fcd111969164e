package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// unless breaks off when the number before is not as expected.
func unless(n int64) string { return fmt.Sprintf("i32.const %d i32.ne if unreachable end ", n) }

var well = []Fault{""}

func TestMEM1GrowingEndsAtTheLimit(t *testing.T) {
	l := newLab(t)
	grow := func(pages int64) string { return fmt.Sprintf("i32.const %d memory.grow ", pages) }
	byOne := "loop " + grow(1) + "i32.const -1 i32.ne br_if 0 end "
	const pages = 64 * policy.MiB / pageSize
	atLimit := "memory.size " + unless(pages)
	tooMuch := grow(65535) + unless(-1) + grow(-1) + unless(-1) + grow(65536) + unless(-1) + grow(1<<31-1) + unless(-1) +
		grow(pages-1) + unless(-1) + "memory.size " + unless(2)
	// What is refused is not there, and nothing is resident that was not written.
	const little = 48 * policy.MiB
	for name, p := range map[string]parts{
		"by too much":               {call: tooMuch + answers()},
		"by one":                    {call: byOne + atLimit + answers()},
		"to the limit at once":      {call: grow(pages-2) + unless(2) + grow(1) + unless(-1) + grow(0) + unless(pages) + answers()},
		"with a maximum of its own": {memory: "\x01\x02\x80\x80\x04", call: tooMuch + byOne + atLimit + answers()},
		"with a smaller maximum":    {memory: "\x01\x02\x04", call: byOne + "memory.size " + unless(4) + answers()},
		"before the first call":     {alloc: byOne + atLimit + "i32.const 4096"},
	} {
		l.suffers(t, attack{what: name, src: p.source("grow"), want: well, says: "done", most: little})
	}
	// What a guest is when it has begun is kept, as a copy.
	grown := parts{describe: byOne + packed(64, len(partsDescription)), call: atLimit + answers()}
	l.suffers(
		t,
		attack{what: "while it describes itself", src: grown.source("grow"), want: well, says: "done"},
		attack{what: "and breaks off", src: parts{call: byOne + "unreachable"}.source("grow"), want: []Fault{FaultMemory}, says: "64 MiB", most: little},
		attack{what: "and writes everywhere", src: source(t, "touch"), want: well, says: "done"},
	)
}

func TestMEM2MoreAtTheStartThanTheLimitIsNotLoaded(t *testing.T) {
	l := newLab(t)
	pages := uint64(64 * policy.MiB / pageSize)
	for _, n := range []uint64{pages + 1, 2 * pages, 65535, 65536} {
		l.refuses(t, parts{memory: "\x00" + testkit.Uint(n)}.source("large"), LoadMemory, fmt.Sprint(n*pageSize))
		l.refuses(t, parts{memory: "\x01" + testkit.Uint(n) + testkit.Uint(65536)}.source("large"), LoadMemory, "set limits: {memory:")
	}
	l.refuses(t, source(t, "bigmin"), LoadMemory, "4096MiB")
	for _, n := range []uint64{65537, 1<<32 - 1} {
		l.refuses(t, parts{memory: "\x00" + testkit.Uint(n)}.source("large"), LoadMalformed, "")
	}
	l.refuses(t, parts{memory: "\x01\x04\x02"}.source("upside down"), LoadMalformed, "")
	all := parts{memory: "\x00" + testkit.Uint(pages)}.source("all")
	l.suffers(t, attack{what: "just the limit", src: all, want: well, says: "done", most: slack})
	// A plugin has the memory that it shares with the host, too.
	shared := firstForm("", "i32.const 0", "i32.const 0")
	shared.Policy.Limits.Memory = extismKernel
	l.refuses(t, shared, LoadMemory, "")
}

// kernelPlugin is a plugin with one function, run, that may call alloc (0) and
// store_u64 (1). Its memory begins with one page.
func kernelPlugin(locals, code string) Source {
	return Source{Name: "plugin.wasm", Policy: policy.Default(), Export: "run", Wasm: testkit.Module(
		testkit.Section(1, testkit.Vec("\x60\x00\x01\x7f", "\x60\x01\x7e\x01\x7e", "\x60\x02\x7e\x7e\x00")),
		testkit.Section(2, testkit.Vec(imported(extismEnv, "alloc", 1), imported(extismEnv, "store_u64", 2))),
		testkit.Section(3, testkit.Vec("\x00")),
		testkit.Section(5, testkit.Vec("\x00\x01")),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", exported("run", 2))),
		testkit.Section(10, testkit.Vec(testkit.Sized(locals+testkit.Code(code)+"\x0b"))),
	)}
}

// The memory of a plugin and what it shares with the host count together: they
// may not take the limit twice.
func TestMEM3AllMemoriesOfAPluginCountTogether(t *testing.T) {
	l := newLab(t)
	one := testkit.Vec("\x01\x7e", "\x01\x7f") // local 0: a block, 1: a place in memory
	alloc := func(n int64) string { return fmt.Sprintf("i64.const %d call 0 ", n) }
	refused := func(n int64) string { return alloc(n) + "i64.eqz i32.eqz if unreachable end " }
	// Takes blocks until there are no more, and writes to each page of them.
	var touching strings.Builder
	for page := range 16 {
		fmt.Fprintf(&touching, "local.get 0 i64.const %d i64.add i64.const 1 call 1 ", page*4096)
	}
	blocks := "block loop " + alloc(64<<10) + "local.tee 0 i64.eqz br_if 1 " + touching.String() + "br 0 end end "
	// Grows its own memory until that is refused, and writes to each page.
	own := "block loop i32.const 1 memory.grow i32.const -1 i32.eq br_if 1 br 0 end end " +
		"i32.const 0 local.set 1 loop local.get 1 i32.const 1 i32.store local.get 1 i32.const 4096 i32.add local.tee 1 memory.size i32.const 65536 i32.mul i32.lt_u br_if 0 end "
	tiny := "loop " + alloc(1) + "i64.eqz i32.eqz br_if 0 end "
	const twice = 2*64*policy.MiB + 64*policy.MiB
	memory := []Fault{FaultMemory}
	run := func(code string) Source {
		src := kernelPlugin(one, code)
		plainTool("run")(&src)
		src.Policy.Limits.Timeout = time.Minute
		return src
	}
	l.suffers(
		t,
		attack{what: "a gigabyte", src: run(refused(1<<30) + refused(1<<40) + refused(-1) + refused(-8) + refused(64<<20) + "i32.const 0"), want: well, most: 32 * policy.MiB},
		attack{what: "blocks", src: run(blocks + "unreachable"), want: memory, says: "64 MiB", most: twice},
		attack{what: "blocks and then its own", src: run(blocks + own + "unreachable"), want: memory, most: twice},
		attack{what: "its own and then blocks", src: run(own + blocks + "unreachable"), want: memory, most: twice},
		// The host remembers each: that counts, too.
		attack{what: "blocks of a byte", src: run(tiny + "unreachable"), want: memory, most: twice},
	)
	grows := source(t, "extism-plain")
	plainTool("grows")(&grows)
	l.suffers(t, attack{what: "until it breaks off", src: grows, want: memory, most: twice})
}

func TestMEM4TablesAreBounded(t *testing.T) {
	l := newLab(t)
	const most = 200_000
	for _, kind := range []struct{ table, null string }{{"\x70\x00\x01", "ref.null_func"}, {"\x6f\x00\x01", "ref.null_extern"}} {
		var call strings.Builder
		for k := 18; k <= 31; k++ {
			fmt.Fprintf(&call, "%s i32.const %d table.grow 0 %s", kind.null, int32(1)<<k, unless(-1))
		}
		fmt.Fprintf(&call, "%s i32.const -1 table.grow 0 %s", kind.null, unless(-1))
		fmt.Fprintf(&call, "table.size 0 %s loop %s i32.const 1000 table.grow 0 i32.const -1 i32.ne br_if 0 end ", unless(1), kind.null)
		fmt.Fprintf(&call, "loop %s i32.const 1 table.grow 0 i32.const -1 i32.ne br_if 0 end table.size 0 %s", kind.null, unless(most))
		p := parts{tables: []string{kind.table}, call: call.String() + answers()}
		l.suffers(t, attack{what: kind.null, src: p.source("tablegrow"), want: well, says: "done"})
		p.tables = []string{kind.table[:1] + "\x01\x01" + testkit.Uint(1<<32-1)}
		l.suffers(t, attack{what: kind.null + " with a maximum", src: p.source("tablegrow"), want: well, says: "done"})
	}
	var all parts
	for i := range 4 {
		all.tables = append(all.tables, "\x6f\x00\x00")
		all.call += fmt.Sprintf("ref.null_extern i32.const %d table.grow %d %s", most, i, unless(0))
	}
	all.call += answers()
	l.suffers(t, attack{what: "four", src: all.source("four"), want: well, says: "done"})
	for name, tables := range map[string][]string{
		"67108864 entries":   {"\x70\x00" + testkit.Uint(1<<26)},
		"200001 entries":     {"\x70\x00" + testkit.Uint(most+1)},
		"4294967295 entries": {"\x70\x01" + testkit.Uint(1<<32-1) + testkit.Uint(1<<32-1)},
		"100 tables":         slices.Repeat([]string{"\x70\x00\x01"}, 100),
		"5 tables":           slices.Repeat([]string{"\x70\x00\x01"}, 5),
	} {
		l.refuses(t, parts{tables: tables}.source("tables"), LoadTooLarge, name)
	}
}

func TestMEM5WhatIsCopiedIsCheckedBefore(t *testing.T) {
	l := newLab(t)
	answer := source(t, "packed") // two pages; gives what the call's id says
	for _, tc := range []struct {
		ptr, n uint32
		want   Fault
	}{
		{1024, 43, ""},
		{0, 0, FaultInvalidResult},
		{1024, 0, FaultInvalidResult},
		{1024, 44, ""}, // with a NUL behind it this is no JSON: taken as text
		{131072, 1, FaultInvalidResult},
		{131071, 2, FaultInvalidResult},
		{0xffffffff, 1, FaultInvalidResult},
		{0xffffffff, 0xffff, FaultInvalidResult},
		{0, 131073, FaultInvalidResult},
		{0, 1 << 20, FaultInvalidResult},
		{0, 1<<20 + 1, FaultOutput},
		{1024, 0xffffffff, FaultOutput},
		{0xffffffff, 0xffffffff, FaultOutput},
		{0x80000000, 0x80000000, FaultOutput},
		{0, 131072, ""}, // all of its memory
	} {
		id := fmt.Sprintf("%08x%08x", tc.ptr, tc.n)
		l.suffers(t, attack{what: "an answer at " + id, src: answer, call: Call{ID: id}, want: []Fault{tc.want}, most: slack / 2})
	}
	m := load(t, l.engine, answer)
	if _, err := m.Describe(t.Context()); err == nil {
		t.Error("a description at -1 was taken")
	}
	// Where the guest says that the arguments should go.
	for _, tc := range []struct {
		at   int64
		want Fault
	}{
		{131072, FaultInvalidResult},
		{131071, FaultInvalidResult},
		{-1, FaultInvalidResult},
		{-2 << 30, FaultInvalidResult},
		{0, FaultInvalidArgs},
		{4096, ""},
	} {
		p := parts{alloc: fmt.Sprint("i32.const ", tc.at)}
		l.suffers(t, attack{what: fmt.Sprint("arguments at ", tc.at), src: p.source("alloc"), want: []Fault{tc.want}, most: slack / 2})
	}
	text := func(n int64) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("a", int(n)) + `"`) }
	for name, tc := range map[string]struct {
		args json.RawMessage
		want Fault
	}{
		"larger than the limit":      {text(policy.Default().Limits.Input), FaultInvalidArgs},
		"larger than the memory":     {text(200_000), FaultInvalidResult},
		"as large as the memory":     {text(131_072 - 4096 - 2), FaultInvalidResult}, // with the request around
		"small":                      {text(100), ""},
		"no JSON":                    {json.RawMessage("{"), FaultInvalidArgs},
		"of a hundred million bytes": {text(100_000_000), FaultInvalidArgs},
	} {
		l.suffers(t, attack{what: "arguments " + name, src: parts{}.source("args"), call: Call{Arguments: tc.args}, want: []Fault{tc.want}, most: slack})
	}
}

func TestMEM6HostileJSONIsRefused(t *testing.T) {
	l := newLab(t)
	// saying is a tool that answers, and one that describes itself, with some text.
	saying := func(answer, description string) Source {
		p := parts{
			memory: "\x00" + testkit.Uint(128),
			data:   []string{dataAt(8192, answer), dataAt(4<<20, description)},
			call:   packed(8192, len(answer)),
		}
		if description != "" {
			p.describe = packed(4<<20, len(description))
		}
		return p.source("json")
	}
	deep := strings.Repeat("[", 500_000)
	var wide strings.Builder
	for i := range maxNames + 1 {
		fmt.Fprintf(&wide, `"%x":0,`, i)
	}
	inside := func(s string) string { return `{"v":1,"content":[],"structuredContent":` + s + `}` }
	invalid, plain := FaultInvalidResult, Fault("")
	for name, tc := range map[string]struct {
		answer string
		want   Fault
		says   string
	}{
		"brackets, and nothing but":  {deep, plain, "[[[["}, // text, not JSON
		"brackets":                   {`{"v":1,"content":` + deep + strings.Repeat("]", 500_000) + `}`, invalid, "not a response"},
		"brackets that do not close": {`{"v":1,"content":` + deep, invalid, "not a response"},
		"some that do not close":     {`{"v":1,"content":[[[[`, plain, `{"v":1`}, // no JSON: text
		"braces":                     {inside(strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)), invalid, "not a response"},
		"a hundred and one":          {inside(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)), invalid, "not a response"},
		"ninety-nine":                {inside(strings.Repeat(`{"a":`, 99) + "1" + strings.Repeat("}", 99)), plain, ""},
		"a large number":             {inside(`{"n":1e400}`), invalid, "not a response"},
		"a large negative number":    {inside(`{"n":[-1E+999]}`), invalid, "not a response"},
		"many digits":                {inside(`{"n":` + strings.Repeat("9", 400) + `}`), invalid, "not a response"},
		"a small number":             {inside(`{"n":1e-400}`), plain, ""},
		"a number that is none":      {inside(`{"n":NaN}`), plain, `{"v":1`}, // no JSON: text
		"infinity":                   {inside(`{"n":Infinity}`), plain, `{"v":1`},
		"a large number for a time":  {`{"error":{"kind":"rate_limited","retry_after_ms":1e400}}`, invalid, ""},
		"a name twice":               {inside(`{"a":1,"a":2}`), invalid, "not a response"},
		"a name twice, escaped":      {inside(`{"a":1,"\u0061":2}`), invalid, "not a response"},
		"a name twice, deeper":       {inside(`{"a":[{"b":{}},{"b":{"c":"{","d":[],"c":1}}]}`), invalid, "not a response"},
		"a name twice when cleaned":  {inside(`{"a\u0000":1,"a\ud800":2}`), invalid, "not a response"},
		"content twice":              {`{"v":1,"content":[{"type":"text","text":"a"}],"content":[]}`, invalid, "not a response"},
		"a version twice":            {`{"v":1,"v":1,"content":[]}`, invalid, "not a response"},
		"a name in many objects":     {inside(`{"a":[{"a":1},{"a":{"a":[{"a":1},{"a":1}]}}],"b":{"a":"a","b":"\"a\\"}}`), plain, ""},
		"halves of pairs":            {`{"v":1,"content":[{"type":"text","text":"\ud800x\udc00"}]}`, plain, "\uFFFDx\uFFFD"},
		"bytes that are no text":     {`{"v":1,"content":[{"type":"text","text":"` + "\xff\xc0\x80" + `"}]}`, plain, "\uFFFD"},
		"a NUL":                      {`{"v":1,"content":[{"type":"text","text":"a\u0000b"}]}`, plain, "a\uFFFDb"},
	} {
		l.suffers(t, attack{what: name, src: saying(tc.answer, ""), want: []Fault{tc.want}, says: tc.says})
	}
	// More names, and a longer text, than an answer has room for by default.
	roomy := func(s Source) Source {
		s.Policy.Limits.Output = 8 * policy.MiB
		return s
	}
	l.suffers(
		t,
		attack{what: "many names", src: roomy(saying(inside("{"+strings.TrimSuffix(wide.String(), ",")+"}"), "")), want: []Fault{invalid}},
		attack{what: "a hundred megabytes", want: []Fault{FaultOutput}, says: "1 MiB", most: 192 * policy.MiB, src: func() Source {
			p := parts{call: "i32.const 1600 memory.grow drop i32.const 65536 i32.const 97 i32.const 100000000 memory.fill " + packed(65536, 100_000_000)}
			s := p.source("long")
			s.Policy.Limits.Memory = 128 * policy.MiB
			return s
		}()},
	)
	for name, description := range map[string]string{
		"brackets":       `{"tools":` + deep[:30_000],
		"braces":         `{"tools":[{"name":"t","inputSchema":` + strings.Repeat(`{"a":`, 101) + "1" + strings.Repeat("}", 101) + `}]}`,
		"a name twice":   `{"tools":[{"name":"t","inputSchema":{"type":"object","type":"array"}}]}`,
		"tools twice":    `{"tools":[{"name":"t"}],"tools":[{"name":"u"}]}`,
		"a large number": `{"tools":[{"name":"t","inputSchema":{"maximum":1e400}}]}`,
		"no number":      `{"tools":[{"name":"t","inputSchema":{"maximum":NaN}}]}`,
	} {
		l.suffers(t, attack{what: "described: " + name, src: saying("{}", description), on: described(t.Context()), want: []Fault{invalid}})
	}
}

// Two hundred calls of two tools at once, each taking all the memory that it may
// have, take no more together than the engine allows, and all end well.
func TestMEM7ManyCallsStayWithinTheMemoryOfAll(t *testing.T) {
	src := source(t, "touch")
	need := src.Policy.Limits.Memory + stackLimit(src.Policy.Limits.Memory)
	e := newEngineAt(t, Options{CacheDir: cache.Dir(t), Memory: 4 * need})
	mods := []*Module{load(t, e, src), load(t, e, source(t, "touch"))}
	settled(t)
	before := residentPeak(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if out := mods[i%2].Call(t.Context(), Call{}); said(out) != "done" {
				t.Errorf("%q %s", out.Fault, out.Detail)
			}
		})
	}
	wg.Wait()
	if got := residentPeak(t) - before; got > 4*src.Policy.Limits.Memory+slack {
		t.Errorf("%s at most, of %s", size(got), size(4*src.Policy.Limits.Memory))
	}
}

// A tool that is called a hundred times does not keep another from its turn.
func TestMEM7AToolWithManyCallsLeavesTheOthersTheirTurn(t *testing.T) {
	e := newEngineAt(t, Options{CacheDir: cache.Dir(t), Memory: policy.MiB}) // one call at a time
	slow := load(t, e, source(t, "loop"), within(time.Minute))
	busy, other := load(t, e, source(t, "done")), load(t, e, source(t, "counter"))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var order []*Module
	call := func(m *Module, waiting int) {
		wg.Go(func() {
			out := m.Call(t.Context(), Call{Log: nil})
			mu.Lock()
			defer mu.Unlock()
			order = append(order, m)
			if out.Fault != "" {
				t.Errorf("%q %s", out.Fault, out.Detail)
			}
		})
		awaitQueued(e.queue, waiting)
	}
	ended := make(chan Outcome)
	go func() { ended <- slow.Call(t.Context(), Call{}) }()
	inside(slow)
	for i := range 100 {
		call(busy, i+1)
	}
	call(other, 101)
	closed(t, slow)
	if out := <-ended; out.Fault != FaultCancelled {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
	wg.Wait()
	// The call comes second; the one behind it may be counted before it.
	if at := slices.Index(order, other); at > 2 {
		t.Errorf("the other tool's call was number %d of %d", at+1, len(order))
	}
}
