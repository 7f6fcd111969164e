package wasmbin_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// ways are bodies of a function (i32) -> i32 with index 1; function 0 is
// imported, has neither parameters nor results and counts its calls. No way
// through them has many of those without a pause.
func ways() map[string]string {
	tick := func(n int) string { return strings.Repeat("\x10\x00", n) }
	const (
		deeper = "\x20\x00\x41\x01\x6b\x10\x01" // f(x - 1)
		leave  = "\x20\x00\x45\x04\x40\x41\x00\x0f\x0b"
	)
	nested := strings.Repeat("\x03\x40", 500) + strings.Repeat(tick(30)+"\x0b", 500)
	// From the innermost of nested loops out of one after the other.
	out := strings.Repeat("\x02\x40\x03\x40", 300) + strings.Repeat(tick(30)+"\x20\x00\x0d\x01\x0b\x0b", 300)
	return map[string]string{
		"one after the other":          tick(20_000) + "\x41\x00",
		"a short way back":             leave + deeper + tick(3),
		"the way back":                 leave + deeper + tick(30),
		"the way back of two branches": leave + deeper + "\x45\x04\x40" + tick(30) + "\x05" + tick(31) + "\x0b\x41\x00",
		"the way back with a table":    "\x02\x40\x20\x00\x0e\x00\x00\x0b" + leave + deeper + tick(30),
		"a loop on the way back":       leave + "\x03\x7f" + deeper + "\x0b" + tick(30),
		"the way back in a loop":       leave + "\x03\x7f" + deeper + tick(30) + "\x0b",
		"ends of loops":                nested + "\x41\x00",
		"branches out of loops":        out + "\x41\x00",
	}
}

// No way of a guest is long without a look: not back out of a recursion, nor out
// of loops. What is counted here is calls of the host, 60 units each.
func TestEveryLongWayHasALook(t *testing.T) {
	const slice = 10_000
	leb := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }
	for name, body := range ways() {
		for _, o := range []wasmbin.Options{{Slice: slice}, {Fuel: true, Gap: 2500}} {
			code := vec() + body + "\x0b"
			wasm := module(section(1, vec("\x60\x00\x00", "\x60\x01\x7f\x01\x7f")), section(2, vec("\x01e\x04tick\x00\x00")), section(3, vec("\x01")),
				section(7, vec("\x01f\x00\x01")), section(10, vec(leb(len(code))+code)))
			out, err := rewrite(wasm, wasmbin.DefaultLimits(), o)
			if err != nil {
				t.Fatal(name, err)
			}
			r := wazero.NewRuntime(t.Context())
			ticks, most, all := 0, 0, 0
			servePauses(t, r, slice, func() { ticks = 0 })
			if _, err := r.NewHostModuleBuilder("e").NewFunctionBuilder().WithFunc(func() {
				all++
				ticks++
				most = max(most, ticks)
			}).Export("tick").Instantiate(t.Context()); err != nil {
				t.Fatal(err)
			}
			mod, err := r.Instantiate(t.Context(), out.Wasm)
			if err != nil {
				t.Fatal(name, err)
			}
			refuel(mod)
			if _, err := mod.ExportedFunction("f").Call(t.Context(), 5000); err != nil {
				t.Fatal(name, err)
			}
			// A head charges a fifth of a gap at least, and a gap is 2,500 units.
			if limit := 5 * (slice + 2*2500) / 60; most > limit || all < 2*limit {
				t.Errorf("%s, fuel %t: %d of %d calls without a pause, want %d at most", name, o.Fuel, most, all, limit)
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// A bulk operation that was charged is followed by a look before the next, so
// that what is left of a slice, or of the fuel, cannot be far below nothing.
func TestBulkOperationsAreCharged(t *testing.T) {
	leb := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }
	const n = 200
	for name, op := range map[string]string{"fill": "\xfc\x0b\x00", "copy": "\xfc\x0a\x00\x00"} {
		for _, bytes := range []string{"\x80\x80\x04", "\x80\x80\x20"} { // 64 KiB, 512 KiB
			code := vec() + strings.Repeat("\x41\x00\x41\x01\x41"+bytes+op, n) + "\x0b"
			wasm := module(section(1, vec("\x60\x00\x00")), section(3, vec("\x00")), section(5, vec("\x00\x09")),
				section(7, vec("\x01f\x00\x00")), section(10, vec(leb(len(code))+code)))
			for _, fuel := range []bool{false, true} {
				out, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{Fuel: fuel, Slice: 1000})
				if err != nil {
					t.Fatal(err)
				}
				r := wazero.NewRuntime(t.Context())
				pauses := 0
				servePauses(t, r, 1000, func() { pauses++ })
				mod, err := r.Instantiate(t.Context(), out.Wasm)
				if err != nil {
					t.Fatal(err)
				}
				if fuel {
					mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal).Set(1_000_000)
				}
				_, err = mod.ExportedFunction("f").Call(t.Context())
				left := int32(mod.ExportedGlobal(wasmbin.LeftExport).Get())
				if fuel && (err == nil || pauses > 2*1_000_000/8192) {
					t.Errorf("%s: a hundred times the fuel was used: %v, %d pauses", name, err, pauses)
				}
				if !fuel && (err != nil || pauses < n) {
					t.Errorf("%s: %d pauses, %v", name, pauses, err)
				}
				if left < -64<<10 {
					t.Errorf("%s, fuel %t: %d left", name, fuel, left)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A loop whose head costs more than a slice goes on after each pause, and costs
// the same fuel however long slices are.
func TestALoopGoesOnAfterAPause(t *testing.T) {
	const turns, values, fuel = 20, 9000, 1 << 40
	leb := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }
	// f(x) counts x down to nothing, with so many values around a call that what
	// its frame costs is far more than a slice.
	value := "\x20\x00\x42\x07\x7c"                                                                               // local.get 0, i64.const 7, i64.add
	body := "\x03\x40" + strings.Repeat(value, values) + "\x10\x01" + strings.Repeat("\x85", values-1) + "\x1a" + // loop, ..., call 1, i64.xor ..., drop
		"\x20\x00\x42\x01\x7d\x22\x00\x42\x00\x52\x0d\x00\x0b" + "\x20\x00" // x - 1 -> x, br_if x != 0, end, x
	code := vec() + body + "\x0b"
	nothing := vec() + "\x0b"
	wasm := module(section(1, vec("\x60\x01\x7e\x01\x7e", "\x60\x00\x00")), section(3, vec("\x00", "\x01")), section(7, vec("\x01f\x00\x00")),
		section(10, vec(leb(len(code))+code, leb(len(nothing))+nothing)))
	used := make(map[uint64]bool)
	for _, counted := range []bool{false, true} {
		for _, slice := range []int{3, 500, 20_000} {
			out, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{Fuel: counted, Slice: 3})
			if err != nil {
				t.Fatal(err)
			}
			r := wazero.NewRuntime(t.Context())
			pauses := 0
			servePauses(t, r, slice, func() {
				if pauses++; pauses > 40*turns { // there are some twenty points in a turn
					panic("it does not go on")
				}
			})
			mod, err := r.Instantiate(t.Context(), out.Wasm)
			if err != nil {
				t.Fatal(err)
			}
			mod.ExportedGlobal(wasmbin.LeftExport).(api.MutableGlobal).Set(0)
			if counted {
				mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal).Set(fuel)
			}
			got, err := mod.ExportedFunction("f").Call(t.Context(), turns)
			if err != nil || got[0] != 0 || pauses < turns/2 {
				t.Errorf("fuel %t, slice %d: %v, %v after %d pauses", counted, slice, got, err, pauses)
			}
			if counted {
				left := int64(int32(mod.ExportedGlobal(wasmbin.LeftExport).Get()))
				used[fuel-mod.ExportedGlobal(wasmbin.FuelExport).Get()-uint64(left)] = true
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if len(used) != 1 {
		t.Errorf("the fuel of one call is %v", used)
	}
}
