package wasmbin_test

import (
	"context"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// recursions are functions (i64) -> i64 that call themselves without end, with
// frames of many kinds.
func recursions() map[string][]byte {
	leb := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }
	self := func(locals, body string) []byte {
		code := locals + body + "\x0b"
		return module(section(1, vec("\x60\x01\x7e\x01\x7e")), section(3, vec("\x00")), section(4, vec("\x70\x00\x01")),
			section(7, vec("\x01f\x00\x00")), section(9, vec("\x00\x41\x00\x0b"+vec("\x00"))), section(10, vec(leb(len(code))+code)))
	}
	const call = "\x20\x00\x10\x00" // local.get 0, call 0
	// value makes a value that the engine can neither fold nor make again.
	value := func(i int) string { return "\x20\x00\x42" + leb(i%64) + "\x7c" }
	var operands, setting, between strings.Builder
	for i := range 20_000 {
		operands.WriteString(value(i))
	}
	operands.WriteString(call + strings.Repeat("\x85", 20_000))
	// Each local is given something else in each of many branches.
	for b := range 200 {
		setting.WriteString("\x02\x40\x20\x00\x50\x0d\x00") // block, local.get 0, i64.eqz, br_if 0
		for l := 1; l <= 100; l++ {
			setting.WriteString("\x20" + leb(l) + "\x42" + leb(b%64) + "\x7c\x21" + leb(l))
		}
		setting.WriteString("\x0b")
	}
	setting.WriteString(call)
	for l := 1; l <= 100; l++ {
		setting.WriteString("\x20" + leb(l) + "\x85")
	}
	for range 5000 {
		between.WriteString(call)
	}
	between.WriteString(strings.Repeat("\x85", 4999))
	splat := strings.Repeat("\x20\x00\xfd\x12", 5000) // i64x2.splat
	vectors := splat + call + "\x1a" + strings.Repeat("\xfd\x51", 4999) + "\xfd\x1d\x00"
	params := strings.Repeat("\x7e", 1000)
	manyParams := strings.Repeat("\x20\x00", 1000) + "\x10\x00"
	wide := "\x00" + manyParams + "\x0b"
	// Ways meet at the end of each of these, with other values in each local.
	var ifs strings.Builder
	for i := range 300 {
		ifs.WriteString("\x20\x00\x50\x04\x40")
		for l := 1; l <= 300; l++ {
			if l%7 == i%7 {
				ifs.WriteString("\x20" + leb(l) + "\x42" + leb(i%64) + "\x7c\x21" + leb(l))
			}
		}
		ifs.WriteString("\x0b")
	}
	ifs.WriteString(call)
	for l := 1; l <= 300; l++ {
		ifs.WriteString("\x20" + leb(l) + "\x85")
	}
	return map[string][]byte{
		"ifs":               self(vec("\xac\x02\x7e"), ifs.String()),
		"nothing":           self(vec(), call),
		"through a table":   self(vec(), "\x20\x00\x41\x00\x11\x00\x00"),
		"a loop around":     self(vec(), "\x03\x7e"+call+"\x0b"),
		"operands":          self(vec(), operands.String()),
		"locals that meet":  self(vec("\x64\x7e"), setting.String()),
		"calls of calls":    self(vec(), between.String()),
		"vectors":           self(vec(), vectors),
		"a thousand params": module(section(1, vec("\x60"+leb(1000)+params+leb(1000)+params)), section(3, vec("\x00")), section(7, vec("\x01f\x00\x00")), section(10, vec(leb(len(wide))+wide))),
	}
}

// What a guest's stack can grow between two pauses is bounded, however large its
// frames: so a host that looks at each pause can limit it.
func TestTheStackGrowsLittleBetweenPauses(t *testing.T) {
	const (
		limit  = 16 << 20
		growth = 16 << 20
	)
	for name, wasm := range recursions() {
		for _, fuel := range []bool{false, true} {
			out, err := rewrite(wasm, wasmbin.DefaultLimits(), wasmbin.Options{Fuel: fuel})
			if err != nil {
				t.Fatal(name, err)
			}
			r := wazero.NewRuntime(t.Context())
			var f api.Function
			stack := func() int { return reflect.ValueOf(f).Elem().FieldByName("stack").Len() }
			pauses, last := 0, 0
			servePauses(t, r, wasmbin.MaxSlice, func() {
				pauses++
				if last = stack(); last > limit {
					panic("enough")
				}
			})
			mod, err := r.Instantiate(t.Context(), out.Wasm)
			if err != nil {
				t.Fatal(name, err)
			}
			refuel(mod)
			f = mod.ExportedFunction("f")
			_, err = f.Call(context.Background(), make([]uint64, len(f.Definition().ParamTypes()))...)
			// The engine doubles a stack that is full.
			if err == nil || !strings.Contains(err.Error(), "enough") || last > 2*(limit+growth) {
				t.Errorf("%s, fuel %t: %d bytes after %d pauses: %.60v", name, fuel, last, pauses, err)
			}
			t.Logf("%s, fuel %t: %d KiB after %d pauses", name, fuel, last>>10, pauses)
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}
