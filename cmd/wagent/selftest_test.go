package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/selftest"
)

func results() []selftest.Result {
	return []selftest.Result{
		{ID: "CPU-1a", What: "a loop", How: "stopped", Held: true, WallMS: 104.25, PeakBytes: 131072},
		{ID: "FS-5", What: "a FIFO", Skipped: "there are none", WallMS: 1},
		{ID: "TXT-1", What: "an \x1b escape", Problem: "\"\x1b[2J\" <was> shown", WallMS: 2},
	}
}

func printed(t *testing.T, v checkView) string {
	t.Helper()
	var b bytes.Buffer
	for _, r := range results() {
		if err := v.one(&b, &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.all(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Errorf("an escape was printed: %q", b.String())
	}
	return b.String()
}

func TestChecksAsText(t *testing.T) {
	want := `✓ CPU-1a  a loop: stopped  104 ms, 128 KiB
- FS-5    a FIFO: skipped, there are none  1.0 ms
✗ TXT-1   an \u{1b} escape: "\u{1b}[2J" <was> shown  2.0 ms
1 check held, 1 skipped, 1 did not hold, in 107 ms
`
	if got := printed(t, &textChecks{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChecksAsJSON(t *testing.T) {
	var got struct {
		Schema int
		Checks []map[string]any
	}
	if err := json.Unmarshal([]byte(printed(t, &jsonChecks{Schema: 1})), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Checks) != 3 || got.Schema != 1 || got.Checks[0]["held"] != true || got.Checks[0]["how"] != "stopped" || got.Checks[2]["how"] != nil || got.Checks[0]["peak_bytes"] != 131072.0 || got.Checks[0]["skipped"] != nil ||
		got.Checks[1]["skipped"] != "there are none" || got.Checks[2]["held"] != false {
		t.Errorf("got %v", got)
	}
}

func TestChecksAsJUnit(t *testing.T) {
	var got junitChecks
	if err := xml.Unmarshal([]byte(printed(t, &junitChecks{Name: "wagent selftest", Class: "wagent.selftest"})), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 3 || got.Failures != 1 || got.Skipped != 1 || got.Time != "0.107250" || got.Cases[0].Failure != nil || got.Cases[0].How != "stopped" || got.Cases[1].How != "" ||
		got.Cases[1].Skipped == nil || got.Cases[2].Failure == nil || !strings.Contains(got.Cases[2].Failure.Message, "<was> shown") {
		t.Errorf("got %+v", got)
	}
}
