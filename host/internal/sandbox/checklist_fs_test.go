//go:build unix

package sandbox

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

const outsideCanary = "canary: no guest may see or change this"

// premises are folders of the host: two that a guest may write, one it may read,
// and one it may not know of.
type premises struct{ base, outside, read, write, other string }

func newPremises(t *testing.T) premises {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := premises{base, filepath.Join(base, "outside"), filepath.Join(base, "read"), filepath.Join(base, "write"), filepath.Join(base, "other")}
	for _, dir := range []string{p.outside, p.read, p.write, p.other} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.put(t, "outside/secret", outsideCanary)
	p.put(t, "read/a.txt", "hello")
	p.put(t, "write/old.txt", "old")
	return p
}

func (p premises) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.base, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p premises) link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(p.base, name)); err != nil {
		t.Fatal(err)
	}
}

func (p premises) grant(s *Source) {
	s.Policy.Grants.Read = []policy.Mount{{Host: p.read, Guest: "/docs"}}
	s.Policy.Grants.Write = []policy.Mount{{Host: p.write, Guest: "/out"}, {Host: p.other, Guest: "/out2"}}
}

// unchanged does steps through each door, and checks that nothing on the premises
// has changed.
func (p premises) unchanged(t *testing.T, l *lab, steps []doorStep, change ...func(*Source)) {
	t.Helper()
	before := tree(t, p.base)
	l.answersAtDoors(t, func(s *Source) {
		p.grant(s)
		for _, f := range change {
			f(s)
		}
	}, steps, nil)
	same(t, p.base, before)
}

// namesThatLeadOut are names, and what the host says to them.
func namesThatLeadOut() map[string]errno {
	return map[string]errno{
		"../outside/secret": wasiPerm, "..": wasiPerm, "a/../../outside/secret": wasiPerm, "./../outside/secret": wasiPerm,
		"/etc/passwd": wasiPerm, "/": wasiPerm, "//etc/passwd": wasiPerm,
		`..\outside\secret`: wasiInval, `a\..\..\outside`: wasiInval, `\\server\share`: wasiInval,
		"secret\x00": wasiInval, "a.txt\x00/../../outside/secret": wasiPerm, "a\nb": wasiInval, "\x1b[2J": wasiInval,
		strings.Repeat("a", 256): wasiNametoolong, strings.Repeat("a", 4<<10): wasiNametoolong, strings.Repeat("a/", 2000): wasiNametoolong,
		"":    wasiNoent,
		"C:x": wasiNoent, "C:/outside": wasiNoent, "CON": wasiNoent, "nul.txt": wasiNoent, "COM1": wasiNoent, "...": wasiNoent, "~/x": wasiNoent, "$HOME/x": wasiNoent,
		"%2e%2e/outside/secret": wasiNoent, "..%2foutside": wasiNoent, "\u2025/outside": wasiNoent, "\uff0e\uff0e/outside": wasiNoent,
	}
}

func stepsThatLeadOut() []doorStep {
	var steps []doorStep
	for name, e := range namesThatLeadOut() {
		for _, s := range []doorStep{
			{Do: "open", Dir: "/docs", Path: name},
			{Do: "open", Dir: "/out", Path: name},
			{Do: "open", Dir: "/docs", Path: name, Flags: "dir"},
			{Do: "stat", Dir: "/docs", Path: name},
			{Do: "lstat", Dir: "/out", Path: name},
			{Do: "unlink", Dir: "/out", Path: name},
			{Do: "rmdir", Dir: "/out", Path: name},
			{Do: "settimes", Dir: "/out", Path: name},
			{Do: "rename", Dir: "/out", Path: name, To: "/out", Name: "mine"},
		} {
			s.want = refused(e)
			steps = append(steps, s)
		}
		if e == wasiNoent { // it is a name like any other, or none
			continue
		}
		for _, s := range []doorStep{
			{Do: "mkdir", Dir: "/out", Path: name},
			{Do: "make", Dir: "/out", Path: name},
			{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: name},
			{Do: "open", Dir: "/out", Path: name, Flags: "write"},
			{Do: "open", Dir: "/out", Path: name, Flags: "truncate"},
		} {
			s.want = refused(e)
			steps = append(steps, s)
		}
	}
	for _, raw := range []string{"ff", "2e2e2fff", "c0ae c0ae"} {
		steps = append(steps, doorStep{Do: "open", Dir: "/docs", Path: strings.ReplaceAll(raw, " ", ""), Raw: true, want: refused(wasiIlseq)})
	}
	return append(steps,
		doorStep{Do: "open", Dir: "/docs", Path: "x/.././a.txt", As: "f", want: "ok"}, doorStep{Do: "read", FD: "f", N: 9, want: `"hello"`},
		doorStep{Do: "open", Dir: "/out2", Path: "../read/a.txt", want: refused(wasiPerm)},
		doorStep{Do: "open", Dir: "f", Path: "a.txt", want: refused(wasiNotdir)}, doorStep{Do: "open", Dir: "99", Path: "a.txt", want: refused(wasiBadf)},
		doorStep{Do: "open", Dir: "/docs", Path: ".", Flags: "dir", As: "d", want: "ok"}, doorStep{Do: "open", Dir: "d", Path: "../outside/secret", want: refused(wasiPerm)},
	)
}

func TestFS2GuestsMakeNoLinks(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	var steps []doorStep
	for _, target := range []string{"../outside/secret", "../outside", "/etc/passwd", "old.txt", ".", p.outside} {
		steps = append(steps,
			doorStep{Do: "symlink", Path: target, To: "/out", Name: "escape", want: refused(wasiPerm)},
			doorStep{Do: "open", Dir: "/out", Path: "escape", want: refused(wasiNoent)},
			doorStep{Do: "open", Dir: "/out", Path: "escape", Flags: "write", want: refused(wasiNoent)},
			doorStep{Do: "open", Dir: "/out", Path: "escape/secret", want: refused(wasiNoent)},
			doorStep{Do: "make", Dir: "/out", Path: "escape/secret", want: refused(wasiNoent)},
			doorStep{Do: "symlink", Path: target, To: "/docs", Name: "escape", want: refused(wasiRofs)},
		)
	}
	p.unchanged(t, l, steps)
}

func TestFS3LinksThatAreThereDoNotLeadOut(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	p.put(t, "read/inside.txt", "inside")
	var steps []doorStep
	for _, dir := range []string{"read", "write"} {
		guest := map[string]string{"read": "/docs", "write": "/out"}[dir]
		p.link(t, "../outside/secret", dir+"/pre")
		p.link(t, "pre", dir+"/chain")
		p.link(t, filepath.Join(p.outside, "secret"), dir+"/absolute")
		p.link(t, "/", dir+"/dirlink")
		p.link(t, "../outside", dir+"/up")
		p.link(t, "../outside/new", dir+"/dangling")
		p.link(t, "round", dir+"/round")
		for name, e := range map[string]errno{
			"pre": wasiAcces, "chain": wasiAcces, "absolute": wasiAcces, "dirlink/etc/passwd": wasiAcces, "up/secret": wasiAcces,
			"up": wasiAcces, "dirlink": wasiAcces, "pre/x": wasiAcces, "dangling": wasiAcces,
		} {
			steps = append(steps,
				doorStep{Do: "open", Dir: guest, Path: name, want: refused(e)},
				doorStep{Do: "open", Dir: guest, Path: name, Flags: "dir", want: refused(e)},
				doorStep{Do: "stat", Dir: guest, Path: name, want: refused(e)},
			)
			for _, s := range []doorStep{
				{Do: "open", Dir: guest, Path: name, Flags: "write"},
				{Do: "open", Dir: guest, Path: name, Flags: "truncate"},
				{Do: "make", Dir: guest, Path: name, N: 3},
				{Do: "settimes", Dir: guest, Path: name},
			} {
				s.want = refused(e)
				if dir == "read" {
					s.want = refused(wasiRofs)
				}
				steps = append(steps, s)
			}
		}
		steps = append(steps,
			doorStep{Do: "open", Dir: guest, Path: "pre", Flags: "nofollow", want: refused(wasiLoop)},
			doorStep{Do: "readlink", Dir: guest, Path: "pre", want: refused(wasiPerm)},
			doorStep{Do: "readlink", Dir: guest, Path: "up", want: refused(wasiPerm)},
			doorStep{Do: "open", Dir: guest, Path: "round", want: refused(wasiLoop)},
		)
	}
	steps = append(steps,
		doorStep{Do: "mkdir", Dir: "/out", Path: "up/new", want: refused(wasiAcces)},
		doorStep{Do: "rmdir", Dir: "/out", Path: "up/new", want: refused(wasiAcces)},
		doorStep{Do: "unlink", Dir: "/out", Path: "up/secret", want: refused(wasiAcces)},
		doorStep{Do: "rename", Dir: "/out", Path: "up/secret", To: "/out", Name: "mine", want: refused(wasiAcces)},
		doorStep{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: "up/secret", want: refused(wasiAcces)},
		doorStep{Do: "rename", Dir: "/out", Path: "pre", To: "/out", Name: "sub", want: refused(wasiAcces)},
	)
	p.link(t, "inside.txt", "read/within")
	steps = append(steps, doorStep{Do: "open", Dir: "/docs", Path: "within", As: "f", want: "ok"}, doorStep{Do: "read", FD: "f", N: 9, want: `"inside"`})
	p.unchanged(t, l, steps)
}

func TestFS3LinksThatAnotherProcessExchangesDoNotLeadOut(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	p.put(t, "write/good", "hello")
	p.link(t, "../outside/secret", "write/bad")
	if err := os.Mkdir(filepath.Join(p.write, "gooddir"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.put(t, "write/gooddir/secret", "hello")
	p.link(t, "../outside", "write/baddir")
	swapping(t, p.write)
	outside := tree(t, p.outside)
	const times = 2000
	l.answersAtDoors(t, func(s *Source) {
		// The same folder to read and to write.
		s.Policy.Grants.Read = []policy.Mount{{Host: p.write, Guest: "/docs"}}
		s.Policy.Grants.Write = []policy.Mount{{Host: p.write, Guest: "/out"}}
		s.Policy.Limits.Timeout = time.Minute // it is for the steps, which are many
	}, []doorStep{
		{Do: "race", Dir: "/docs", Path: "file", To: "/out", Name: "file", N: times, Text: "canary", want: "raced"},
		{Do: "race", Dir: "/docs", Path: "dir/secret", To: "/out", Name: "dir/secret", N: times, Text: "canary", want: "raced"},
	}, nil)
	same(t, p.outside, outside)
}

func TestFS4NamesStayInTheirFolder(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	// Somebody gave a file outside a second name in the folder.
	for _, dir := range []string{"read", "write"} {
		if err := os.Link(filepath.Join(p.outside, "secret"), filepath.Join(p.base, dir, "hard")); err != nil {
			t.Fatal(err)
		}
	}
	p.unchanged(t, l, []doorStep{
		{Do: "link", Dir: "/docs", Path: "a.txt", To: "/out", Name: "h", want: refused(wasiPerm)},
		{Do: "link", Dir: "/out", Path: "old.txt", To: "/out", Name: "h", want: refused(wasiPerm)},
		{Do: "link", Dir: "/out", Path: "../outside/secret", To: "/out", Name: "h", want: refused(wasiPerm)},
		{Do: "link", Dir: "/out", Path: "old.txt", To: "/docs", Name: "h", want: refused(wasiRofs)},
		{Do: "rename", Dir: "/docs", Path: "a.txt", To: "/out", Name: "x", want: refused(wasiRofs)},
		{Do: "rename", Dir: "/out", Path: "old.txt", To: "/docs", Name: "x", want: refused(wasiRofs)},
		{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out2", Name: "x", want: refused(wasiXdev)},
		{Do: "rename", Dir: "/out", Path: ".", To: "/out", Name: "x", want: refused(wasiAcces)},
		{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: ".", want: refused(wasiAcces)},
		{Do: "open", Dir: "/out", Path: "hard", Flags: "write", want: refused(wasiAcces)},
		{Do: "open", Dir: "/out", Path: "hard", Flags: "truncate", want: refused(wasiAcces)},
		{Do: "open", Dir: "/out", Path: "hard", Flags: "append", want: refused(wasiAcces)},
		{Do: "make", Dir: "/out", Path: "hard", N: 3, want: refused(wasiAcces)},
		{Do: "settimes", Dir: "/out", Path: "hard", want: refused(wasiAcces)},
		{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: "new.txt", want: "ok"},
		{Do: "rename", Dir: "/out", Path: "new.txt", To: "/out", Name: "old.txt", want: "ok"},
	})
}

func TestFS5OnlyFilesAndFoldersOpen(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	for _, dir := range []string{p.read, p.write} {
		if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
	var steps []doorStep
	for dir, names := range map[string][]string{"/docs": {"fifo", "socket", "fifolink"}, "/out": {"fifo", "socket"}, "/dev": {"null", "zero", "tty", "random"}} {
		for _, name := range names {
			steps = append(steps,
				doorStep{Do: "open", Dir: dir, Path: name, want: refused(wasiAcces)},
				doorStep{Do: "open", Dir: dir, Path: name, Flags: "nofollow", want: refused(wasiAcces)},
				doorStep{Do: "open", Dir: dir, Path: name, Flags: "dir", want: refused(wasiAcces)},
				doorStep{Do: "open", Dir: dir, Path: name + "/x", want: refused(wasiNotdir)},
			)
			if dir == "/out" {
				steps = append(steps,
					doorStep{Do: "open", Dir: dir, Path: name, Flags: "write", want: refused(wasiAcces)},
					doorStep{Do: "make", Dir: dir, Path: name, want: refused(wasiAcces)},
					doorStep{Do: "settimes", Dir: dir, Path: name, want: refused(wasiAcces)},
					doorStep{Do: "unlink", Dir: dir, Path: name, want: refused(wasiAcces)},
					doorStep{Do: "rename", Dir: dir, Path: name, To: dir, Name: "mine", want: refused(wasiAcces)},
				)
			}
		}
	}
	p.link(t, "fifo", "read/fifolink")
	for i := range steps {
		if steps[i].Path == "fifolink" && steps[i].Flags == "nofollow" {
			steps[i].want = refused(wasiLoop)
		}
	}
	p.unchanged(t, l, steps, func(s *Source) {
		s.Policy.Grants.Read = append(s.Policy.Grants.Read, policy.Mount{Host: "/dev", Guest: "/dev"})
	})
}

func TestFS6FoldersToReadAreNotChanged(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	if err := os.Mkdir(filepath.Join(p.read, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	long := time.Unix(1e9, 0)
	for _, name := range []string{"a.txt", "sub", "."} {
		if err := os.Chtimes(filepath.Join(p.read, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	var steps []doorStep
	for _, s := range []doorStep{
		{Do: "open", Path: "new", Flags: "create"},
		{Do: "open", Path: "a.txt", Flags: "create"},
		{Do: "open", Path: "a.txt", Flags: "write"},
		{Do: "open", Path: "a.txt", Flags: "truncate"},
		{Do: "open", Path: "a.txt", Flags: "append"},
		{Do: "open", Path: "new", Flags: "create exclusive"},
		{Do: "settimes", Path: "a.txt"},
		{Do: "settimes", Path: "."},
		{Do: "unlink", Path: "a.txt"},
		{Do: "mkdir", Path: "new"},
		{Do: "rmdir", Path: "sub"},
		{Do: "rename", Path: "a.txt", To: "/docs", Name: "b.txt"},
		{Do: "link", Path: "a.txt", To: "/docs", Name: "b.txt"},
		{Do: "symlink", Path: "a.txt", To: "/docs", Name: "b.txt"},
	} {
		s.Dir, s.want = "/docs", refused(wasiRofs)
		steps = append(steps, s)
	}
	steps = append(steps, doorStep{Do: "open", Dir: "/docs", Path: "a.txt", As: "f", want: "ok"})
	for _, s := range []doorStep{{Do: "write", Text: "x"}, {Do: "pwrite", Text: "x"}, {Do: "resize"}, {Do: "allocate", N: 1 << 20}} {
		s.FD, s.want = "f", refused(wasiBadf)
		steps = append(steps, s)
	}
	steps = append(steps, doorStep{Do: "touch", FD: "f", want: refused(wasiRofs)}, doorStep{Do: "touch", FD: "/docs", want: refused(wasiRofs)},
		doorStep{Do: "read", FD: "f", N: 9, want: `"hello"`})
	p.unchanged(t, l, steps)
	for _, name := range []string{"a.txt", "sub", "."} {
		if info, err := os.Stat(filepath.Join(p.read, name)); err != nil || !info.ModTime().Equal(long) {
			t.Errorf("%s is of %v (%v)", name, info.ModTime(), err)
		}
	}
}

func TestFS7TheDiskHoldsNoMoreThanTheQuota(t *testing.T) {
	l := newLab(t)
	var p premises
	fresh := func() { p = newPremises(t) }
	limits := policy.FileLimits{Bytes: policy.MiB, Count: 100, Open: 50}
	grant := func(s *Source) {
		p.grant(s)
		s.Policy.Limits.Files = limits
	}
	const piece = 64 << 10
	file := doorStep{Do: "open", Dir: "/out", Path: "f", Flags: "create", As: "f", want: "ok"}
	for what, steps := range map[string][]doorStep{
		"a gigabyte":          {file, {Do: "write", FD: "f", N: piece, Times: 1 << 14, want: refusedAfter(wasiNospc, 16)}},
		"the same place":      {file, {Do: "pwrite", FD: "f", N: piece, Times: 1 << 14, want: refusedAfter(wasiNospc, 16)}},
		"in both folders":     {file, {Do: "write", FD: "f", N: piece, Times: 10, want: "ok"}, {Do: "open", Dir: "/out2", Path: "g", Flags: "create", As: "g", want: "ok"}, {Do: "write", FD: "g", N: piece, Times: 10, want: refusedAfter(wasiNospc, 6)}},
		"an old file":         {{Do: "open", Dir: "/out", Path: "old.txt", Flags: "append", As: "f", want: "ok"}, {Do: "write", FD: "f", N: piece, Times: 1 << 14, want: refusedAfter(wasiNospc, 16)}},
		"a hole":              {file, {Do: "seek", FD: "f", Off: 1 << 40, want: "ok"}, {Do: "write", FD: "f", Text: "x", want: refused(wasiNospc)}, {Do: "pwrite", FD: "f", Off: 1 << 40, Text: "x", want: refused(wasiNospc)}, {Do: "pwrite", FD: "f", Off: 1<<63 - 2, Text: "x", want: refused(wasiNospc)}, {Do: "pwrite", FD: "f", Off: 1<<64 - 1, Text: "x", want: refused(wasiInval)}},
		"by its size":         {file, {Do: "resize", FD: "f", N: 1 << 40, want: refused(wasiNospc)}, {Do: "allocate", FD: "f", N: 1 << 40, want: refused(wasiNospc)}, {Do: "resize", FD: "f", N: 1 << 20, want: "ok"}, {Do: "resize", FD: "f", want: "ok"}, {Do: "resize", FD: "f", N: 1, want: refused(wasiNospc)}},
		"many folders":        {{Do: "mkdir", Dir: "/out", Path: "d#", Times: 100_000, want: refusedAfter(wasiNospc, 100)}, {Do: "mkdir", Dir: "/out2", Path: "d", want: refused(wasiNospc)}},
		"many files":          {{Do: "make", Dir: "/out", Path: "f#", Times: 100_000, want: refusedAfter(wasiNospc, 100)}},
		"kept without a name": {{Do: "hoard", Dir: "/out", Path: "h", N: piece, Times: 40, want: refusedAfter(wasiNospc, 16)}},
		"removed and closed":  {{Do: "turn", Dir: "/out", Path: "h", N: piece, Times: 500, want: "ok"}, {Do: "hoard", Dir: "/out", Path: "h", N: piece, Times: 40, want: refusedAfter(wasiNospc, 16)}},
	} {
		t.Run(what, func(t *testing.T) {
			l.answersAtDoors(t, grant, steps, fresh)
			var bytes, blocks int64
			names := 0
			for _, dir := range []string{p.write, p.other} {
				err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
					if err != nil || path == dir {
						return err
					}
					var st syscall.Stat_t
					if err := syscall.Lstat(path, &st); err != nil {
						return err
					}
					if names++; !d.IsDir() {
						bytes += st.Size
						blocks += st.Blocks * 512
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			// The old file has three bytes, and each file may take a block more than it holds.
			if bytes > limits.Bytes+3 || blocks > limits.Bytes+int64(names)*4096 || names > limits.Count+1 {
				t.Errorf("%d bytes in %d bytes of blocks, %d names", bytes, blocks, names)
			}
		})
	}
}

func TestFS8OpenFilesAreBoundedAndClosed(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	const most = 10
	grant := func(s *Source) {
		p.grant(s)
		s.Policy.Limits.Files.Open = most
	}
	steps := []doorStep{
		{Do: "open", Dir: "/docs", Path: "a.txt", As: "f#", Times: 10_000, want: refusedAfter(wasiMfile, most)},
		{Do: "open", Dir: "/out", Path: ".", Flags: "dir", want: refused(wasiMfile)},
		{Do: "open", Dir: "/out", Path: "new", Flags: "create", want: refused(wasiMfile)},
		{Do: "renumber", FD: "f0", To: "1000000", want: refused(wasiBadf)},
		{Do: "renumber", FD: "f0", To: "16", want: refused(wasiBadf)}, // the first that is not below the cap: 3 streams, 3 folders and 10 files
		{Do: "renumber", FD: "f0", To: "15", want: "ok"},              // closes the last
		{Do: "open", Dir: "/docs", Path: "a.txt", As: "again", want: "ok"},
		{Do: "open", Dir: "/docs", Path: "a.txt", want: refused(wasiMfile)},
		{Do: "close", FD: "again", want: "ok"},
		{Do: "close", FD: "again", want: refused(wasiBadf)},
		{Do: "open", Dir: "/docs", Path: "a.txt", Times: 2, want: refusedAfter(wasiMfile, 1)},
	}
	l.answersAtDoors(t, grant, steps, nil)
	for _, door := range doors() {
		m := load(t, l.engine, doorSource(t, door, grant))
		m.Call(t.Context(), through(t, steps)) // makes what stays
		before := descriptors(t)
		for range 100 {
			if out := m.Call(t.Context(), through(t, steps)); out.Fault != "" {
				t.Fatalf("%s: %q %s", door, out.Fault, out.Detail)
			}
		}
		if after := descriptors(t); after > before {
			t.Errorf("%s: %d descriptors before, %d after", door, before, after)
		}
		closed(t, m)
	}
}

func TestFS9LargeFoldersAndDeepTreesAreBounded(t *testing.T) {
	l := newLab(t)
	const names, depth = 50_000, 300
	large, deep := t.TempDir(), t.TempDir()
	for i := range names {
		f, err := os.Create(filepath.Join(large, fmt.Sprintf("%d-%s", i, strings.Repeat("x", i%100))))
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(deep, strings.Repeat("d/", depth)), 0o755); err != nil {
		t.Fatal(err)
	}
	var made string
	grant := func(s *Source) {
		s.Policy.Grants.Read = []policy.Mount{{Host: large, Guest: "/large"}, {Host: deep, Guest: "/deep"}}
		s.Policy.Grants.Write = []policy.Mount{{Host: made, Guest: "/made"}}
		s.Policy.Limits.Timeout = time.Minute // each listing is a million calls of the host's system on a busy machine
	}
	l.answersAtDoors(t, grant, []doorStep{
		{Do: "list", FD: "/large", want: fmt.Sprint(names + 2)},
		{Do: "list", FD: "/large", want: fmt.Sprint(names + 2)},
		{Do: "dive", Dir: "/deep", Path: "d", want: fmt.Sprintf("errno %d at %d", wasiNametoolong, 129)},
		{Do: "dive", Dir: "/made", Path: "d", Flags: "create", want: fmt.Sprintf("errno %d at %d", wasiNametoolong, 129)},
		{Do: "dive", Dir: "/made", Path: "d", want: fmt.Sprintf("errno %d at %d", wasiNametoolong, 129)},
	}, func() { made = t.TempDir() })
	// One that jumps back and forth makes the host read all of it again each time,
	// and ends at its deadline all the same.
	for _, door := range doors() {
		l.suffers(t, attack{what: door + " jumps", src: short(doorSource(t, door, grant), within(time.Second)), want: []Fault{FaultTimeout}, on: func(m *Module) Outcome {
			return m.Call(t.Context(), through(t, []doorStep{{Do: "bounce", FD: "/large", N: names}}))
		}})
	}
}

func TestFS10InputIsEmptyAndOutputBounded(t *testing.T) {
	l := newLab(t)
	// What the reference host would print there.
	t.Setenv("EXTISM_ENABLE_WASI_OUTPUT", "1")
	printed, err := os.Create(filepath.Join(t.TempDir(), "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	for _, door := range doors() {
		steps := []doorStep{
			{Do: "write", FD: "err", Text: "first\n", want: "ok"},
			{Do: "write", FD: "err", N: 1 << 20, Times: 1 << 10, want: "ok"},
			{Do: "write", FD: "err", Text: "\nlast\n", want: "ok"},
		}
		if door == doorWASI { // its input is the request, of which nothing is left, and its output the answer
			steps = append(steps, doorStep{Do: "read", FD: "in", N: 9, want: `""`})
		} else {
			steps = append(steps, doorStep{Do: "read", FD: "in", N: 9, want: `""`}, doorStep{Do: "write", FD: "out", N: 1 << 20, Times: 1 << 10, want: "ok"})
		}
		var lines []string
		bytes := 0
		l.suffers(t, attack{what: door, src: doorSource(t, door, within(time.Minute)), want: well, on: func(m *Module) Outcome {
			os.Stdout, os.Stderr = printed, printed
			c := through(t, steps)
			c.Log = func(_ abiLevel, line string) {
				lines = append(lines, line)
				bytes += len(line)
			}
			out := m.Call(t.Context(), c)
			os.Stdout, os.Stderr = stdout, stderr
			for i, s := range steps {
				if got := strings.Split(said(out), "\n"); i >= len(got) || got[i] != s.want {
					t.Errorf("%s: %q", s, said(out))
				}
			}
			if !out.Receipt.LogsCut || out.Receipt.LogBytes != policy.Default().Limits.Logs {
				t.Errorf("%+v", out.Receipt)
			}
			return out
		}})
		// A byte that is written out takes up to eight.
		if len(lines) == 0 || lines[0] != "first" || !strings.Contains(lines[len(lines)-1], "dropped") || int64(bytes) > 10*policy.Default().Limits.Logs {
			t.Errorf("%s: %d lines with %d bytes, the last %.100q", door, len(lines), bytes, lines[max(0, len(lines)-1):])
		}
		if n := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "dropped") }); n != len(lines)-1 {
			t.Errorf("%s: more than one mark", door)
		}
	}
	l.suffers(t, attack{what: "a program's answer", src: doorSource(t, doorWASI), want: []Fault{FaultOutput}, on: func(m *Module) Outcome {
		return m.Call(t.Context(), through(t, []doorStep{{Do: "write", FD: "out", N: 1 << 20, Times: 1 << 10}}))
	}})
	// And a plugin as its kit made it.
	os.Stdout, os.Stderr = printed, printed
	m := load(t, l.engine, Source{Name: "println.wasm", Wasm: pdkPlugin(t, "println"), ABI: Extism, Policy: policy.Default()}, plainTool("run_test"))
	var lines []string
	out := m.Call(t.Context(), Call{Log: func(_ abiLevel, line string) { lines = append(lines, line) }})
	os.Stdout, os.Stderr = stdout, stderr
	if out.Fault != "" || len(lines) == 0 {
		t.Errorf("%q %q %q", out.Fault, said(out), lines)
	}
	if info, err := printed.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("guests printed %d bytes on the host's own output (%v)", info.Size(), err)
	}
}

// A plugin that was built with the unmodified kit for Rust, whose library names
// files in its own way.
func TestFS1ToFS6HoldForAPluginOfTheKit(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	p.link(t, "../outside/secret", "read/pre")
	p.link(t, "../outside/secret", "write/pre")
	if err := syscall.Mkfifo(filepath.Join(p.read, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(p.outside, "secret"), filepath.Join(p.write, "hard")); err != nil {
		t.Fatal(err)
	}
	before := tree(t, p.base)
	for _, c := range []struct{ function, path, says string }{
		{"try_read", "/docs/a.txt", "hello"},
		{"try_read", "/docs/../outside/secret", ""},
		{"try_read", "/etc/passwd", ""},
		{"try_read", filepath.Join(p.outside, "secret"), ""},
		{"try_read", "/docs/pre", ""},
		{"try_read", "/docs/fifo", ""},
		{"try_write", "/docs/a.txt", ""},
		{"try_write", "/docs/new", ""},
		{"try_write", "/out/../outside/secret", ""},
		{"try_write", "/out/pre", ""},
		{"try_write", "/out/hard", ""},
		{"try_write", "/out/.git", ""},
	} {
		src := Source{Name: "kit.wasm", Wasm: pdkPlugin(t, "read_write"), ABI: Extism, Text: false, Policy: policy.Default()}
		p.grant(&src)
		plainTool(c.function)(&src)
		var err error
		if src.Config, err = json.Marshal(map[string]string{"path": c.path}); err != nil {
			t.Fatal(err)
		}
		m := load(t, l.engine, src)
		out := m.Call(t.Context(), Call{Arguments: json.RawMessage(`"overwritten"`)})
		if ok := out.Fault == "" && !out.Result.IsError; ok != (c.says != "") || ok && said(out) != c.says || strings.Contains(said(out)+out.Detail, "canary") {
			t.Errorf("%s %s: %q %q %s", c.function, c.path, out.Fault, said(out), out.Detail)
		}
		closed(t, m)
	}
	same(t, p.base, before)
	l.works(t)
}

// What the host itself reads is in no folder that a tool may write, and .git is not
// made in one. See manifest for what is refused before a tool is loaded.
func TestThreat8GitIsNotMade(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	if err := os.MkdirAll(filepath.Join(p.write, "repo", ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.put(t, "write/repo/.git/config", "old")
	var steps []doorStep
	for _, name := range []string{".git", ".GIT", "repo/.git", ".git.", "git~1"} {
		steps = append(steps,
			doorStep{Do: "mkdir", Dir: "/out", Path: name, want: refused(wasiAcces)},
			doorStep{Do: "make", Dir: "/out", Path: name + "/config", want: refused(wasiAcces)},
			doorStep{Do: "open", Dir: "/out", Path: name + "/config", Flags: "truncate", want: refused(wasiAcces)},
			doorStep{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: name, want: refused(wasiAcces)},
			doorStep{Do: "rename", Dir: "/out", Path: name, To: "/out", Name: "mine", want: refused(wasiAcces)},
			doorStep{Do: "unlink", Dir: "/out", Path: name + "/config", want: refused(wasiAcces)},
		)
	}
	// Nor by way of the folder that is open already.
	steps = append(steps, doorStep{Do: "open", Dir: "/out", Path: "repo/.git", Flags: "dir", As: "git", want: "ok"},
		doorStep{Do: "make", Dir: "git", Path: "hooks/post-checkout", want: refused(wasiAcces)},
		doorStep{Do: "open", Dir: "git", Path: "config", As: "f", want: "ok"}, doorStep{Do: "read", FD: "f", N: 9, want: `"old"`})
	p.unchanged(t, l, steps)
}
