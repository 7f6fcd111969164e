package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// What a module makes of a reply that could not be read is what the model is told, and a
// module that fails costs nothing but its own words.
func TestAModuleSaysWhatWasWrongWithAReply(t *testing.T) {
	for name, want := range map[string]string{
		"hook":        `{'config':{'tone':'kind'},'error':'Your last reply could not be read`,
		"extism-hook": "As I said.",
		"hook-spin":   "Your last reply could not be read",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "hook.wasm")
			if err := os.WriteFile(path, testkit.Wasm(t, name), 0o600); err != nil {
				t.Fatal(err)
			}
			m := modeltest.New(modeltest.Text("hm"), modeltest.Text("Final Answer: yes"))
			h := open(t, fmt.Sprintf("version: 1\nname: a\nmodel: {name: m}\nagent: {planner: react, on_parse_error: {module: %s, config: {tone: kind}}}\ntools:\n  - module: ./word_count.wasm\n", path),
				host.Options{Model: m})
			got, err := h.Ask(t.Context(), "go")
			if err != nil || got.Output != "yes" {
				t.Fatalf("%v %+v", err, got)
			}
			s := got.Result.Steps[0]
			if s.ErrorKind != run.KindParseError || !strings.HasPrefix(s.Observation, want) {
				t.Errorf("the model was told %s", s.Observation)
			}
		})
	}
}
