package sandbox

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// isolatedRun has every module that a test loads run its guests in a process of its
// own: go test -isolated -run …
var isolatedRun = flag.Bool("isolated", false, "run guests in other processes")

var builds testkit.Builds

var cache testkit.Cache

func TestMain(m *testing.M) {
	badWorker()
	swapper()
	traced()
	takenOver()
	Worker()
	cache.Main(m)
}

// newEngine makes an engine with the cache that the tests share, and closes it.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	return newEngineAt(t, Options{CacheDir: cache.Dir(t)})
}

func newEngineAt(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}

// source is a module of testdata/wasm under the default policy.
func source(t testing.TB, name string) Source {
	t.Helper()
	return Source{Name: name + ".wasm", Wasm: testkit.Wasm(t, name), Policy: policy.Default()}
}

// load loads a module, with changes to its source.
func load(t testing.TB, e *Engine, src Source, change ...func(*Source)) *Module {
	t.Helper()
	// The steps plugin is a tool of the tests, which call each of its functions here.
	src.Isolated = *isolatedRun && src.Name != "steps.wasm"
	for _, f := range change {
		f(&src)
	}
	if src.Isolated && src.Policy.Limits.Timeout == policy.Default().Limits.Timeout {
		src.Policy.Limits.Timeout *= 24 // each question goes through two pipes, and a quota is a million of them
	}
	m, err := e.Load(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// here has the guests of a module in this process, where a test looks into them.
func here(s *Source) { s.Isolated = false }

func within(limit time.Duration) func(*Source) {
	return func(s *Source) { s.Policy.Limits.Timeout = limit }
}

// said is the text of an outcome.
func said(o Outcome) string {
	var parts []string
	for _, c := range o.Result.Content {
		parts = append(parts, c.Text)
	}
	return strings.Join(parts, "\n")
}
