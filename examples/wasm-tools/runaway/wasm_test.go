package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/examples/wasm-tools/internal/tooltest"
	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/run"
)

// agent opens the module of a folder in a host. Hosts of one folder share the
// compiled code, since compiling takes most of the time of this test.
func agent(t *testing.T, dir, memory, timeout string) *host.Host {
	t.Helper()
	manifest := tooltest.Manifest(t, dir, "{module: ./runaway.wasm, limits: {memory: "+memory+", timeout: "+timeout+"}, allow: {http: [{host: status.example.com}]}}")
	h, err := host.Open(t.Context(), manifest, &host.Options{CacheDir: filepath.Join(dir, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	tooltest.CloseAfter(t, h)
	return h
}

func TestEachModeIsStoppedAndTheNextCallWorks(t *testing.T) {
	dir := tooltest.Build(t)
	patient := agent(t, dir, "64MiB", "1m")
	roomy := agent(t, dir, "256MiB", "1m") // when the guest's collector runs decides how often 10 MB are there at once
	hasty := agent(t, dir, "64MiB", "2s")  // for the modes that only a timeout ends
	call := func(h *host.Host, mode string) (run.ErrorKind, string) {
		out, err := h.Call(t.Context(), "runaway", json.RawMessage(`{"mode":"`+mode+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		return out.Kind, tooltest.Text(out.Result)
	}
	for _, c := range []struct {
		host  *host.Host
		mode  string
		kinds []run.ErrorKind
		says  string
	}{
		{hasty, "loop", []run.ErrorKind{run.KindTimeout}, "did not finish in time"},
		{patient, "memory", []run.ErrorKind{run.KindMemory}, "limit of 64 MiB"},
		{roomy, "output", []run.ErrorKind{run.KindOutput}, "limit of 1 MiB"},
		// What ends a recursion first depends on how fast the machine is.
		{hasty, "stack", []run.ErrorKind{run.KindStack, run.KindMemory, run.KindTimeout, run.KindTrap}, ""},
		{patient, "log", []run.ErrorKind{""}, "only cut"},
		{patient, "panic", []run.ErrorKind{run.KindToolError}, "this tool has a bug"},
		{patient, "network", []run.ErrorKind{run.KindToolError}, "auth_required: no grant covers this"},
		{patient, "file", []run.ErrorKind{run.KindToolError}, "open /etc/passwd: Bad file number; open ../../../../etc/passwd: Bad file number"},
	} {
		kind, text := call(c.host, c.mode)
		if !slices.Contains(c.kinds, kind) || !strings.Contains(text, c.says) {
			t.Errorf("%s: kind %q, %q", c.mode, kind, text)
		}
		if kind, text = call(c.host, "panic"); kind != run.KindToolError {
			t.Errorf("after %s: kind %q, %q", c.mode, kind, text)
		}
	}
}
