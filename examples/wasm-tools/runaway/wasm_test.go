package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/run"
)

const manifest = `version: 1
name: test
model: {provider: replay, recording: ./none.jsonl}
tools:
  - module: ./runaway.wasm
    limits: {memory: 64MiB, timeout: TIMEOUT}
    allow:
      http: [{host: status.example.com}]
`

// module builds this tool as a module and returns the folder it is in.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", filepath.Join(dir, "runaway.wasm"), ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// agent opens the module of a folder in a host. Hosts of one folder share the
// compiled code, since compiling takes most of the time of this test.
func agent(t *testing.T, dir, timeout string) *host.Host {
	t.Helper()
	for name, text := range map[string]string{
		"wagent.yaml": strings.ReplaceAll(manifest, "TIMEOUT", timeout),
		"none.jsonl":  `{"message":{"role":"assistant","content":[{"type":"text","text":"-"}]},"finish_reason":"stop"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &host.Options{CacheDir: filepath.Join(dir, "cache")})
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

func TestEachModeIsStoppedAndTheNextCallWorks(t *testing.T) {
	dir := module(t)
	patient := agent(t, dir, "1m")
	hasty := agent(t, dir, "2s") // for the modes that only a timeout ends
	call := func(h *host.Host, mode string) (run.ErrorKind, string) {
		out, err := h.Call(t.Context(), "runaway", json.RawMessage(`{"mode":"`+mode+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, p := range out.Result.Content {
			text += p.Text
		}
		return out.Kind, text
	}
	for _, c := range []struct {
		host  *host.Host
		mode  string
		kinds []run.ErrorKind
		says  string
	}{
		{hasty, "loop", []run.ErrorKind{run.KindTimeout}, "did not finish in time"},
		{patient, "memory", []run.ErrorKind{run.KindMemory}, "limit of 64 MiB"},
		{patient, "output", []run.ErrorKind{run.KindOutput}, "limit of 1 MiB"},
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
