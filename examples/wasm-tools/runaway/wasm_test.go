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

// The same module is there twice: once for the modes that only a timeout ends,
// and once with time enough for those that are to be ended by something else.
const manifest = `version: 1
name: test
model: {provider: replay, recording: ./none.jsonl}
tools:
  - module: ./runaway.wasm
    limits: {memory: 64MiB, timeout: 1m}
    allow: &none
      http: [{host: status.example.com}]
  - module: ./runaway.wasm
    rename: {runaway: hasty}
    limits: {memory: 64MiB, timeout: 500ms}
    allow: *none
`

// agent builds this tool as a module and opens it in a host.
func agent(t *testing.T) *host.Host {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", filepath.Join(dir, "runaway.wasm"), ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, text := range map[string]string{
		"wagent.yaml": manifest, "none.jsonl": `{"message":{"role":"assistant","content":[{"type":"text","text":"-"}]},"finish_reason":"stop"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), nil)
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
	h := agent(t)
	call := func(tool, mode string) (run.ErrorKind, string) {
		out, err := h.Call(t.Context(), tool, json.RawMessage(`{"mode":"`+mode+`"}`))
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
		tool, mode string
		kinds      []run.ErrorKind
		says       string
	}{
		{"hasty", "loop", []run.ErrorKind{run.KindTimeout}, "did not finish in time"},
		{"runaway", "memory", []run.ErrorKind{run.KindMemory}, "limit of 64 MiB"},
		{"runaway", "output", []run.ErrorKind{run.KindOutput}, "limit of 1 MiB"},
		// What ends a recursion first depends on how fast the machine is.
		{"hasty", "stack", []run.ErrorKind{run.KindStack, run.KindMemory, run.KindTimeout, run.KindTrap}, ""},
		{"runaway", "log", []run.ErrorKind{""}, "only cut"},
		{"runaway", "panic", []run.ErrorKind{run.KindToolError}, "this tool has a bug"},
		{"runaway", "network", []run.ErrorKind{run.KindToolError}, "auth_required: no grant covers this"},
		{"runaway", "file", []run.ErrorKind{run.KindToolError}, "open /etc/passwd: Bad file number; open ../../../../etc/passwd: Bad file number"},
	} {
		kind, text := call(c.tool, c.mode)
		if !slices.Contains(c.kinds, kind) || !strings.Contains(text, c.says) {
			t.Errorf("%s: kind %q, %q", c.mode, kind, text)
		}
		if kind, text = call("runaway", "panic"); kind != run.KindToolError {
			t.Errorf("after %s: kind %q, %q", c.mode, kind, text)
		}
	}
}
