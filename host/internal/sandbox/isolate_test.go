package sandbox

import (
	"testing"
	"time"
)

// isolatedModule loads a module whose guests run in another process.
func isolatedModule(t testing.TB, src Source, change ...func(*Source)) *Module {
	t.Helper()
	return load(t, newEngine(t), src, append(change, func(s *Source) { s.Isolated = true })...)
}

func TestIsolatedCall(t *testing.T) {
	start := time.Now()
	m := isolatedModule(t, source(t, "done"))
	t.Log("loaded", time.Since(start))
	for range 5 {
		start = time.Now()
		out := m.Call(t.Context(), Call{})
		t.Log("call", time.Since(start))
		if said(out) != "done" {
			t.Fatalf("%q %s %s", out.Fault, said(out), out.Detail)
		}
	}
}
