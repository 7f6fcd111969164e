package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The test binary is also the process that is confined: a first time it takes the
// files from itself and executes itself, a second time it tries what is left.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 {
		switch dir := os.Args[2]; os.Args[1] {
		case "confined-files":
			runtime.LockOSThread()
			must(Files(Paths{Run: append(Libraries(), "/proc/self/exe"), Read: []string{"/proc/self"}, Write: []string{dir}}))
			must(unix.Exec("/proc/self/exe", []string{os.Args[0], "confined", dir}, nil))
		case "confined":
			must(Calls())
			must(json.NewEncoder(os.Stdout).Encode(tried(dir)))
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tried is what a confined process can do, by what the errors say; "" is success.
func tried(dir string) map[string]string {
	parent := os.Getppid()
	raw := func(n uintptr, a ...uintptr) func() error {
		return func() error {
			a := append(a, make([]uintptr, 6-len(a))...)
			if _, _, errno := unix.Syscall6(n, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	read := func(path string) func() error {
		return func() error { _, err := os.ReadFile(path); return err }
	}
	out := make(map[string]string)
	for name, do := range map[string]func() error{
		"write inside":           func() error { return os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600) },
		"rename inside":          func() error { return os.Rename(filepath.Join(dir, "there"), filepath.Join(dir, "moved")) },
		"own status":             read("/proc/self/status"),
		"goroutines and threads": manyThreads,
		"own signal":             func() error { return unix.Kill(os.Getpid(), 0) },

		"write outside":            func() error { return os.WriteFile(filepath.Join(dir, "..", "file"), nil, 0o600) },
		"read outside":             read(filepath.Join(dir, "..", "secret")),
		"passwords":                read("/etc/passwd"),
		"list the root":            func() error { _, err := os.ReadDir("/"); return err },
		"environment of another":   read(fmt.Sprintf("/proc/%d/environ", parent)),
		"link out":                 func() error { return os.Symlink("/etc/passwd", filepath.Join(dir, "link")) },
		"read through a link":      read(filepath.Join(dir, "out")),
		"socket":                   func() error { _, err := net.Dial("udp", "127.0.0.1:9"); return err },
		"listen":                   func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"start a process":          func() error { return exec.Command("/proc/self/exe").Run() },
		"fork":                     raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"signal another":           func() error { return unix.Kill(parent, 0) },
		"trace another":            func() error { return syscall.PtraceAttach(parent) },
		"memory of another":        raw(unix.SYS_PROCESS_VM_READV, uintptr(parent)),
		"a descriptor of another":  raw(unix.SYS_PIDFD_OPEN, uintptr(parent)),
		"an io_uring":              raw(unix.SYS_IO_URING_SETUP, 8, 0),
		"a program for the kernel": raw(unix.SYS_BPF),
		"mode of a file outside":   func() error { return os.Chmod(filepath.Join(dir, "..", "secret"), 0o777) },
		"owner of a file outside":  func() error { return os.Chown(filepath.Join(dir, "..", "secret"), os.Getuid(), os.Getgid()) },
		"times of a file outside": func() error {
			return os.Chtimes(filepath.Join(dir, "..", "secret"), time.Unix(1, 0), time.Unix(1, 0))
		},
		"attributes of a file outside": func() error { return unix.Setxattr(filepath.Join(dir, "..", "secret"), "user.wagent", []byte("x"), 0) },
		"size of a file outside":       func() error { return unix.Truncate(filepath.Join(dir, "..", "secret"), 0) },
		"watch a folder outside": func() error {
			fd, err := unix.InotifyInit1(0)
			if err == nil {
				_, err = unix.InotifyAddWatch(fd, filepath.Join(dir, ".."), unix.IN_ALL_EVENTS)
			}
			return err
		},
		"processors of another":         func() error { return unix.SchedSetaffinity(parent, &unix.CPUSet{1}) },
		"schedule of another":           raw(unix.SYS_SCHED_SETSCHEDULER, uintptr(parent), 0, uintptr(unsafe.Pointer(new(int32)))),
		"disk of another":               raw(unix.SYS_IOPRIO_SET, 1, uintptr(parent), 2<<13|7),
		"raise a limit":                 raw(unix.SYS_SETRLIMIT, unix.RLIMIT_CORE, uintptr(unsafe.Pointer(&unix.Rlimit{}))),
		"have another signalled":        func() error { _, err := unix.FcntlInt(0, unix.F_SETOWN, parent); return err },
		"have another signalled, newer": raw(unix.SYS_FCNTL, 0, unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&[2]int32{1, int32(parent)}))),
		"choose the signal":             func() error { _, err := unix.FcntlInt(0, unix.F_SETSIG, int(unix.SIGKILL)); return err },
		"live on without a parent":      func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) },
		"another user":                  func() error { return unix.Setuid(12345) },
		"more limits":                   func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}) },
	} {
		out[name] = ""
		if err := do(); err != nil {
			out[name] = err.Error()
		}
	}
	return out
}

// manyThreads needs new threads of the process.
func manyThreads() error {
	done := make(chan struct{})
	for range 20 {
		go func() {
			runtime.LockOSThread()
			runtime.GC()
			done <- struct{}{}
		}()
	}
	for range 20 {
		select {
		case <-done:
		case <-time.After(time.Minute):
			return errors.New("threads do not run")
		}
	}
	return nil
}

// allowed is what has to go on working.
var allowed = []string{"write inside", "rename inside", "own status", "goroutines and threads", "own signal"}

func TestAConfinedProcessReachesNothing(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "inside")
	for _, err := range []error{
		os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(root, "secret"), []byte("canary"), 0o600),
		os.WriteFile(filepath.Join(dir, "there"), nil, 0o600),
		os.Symlink(filepath.Join(root, "secret"), filepath.Join(dir, "out")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "confined-files", dir)
	cmd.Env = []string{}
	var said strings.Builder
	cmd.Stderr = &said
	b, err := cmd.Output()
	if strings.Contains(said.String(), ErrUnsupported.Error()) {
		t.Fatalf("this test needs a kernel with Landlock and seccomp: %s", said.String())
	}
	var got map[string]string
	if err != nil || json.Unmarshal(b, &got) != nil {
		t.Fatalf("%v: %s %s", err, b, said.String())
	}
	if len(got) < 20 {
		t.Errorf("only %d things were tried", len(got))
	}
	for name, problem := range got {
		if slices.Contains(allowed, name) != (problem == "") {
			t.Errorf("%s: %q", name, problem)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "file")); err == nil {
		t.Error("a file outside was written")
	}
}

// An older kernel takes less, and no bit that it does not know.
func TestEachVersionOfLandlockKnowsItsBits(t *testing.T) {
	known := map[int]int{1: 13, 2: 14, 3: 15, 4: 15, 5: 16, 6: 16, 7: 16}
	for version, bits := range known {
		h := handledBy(version)
		if h.files != 1<<bits-1 || (h.net != 0) != (version >= 4) || (h.scoped != 0) != (version >= 6) {
			t.Errorf("version %d: %+v", version, h)
		}
	}
	if rest := uint64(folderWrite|folderRun) &^ handledBy(7).files; rest != 0 {
		t.Errorf("a rule leaves what is not taken: %b", rest)
	}
}
