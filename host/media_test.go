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
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
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

// An image that looks right and is refused does not end the run: the model is told,
// and the reply says it.
func TestARunGoesOnWithoutAnImageThatWasRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "painter.wasm"), builds.Tool(t, filepath.Join("testdata", "painter")), 0o600); err != nil {
		t.Fatal(err)
	}
	paint := modeltest.Calls(modeltest.Call("paint", "{}"))
	refused := modeltest.Turn{Err: &model.Error{Status: 400, Message: "Invalid image.", Code: "invalid_image"}}
	end := modeltest.Server(t, paint, refused, paint, modeltest.Text("done"))
	path := filepath.Join(dir, "wagent.yaml")
	yaml := "version: 1\nmodel: {name: m, base_url: \"" + end.URL + "\"}\ntools: [{module: painter.wasm}]\n"
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), path, &host.Options{CacheDir: cache.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.WithoutCancel(t.Context()))
	var out *run.Result
	var warnings []string
	for e, err := range h.Run(t.Context(), host.Text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case run.Replied:
			warnings = append(warnings, b.Warnings...)
		case run.Finished:
			out = b.Result
		}
	}
	if out == nil || out.Output != "done" {
		t.Fatalf("%+v", out)
	}
	want := []string{"image image/gif of 14 bytes of the tool paint was refused and is left out: Invalid image."}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	// The same image of the next step is not tried again.
	if n := len(end.Exchanges()); n != 4 {
		t.Errorf("%d requests", n)
	}
}
