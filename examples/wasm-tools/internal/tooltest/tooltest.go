// Package tooltest builds an example as a module, for the tests that need the
// sandbox: of limits, of refusals, and of the memory of a guest.
//
//	dir := tooltest.Build(t)
//	h, err := host.Open(t.Context(), tooltest.Manifest(t, dir, "{module: ./calc.wasm}"), nil)
//	if err != nil {
//		t.Fatal(err)
//	}
//	tooltest.CloseAfter(t, h)
package tooltest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Build builds the package under test as a module into a new folder, under the
// name of its own folder and as the Makefile does. It returns the new folder,
// which is removed when the test ends. The test fails at once if the package does
// not build.
func Build(t testing.TB) string {
	t.Helper()
	source, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mode := "c-shared"
	if _, err := os.Stat("command.txt"); err == nil {
		mode = "exe"
	}
	dir := t.TempDir()
	module := filepath.Join(dir, filepath.Base(source)+".wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode="+mode, "-o", module, ".")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// Manifest writes a manifest with one tool into dir and returns its path. tool is
// the entry of the tool, YAML in braces. The model of the manifest is a recording
// that says nothing. A manifest that is in dir already is replaced, which a host
// that was opened with it does not notice.
func Manifest(t testing.TB, dir, tool string) string {
	t.Helper()
	path := filepath.Join(dir, "wagent.yaml")
	for name, text := range map[string]string{
		path:                             "version: 1\nname: test\nmodel: {provider: replay, recording: ./none.jsonl}\ntools: [" + tool + "]\n",
		filepath.Join(dir, "none.jsonl"): `{"message":{"role":"assistant","content":[{"type":"text","text":"-"}]},"finish_reason":"stop"}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// CloseAfter closes h when the test ends. The test fails if that does.
func CloseAfter(t testing.TB, h interface{ Close(context.Context) error }) {
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// Text returns the texts of a result, one after the other.
func Text(r abi.Result) string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}
