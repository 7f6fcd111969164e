package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// FuzzSystem calls functions with any arguments on a memory of any content: the
// answer is an errno, the host does not panic, nothing of where the folders lie
// comes back, and what was not granted stays as it is.
func FuzzSystem(f *testing.F) {
	for _, seed := range []string{
		"", "\x1f\x04\x01\x00\x03\x01\x06\x07\x00\x0a", strings.Repeat("\x12\x03\x0a\x0b\x00\x0a", 20),
		"\x16\x01\x05\x16\x03\x0c\x02\x00\x02\x01\x01", "\x25\x0b\x0a\x01\x0a", "\x1e\x00\x01\x02\x03\x04\x05\x06",
	} {
		f.Add([]byte(seed), []byte("a.txt\x00../secret\x00link/"))
	}
	root := f.TempDir()
	p := policy.Default()
	p.Limits.Timeout = 100 * time.Millisecond
	p.Limits.Files = policy.FileLimits{Bytes: 1 << 16, Count: 4, Open: 4}
	for _, name := range []string{"read", "write"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for name, text := range map[string]string{"secret": "secret", "read/a.txt": "hello"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	for _, name := range []string{"read/link", "write/link"} {
		if err := os.Symlink("../secret", filepath.Join(root, name)); err != nil {
			f.Fatal(err)
		}
	}
	p.Grants.Read = []policy.Mount{{Host: filepath.Join(root, "read"), Guest: "/docs"}}
	p.Grants.Write = []policy.Mount{{Host: filepath.Join(root, "write"), Guest: "/out"}}
	r, code := engineWith(f, 1, linkOurs)

	f.Fuzz(func(t *testing.T, program, memory []byte) {
		w := enter(t, r, code, p, bytes.NewReader([]byte("input")))
		w.put(0, string(memory[:min(len(memory), pageEnd)]))
		arguments := interesting()
		functions := wasiFuncs()
		for calls := 0; len(program) > 0 && calls < 200; calls++ {
			fn := functions[int(program[0])%len(functions)]
			program = program[1:]
			args := make([]uint64, len(fn.params))
			for i := range args {
				if len(program) > 0 {
					args[i] = arguments[int(program[0])%len(arguments)]
					program = program[1:]
				}
			}
			if e := w.do(fn.name, args...); e > wasiXdev {
				t.Fatalf("%s%d: %d is no errno", fn.name, args, e)
			}
			if limit := w.guest.sys.open.limit; uint64(len(w.guest.sys.open.byNumber)) > limit {
				t.Fatalf("%d descriptors", len(w.guest.sys.open.byNumber))
			}
		}
		if why := w.guest.watch.stopped(w.guest.ctx); why != nil && why.Fault == FaultInternal {
			t.Fatal(why.Detail)
		}
		if all := w.bytes(0, pageEnd); strings.Contains(all, root) {
			t.Fatal("the guest knows where its folders lie")
		}
		if got := hostFile(t, root, "secret") + hostFile(t, root, "read/a.txt"); got != "secrethello" {
			t.Fatalf("the files hold %q", got)
		}
	})
}

// interesting are arguments by which functions tell cases apart: descriptors,
// lengths, places and the ends of the numbers.
func interesting() []uint64 {
	return []uint64{
		0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 48, 64, 100, 255, 1024, 4096, 8192, pageEnd - 64, pageEnd - 8, pageEnd - 1,
		pageEnd, pageEnd + 1, 1<<31 - 1, 1 << 31, 1<<32 - 64, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1,
	}
}
