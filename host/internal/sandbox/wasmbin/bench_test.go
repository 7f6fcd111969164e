package wasmbin_test

import (
	"os"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

func BenchmarkRewrite(b *testing.B) {
	wasm, err := os.ReadFile("/work/main/bin/tools/csv_query.wasm")
	if err != nil {
		b.Fatal(err)
	}
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
