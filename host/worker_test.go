package host_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
)

// embedding says what a process of this program is that a test starts as one that
// embeds the host: "with" a call of Worker, or "without" one.
const embedding = "WAGENT_TEST_EMBEDDING"

// embedder makes this process a program that loads the module which it is given.
func embedder() {
	how := os.Getenv(embedding)
	if how == "" {
		return
	}
	if how == "with" {
		host.Worker()
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug}))
	opts := &host.Options{Logger: log, CacheDir: os.Args[2]}
	h, err := host.Open(context.Background(), os.Args[1], opts)
	if err == nil {
		err = h.Close(context.Background())
	}
	if err != nil {
		log.Error(err.Error())
		os.Exit(1)
	}
	os.Exit(0)
}

func TestProgramThatDoesNotCallWorkerIsNotStartedAgain(t *testing.T) {
	dir := t.TempDir()
	manifest := filepath.Join(dir, "wagent.yaml")
	for path, data := range map[string]string{
		manifest:                              "version: 1\nagent: {system_prompt: hi}\nmodel: {name: none}\ntools:\n  - module: word_count.wasm\n",
		filepath.Join(dir, "word_count.wasm"): string(wordCount(t)),
	} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ how, cache, says string }{
		{"without", "here", `level=WARN msg="modules are compiled in this process, where nothing can stop that: the program does not call host.Worker" module=word_count.wasm`},
		{"with", "there", `level=DEBUG msg=compiled module=word_count.wasm`},
		{"without", "there", ""}, // it is kept
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], manifest, filepath.Join(dir, c.cache))
		cmd.Env = append(os.Environ(), embedding+"="+c.how)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got := string(out); !strings.Contains(got, c.says) || strings.Count(got, "\n") != min(1, len(c.says)) {
			t.Errorf("%s: the log is %s", c.how, got)
		}
	}
}
