// Package testkit holds what the tests of several packages share: the small
// modules of testdata/wasm, and Go guests built by the standard compiler.
package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Root returns the folder of the repository.
func Root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("no source position")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Wasm returns a module of testdata/wasm, by its name without ".wasm".
func Wasm(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(Root(t), "testdata", "wasm", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Builds keeps what was built, so that the tests of one binary build each guest
// once. The zero Builds is ready to use; a package holds one.
type Builds struct{ done sync.Map }

type built struct {
	once sync.Once
	wasm []byte
	out  []byte
	err  error
}

// Tool builds the Go package in dir as a reactor: a module whose exported
// functions are called.
func (b *Builds) Tool(t testing.TB, dir string) []byte {
	t.Helper()
	return b.build(t, dir, "-buildmode=c-shared")
}

// Command builds the Go package in dir as a program with a main function.
func (b *Builds) Command(t testing.TB, dir string) []byte {
	t.Helper()
	return b.build(t, dir, "-buildmode=default")
}

func (b *Builds) build(t testing.TB, dir, mode string) []byte {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	v, _ := b.done.LoadOrStore(dir+" "+mode, new(built))
	got := v.(*built)
	got.once.Do(func() { got.run(t.TempDir(), dir, mode) })
	if got.err != nil {
		t.Fatalf("building %s: %v\n%s", dir, got.err, got.out)
	}
	return got.wasm
}

func (b *built) run(tmp, dir, mode string) {
	file := filepath.Join(tmp, "guest.wasm")
	cmd := exec.Command("go", "build", mode, "-ldflags=-s -w", "-o", file, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if b.out, b.err = cmd.CombinedOutput(); b.err == nil {
		b.wasm, b.err = os.ReadFile(file)
	}
}
