package sdk_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// What a module looks like from outside is seen only when it is built and run.
// The host's sandbox makes a fresh instance for each call and hides its memory,
// so these tests drive the engine themselves, with a host that does the least.

// build compiles the package in dir as a tool author does.
func build(t *testing.T, dir string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tool.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w", "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", dir, err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// guest is a running module.
type guest struct {
	t      *testing.T
	mod    api.Module
	logged []string
	http   func(request []byte) (int64, []byte) // what http returns, and what read then copies
	unread []byte
}

// start initialises a module. It is interpreted, which is faster as long as there
// is little to do.
func start(t *testing.T, wasm []byte) *guest {
	t.Helper()
	return startOn(t, wazero.NewRuntimeConfigInterpreter(), wasm)
}

func startOn(t *testing.T, engine wazero.RuntimeConfig, wasm []byte) *guest {
	t.Helper()
	g := &guest{t: t, http: func([]byte) (int64, []byte) { return int64(abi.ErrDenied), nil }}
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, engine)
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	if _, err := g.host(r).Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	var err error
	config := wazero.NewModuleConfig().WithStartFunctions(abi.ExportInitialize).WithStderr(os.Stderr)
	if g.mod, err = r.InstantiateWithConfig(ctx, wasm, config); err != nil {
		t.Fatal(err)
	}
	return g
}

// host refuses everything but http and the log.
func (g *guest) host(r wazero.Runtime) wazero.HostModuleBuilder {
	b := r.NewHostModuleBuilder(abi.Module)
	export := func(name string, f any) { b.NewFunctionBuilder().WithFunc(f).Export(name) }
	export(abi.ImportLog, func(_ context.Context, _, p, n uint32) { g.logged = append(g.logged, string(g.read(p, n))) })
	export(abi.ImportProgress, func(_ context.Context, _, _, _ uint32) {})
	export(abi.ImportHTTP, func(_ context.Context, p, n uint32) (answer int64) {
		answer, g.unread = g.http(g.read(p, n))
		return answer
	})
	export(abi.ImportRead, func(_ context.Context, _, p, n uint32) int32 {
		got := g.unread[:min(int(n), len(g.unread))]
		if !g.mod.Memory().Write(p, got) {
			return int32(abi.ErrInvalid)
		}
		return int32(len(got))
	})
	export(abi.ImportSecretExists, func(_ context.Context, _, _ uint32) int32 { return 1 })
	export(abi.ImportKVSet, func(_ context.Context, _, _, _, _ uint32) int32 { return int32(abi.ErrTooLarge) })
	export(abi.ImportKVDelete, func(_ context.Context, _, _ uint32) int32 { return int32(abi.ErrDenied) })
	for _, name := range []string{abi.ImportKVGet, abi.ImportKVList, abi.ImportStateGet} {
		export(name, func(_ context.Context, _, _ uint32) int64 { return int64(abi.ErrDenied) })
	}
	return b
}

func (g *guest) read(p, n uint32) []byte {
	g.t.Helper()
	b, ok := g.mod.Memory().Read(p, n)
	if !ok {
		g.t.Fatalf("%d bytes at %d are outside of the memory", n, p)
	}
	return append([]byte(nil), b...)
}

// invoke calls an export that has one result.
func (g *guest) invoke(name string, args ...uint64) uint64 {
	g.t.Helper()
	res, err := g.mod.ExportedFunction(name).Call(g.t.Context(), args...)
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	return res[0]
}

// put writes into a buffer of the guest.
func (g *guest) put(b []byte) uint64 {
	g.t.Helper()
	p := g.invoke(abi.ExportAlloc, uint64(len(b)))
	if p == 0 || !g.mod.Memory().Write(uint32(p), b) {
		g.t.Fatalf("no buffer of %d bytes: %d", len(b), p)
	}
	return p
}

// answer reads what a packed address and length point at.
func (g *guest) answer(packed uint64) string {
	g.t.Helper()
	return string(g.read(uint32(packed>>32), uint32(packed)))
}

// call sends a request.
func (g *guest) call(request string) string {
	g.t.Helper()
	p := g.put([]byte(request))
	return g.answer(g.invoke(abi.ExportCall, p, uint64(len(request))))
}
