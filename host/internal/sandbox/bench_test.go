package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// A granted file of 4 KB that a guest reads, beside the same by [os.Root]: what the
// sandbox adds is reported. One call opens, reads and closes many times, so that
// what a call costs is left out.
func BenchmarkGrantedFileRead(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 4<<10), 0o600); err != nil {
		b.Fatal(err)
	}
	m := load(b, newEngine(b), doorSource(b, doorSDK, func(s *Source) {
		s.Policy.Grants.Read = []policy.Mount{{Host: dir, Guest: "/docs"}}
		s.Policy.Limits.Timeout = time.Hour
	}))
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	const times = 1000
	guest := through(b, []doorStep{{Do: "race", Dir: "/docs", Path: "f", N: times, Off: 4 << 10}})
	buf := make([]byte, 4<<10)
	var there, here time.Duration
	for b.Loop() {
		start := time.Now()
		if out := m.Call(b.Context(), guest); said(out) != "raced" {
			b.Fatal(out.Fault, said(out), out.Detail)
		}
		here += time.Since(start)
		start = time.Now()
		for range times {
			f, err := root.Open("f")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Read(buf); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		}
		there += time.Since(start)
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(b.N*times) }
	b.ReportMetric(per(here), "µs/read")
	b.ReportMetric(per(there), "µs/plain")
	b.ReportMetric(per(here-there), "µs/more")
	b.ReportMetric(0, "ns/op")
}
