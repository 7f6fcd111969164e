package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// command runs the command on pipes and returns what it printed.
func command(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	io := &streams{in: strings.NewReader(""), out: &out, err: &errs, width: func() int { return 0 }, getenv: func(string) string { return "" }}
	if code := wagent(t.Context(), args, io); code != exitOK {
		t.Fatalf("exit status %d\n%s", code, errs.String())
	}
	return out.String(), errs.String()
}

func TestInspectSaysWhyAToolIsLeftOut(t *testing.T) {
	module := buildGuest(t, "./testdata/leftout")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const why = `tool "broken": arguments: field Done of main.Broken: func() has no JSON`
	text, _ := command(t, "tools", "inspect", module)
	if !strings.Contains(text, "\n  works  Works.\n") || !strings.HasSuffix(text, "\nlogs\n  error: "+why+"\n") {
		t.Errorf("it says\n%s", text)
	}
	text, _ = command(t, "tools", "inspect", "-o", "json", module)
	var info host.ModuleInfo
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]host.ModuleLog{{Level: "error", Message: why}}, info.DescribeLogs); diff != "" {
		t.Error(diff)
	}
}

// A schema in a file has line breaks, and so may the arguments of a model, and a
// description.
func TestWhatNeedsNoLineBreaksIsShownOnOneLine(t *testing.T) {
	written := json.RawMessage("{\n\t\"type\": \"object\",\r\n\t\"title\": \"a b\"\n}")
	const want = `{"type":"object","title":"a b"}`
	a, tty := terminal(map[string]string{"NO_COLOR": "1"})
	play(t, a.textViewOf(), run.Called{Tool: "w", Arguments: written})
	for where, text := range map[string]string{
		"inspect": inspected(&host.ModuleInfo{Tools: []abi.Tool{{Name: "w", InputSchema: written}}}, style{}),
		"dry run": previewText(&host.Preview{Tools: []model.Definition{{Name: "w", Parameters: written}}}, style{}),
		"call":    tty.String(),
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s: %s", where, text)
		}
	}
	described := []host.ToolInfo{{Name: "w", Description: "Counts.\n\nWords."}}
	list, out := terminal(nil)
	if err := list.printTools(described); err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{
		"list":    out.String(),
		"inspect": inspected(&host.ModuleInfo{Tools: []abi.Tool{{Name: "w", Description: described[0].Description}}}, style{}),
	} {
		if !strings.Contains(text, "  Counts. Words.\n") {
			t.Errorf("%s: %s", where, text)
		}
	}
	for _, broken := range []string{"", "{\n", "text"} {
		if got := compact(json.RawMessage(broken)); got != broken {
			t.Errorf("%q became %q", broken, got)
		}
	}
}
