//go:build ratios

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

func compiled(t *testing.T) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(findSchema))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// allocations tells what runs of 50, 100 and 200 steps allocate, server included:
// what grows with the steps alone doubles with them.
func allocations(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("allocated in a run with results of 4 KB, ours / by hand:")
	for _, steps := range []int{50, 100, 200} {
		c := contest{steps: steps, calls: 1, result: 4 << 10}
		server := c.server(t)
		hand := &handLoop{contest: &c, url: server.URL + "/v1/chat/completions"}
		ours, theirs := allocated(t, c.loop(t, server.URL)), allocated(t, hand.run)
		fmt.Fprintf(&b, "  %d steps %d KB (%d KB a step) / %d KB", steps, ours>>10, ours>>10/uint64(steps), theirs>>10)
	}
	return b.String() + "\n"
}

// allocated is the least of some runs.
func allocated(t *testing.T, do func() error) uint64 {
	t.Helper()
	least := ^uint64(0)
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}

// opened is a host of a manifest with a module of testdata/wasm beside it.
func opened(t *testing.T, module, yaml string, opts host.Options) *host.Host {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"wagent.yaml": []byte(yaml), module + ".wasm": testkit.Wasm(t, module)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts.CacheDir = cache.Dir(t)
	h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

// cancelling tells how soon a run is back that is cancelled while a guest of it
// never returns, and what the process computes after that.
func cancelling(t *testing.T) string {
	t.Helper()
	const times = 15
	h := opened(t, "loop", "version: 1\nagent: {system_prompt: hi}\ntools:\n  - module: loop.wasm\n    limits: {timeout: 1h}\n", host.Options{
		Model: modeltest.NewFunc(func(int, *model.Request) modeltest.Turn { return modeltest.Calls(modeltest.Call("loop", "{}")) }),
	})
	var took []time.Duration
	var spent time.Duration
	for range times {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at time.Time
		for e, err := range h.Run(ctx, host.Text("go")) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := e.Body.(type) {
			case run.Called:
				time.AfterFunc(30*time.Millisecond, func() { at = time.Now(); cancel() }) // the guest is well inside its loop
			case run.Finished:
				took = append(took, time.Since(at))
				if b.ExitReason != run.ExitInterrupted || len(b.Result.Steps) != 1 || b.Result.Steps[0].ErrorKind != run.KindCancelled {
					t.Errorf("%s: %+v", b.ExitReason, b.Result.Steps)
				}
			}
		}
		before := processTime(t)
		time.Sleep(20 * time.Millisecond)
		spent += processTime(t) - before
	}
	slices.Sort(took)
	return fmt.Sprintf("cancelled while a guest ignores it: back after %s, at most %s of %d (goal <= 10ms); then computing %.1f%% of the time\n",
		short(took[len(took)/2]), short(took[len(took)-1]), times, 100*float64(spent)/float64(times*20*time.Millisecond))
}

func processTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// waiting tells what a thousand runs hold that wait for a model, with the server's
// side of their connections in the same process.
func waiting(t *testing.T) string {
	t.Helper()
	const runs = 1000
	arrived, release := make(chan struct{}, runs), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
		_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	}))
	t.Cleanup(server.Close)
	h := opened(t, "loop", "version: 1\nmodel: {name: m, base_url: '"+server.URL+"/v1'}\nagent: {system_prompt: hi}\ntools:\n  - module: loop.wasm\n", host.Options{})
	before := held()
	var ended sync.WaitGroup
	for range runs {
		ended.Go(func() {
			if got, err := h.Ask(t.Context(), "go"); err != nil || got.Output != "ok" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for range runs {
		<-arrived
	}
	after := held()
	close(release)
	ended.Wait()
	return fmt.Sprintf("%d runs that wait for a model: %d MB of heap and stacks, %d KB a run, server included (goal < 300 MB)\n", runs, after>>20, (after-before)/runs>>10)
}

// held is what the heap and the stacks have in use.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
