package wasmbin_test

import (
	"path/filepath"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// Of a Go tool, as the standard compiler writes it.

func BenchmarkRewrite(b *testing.B) {
	wasm := builds.Tool(b, filepath.Join(testkit.Root(b), "examples", "wasm-tools", "csv_query"))
	for name, opts := range map[string]wasmbin.Options{"slices": {}, "fuel": {Fuel: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(wasm)))
			b.ReportAllocs()
			for b.Loop() {
				out, err := rewrite(wasm, wasmbin.DefaultLimits(), opts)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(out.Wasm))/float64(len(wasm)), "size-ratio")
			}
		})
	}
}
