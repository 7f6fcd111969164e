package wasmbin_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

func TestSizeOfCodeNamesTheLargestFunction(t *testing.T) {
	imported := section(2, vec("\x01m\x01f\x00\x01"))
	exports := section(7, vec("\x01x\x00\x01", "\x04also\x00\x01"))
	names := section(0, "\x04name\x01\x04\x01\x01\x01y")
	small, large := "\x02\x00\x0b", "\x07\x02\x02\x7f\x03\x7e\x01\x0b" // none; two i32 and three i64
	for _, c := range []struct {
		parts []string
		want  wasmbin.CodeSize
	}{
		{nil, wasmbin.CodeSize{}},
		{[]string{section(10, vec(large, small))}, wasmbin.CodeSize{Funcs: 2, Locals: 5, Largest: wasmbin.Func{Index: 1, Name: "x", Bytes: 7}}},
		{[]string{section(10, vec(large, small)), names}, wasmbin.CodeSize{Funcs: 2, Locals: 5, Largest: wasmbin.Func{Index: 1, Name: "y", Bytes: 7}}},
		{[]string{section(10, vec(small, large))}, wasmbin.CodeSize{Funcs: 2, Locals: 5, Largest: wasmbin.Func{Index: 2, Bytes: 7}}},
	} {
		wasm := module(section(1, vec("\x60\x00\x00", "\x60\x02\x7f\x7e\x01\x7f")), imported)
		if c.parts != nil {
			wasm = module(append([]string{section(1, vec("\x60\x00\x00", "\x60\x02\x7f\x7e\x01\x7f")), imported, section(3, vec("\x00", "\x00")), exports}, c.parts...)...)
		}
		m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, m.CodeSize()); diff != "" || m.TypeSize() != 3 {
			t.Errorf("%d values in types, %s", m.TypeSize(), diff)
		}
	}
}
