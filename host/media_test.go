package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

// The whole path of what a tool returns beside text: from the guest to the endpoint,
// whichever way the model asks for tools.
func TestAModelSeesTheImageOfASandboxedTool(t *testing.T) {
	dir := t.TempDir()
	wasm := builds.Tool(t, filepath.Join("testdata", "painter"))
	if err := os.WriteFile(filepath.Join(dir, "painter.wasm"), wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	attached := map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/gif;base64,R0lGODlhAQABAAAAADs="}}
	for planner, turns := range map[string][]modeltest.Turn{
		"tools": {modeltest.Calls(modeltest.Call("paint", "{}")), modeltest.Text("done")},
		"react": {modeltest.Text("Thought: x\nAction: paint\nAction Input: {}"), modeltest.Text("Final Answer: done")},
		"json":  {modeltest.Text(`{"action":"paint","action_input":{}}`), modeltest.Text(`{"action":"Final Answer","action_input":"done"}`)},
	} {
		t.Run(planner, func(t *testing.T) {
			end := modeltest.Server(t, turns...)
			yaml := "version: 1\nmodel: {name: m, base_url: \"" + end.URL + "\"}\nagent: {planner: " + planner + "}\ntools: [{module: painter.wasm}]\n"
			path := filepath.Join(dir, planner+".yaml")
			if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
				t.Fatal(err)
			}
			h, err := host.Open(t.Context(), path, &host.Options{CacheDir: cache.Dir(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close(context.WithoutCancel(t.Context()))
			if out, err := h.Ask(t.Context(), "go"); err != nil || out.Output != "done" {
				t.Fatalf("%+v, %v", out, err)
			}
			var sent struct {
				Messages []struct{ Role, Content any }
			}
			if err := json.Unmarshal(end.Exchanges()[1].Body, &sent); err != nil {
				t.Fatal(err)
			}
			last := sent.Messages[len(sent.Messages)-1]
			parts, _ := last.Content.([]any)
			if last.Role != "user" || len(parts) != 2 {
				t.Fatalf("the last message is %v", last)
			}
			if diff := cmp.Diff(attached, parts[1]); diff != "" {
				t.Error(diff)
			}
			body := string(end.Exchanges()[1].Body)
			for _, want := range []string{"painted", "a,b", "not shown: it is no PNG, JPEG, GIF or WebP image"} {
				if !strings.Contains(body, want) {
					t.Errorf("no %q in %s", want, body)
				}
			}
		})
	}
}
