package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

func TestExtismBlocksAreLaidOutAsInTheReference(t *testing.T) {
	var s steps
	first := s.do("alloc", num(1))
	s.do("alloc", num(7))
	s.do("free", first)
	s.do("alloc", num(1)) // the memory has room, so the free block waits
	whole := s.do("alloc", num(64_000))
	s.do("free", whole)
	s.do("alloc", num(1_000_000)) // needs fifteen pages more
	fit := s.do("alloc", num(63_900))
	s.do("length", fit)
	s.do("free", fit)
	s.do("alloc", num(63_850)) // the end of the free block
	s.do("alloc", num(60_000)) // a block of its own
	s.do("memory_bytes")
	src := stepsSource(t)
	got := s.run(t, load(t, newEngine(t), src))
	want := results([]byte(newReference(t, src.Wasm, src.Config).perform(t, "run", s.program).Out))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	// The program of 13 steps is the first block.
	at := uint64(kernelBlocks+blockHeader) + uint64(len(s.program)) + blockHeader
	if got[0] != at || got[1] != at+1+blockHeader || got[3] != got[1]+7+blockHeader {
		t.Errorf("the first blocks are at %d", got[:4])
	}
	if got[7] != got[4] || got[8] != 63_900 {
		t.Errorf("the free block at %d was not used again: %d", got[4], got[7:9])
	}
	if got[10] != got[4]+150 {
		t.Errorf("the free block at %d was not split: %d", got[4], got[10])
	}
}

// What a plugin writes over the end of a block, and any offset that it makes
// up, changes nothing of what the host keeps.
func TestExtismPluginCannotReachTheAllocator(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t))
	var s steps
	a := s.do("alloc", num(16))
	b := s.do("alloc", num(16))
	s.do("store_u64", a.plus(12), num(1<<64-1)) // into what would be b's header
	s.do("store_u64", a.plus(20), num(1<<64-1))
	s.do("length", b)
	s.do("load_u64", a.plus(12))
	s.do("store_u64", num(33), num(1<<64-1)) // into what would be the kernel's own data
	s.do("input_offset")
	s.do("store_u8", b, num(1)) // looks like the header of a block at b+12
	s.do("length_unsafe", b.plus(12))
	s.do("alloc", num(1<<64-1))
	s.do("alloc", num(1<<48))
	s.do("free", num(1<<20))
	s.do("length", num(1<<20))
	s.do("load_u8", num(1<<20+1))
	s.do("store_u8", num(1<<63), num(1))
	s.do("load_u8", num(63))
	got := s.run(t, m)
	want := []uint64{4: 16, 5: 1<<64 - 1, 7: kernelBlocks + blockHeader, 16: 0}
	want[0], want[1] = got[0], got[1]
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A word may end behind its block: what is there is zero, or what was written.
func TestExtismWordsAtTheEndOfABlock(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t))
	var s steps
	at := s.text("seven7s")
	next := s.do("alloc", num(4))
	s.do("store_u8", next, num('!'))
	first := s.do("load_u64", at)
	s.do("load_u64", at.plus(6))
	s.do("load_u64", at.plus(12))
	s.do("load_u64", num(extismKernel-8))
	s.do("input_load_u64", num(s.n*24+20)) // four bytes of this step, which is the last
	got := s.run(t, m)[first.ref-1:]
	want := []uint64{binary.LittleEndian.Uint64([]byte("seven7s\x00")), 's', '!' << 56, 0, 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExtismOffsetsOutsideOfTheMemoryAreTraps(t *testing.T) {
	src := stepsSource(t)
	m := load(t, newEngine(t), src)
	const end = extismKernel
	for _, tc := range []struct {
		op   string
		args []arg
	}{
		{"load_u8", []arg{num(end)}},
		{"store_u8", []arg{num(end), num(1)}},
		{"load_u64", []arg{num(end - 7)}},
		{"load_u64", []arg{num(1<<32 + 77)}},
		{"load_u64", []arg{num(1<<64 - 1)}},
		{"store_u64", []arg{num(end - 7), num(1)}},
		{"store_u64", []arg{num(1<<64 - 8), num(1)}},
		{"input_load_u64", []arg{num(end)}},
		{"input_load_u64", []arg{num(1<<64 - 90)}},
		{"log_info", []arg{num(end + 1)}},
		{"log_error", []arg{num(1<<64 - 1)}},
		{"config_get", []arg{num(1 << 32)}},
		{"var_get", []arg{num(1 << 32)}},
		{"var_set", []arg{num(1 << 32), num(0)}},
		{"var_set", []arg{num(0), num(1 << 32)}},
		{"http_request", []arg{num(1 << 32), num(0)}},
		{"http_request", []arg{num(0), num(0)}},
		{"trap", nil},
	} {
		var s steps
		s.do(tc.op, tc.args...)
		r := perform(t, m, "run", s.program)
		if r.fault != FaultTrap || !strings.HasPrefix(r.Trap, "the tool crashed (") {
			t.Errorf("%s%v: %q %q", tc.op, tc.args, r.fault, r.Trap)
		}
	}
}

// A result that the plugin did not place in the memory is no success.
func TestExtismOutputOutsideOfTheMemoryIsNoAnswer(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t))
	const room = kernelBlocks + pageSize - kernelRoot
	for _, tc := range []struct {
		at, n uint64
		fault Fault
	}{
		{0, 0, ""},
		{100, 0, ""},
		{1 << 40, 0, ""},
		{kernelBlocks, 1, ""},
		{kernelBlocks, room - kernelBlocks, ""},
		{0, 1, FaultInvalidResult},
		{64, 8, FaultInvalidResult},
		{kernelBlocks, room - kernelBlocks + 1, FaultInvalidResult},
		{room, 1, FaultInvalidResult},
		{1 << 32, 8, FaultInvalidResult},
		{100, 1<<64 - 50, FaultInvalidResult},
		{100, 1<<64 - 10, FaultInvalidResult},
	} {
		var s steps
		s.do("output_set", num(tc.at), num(tc.n))
		if r := perform(t, m, "leave", s.program); r.fault != tc.fault || tc.fault == "" && len(r.Out) != int(tc.n) {
			t.Errorf("%#x+%#x: %q %q, %d bytes", tc.at, tc.n, r.fault, r.Trap, len(r.Out))
		}
		s.do("output_set", s.do("alloc", num(1)), num(1)) // and then it thinks better of it
		if r := perform(t, m, "leave", s.program); r.fault != "" || r.Out != "\x00" {
			t.Errorf("%#x+%#x, and then a block: %+v", tc.at, tc.n, r)
		}
	}
}

func TestExtismOutputAndErrorAreBounded(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t), func(s *Source) { s.Policy.Limits.Output = 1000 })
	for n, want := range map[uint64]Fault{999: "", 1000: "", 1001: FaultOutput, 1 << 20: FaultOutput} {
		var out, failed steps
		out.do("output_set", out.do("alloc", num(n)), num(n))
		failed.do("error_set", failed.do("alloc", num(n)))
		if r := perform(t, m, "leave", out.program); r.fault != want || want == "" && len(r.Out) != int(n) {
			t.Errorf("output of %d: %q, %d bytes", n, r.fault, len(r.Out))
		}
		if r := perform(t, m, "leave", failed.program); r.fault != want || want == "" && len(r.Said) != int(n) {
			t.Errorf("error of %d: %q, %d bytes", n, r.fault, len(r.Said))
		}
	}
}

// One limit holds for the plugin's memory, the shared memory, what the host
// remembers of its blocks, and the variables.
func TestExtismMemoryIsCountedWhereverItIs(t *testing.T) {
	const blocks = 4000
	var s steps
	for range blocks {
		s.do("alloc", num(1))
	}
	m := load(t, newEngine(t), stepsSource(t))
	peak := func(s steps) int64 {
		g, err := newGuest(t.Context(), m.src.Policy, nil, Call{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.speaks.(*extismPlugin).exec(g, "leave", s.program); err != nil {
			t.Fatal(err)
		}
		n := g.arena.peak
		if err := g.close(); err != nil {
			t.Error(err)
		}
		return n
	}
	const least = 4*pageSize + extismKernel
	if got := peak(steps{}); got != least {
		t.Errorf("nothing takes %d, want %d", got, least)
	}
	pages := int64(len(s.program)+blocks*(1+blockHeader)) / pageSize * pageSize
	if got := peak(s); got < least+pages+blocks*blockBytes || got > least+pages+3*blocks*blockBytes+pageSize {
		t.Errorf("%d blocks take %d", blocks, got-least)
	}
	var v steps
	v.do("var_set", v.do("alloc", num(4)), v.do("alloc", num(10_000)))
	if got := peak(v); got != least+10_004+varOverhead {
		t.Errorf("a variable takes %d", got-least)
	}
}

func TestExtismMemoryOverTheLimitIsAFault(t *testing.T) {
	src := stepsSource(t, func(s *Source) {
		s.Policy.Limits.Memory = 22 * pageSize
		s.Config = []byte(`{"name":"` + strings.Repeat("x", 200_000) + `"}`)
	})
	m := load(t, newEngine(t), src)
	var large, config, vars steps
	large.do("length", large.do("alloc", num(200_000)))
	if got := large.run(t, m); got[0] != 0 || got[1] != 0 {
		t.Errorf("got a block: %d", got)
	}
	config.do("config_get", config.text("name"))
	for range 20 {
		vars.do("var_set", vars.text("a"), num(0))
		vars.do("var_set", vars.text("a"), vars.do("alloc", num(50_000)))
		vars.do("var_set", vars.text("b"), vars.do("alloc", num(50_000)))
		vars.do("var_set", vars.text("c"), vars.do("alloc", num(50_000)))
	}
	for name, s := range map[string]steps{"config": config, "variables": vars} {
		if r := perform(t, m, "run", s.program); r.fault != FaultMemory {
			t.Errorf("%s: %q %q", name, r.fault, r.Trap)
		}
	}
}

// The memory that a call starts with is zeros, wherever the last one wrote.
func TestExtismMemoryIsFreshInEveryCall(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t))
	for _, far := range []uint64{1 << 10, maxSpareDirty - 8, maxSpareDirty, extismKernel - 8} {
		var write, read steps
		write.do("store_u64", num(far), num(1<<64-1))
		write.do("store_u64", num(64), num(1<<64-1))
		for at := range uint64(8) {
			read.do("load_u64", num(extismKernel/8*at+1000))
		}
		read.do("load_u64", num(far))
		read.do("load_u64", num(64-8))
		write.run(t, m)
		if got := read.run(t, m); strings.Trim(fmt.Sprint(got), "[]0 ") != "" {
			t.Errorf("after a write at %d: %d", far, got)
		}
	}
	if n := len(m.speaks.(*extismPlugin).spare.idle); n != 1 {
		t.Errorf("%d memories are kept", n)
	}
}

func TestExtismMemoryMovesWhenItGrows(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t))
	var s steps
	s.do("store_u64", num(extismKernel-8), num(7))
	small := s.text("seven7s")
	s.do("alloc", num(100_000))
	s.do("load_u64", small)
	s.do("load_u64", num(extismKernel-8))
	s.do("store_u64", num(extismKernel), num(8))
	s.do("load_u64", num(extismKernel))
	got := s.run(t, m)
	want := []uint64{binary.LittleEndian.Uint64([]byte("seven7s\x00")), 7, 0, 8}
	if diff := cmp.Diff(want, got[len(got)-4:]); diff != "" {
		t.Error(diff)
	}
}

func TestExtismVariableStoreIsBounded(t *testing.T) {
	src := stepsSource(t)
	m := load(t, newEngine(t), src)
	ref := newReference(t, src.Wasm, src.Config, func(m *extism.Manifest) { m.Memory.MaxVarBytes = maxExtismVars })
	for n, want := range map[uint64]Fault{maxExtismVars - 42: "", maxExtismVars - 41: FaultTrap, 1 << 21: FaultTrap} {
		var s steps
		s.do("var_set", s.text("a"), s.do("alloc", num(n)))
		r := perform(t, m, "run", s.program)
		if r.fault != want || want != "" && !strings.Contains(r.Trap, "1 MiB") {
			t.Errorf("%d bytes: %q %q", n, r.fault, r.Trap)
		}
		if diff := sameEnd(ref.perform(t, "run", s.program), r); diff != "" {
			t.Errorf("%d bytes: %s", n, diff)
		}
	}
	// What is replaced or forgotten is given back.
	var s steps
	for range 50 {
		s.do("var_set", s.text("a"), s.do("alloc", num(500_000)))
		s.do("var_set", s.text("b"), s.do("alloc", num(300_000)))
		s.do("var_set", s.text("b"), num(0))
	}
	s.run(t, m)
}

func TestExtismCopiesEndWithTheCall(t *testing.T) {
	g, err := newGuest(t.Context(), policy.Default(), nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}()
	p := &extismPlugin{}
	s, err := newExtismState(g, p)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		s.end(p)
		if err := p.spare.close(); err != nil {
			t.Error(err)
		}
	}()
	at, err := s.give(make([]byte, 3*copyPiece))
	if err != nil {
		t.Fatal(err)
	}
	why := fault(FaultTimeout, "over")
	g.watch.stop(why)
	_, given := s.give([]byte("x"))
	_, taken := s.take(region{at, 3 * copyPiece})
	for what, err := range map[string]error{"give": given, "take": taken, "reset": s.reset(g.ctx)} {
		if err != error(why) {
			t.Errorf("%s: %v", what, err)
		}
	}
	done := 0
	ctx, cancel := context.WithCancelCause(t.Context())
	err = inPieces(ctx, 10*copyPiece, func(from, to int) {
		if done += to - from; done == 2*copyPiece {
			cancel(why)
		}
	})
	if err != error(why) || done != 2*copyPiece {
		t.Errorf("%v after %d bytes", err, done)
	}
}

// Whatever the program, the host answers, and the failure is not its own.
func FuzzExtismHostNeverFails(f *testing.F) {
	var s steps
	s.do("output_set", s.text("seven7s"), num(7))
	s.do("var_set", s.text("a"), s.text("b"))
	s.do("log_warn", s.do("var_get", s.text("a")))
	s.do("http_request", s.text(`{"url":"http://127.0.0.1/"}`), num(0))
	f.Add(s.program)
	for i := range stepOps {
		f.Add(binary.LittleEndian.AppendUint64(nil, uint64(i)))
		f.Add(append(binary.LittleEndian.AppendUint64(nil, uint64(i)), strings.Repeat("\xff", 16)...))
	}
	e := newEngine(f)
	m, err := e.Load(f.Context(), stepsSource(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if r := perform(t, m, "leave", program); r.fault == FaultInternal {
			t.Errorf("%+v", r)
		}
	})
}

// The places where one byte more or less decides.
func TestExtismEdgesEndAsUnderTheReference(t *testing.T) {
	src := stepsSource(t)
	m := load(t, newEngine(t), src)
	ref := newReference(t, src.Wasm, src.Config, func(m *extism.Manifest) { m.Memory.MaxPages = stepsMemory/pageSize - 4 })
	for name, program := range map[string]func(s *steps){
		"a size that just has no room": func(s *steps) {
			s.do("free", s.do("alloc", num(30_000)))
			// The memory has 65472 bytes, less 64; the program of 4 steps is in it.
			s.do("alloc", num(65_472-64-(4*24+blockHeader)-(30_000+blockHeader)-blockHeader-(20_000+blockHeader)))
			s.do("alloc", num(20_000))
		},
		"a size that just has room": func(s *steps) {
			s.do("free", s.do("alloc", num(30_000)))
			s.do("alloc", num(65_472-64-(4*24+blockHeader)-(30_000+blockHeader)-blockHeader-(20_000+blockHeader)-1))
			s.do("alloc", num(20_000))
		},
		"a rest that is just worth keeping": func(s *steps) {
			s.do("free", s.do("alloc", num(60_000)))
			s.do("alloc", num(60_000-blockRest))
		},
		"a rest that is just not": func(s *steps) {
			s.do("free", s.do("alloc", num(60_000)))
			s.do("length", s.do("alloc", num(60_000-blockRest+1)))
		},
		"the input is freed": func(s *steps) {
			s.do("free", s.do("input_offset"))
			s.do("input_length")
			s.do("input_offset")
			s.do("input_load_u8", num(0))
		},
		"the output is freed": func(s *steps) {
			at := s.do("alloc", num(10))
			s.do("output_set", at, num(10))
			s.do("free", at)
			s.do("output_length")
			s.do("input_length")
		},
		"empty outputs": func(s *steps) {
			for _, at := range []uint64{66, 65, 64, 0} {
				s.do("output_set", num(at), num(0))
				s.do("output_offset")
			}
		},
		"growing after growing was refused": func(s *steps) {
			s.do("alloc", num(8_000_000))
			s.do("alloc", num(8_000_000))
			s.do("alloc", num(7_080_000))
			s.do("alloc", num(70_000))
			s.do("alloc", num(1_000))
		},
	} {
		var s steps
		program(&s)
		if diff := sameEnd(ref.perform(t, "run", s.program), perform(t, m, "run", s.program)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A plugin with a million blocks may hold the host up for milliseconds with each
// that it asks for: when its time is over it gets none.
func TestAPluginWithManyBlocksGetsNoneWhenItsTimeIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g, err := newGuest(ctx, policy.Default(), nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.close() }()
	data := make([]byte, extismKernel)
	s := &extismState{kernel: newKernel(g.arena, data), guest: g}
	for range manyBlocks + 1 {
		if s.allocate(1) == 0 {
			t.Fatal("no block")
		}
	}
	cancel()
	if s.allocate(1) != 0 {
		t.Error("a block after the end of the call")
	}
}
