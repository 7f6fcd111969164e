package sandbox

import (
	"encoding/json"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

func BenchmarkCompileGoGuest(b *testing.B) {
	src := guestSource(b)
	for name, dir := range map[string]string{"cold": "", "cached": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			e := newEngineAt(b, Options{CacheDir: dir})
			if dir != "" {
				load(b, e, src)
			}
			for b.Loop() {
				if err := load(b, e, src).Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFreshCall(b *testing.B) {
	e := newEngine(b)
	program := Source{Name: "program.wasm", Wasm: builds.Command(b, "testdata/program"), Policy: policy.Default()}
	for _, c := range []struct {
		name string
		mod  *Module
	}{
		{"wagent/small", load(b, e, source(b, "done"))},
		{"wagent/go", load(b, e, guestSource(b))},
		{"wasi/small", load(b, e, source(b, "args"))},
		{"wasi/go", load(b, e, program)},
		{"extism/small", load(b, e, source(b, "extism-plain"), plainTool("echo"))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			call := Call{Tool: "echo", Arguments: json.RawMessage(`{"a":1}`)}
			for b.Loop() {
				if out := c.mod.Call(b.Context(), call); out.Fault != "" {
					b.Fatal(out.Detail)
				}
			}
		})
	}
}
