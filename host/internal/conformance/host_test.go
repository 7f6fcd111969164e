package conformance

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/run"
)

var cache testkit.Cache

func TestMain(m *testing.M) { cache.Main(m) }

// askHost has the host say what the run begins with, where that is its to decide:
// a manifest is written with the tools of the case. They stand for a small module
// that is never called.
func (c *testCase) askHost(t *testing.T, p run.Prompted, tools []toolSpec, names []string) (run.Prompted, error) {
	t.Helper()
	if !c.needsHost(tools, names) {
		return p, nil
	}
	dir := t.TempDir()
	doc, err := json.Marshal(c.manifest(tools))
	if err != nil {
		return p, err
	}
	for name, data := range map[string][]byte{"wagent.yaml": doc, "trap.wasm": testkit.Wasm(t, "trap")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &host.Options{Model: &scripted{}, CacheDir: cache.Dir(t)})
	if err != nil {
		return p, err
	}
	defer func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	in := host.Input{Messages: p.Messages, Tools: names, State: c.first()}
	first, err := h.Preview(in)
	p.Messages = first.Messages
	return p, err
}

// manifest is the manifest of the case. JSON is YAML too.
func (c *testCase) manifest(tools []toolSpec) map[string]any {
	agent := map[string]any{}
	if s := c.Agent.SystemPrompt; s != nil {
		agent["system_prompt"] = *s
	}
	if s := c.Agent.Early; s != "" {
		agent["early_stopping"] = s
	}
	if s := c.manifestState(); len(s) > 0 {
		agent["state"] = s
	}
	list := []any{}
	for _, s := range tools {
		entry := map[string]any{
			"module": "./trap.wasm", "rename": map[string]string{"trap": s.Name}, "description": "A tool of the case.",
			"parameters": s.parameters(),
		}
		s.manifestState(entry)
		list = append(list, entry)
	}
	return map[string]any{"version": 1, "name": "case", "agent": agent, "tools": list}
}
