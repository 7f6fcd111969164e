package sandbox

import (
	"context"
	"log/slog"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// The code of a large module is kept for its shell alone, and is found by it; so is
// that of the same module with its work counted, which is other code.
func TestCodeIsKeptForTheShell(t *testing.T) {
	dir := t.TempDir()
	grant := grantOf(t, "http://127.0.0.1:1")
	meter := func(s *Source) { s.Meter = true }
	ask := func(m *Module) Outcome {
		return m.Call(t.Context(), Call{Tool: "requests", Arguments: []byte(`{"requests":[{"url":"http://127.0.0.1:2/"}]}`)})
	}
	var first [2]string
	for i := range 2 {
		e := newEngineAt(t, Options{CacheDir: dir})
		plain, metered := load(t, e, sdkGuest(t), grant), load(t, e, sdkGuest(t), grant, meter)
		one, two := ask(plain), ask(metered)
		first[i] = said(one)
		if one.Fault != "" || said(one) != said(two) {
			t.Fatal(said(one), said(two), one.Detail, two.Detail)
		}
		if one.Receipt.Fuel != 0 || two.Receipt.Fuel == 0 {
			t.Errorf("round %d: work of %d, and counted %d", i, one.Receipt.Fuel, two.Receipt.Fuel)
		}
	}
	if first[0] != first[1] {
		t.Errorf("%s, and from the cache %s", first[0], first[1])
	}
	entry := openCodeCache(dir, slog.New(slog.DiscardHandler)).open(digest(sdkGuest(t).Wasm), "sdk")
	defer entry.close(t.Context())
	for _, metered := range []bool{false, true} {
		out, kept := entry.rewritten(metered)
		if !kept {
			t.Fatal("nothing was kept")
		}
		shell, err := wasmbin.Shell(out.Wasm)
		if err != nil {
			t.Fatal(err)
		}
		if inCache(t, entry, out.Wasm) || !inCache(t, entry, shell) {
			t.Errorf("metered %v: for the module %v, for the shell %v", metered, inCache(t, entry, out.Wasm), inCache(t, entry, shell))
		}
	}
}

// inCache says that the engine has the code of a module.
func inCache(t *testing.T, entry *cacheEntry, wasm []byte) bool {
	t.Helper()
	again, err := entry.again()
	if err != nil {
		t.Fatal(err)
	}
	r := wazero.NewRuntimeWithConfig(t.Context(), runtimeConfig(again.cache))
	defer func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if err := again.close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	_, err = r.CompileModule(fromCache.context(t.Context()), wasm)
	return err == nil
}
