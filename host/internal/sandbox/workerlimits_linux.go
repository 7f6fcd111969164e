package sandbox

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wagent-dev/wagent/host/internal/confine"
	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/policy"
)

// What the system allows beyond the limits at which the worker ends itself, and can
// say why.
const (
	memorySlack = 256 << 20
	timeSlack   = 5 // seconds
)

// bound gives a worker limits of the system. What fails here is not there to be
// had; the parent's own limits hold anyway.
func bound(o order) {
	closeInherited()
	set := func(resource int, soft, hard uint64) {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: soft, Max: hard})
	}
	spent := make(chan os.Signal, 1)
	signal.Notify(spent, syscall.SIGXCPU)
	go func() { <-spent; os.Exit(exitTime) }()
	cpu := uint64((o.CPU + time.Second - 1) / time.Second)
	set(unix.RLIMIT_CPU, cpu, cpu+timeSlack)
	set(unix.RLIMIT_CORE, 0, 0)
	set(unix.RLIMIT_FSIZE, uint64(o.Memory), uint64(o.Memory))
	data := statusSize("VmData") + uint64(o.Memory) + memorySlack
	set(unix.RLIMIT_DATA, data, data)
}

// boundGuests gives a process that runs guests limits of the system: what their
// memories and stacks may take and the process itself, no file, few descriptors.
func boundGuests(o *loadOrder) {
	closeInherited()
	linear.Prepare()
	confine.Shield()
	set := func(resource int, limit uint64) {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit})
	}
	l := o.Policy.Limits
	guests := uint64(o.Calls+maxIdle) * uint64(l.Memory+stackLimit(l.Memory)+o.Tables+extismKernel)
	set(unix.RLIMIT_CORE, 0)
	set(unix.RLIMIT_NOFILE, guestsFiles)
	set(unix.RLIMIT_FSIZE, uint64(l.Memory)) // of images, which have no name
	more := uint64(guestsMemory) + memorySlack + guests
	set(unix.RLIMIT_DATA, statusSize("VmData")+more)
	// Memory that is shared, or that of a file without a name, is not data.
	set(unix.RLIMIT_AS, statusSize("VmSize")+more+uint64(mapped)+4*uint64(l.Memory))
}

// mapped is what of the addresses of a process that runs guests may be no data: its
// code, and what Go's runtime reserves ahead.
const mapped = 2 * policy.GiB

// guestsFiles is how many descriptors a process that runs guests may have: its
// pipes, its code while that is loaded, two images, and what Go's runtime takes.
const guestsFiles = 64

// enclose takes from a worker all files but those of its folder, and executes it
// again. It returns why that cannot be.
func enclose() error {
	return encloseIn(confine.Paths{Read: []string{"/proc/self"}, Write: []string{"."}}, enclosedArg)
}

// encloseGuests does the same to a process that runs guests, which has its folder to
// read.
func encloseGuests() error {
	return encloseIn(confine.Paths{Read: []string{"/proc/self", "."}}, isolateEnclosedArg)
}

func encloseIn(left confine.Paths, arg string) error {
	closeInherited()
	runtime.LockOSThread() // Landlock is of the thread, and of what it executes
	defer runtime.UnlockOSThread()
	const self = "/proc/self/exe"
	left.Run = append(confine.Libraries(), self)
	if err := confine.Files(left); err != nil {
		return err
	}
	return unix.Exec(self, []string{os.Args[0], arg}, nil)
}

// closeInherited closes the descriptors that somebody above us left open: all
// that Go opens are closed when a process is started, so the ones that came
// through are without that flag.
func closeInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// statusSize is how much memory of a kind the process has at its start, as the system
// counts it: under the race detector that is a multiple of what there is.
func statusSize(kind string) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\n"+kind+":"))
	kb, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	n, _ := strconv.ParseUint(string(kb), 10, 63)
	return n << 10
}
