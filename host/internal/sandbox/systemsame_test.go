package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/wagent-dev/wagent/host/policy"
)

// step is a call and the memory that it is compared in. The path is put into
// memory first.
type step struct {
	path  string
	name  string
	args  []uint64
	at, n uint64
}

// TestSystemAnswersAsTheEngineDoes compares what only reads with the engine's
// own WASI, whose module is built by the same list of functions: so their
// signatures are compared, too.
func TestSystemAnswersAsTheEngineDoes(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d", i)), []byte(strings.Repeat("x", i)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := policy.Default()
	p.Grants.Read = []policy.Mount{{Host: dir, Guest: "/docs"}}
	p.Grants.Env = map[string]string{"A": "1", "B": "x y"}
	r, code := engineWith(t, 1, linkOurs)
	ours := enter(t, r, code, p, bytes.NewReader([]byte("input")))
	theirs := engineWorld(t, dir)

	for _, s := range sameSteps() {
		t.Run(s.name, func(t *testing.T) {
			a, b := ours.step(s), theirs.step(s)
			if diff := cmp.Diff(b, a); diff != "" {
				t.Errorf("%v (-engine +ours): %s", s, diff)
			}
		})
	}
}

// engineWorld is a guest of the engine's WASI.
func engineWorld(t *testing.T, dir string) *world {
	t.Helper()
	r, code := engineWith(t, 1, func(ctx context.Context, r wazero.Runtime) error {
		_, err := wasi_snapshot_preview1.Instantiate(ctx, r)
		return err
	})
	mod, err := r.InstantiateModule(t.Context(), code, wazero.NewModuleConfig().WithName("").
		WithArgs("tool", "x y").WithEnv("A", "1").WithEnv("B", "x y").
		WithStdin(bytes.NewReader([]byte("input"))).
		WithSysWalltime().WithSysNanotime().
		WithFSConfig(wazero.NewFSConfig().WithReadOnlyDirMount(dir, "/docs")))
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, guest: &guest{ctx: t.Context()}, mod: mod}
}

// step calls and returns what the guest sees. The number of the device is left
// out, and so are those of files in a directory, which the guest asks for.
func (w *world) step(s step) string {
	w.put(s.at, strings.Repeat("\x00", int(s.n)))
	w.put(atPath, s.path)
	e := w.do(s.name, s.args...)
	b := []byte(w.bytes(s.at, s.n))
	if strings.HasSuffix(s.name, "filestat_get") {
		clear(b[:8])
	}
	if s.name == "fd_readdir" {
		size := s.args[2]
		used := w.u32(s.args[4])
		return fmt.Sprint(e, " full: ", used == size, whole([]byte(w.bytes(s.args[1], used))))
	}
	return fmt.Sprintf("%d %x", e, b)
}

// whole are the entries that are not cut off.
func whole(b []byte) []string {
	var all []string
	for len(b) >= direntSize && uint64(len(b)) >= direntSize+uint64(le.Uint32(b[16:])) {
		end := direntSize + int(le.Uint32(b[16:]))
		all = append(all, fmt.Sprintf("%d:%s:%d", le.Uint64(b), b[direntSize:end], b[20]))
		b = b[end:]
	}
	return all
}

func sameSteps() []step {
	var all []step
	path := ""
	add := func(at, n uint64, name string, args ...uint64) {
		all = append(all, step{path, name, args, at, n})
	}
	add(atResult, 8, "args_sizes_get", atResult, atResult+4)
	add(atList, 9000, "args_get", atList, atBuffer)
	add(atResult, 8, "environ_sizes_get", atResult, atResult+4)
	add(atList, 9000, "environ_get", atList, atBuffer)
	for id := range uint64(5) {
		add(atResult, 8, "clock_res_get", id, atResult)
	}
	for fd := uint64(3); fd < 6; fd++ {
		add(atResult, 8, "fd_prestat_get", fd, atResult)
		add(atResult, 24, "fd_fdstat_get", fd, atResult)
		add(atResult, 64, "fd_filestat_get", fd, atResult)
	}
	add(atBuffer, 8, "fd_prestat_dir_name", 3, atBuffer, 5)
	for _, name := range []string{"file1", "file39", "sub", "sub/", ".", "nosuch", "file1/", "file1/x", "../x", "/file1", "x/../file1"} {
		path = name
		for flags := range uint64(2) {
			add(atResult, 64, "path_filestat_get", 3, flags, atPath, uint64(len(name)), atResult)
		}
	}
	path = "file39"
	add(atResult, 4, "path_open", 3, 1, atPath, 6, 0, rightRead, 0, 0, atResult)
	add(atResult, 64, "fd_filestat_get", 4, atResult)
	add(atResult, 8, "fd_seek", 4, 30, 0, atResult)
	add(atResult, 8, "fd_tell", 4, atResult)
	add(atResult, 8, "fd_seek", 4, 1<<64-1, 2, atResult)
	add(atResult, 8, "fd_seek", 3, 0, 0, atResult)
	add(atResult, 8, "fd_advise", 4, 0, 0, 3)
	add(atResult, 8, "fd_advise", 4, 0, 0, 9)
	path = "sub"
	add(atResult, 4, "path_open", 3, 1, atPath, 3, openDirectory, rightRead, 0, 0, atResult)
	add(atResult, 4, "path_open", 3, 1, atPath, 3, openDirectory|openCreate, rightRead, 0, 0, atResult)
	path = "file1"
	add(atResult, 4, "path_open", 3, 1, atPath, 5, openDirectory, rightRead, 0, 0, atResult)
	add(atResult, 24, "fd_fdstat_get", 5, atResult)
	for _, cookie := range []uint64{0, 1, 2, 3, 20, 42, 43} {
		add(0, 0, "fd_readdir", 3, atBuffer, 8000, cookie, atResult)
	}
	for _, size := range []uint64{24, 25, 50, 51, 80, 500, 8000} {
		add(0, 0, "fd_readdir", 3, atBuffer, size, 0, atResult)
		add(0, 0, "fd_readdir", 5, atBuffer, size, 0, atResult)
	}
	add(atResult, 4, "fd_close", 4)
	add(atResult, 4, "fd_close", 4)
	add(atResult, 4, "fd_close", 99)
	add(atResult, 4, "sched_yield")
	add(atResult, 4, "proc_raise", 1)
	return all
}
