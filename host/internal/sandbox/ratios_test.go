//go:build ratios

package sandbox

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"golang.org/x/sys/unix"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// TestRatios prints what rewriting costs and what images save: medians of
// alternating runs, as ratios within this run. It asserts nothing: a machine
// that does something else meanwhile gives other numbers.
func TestRatios(t *testing.T) {
	t.Run("slow-down", slowdowns)
	t.Run("calls", callRatios)
	t.Run("memory", idleMemory)
	t.Run("callers", callerRatios)
}

const rounds = 7

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// variant is one way of compiling a program.
type variant struct {
	name    string
	config  wazero.RuntimeConfig
	rewrite *wasmbin.Options
}

// threadTime is the processor's time that this thread has used: what other
// programs take meanwhile does not count.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}

func slowdowns(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	long := policy.Default()
	long.Limits.Timeout = time.Hour
	g, err := newGuest(t.Context(), long, nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.close() }()
	variants := []variant{
		{"plain", wazero.NewRuntimeConfig(), nil},
		{"slices", wazero.NewRuntimeConfig(), &wasmbin.Options{}},
		{"fuel", wazero.NewRuntimeConfig(), &wasmbin.Options{Fuel: true}},
		{"close-on-context-done", wazero.NewRuntimeConfig().WithCloseOnContextDone(true), nil},
	}
	root := testkit.Root(t)
	c, err := os.ReadFile(filepath.Join(root, "testdata", "bench", "programs.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	programs := []struct {
		language string
		wasm     []byte
		sizes    map[string]uint64
	}{
		{"Go", builds.Tool(t, filepath.Join(root, "testdata", "bench", "programs")), map[string]uint64{"sha": 4, "sort": 200_000, "text": 1000, "loop": 60_000, "fib": 31}},
		{"C", c, map[string]uint64{"sha": 8, "sort": 500_000, "text": 20, "loop": 100_000, "fib": 33}},
	}
	for _, p := range programs {
		mods := make([]api.Module, len(variants))
		for i, v := range variants {
			mods[i] = instantiate(t, g.ctx, v, p.wasm)
		}
		product := make([]float64, len(variants))
		for _, f := range []string{"sha", "sort", "text", "loop", "fib"} {
			took := make([][]time.Duration, len(variants))
			for range rounds {
				for i, m := range mods {
					start := threadTime(t)
					if _, err := m.ExportedFunction(f).Call(g.ctx, p.sizes[f]); err != nil {
						t.Fatal(err)
					}
					took[i] = append(took[i], threadTime(t)-start)
				}
			}
			base := median(took[0])
			line := fmt.Sprintf("%-3s %-5s plain %8v", p.language, f, base.Round(100*time.Microsecond))
			for i, v := range variants[1:] {
				r := float64(median(took[i+1])) / float64(base)
				product[i+1] += math.Log(r)
				line += fmt.Sprintf("   %s %.2f", v.name, r)
			}
			fmt.Println(line)
		}
		line := fmt.Sprintf("%-3s geometric mean      ", p.language)
		for i, v := range variants[1:] {
			line += fmt.Sprintf("   %s %.2f", v.name, math.Exp(product[i+1]/5))
		}
		fmt.Println(line)
	}
}

func instantiate(t *testing.T, ctx context.Context, v variant, wasm []byte) api.Module {
	t.Helper()
	if v.rewrite != nil {
		m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Rewrite(*v.rewrite)
		if err != nil {
			t.Fatal(err)
		}
		wasm = out.Wasm
	}
	r := wazero.NewRuntimeWithConfig(ctx, v.config)
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(ctx)) })
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	if err := linkPause(ctx, r); err != nil {
		t.Fatal(err)
	}
	code, err := r.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatal(err)
	}
	if g, ok := mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal); ok {
		g.Set(noFuelLimit)
	}
	if f := mod.ExportedFunction(abi.ExportInitialize); f != nil {
		if _, err := f.Call(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return mod
}
