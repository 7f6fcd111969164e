package sandbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// BenchmarkExtism compares extism/go-sdk, with an instance for each call and
// with one for all, and our own functions, which have one for each.
func BenchmarkExtism(b *testing.B) {
	small := func(n int) []byte { return []byte(strings.Repeat("tea for two, ", n/13+1)[:n]) }
	for _, of := range []struct {
		name, function string
		wasm           []byte
		input          []byte
	}{
		{"echo-100", "echo", testkit.Wasm(b, "extism-plain"), small(100)},
		{"bytewise-10K", "copy", testkit.Wasm(b, "extism-bytes"), small(10_000)},
		{"rust-100", "count_vowels", pdkPlugin(b, "count_vowels"), small(100)},
		{"rust-10K", "count_vowels", pdkPlugin(b, "count_vowels"), small(10_000)},
		{"tinygo-100", "run_test", pdkPlugin(b, "var"), small(100)},
	} {
		config := json.RawMessage(`{"thing":"hello"}`)
		b.Run(of.name+"/sdk-fresh", func(b *testing.B) {
			ref := newReference(b, of.wasm, config)
			b.ReportAllocs()
			for b.Loop() {
				if r := ref.perform(b, of.function, of.input); r.Said+r.Trap != "" {
					b.Fatal(r)
				}
			}
		})
		b.Run(of.name+"/sdk-reused", func(b *testing.B) {
			p := newReference(b, of.wasm, config).instance(b)
			b.ReportAllocs()
			for b.Loop() {
				if rc, _, err := p.Call(of.function, of.input); rc != 0 || err != nil {
					b.Fatal(rc, err)
				}
			}
		})
		b.Run(of.name+"/ours-fresh", func(b *testing.B) {
			src := Source{Name: of.name, Wasm: of.wasm, ABI: Extism, Config: config, Policy: policy.Default()}
			m := load(b, newEngine(b), src, plainTool(of.function))
			b.ReportAllocs()
			for b.Loop() {
				if r := perform(b, m, of.function, of.input); r.Said+r.Trap != "" {
					b.Fatal(r)
				}
			}
		})
	}
}
