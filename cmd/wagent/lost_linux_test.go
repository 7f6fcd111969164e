package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// redirected runs wagent in a shell, with a redirection of its standard output.
func redirected(t *testing.T, to string, args ...string) (code int, stderr string) {
	t.Helper()
	bin, err := exec.LookPath("wagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `exec "$@" ` + to, "sh", bin}, args...)...)
	cmd.Dir = filepath.Join(root(t), "cmd", "wagent", "scaffold")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return code, errs.String()
}

func TestAnAnswerThatNobodyCanReadIsTold(t *testing.T) {
	for _, args := range [][]string{
		{"run", "count"},
		{"run", "-o", "json", "count"},
		{"tools", "call", "tools/word_count.wasm", "word_count", "--args", `{"text":"a"}`},
		{"tools", "list"},
		{"tools", "inspect", "tools/word_count.wasm"},
		{"validate"},
		{"version"},
		{"schema"},
		{"run", "--dry-run", "count"},
	} {
		name := strings.Join(args, " ")
		if code, stderr := redirected(t, ">/dev/full", args...); code != exitFailed || !strings.Contains(stderr, "no space left on device") {
			t.Errorf("%s to a full disk: exit status %d\n%s", name, code, stderr)
		}
		if code, stderr := redirected(t, ">/dev/null", args...); code != exitOK || strings.Contains(stderr, lostOutput) {
			t.Errorf("%s to /dev/null: exit status %d\n%s", name, code, stderr)
		}
		if args[0] != "run" && args[1%len(args)] != "call" || args[1] == "--dry-run" {
			continue
		}
		if code, stderr := redirected(t, ">&-", args...); code != exitOK || strings.Count(stderr, lostOutput) != 1 {
			t.Errorf("%s to what is closed: exit status %d\n%s", name, code, stderr)
		}
	}
}
