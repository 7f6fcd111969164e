package host_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/run"
)

func modulesOf(t *testing.T, names ...string) *manifest.Manifest {
	m := &manifest.Manifest{Version: 1}
	for _, name := range names {
		m.Tools = append(m.Tools, manifest.Tool{Module: filepath.Join(testkit.Root(t), "testdata", "wasm", name)})
	}
	return m
}

func TestLoadingIsToldModuleByModule(t *testing.T) {
	var got []string
	opts := &host.Options{Loading: func(module string, n, of int) { got = append(got, fmt.Sprintf("%s %d/%d", module, n, of)) }}
	h, err := host.New(t.Context(), modulesOf(t, "trap.wasm"), opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"trap.wasm 1/1"}, got); diff != "" {
		t.Error(diff)
	}

	// Several are loaded at once, and one that is refused counts too.
	var highest int
	opts.Loading = func(_ string, n, of int) {
		if n < highest || n > of || of != 3 {
			t.Errorf("%d of %d after %d", n, of, highest)
		}
		highest = n
	}
	if h, err := host.New(t.Context(), modulesOf(t, "trap.wasm", "needkv.wasm", "loop.wasm"), opts); err == nil {
		t.Error("a module that imports what there is not is loaded", h.Close(t.Context()))
	}
	if highest == 0 {
		t.Error("nothing was told")
	}
}

func TestWatchIsToldWhatAToolLogs(t *testing.T) {
	h, err := host.New(t.Context(), modulesOf(t, "trap.wasm"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var got []run.Body
	out, err := h.Watch(t.Context(), "trap", nil, func(b run.Body) { got = append(got, b) })
	if err != nil || out.Kind != run.KindTrap {
		t.Fatalf("%v %+v", err, out)
	}
	want := []run.Body{run.Logged{CallID: "call_0_1", Tool: "trap", Level: "info", Message: `panic: out of \u{1b}[31mcheese`}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnImportIsListedOnce(t *testing.T) {
	info, err := host.Inspect(t.Context(), wordCount(t))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[host.ModuleImport]bool{}
	for _, im := range info.Imports {
		if seen[im] {
			t.Errorf("%+v is listed twice", im)
		}
		seen[im] = true
	}
}
