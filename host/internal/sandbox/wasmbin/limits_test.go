package wasmbin_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// section writes a section, and vec a vector of items that are written already.
func section(id byte, body string) string {
	return string(append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...))
}

func vec(items ...string) string {
	return string(binary.AppendUvarint(nil, uint64(len(items)))) + strings.Join(items, "")
}

// function is a module with one function of no parameters and results.
func function(body string, more ...string) []byte {
	code := vec() + body + "\x0b"
	parts := append([]string{section(1, vec("\x60\x00\x00")), section(3, vec("\x00"))}, more...)
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(parts, "") + section(10, vec(string(binary.AppendUvarint(nil, uint64(len(code))))+code)))
}

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// MOD-6: what is beyond Core 2.0 is refused by its name.
func TestWhatIsBeyondCore2IsRefusedByName(t *testing.T) {
	memory := section(5, vec("\x00\x01"))
	for name, c := range map[string]struct {
		wasm []byte
		says string
	}{
		"shared memory":         {module(section(5, vec("\x03\x01\x02"))), "threads"},
		"atomic instruction":    {function("\x41\x00\x41\x00\x41\x00\xfe\x00\x02\x00\x1a", memory), "threads"},
		"64-bit memory":         {module(section(5, vec("\x04\x01"))), "memory64"},
		"second memory":         {module(section(5, vec("\x00\x01", "\x00\x01"))), "multi-memory"},
		"imported and own":      {module(section(2, vec("\x01a\x01b\x02\x00\x01")), memory), "multi-memory"},
		"tail call":             {function("\x12\x00"), "tail calls"},
		"indirect tail call":    {function("\x41\x00\x13\x00\x00"), "tail calls"},
		"try":                   {function("\x06\x40\x0b"), "exceptions"},
		"throw":                 {function("\x08\x00"), "exceptions"},
		"try_table":             {function("\x1f\x40\x00\x0b"), "exceptions"},
		"imported tag":          {module(section(1, vec("\x60\x00\x00")), section(2, vec("\x01a\x01b\x04\x00\x00"))), "exceptions"},
		"call_ref":              {function("\x14\x00"), "typed function references"},
		"struct.new":            {function("\xfb\x00\x00"), "garbage collection"},
		"relaxed SIMD":          {function("\xfd\x80\x02"), "relaxed SIMD"},
		"an opcode made longer": {function("\xfd\x8c\x00"), "longer form"},
	} {
		_, err := rewrite(c.wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
		e, ok := errors.AsType[*wasmbin.Error](err)
		if !ok || e.Kind != wasmbin.Unsupported || !strings.Contains(e.Problem, c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

// CPU-7: what would make the engine's compiler work long is refused before.
func TestCompileBombsAreRefused(t *testing.T) {
	many := func(n int, s string) string { return strings.Repeat(s, n) }
	uint32s := func(n uint64) string { return string(binary.AppendUvarint(nil, n)) }
	locals := func(n uint64, body string) []byte {
		code := vec(uint32s(n)+"\x7f") + body + "\x0b"
		return module(section(1, vec("\x60\x00\x00")), section(3, vec("\x00")), section(10, vec(uint32s(uint64(len(code)))+code)))
	}
	for name, wasm := range map[string][]byte{
		"locals":              locals(50_001, ""),
		"branches and locals": locals(1000, many(251, "\x02\x40\x0c\x00\x0b")),
		"ifs and locals":      locals(1000, many(251, "\x41\x00\x04\x40\x0b")),
		"loops":               function(many(2001, "\x03\x40\x0b")),
		"branches":            function(many(4001, "\x02\x40\x41\x00\x0d\x00\x0b")),
		"nesting":             function(many(2001, "\x02\x40") + many(2001, "\x0b")),
		"labels":              function("\x41\x00\x0e" + uint32s(50_001) + many(50_002, "\x00")),
		"body":                function(many(2<<20, "\x01")),
		"element segments":    module(section(4, vec("\x70\x00\x01")), section(9, string(uint32s(10_001))+many(10_001, "\x01\x00\x00"))),
		"passive data":        module(section(5, vec("\x00\x01")), section(11, vec("\x01"+uint32s(2<<20+1)+many(2<<20+1, "x")))),
		"table":               module(section(4, vec("\x70\x00"+uint32s(200_001)))),
		"tables":              module(section(4, vec(many(5, "\x70\x00\x01")))),
		"parameters":          module(section(1, vec("\x60"+uint32s(1001)+many(1001, "\x7f")+"\x00"))),
		"a name":              module(section(7, vec(uint32s(1025)+many(1025, "a")+"\x00\x00"))),
	} {
		if name == "tables" {
			wasm = module(section(4, "\x05"+many(5, "\x70\x00\x01")))
		}
		_, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
		e, ok := errors.AsType[*wasmbin.Error](err)
		if !ok || e.Kind != wasmbin.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	sum := wasmbin.DefaultLimits()
	sum.AllBlocks = 100
	if _, err := rewrite(function(many(11, "\x02\x40\x0b")), sum, wasmbin.Options{}); err == nil {
		t.Error("a module with too many blocks was taken")
	}
	// The sum of all functions counts too.
	lim := wasmbin.DefaultLimits()
	lim.AllBranchLocals = 1000
	if _, err := rewrite(locals(100, many(11, "\x02\x40\x0c\x00\x0b")), lim, wasmbin.Options{}); err == nil {
		t.Error("a module with too many branches and locals was taken")
	}
}

// Lists of operands on blocks of two bytes would take a minute to compare.
func TestLongOperandListsAreRefused(t *testing.T) {
	params := strings.Repeat("\x7f", 1000)
	wide := section(1, vec("\x60\x00\x00", "\x60"+"\xe8\x07"+params+"\xe8\x07"+params))
	code := vec() + strings.Repeat("\x41\x00", 1000) + strings.Repeat("\x02\x01\x0b", 100_000) + "\x00\x0b"
	wasm := module(wide, section(3, vec("\x00")), section(10, vec(string(binary.AppendUvarint(nil, uint64(len(code))))+code)))
	_, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
	if e, ok := errors.AsType[*wasmbin.Error](err); !ok || e.Kind != wasmbin.TooLarge {
		t.Errorf("got %v", err)
	}
}

func TestReservedNamesAreRefused(t *testing.T) {
	for name, wasm := range map[string][]byte{
		"export": module(section(1, vec("\x60\x00\x00")), section(3, vec("\x00")), section(7, vec("\x0d__wagent_left\x00\x00")), section(10, vec("\x02\x00\x0b"))),
		"import": module(section(1, vec("\x60\x00\x01\x7f")), section(2, vec("\x0d__wagent_host\x05pause\x00\x00"))),
	} {
		_, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
		if e, ok := errors.AsType[*wasmbin.Error](err); !ok || e.Kind != wasmbin.Reserved {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The globals that are added have the next indices: a module must not reach them.
func TestAddedGlobalsAndFunctionsAreOutOfReach(t *testing.T) {
	for name, body := range map[string]string{
		"global.set of the slice":  "\x41\x00\x24\x00",
		"global.get of the fuel":   "\x23\x01\x1a",
		"call of a helper":         "\x10\x01",
		"call of another":          "\x10\x02",
		"ref.func of a helper":     "\xd2\x01\x1a",
		"memory that is not there": "\x3f\x00\x1a",
	} {
		_, err := rewrite(function(body), wasmbin.DefaultLimits(), wasmbin.Options{})
		if e, ok := errors.AsType[*wasmbin.Error](err); !ok || e.Kind != wasmbin.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	elem := module(section(1, vec("\x60\x00\x00")), section(3, vec("\x00")), section(4, vec("\x70\x00\x01")),
		section(9, vec("\x00\x41\x00\x0b"+vec("\x01"))), section(10, vec("\x02\x00\x0b")))
	if _, err := rewrite(elem, wasmbin.DefaultLimits(), wasmbin.Options{}); err == nil {
		t.Error("an element segment reaches the pause")
	}
}

func TestTheSameModuleIsRewrittenTheSame(t *testing.T) {
	wasm := function("\x03\x40\x0c\x00\x0b")
	a, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{})
	if err != nil || !bytes.Equal(a.Wasm, b.Wasm) {
		t.Error("two results of one module", err)
	}
}

// What is kept of an older rewriter must not be used: when this fails, count
// Version up and put the new digests here.
func TestTheVersionChangesWithTheCode(t *testing.T) {
	wasm := testkit.Wasm(t, "spin")
	for fuel, want := range map[bool]string{
		false: "9 937bf4e2c07df0fa6d155adb73be2c83b989add118a7139151941f81d154d9f8",
		true:  "9 6502d350de90d175e03543b312e629b043b87077f7499b88357f6a32a0560613",
	} {
		out, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{Fuel: fuel, Bare: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %x", wasmbin.Version, sha256.Sum256(out.Wasm)); got != want {
			t.Errorf("fuel %t: version and digest are %s", fuel, got)
		}
	}
}
