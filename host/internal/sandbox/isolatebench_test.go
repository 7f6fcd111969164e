package sandbox

import (
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// BenchmarkIsolation measures what a process of its own costs a module: a call of a
// warm guest, a question to the store of the run, and the start of the process with
// code that is kept.
func BenchmarkIsolation(b *testing.B) {
	const questions = 1000
	asking := "i32.const 0 local.set 2 loop local.get 2 i32.const 1 i32.add local.set 2 " + onStore(callKVGet, keyAt, 2) +
		"drop local.get 2 i32.const 1000 i32.lt_u br_if 0 end "
	for name, apart := range map[string]bool{"here": false, "apart": true} {
		as := func(s *Source) { s.Isolated, s.Policy.Limits.Timeout = apart, time.Minute }
		call := func(b *testing.B, m *Module) {
			b.Helper()
			if out := m.Call(b.Context(), Call{}); out.Fault != "" {
				b.Fatal(out.Fault, out.Detail)
			}
		}
		b.Run("call/"+name, func(b *testing.B) {
			m := load(b, newEngine(b), source(b, "done"), as)
			for b.Loop() {
				call(b, m)
			}
		})
		b.Run("question/"+name, func(b *testing.B) {
			m := load(b, newEngine(b), storingSource(policy.MiB, asking), as)
			for b.Loop() {
				call(b, m)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/questions, "us/question")
		})
	}
	for name, src := range map[string]Source{"small": source(b, "done"), "go": guestSource(b)} {
		b.Run("start/"+name, func(b *testing.B) {
			m := load(b, newEngine(b), src, func(s *Source) { s.Isolated = true })
			away := m.speaks.(*isolated)
			for b.Loop() {
				away.proc.end()
				if _, err := away.process(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
