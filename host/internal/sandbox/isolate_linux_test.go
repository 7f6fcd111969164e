package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wagent-dev/wagent/host/internal/confine"
	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/policy"
)

// lookAround makes this process what runs guests, and has it say what it can do.
func lookAround() {
	if os.Args[1] == isolateArg {
		must(0, encloseGuests())
	}
	r := &robber{in: bufio.NewReader(os.Stdin), out: &sender{w: os.Stdout}}
	boundGuests(&loadOrder{Calls: 1, Policy: policy.Default()})
	must(0, confine.Calls())
	r.begin()
	text, err := json.Marshal(able())
	must(0, err)
	r.ends(string(text))
}

// able is what the process can do that it should not. A nil error is a success.
func able() []string {
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
	var out []string
	if n, err := writtenPages(); err != nil || n < 0 {
		out = append(out, fmt.Sprint("not see what it wrote: ", err))
	}
	for name, do := range map[string]func() error{
		"read the passwords":      func() error { _, err := os.ReadFile("/etc/passwd"); return err },
		"list the root":           func() error { _, err := os.ReadDir("/"); return err },
		"write to its folder":     func() error { return os.WriteFile("new", nil, 0o600) },
		"change the code":         changeCode,
		"leave its folder":        func() error { _, err := os.ReadDir(".."); return err },
		"make a temporary file":   func() error { _, err := os.CreateTemp("/tmp", "x"); return err },
		"write to another device": func() error { return os.WriteFile("/dev/shm/wagent-test", nil, 0o600) },
		"see the parent":          func() error { _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", parent)); return err },
		"read the parent's memory": func() error {
			_, err := os.Open(fmt.Sprintf("/proc/%d/mem", parent))
			return err
		},
		"dial":                 func() error { _, err := net.Dial("tcp", "127.0.0.1:1"); return notRefused(err) },
		"have a socket":        raw(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM),
		"start a process":      func() error { return exec.Command("/proc/self/exe").Run() },
		"fork":                 raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"signal the parent":    func() error { return unix.Kill(parent, 0) },
		"trace the parent":     func() error { return syscall.PtraceAttach(parent) },
		"take memory":          raw(unix.SYS_PROCESS_VM_READV, uintptr(parent)),
		"take a descriptor":    raw(unix.SYS_PIDFD_OPEN, uintptr(parent)),
		"be another user":      func() error { return unix.Setuid(12345) },
		"have more limits":     func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1000, Max: 1000}) },
		"open 100 descriptors": manyDescriptors,
		"have a terabyte that is not its own data": func() error {
			_, err := unix.MmapPtr(-1, 0, nil, 1<<40, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON|unix.MAP_NORESERVE)
			return err
		},
		"leave its group": func() error { _, err := unix.Setsid(); return err },
	} {
		if do() == nil {
			out = append(out, name)
		}
	}
	if env := os.Environ(); len(env) > 0 {
		out = append(out, fmt.Sprint("environment ", env))
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		out = append(out, "it can be traced")
	}
	return out
}

func notRefused(err error) error {
	if errors.Is(err, unix.ECONNREFUSED) {
		return nil // it went as far as that
	}
	return err
}

// changeCode opens the compiled code to write to it.
func changeCode() error {
	files, err := filepath.Glob("*/*")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there is no code: %w", err)
	}
	for _, f := range files {
		if h, err := os.OpenFile(f, os.O_WRONLY, 0); err == nil {
			return h.Close()
		}
	}
	return os.ErrPermission
}

func manyDescriptors() error {
	for range 100 {
		if _, err := syscall.Dup(0); err != nil {
			return err
		}
	}
	return nil
}

// ISO-8 and threat 13: what such a process can do of itself.
func TestISO8TheProcessOfGuestsReachesNothing(t *testing.T) {
	t.Setenv("WAGENT_TEST_SECRET", canary)
	kept, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	// As one that was open when this process was started: it goes on to others.
	passed, err := syscall.Dup(int(kept.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(passed)
	out := robbed(t, "look").Call(t.Context(), Call{Tool: "done"})
	if said(out) != "null" {
		t.Errorf("%q it can: %s %s", out.Fault, said(out), out.Detail)
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		t.Error("its parent can be traced")
	}
}

// status is a line of what the system says of a process.
func status(t *testing.T, pid int, field string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in %s", field, text)
	return ""
}

// writtenPages writes to memory that shows an image and puts it back. It is below 0
// if the kernel did not say what was written.
func writtenPages() (int, error) {
	img, err := linear.NewImage(bytes.Repeat([]byte{1}, 1<<16))
	if err != nil {
		return 0, err
	}
	r, err := linear.NewRange(img, 1<<16)
	if err != nil {
		return 0, errors.Join(err, img.Close())
	}
	r.Slice(1 << 16)[1]++
	n, err := r.Reset()
	return n, errors.Join(err, r.Close(), img.Close())
}

// ISO-8: a process that nobody can trace belongs to root in /proc. What it needs of
// itself it has all the same, whoever runs it.
func TestISO8AnotherUserHasItsProcessesToo(t *testing.T) {
	isolatedModule(t, newEngine(t), source(t, "done"))
	if n, err := writtenPages(); err != nil || n < 0 {
		t.Errorf("this process does not see what was written: %d %v", n, err)
	}
	if os.Getuid() != 0 {
		return // the whole test was that of another user
	}
	const nobody = 65534
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chown(at, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-test.v", "-test.run=^("+t.Name()+"|TestISO8TheProcessOfGuestsReachesNothing|TestISO8TheProcessHoldsNothing)$")
	cmd.Env = []string{"TMPDIR=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	said, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(said), "--- PASS") != 3 {
		t.Errorf("%v: %s", err, said)
	}
}

// ISO-8: the process of a real module has no environment and two pipes, and ends
// with the module.
func TestISO8TheProcessHoldsNothing(t *testing.T) {
	t.Setenv("WAGENT_TEST_SECRET", canary)
	m := isolatedModule(t, newEngine(t), source(t, "done"))
	if out := m.Call(t.Context(), Call{}); said(out) != "done" {
		t.Fatalf("%q %s", out.Fault, out.Detail)
	}
	pid := m.speaks.(*isolated).proc.cmd.Process.Pid
	shielded := func(err error) bool { return os.Getuid() != 0 && errors.Is(err, os.ErrPermission) }
	if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil && !shielded(err) || len(env) > 0 {
		t.Errorf("environment %q %v", env, err)
	}
	if s := status(t, pid, "Seccomp") + status(t, pid, "NoNewPrivs"); s != "21" {
		t.Errorf("filter and privileges: %s", s)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil && !shielded(err) {
		t.Fatal(err)
	}
	var open []string
	for _, f := range files {
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, f.Name()))
		kind, _, _ := strings.Cut(to, ":")
		open = append(open, strings.TrimSuffix(kind, " (deleted)"))
	}
	slices.Sort(open)
	if got := slices.Compact(open); !slices.Equal(got, slices.DeleteFunc(slices.Clone(got), func(s string) bool {
		return !slices.Contains([]string{"pipe", "anon_inode", "/memfd", "/proc/" + strconv.Itoa(pid) + "/pagemap"}, s)
	})) {
		t.Errorf("it has open %q", got)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("there are still %v", left)
	}
}

// ISO-8: a process that is killed in the middle of its calls ends them with a fault,
// and the next call has another.
func TestISO8AProcessThatIsKilledEndsItsCalls(t *testing.T) {
	m := isolatedModule(t, newEngine(t), source(t, "loop"), within(time.Minute))
	outs := make(chan Outcome)
	for range 3 {
		go func() { outs <- m.Call(t.Context(), Call{}) }()
	}
	p := m.speaks.(*isolated).proc
	inside(m)
	for {
		p.mu.Lock()
		n := len(p.calls)
		p.mu.Unlock()
		if n == 3 {
			break
		}
	}
	if err := syscall.Kill(p.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if out := <-outs; out.Fault != FaultInternal || !strings.Contains(said(out), "process") {
			t.Errorf("got %q %s", out.Fault, said(out))
		}
	}
	m.src.Policy.Limits.Timeout = 10 * time.Millisecond
	if out := m.Call(t.Context(), Call{}); out.Fault != FaultTimeout {
		t.Errorf("the next call: %q %s", out.Fault, out.Detail)
	}
	if n := len(children(t)); n != 1 {
		t.Errorf("there are %d processes", n)
	}
}

// orphanArg makes this process one that has an isolated module, says so, and waits.
const orphanArg = "--has-an-isolated-module"

// ISO-8: the process ends with the one that started it, however that ends.
func TestISO8TheProcessEndsWithItsParent(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "-test.run=^TestHasAnIsolatedModule$", "--", orphanArg)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscanf(lines.Text(), "process %d", &pid)
	}
	if pid == 0 {
		t.Fatal("it has no such module")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for start := time.Now(); syscall.Kill(pid, 0) == nil && !zombie(pid); {
		if time.Since(start) > endless {
			t.Fatal("the process goes on")
		}
	}
}

// zombie says that a process has ended and waits for somebody to see that.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

// TestHasAnIsolatedModule is the parent of TestISO8TheProcessEndsWithItsParent.
func TestHasAnIsolatedModule(t *testing.T) {
	if !slices.Contains(os.Args, orphanArg) {
		return
	}
	m := isolatedModule(t, newEngine(t), source(t, "done"))
	fmt.Println("process", m.speaks.(*isolated).proc.cmd.Process.Pid)
	select {}
}
