package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/policy"
)

// forwarder is a module with pages of memory that exports every function of WASI:
// each passes its arguments on to the import of the same name.
func forwarder(pages byte) []byte {
	functions := append(wasiFuncs(), wasiFunc{name: "proc_exit", params: wasmTypes("i")})
	n := len(functions)
	var types, imports, funcs, exports, code []byte
	for i, f := range functions {
		results := "\x01\x7f"
		if f.name == "proc_exit" {
			results = "\x00"
		}
		types = append(append(types, 0x60, byte(len(f.params))), f.params...)
		types = append(types, results...)
		imports = append(append(imports, vector(wasiModule)...), vector(f.name)...)
		imports = append(imports, 0, byte(i))
		funcs = append(funcs, byte(i))
		exports = append(append(append(exports, vector(f.name)...), 0), byte(n+i))
		body := []byte{0} // no locals
		for p := range f.params {
			body = append(body, 0x20, byte(p))
		}
		code = append(code, vector(string(append(body, 0x10, byte(i), 0x0b)))...)
	}
	count := func(n int, b []byte) string { return string(append(binary.AppendUvarint(nil, uint64(n)), b...)) }
	memory := []any{}
	if pages > 0 {
		memory = []any{5, string([]byte{1, 1, pages, pages})}
	}
	all := append([]any{1, count(n, types), 2, count(n, imports), 3, count(n, funcs)}, memory...)
	return module(append(all, 7, count(n, exports), 10, count(n, code))...)
}

func vector(s string) []byte { return append(binary.AppendUvarint(nil, uint64(len(s))), s...) }

// world is a guest that does what a test tells it to.
type world struct {
	t     testing.TB
	guest *guest
	mod   api.Module
	out   *output
}

// engineWith compiles the forwarder over an implementation of WASI.
func engineWith(t testing.TB, pages byte, link func(context.Context, wazero.Runtime) error) (wazero.Runtime, wazero.CompiledModule) {
	t.Helper()
	r := wazero.NewRuntime(t.Context())
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := link(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	code, err := r.CompileModule(t.Context(), forwarder(pages))
	if err != nil {
		t.Fatal(err)
	}
	return r, code
}

func linkOurs(ctx context.Context, r wazero.Runtime) error {
	_, err := linkWASI(ctx, r)
	return err
}

// newWorld starts a guest with the folders of [folders]: /docs to read, which is
// descriptor 3, and /out to write, which is 4.
func newWorld(t *testing.T, change ...func(*policy.Policy)) (w *world, root string) {
	t.Helper()
	r, code := engineWith(t, 1, linkOurs)
	root, grant := folders(t)
	src := Source{Policy: policy.Default()}
	grant(&src)
	for _, f := range change {
		f(&src.Policy)
	}
	return enter(t, r, code, src.Policy, bytes.NewReader([]byte("input"))), root
}

func enter(t testing.TB, r wazero.Runtime, code wazero.CompiledModule, p policy.Policy, stdin io.Reader) *world {
	t.Helper()
	g, err := newGuest(t.Context(), p, nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, guest: g, out: &output{guest: g}}
	w.mod, err = r.InstantiateModule(context.WithValue(t.Context(), guestKey{}, g), code, g.config(stdin, w.out, "tool", "x y"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.mod.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// do calls a function.
func (w *world) do(name string, args ...uint64) errno {
	w.t.Helper()
	res, err := w.mod.ExportedFunction(name).Call(w.guest.ctx, args...)
	if err != nil {
		w.t.Fatalf("%s%d: %v", name, args, err)
	}
	return errno(res[0])
}

// must calls a function that has to succeed.
func (w *world) must(name string, args ...uint64) {
	w.t.Helper()
	if e := w.do(name, args...); e != 0 {
		w.t.Fatalf("%s%d: errno %d", name, args, e)
	}
}

// want calls a function that has to answer so.
func (w *world) want(e errno, name string, args ...uint64) {
	w.t.Helper()
	if got := w.do(name, args...); got != e {
		w.t.Errorf("%s%d: errno %d, want %d", name, args, got, e)
	}
}

// Where the tests put things in the guest's memory.
const (
	atPath   = 1024
	atPath2  = 2048
	atResult = 4096
	atList   = 8192  // of buffers
	atBuffer = 16384 // the only buffer
	pageEnd  = 65536
)

func (w *world) put(at uint64, b string) {
	w.t.Helper()
	if !w.mod.Memory().Write(uint32(at), []byte(b)) {
		w.t.Fatal("outside of the memory")
	}
}

func (w *world) bytes(at, n uint64) string {
	w.t.Helper()
	b, ok := w.mod.Memory().Read(uint32(at), uint32(n))
	if !ok {
		w.t.Fatal("outside of the memory")
	}
	return string(b)
}

func (w *world) u32(at uint64) uint64 { return uint64(le.Uint32([]byte(w.bytes(at, 4)))) }
func (w *world) u64(at uint64) uint64 { return le.Uint64([]byte(w.bytes(at, 8))) }

// path puts a path into memory and returns its parameters.
func (w *world) path(s string) (ptr, n uint64) {
	w.t.Helper()
	w.put(atPath, s)
	return atPath, uint64(len(s))
}

// buffer describes buffers, each a pointer and a length.
func (w *world) buffers(parts ...uint32) (list, n uint64) {
	w.t.Helper()
	var b []byte
	for _, p := range parts {
		b = le.AppendUint32(b, p)
	}
	w.put(atList, string(b))
	return atList, uint64(len(parts) / 2)
}

// open opens a path and returns its number.
func (w *world) open(dir uint64, path string, oflags, rights, fdflags uint64) uint64 {
	w.t.Helper()
	ptr, n := w.path(path)
	w.must("path_open", dir, followLinks, ptr, n, oflags, rights, 0, fdflags, atResult)
	return w.u32(atResult)
}

func (w *world) tryOpen(dir uint64, path string, oflags, rights uint64) errno {
	w.t.Helper()
	ptr, n := w.path(path)
	return w.do("path_open", dir, followLinks, ptr, n, oflags, rights, 0, 0, atResult)
}

// write writes text and returns how much of it was taken.
func (w *world) write(fd uint64, text string) uint64 {
	w.t.Helper()
	w.put(atBuffer, text)
	list, n := w.buffers(atBuffer, uint32(len(text)))
	w.must("fd_write", fd, list, n, atResult)
	return w.u32(atResult)
}

// read reads at most n bytes.
func (w *world) read(fd uint64, n uint32) string {
	w.t.Helper()
	list, count := w.buffers(atBuffer, n)
	w.must("fd_read", fd, list, count, atResult)
	return w.bytes(atBuffer, w.u32(atResult))
}

// hostFile is what a file of the host holds.
func hostFile(t testing.TB, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const second = uint64(time.Second)
