//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/run"
)

// The demo of the README, with the command and the tools as `make build tools`
// leaves them in bin/: what its text claims is what its tools find.
func TestTheDemoIsTrue(t *testing.T) {
	bin := filepath.Join(root(t), "bin", "wagent")
	cmd := exec.CommandContext(t.Context(), bin, "run", "-o", "json", "-f", filepath.Join(root(t), "examples", "wasm-tools", "demo", "demo.yaml"), "Which region sold the most?")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v (make build tools builds what is needed)\n%s", err, stderr.String())
	}
	var r run.Result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	if r.ExitReason != run.ExitText || r.StepCount != 4 {
		t.Errorf("it ended by %s after %d steps", r.ExitReason, r.StepCount)
	}
	var kinds []run.ErrorKind
	var seen strings.Builder
	for _, s := range r.Steps {
		kinds = append(kinds, s.ErrorKind)
		seen.WriteString(s.Observation + "\n")
		if s.Receipt == nil || s.Receipt.WallMS <= 0 || s.Receipt.PeakMemoryBytes <= 0 {
			t.Errorf("%s has the receipt %+v", s.Action.Tool, s.Receipt)
		}
	}
	want := []run.ErrorKind{"", "", "", "", run.KindMemory, run.KindToolError, run.KindToolError}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Errorf("the calls ended otherwise: %s", d)
	}
	for _, figure := range []string{"22540.7", "15033.4", "49.9", "16985.1", "1 March", "no grant covers this"} {
		if !strings.Contains(seen.String(), figure) {
			t.Errorf("no tool found %q", figure)
		}
	}
	if strings.Contains(seen.String(), "root:") {
		t.Error("the host's files were read")
	}
}
