package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

// A file that has a second name is changed under neither, whether the other lies
// outside of the folder or in it, and what a name stands for is not lost with it.
func TestThreat7NothingIsWrittenThroughAHardLink(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	p.put(t, "write/one", "both")
	if err := os.Mkdir(filepath.Join(p.write, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"outside/secret": "write/hard", "write/one": "write/sub/two", "read/a.txt": "other/hard"} {
		if err := os.Link(filepath.Join(p.base, from), filepath.Join(p.base, to)); err != nil {
			t.Fatal(err)
		}
	}
	var steps []doorStep
	for _, at := range [][2]string{{"/out", "hard"}, {"/out", "one"}, {"/out", "sub/two"}, {"/out2", "hard"}} {
		for _, s := range []doorStep{
			{Do: "open", Flags: "write"},
			{Do: "open", Flags: "truncate"},
			{Do: "open", Flags: "append"},
			{Do: "open", Flags: "create"},
			{Do: "open", Flags: "create truncate"},
			{Do: "make", N: 3},
			{Do: "settimes"},
		} {
			s.Dir, s.Path, s.want = at[0], at[1], refused(wasiAcces)
			steps = append(steps, s)
		}
		// What is open to be read is no way to write.
		steps = append(steps, doorStep{Do: "open", Dir: at[0], Path: at[1], As: "f", want: "ok"})
		for _, s := range []doorStep{{Do: "write", Text: "x"}, {Do: "pwrite", Text: "x"}, {Do: "resize"}, {Do: "allocate", N: 1 << 20}} {
			s.FD, s.want = "f", refused(wasiBadf)
			steps = append(steps, s)
		}
	}
	p.unchanged(t, l, steps)
	// A name may move, be replaced and go: the file has another.
	l.answersAt(t, []string{doorWASI}, p.grant, []doorStep{
		{Do: "rename", Dir: "/out", Path: "hard", To: "/out", Name: "moved", want: "ok"},
		{Do: "open", Dir: "/out", Path: "moved", Flags: "write", want: refused(wasiAcces)},
		{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: "moved", want: "ok"},
		{Do: "unlink", Dir: "/out2", Path: "hard", want: "ok"},
	}, nil)
	after := tree(t, p.base)
	if after["outside/secret"] != outsideCanary || after["read/a.txt"] != "hello" || after["write/moved"] != "old" {
		t.Errorf("%q", after)
	}
}

// What is mounted below a granted folder is not part of it: /dev/shm is another file
// system than /dev wherever there is one.
func TestThreat7AnotherDeviceIsNotReached(t *testing.T) {
	l := newLab(t)
	dir, err := os.MkdirTemp("/dev/shm", "wagent-test-")
	if err != nil {
		t.Fatalf("a test needs /dev/shm, mounted below /dev: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("there"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	below := "shm/" + filepath.Base(dir)
	var steps []doorStep
	for _, s := range []doorStep{
		{Do: "open", Path: "/a"},
		{Do: "open", Path: "/a", Flags: "write"},
		{Do: "open", Path: "/a", Flags: "truncate"},
		{Do: "open", Path: "", Flags: "dir"},
		{Do: "make", Path: "/b", N: 3},
		{Do: "mkdir", Path: "/b"},
		{Do: "unlink", Path: "/a"},
		{Do: "rmdir", Path: ""},
		{Do: "settimes", Path: "/a"},
		{Do: "settimes", Path: ""},
		{Do: "rename", Path: "/a", To: "/dev", Name: below + "/b"},
		{Do: "rename", Path: "/a", To: "/dev", Name: "wagent-test-moved"},
	} {
		s.Dir, s.Path, s.want = "/dev", below+s.Path, refused(wasiAcces)
		steps = append(steps, s)
	}
	l.answersAtDoors(t, func(s *Source) {
		s.Policy.Grants.Write = []policy.Mount{{Host: "/dev", Guest: "/dev"}}
	}, steps, nil)
	same(t, dir, before)
}

// A view of the kernel is no folder to write, by itself or below another.
func TestThreat7TheKernelIsNotWritten(t *testing.T) {
	l := newLab(t)
	writing := func(host string) func(*Source) {
		return func(s *Source) { s.Policy.Grants.Write = []policy.Mount{{Host: host, Guest: "/root"}} }
	}
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	// What holds the code of the host is not granted to be written, so no grant has the
	// kernel's views below it but one of their neighbours.
	for _, e := range []*Engine{l.engine, newEngineAt(t, Options{})} {
		src := doorSource(t, doorWASI, writing("/"))
		if _, err := e.Load(t.Context(), src); err == nil || !strings.Contains(err.Error(), "granted as /root holds") {
			t.Errorf("the root of the file system: %v", err)
		}
	}
	steps := []doorStep{
		{Do: "mkdir", Dir: "/root", Path: "pts/x", want: refused(wasiAcces)},
		{Do: "make", Dir: "/root", Path: "pts/x", want: refused(wasiAcces)},
		{Do: "unlink", Dir: "/root", Path: "pts/ptmx", want: refused(wasiAcces)},
	}
	l.answersAt(t, []string{doorWASI}, writing("/dev"), steps, nil)
	for _, dir := range []string{"/proc", "/proc/self", "/sys", "/sys/kernel", "/dev/pts"} {
		for _, door := range doors() {
			l.suffers(t, attack{what: door + " " + dir, src: doorSource(t, door, writing(dir)), want: []Fault{FaultDenied}, call: through(t, nil)})
		}
	}
	if after, err := os.ReadFile("/proc/self/comm"); err != nil || string(after) != string(name) {
		t.Errorf("this process has the name %q (%v), and had %q", after, err, name)
	}
}

// What a file took is given back when the disk is free of it: not with its name,
// but with the last descriptor that the call has of it.
func TestThreat7QuotaComesBackWithTheLastDescriptor(t *testing.T) {
	l := newLab(t)
	var p premises
	const piece = 64 << 10
	grant := func(s *Source) {
		p.grant(s)
		s.Policy.Limits.Files = policy.FileLimits{Bytes: 16 * piece, Count: 2, Open: 10}
	}
	fill := func(fd string) doorStep {
		return doorStep{Do: "write", FD: fd, N: piece, Times: 17, want: refusedAfter(wasiNospc, 16)}
	}
	open := func(path, flags, as string) doorStep {
		return doorStep{Do: "open", Dir: "/out", Path: path, Flags: flags, As: as, want: "ok"}
	}
	full := func(fd string) doorStep {
		return doorStep{Do: "write", FD: fd, Text: "x", want: refused(wasiNospc)}
	}
	closing := func(fd string) doorStep { return doorStep{Do: "close", FD: fd, want: "ok"} }
	for what, steps := range map[string][]doorStep{
		"removed": {
			open("f", "create", "a"), open("f", "write", "b"), open("f", "", "c"), open("g", "create", "g"), fill("a"),
			{Do: "unlink", Dir: "/out", Path: "f", want: "ok"},
			full("g"),
			{Do: "make", Dir: "/out", Path: "h", want: refused(wasiNospc)},
			closing("a"), full("g"), closing("c"), full("b"), closing("b"), fill("g"),
			{Do: "make", Dir: "/out", Path: "h", want: "ok"},
		},
		"replaced": {
			open("f", "create", "a"), open("g", "create", "g"), fill("a"),
			{Do: "rename", Dir: "/out", Path: "g", To: "/out", Name: "f", want: "ok"},
			full("g"), closing("a"), fill("g"),
		},
		"by another number": {
			open("f", "create", "a"), open("g", "create", "g"), fill("a"),
			{Do: "unlink", Dir: "/out", Path: "f", want: "ok"},
			full("g"),
			{Do: "renumber", FD: "g", To: "a", want: "ok"},
			fill("a"),
		},
		"not of what was there before": {
			open("old.txt", "append", "a"), open("g", "create", "g"), fill("a"),
			{Do: "unlink", Dir: "/out", Path: "old.txt", want: "ok"},
			closing("a"), full("g"),
		},
	} {
		t.Run(what, func(t *testing.T) { l.answersAtDoors(t, grant, steps, func() { p = newPremises(t) }) })
	}
}
