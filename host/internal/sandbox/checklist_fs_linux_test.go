package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/wagent-dev/wagent/host/policy"
)

// watch returns what is asked at the end: the names that were opened, read or
// changed in a folder since.
func watch(t *testing.T, dir string) func() []string {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_ALL_EVENTS); err != nil {
		t.Fatal(err)
	}
	return func() (names []string) {
		buf := make([]byte, 64<<10)
		for {
			n, err := syscall.Read(fd, buf)
			if err != nil || n <= 0 {
				return names
			}
			for at := 0; at < n; {
				e := (*syscall.InotifyEvent)(unsafe.Pointer(&buf[at]))
				at += syscall.SizeofInotifyEvent
				names = append(names, strings.TrimRight(string(buf[at:at+int(e.Len)]), "\x00"))
				at += int(e.Len)
			}
		}
	}
}

func TestFS1NamesThatLeadOutAreRefused(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	touched := watch(t, p.outside)
	if _, err := os.ReadFile(filepath.Join(p.outside, "secret")); err != nil || len(touched()) == 0 {
		t.Fatalf("opening a file outside is not noticed (%v)", err)
	}
	before := tree(t, p.base)
	touched()
	l.answersAtDoors(t, p.grant, stepsThatLeadOut(), nil)
	if names := touched(); len(names) > 0 {
		t.Errorf("outside of the folders these were touched: %q", names)
	}
	same(t, p.base, before)
}

func TestFS5ViewsOfTheKernelAreRefused(t *testing.T) {
	l := newLab(t)
	var steps []doorStep
	for _, name := range []string{"proc/self/environ", "proc/self/fd/0", "proc/version", "sys/kernel/uevent_seqnum", "dev/pts/ptmx"} {
		steps = append(steps, doorStep{Do: "open", Dir: "/root", Path: name, want: refused(wasiAcces)})
	}
	for _, name := range []string{"proc", "sys", "dev/pts"} {
		steps = append(steps, doorStep{Do: "open", Dir: "/root", Path: name, Flags: "dir", want: refused(wasiAcces)})
	}
	at := func(host string) func(*Source) {
		return func(s *Source) { s.Policy.Grants.Read = []policy.Mount{{Host: host, Guest: "/root"}} }
	}
	// The cache of compiled code lies below it, so this engine has none, and one
	// door is enough for what takes long to compile.
	bare := &lab{engine: newEngineAt(t, Options{})}
	bare.good = load(t, bare.engine, source(t, "done"))
	bare.answersAt(t, []string{doorWASI}, at("/"), steps, nil)
	for _, dir := range []string{"/proc", "/proc/self", "/proc/self/fd", "/sys", "/dev/pts"} {
		for _, door := range doors() {
			l.suffers(t, attack{what: door + " " + dir, src: doorSource(t, door, at(dir)), want: []Fault{FaultDenied}, call: through(t, nil)})
		}
	}
}
