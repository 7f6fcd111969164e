package sandbox

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// surroundings is what a worker finds around it.
func surroundings() string {
	var open []string
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		kind, _, _ := strings.Cut(to, ":")
		// Go's runtime looks at the processors it may use, and waits in an epoll.
		if err == nil && kind != "anon_inode" && !strings.HasPrefix(kind, "/sys/fs/cgroup/") && !strings.HasPrefix(kind, "/proc/") {
			open = append(open, kind)
		}
	}
	var core syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &core); err != nil {
		panic(err)
	}
	return fmt.Sprintf("env=%q open=%q leader=%v core=%d", os.Environ(), open, syscall.Getpgrp() == os.Getpid(), core.Max)
}

func TestWorkerHasNothingOfItsParent(t *testing.T) {
	t.Setenv("WAGENT_TEST_SECRET", "secret")
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
	e, dir, _ := logged(t)
	e.workers.args = badWorkerArgs("look")
	checkRefused(t, e, dir, lined(dozen), LoadMalformed, `env=[] open=["pipe" "pipe" "pipe"] leader=true core=0`)
}

// CPU-7.
func TestModuleThatTakesMuchOfAProcessorToCompileIsStoppedAndNamed(t *testing.T) {
	e, dir, _ := logged(t)
	e.workers.fences = func(int) fences { return fences{time.Minute, time.Second, 4 * policy.GiB} }
	checkRefused(t, e, dir, lined(bomb), LoadTooLarge, "more than 1s of a processor", "1 (busy)")
}

// A table of the compiler may be made in one piece, between two looks.
func TestSystemBoundsTheMemoryOfTheCompiler(t *testing.T) {
	e, dir, _ := logged(t)
	e.workers.args = badWorkerArgs("hog")
	checkRefused(t, e, dir, lined(dozen), LoadTooLarge, "more memory than", "1 (busy)")
}

// children lists the processes that this one has started and that are not waited for.
func children(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // no process, or it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		var state string
		var parent int
		if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == os.Getpid() {
			found = append(found, "process "+e.Name())
		}
	}
	return found
}

// running says that a worker runs.
func running(t *testing.T) bool { return len(children(t)) > 0 }

// Threat 13, for the process that compiles: on a kernel that has the walls, none
// is missing, and it reports none.
func TestThreat13TheCompilerIsShutOffFromTheSystem(t *testing.T) {
	var log bytes.Buffer
	opts := &slog.HandlerOptions{Level: slog.LevelDebug}
	e := newEngineAt(t, Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Logger: slog.New(slog.NewTextHandler(&log, opts))})
	load(t, e, lined(dozen))
	if said := log.String(); !strings.Contains(said, "msg=compiled") || strings.Contains(said, "shut off") || strings.Contains(said, "in this process") {
		t.Errorf("this needs a kernel with Landlock and seccomp: %s", said)
	}
}
