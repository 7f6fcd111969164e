package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

const badWorkerArg = "--bad-worker="

func badWorkerArgs(how string) []string { return []string{os.Args[0], badWorkerArg + how} }

// badWorker makes this process a worker that does something else.
func badWorker() {
	how, ok := strings.CutPrefix(os.Args[len(os.Args)-1], badWorkerArg)
	if !ok {
		return
	}
	if how == "mute" {
		fmt.Println("hello")
		os.Exit(0)
	}
	fmt.Println(workerGreeting)
	var o order
	r := bufio.NewReader(os.Stdin)
	line, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, r, o.Size)
	}
	if err != nil {
		panic(err)
	}
	var said report
	switch how {
	case "panic":
		go panic("out of cheese")
		select {}
	case "exit":
		os.Exit(9)
	case "hog":
		confine(o)
		hog := make([]byte, 4<<30)
		for i := range hog {
			hog[i] = 1
		}
	case "full":
		said.Unkept = "no space left on device"
	case "look":
		confine(o)
		said.Refused = surroundings()
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
	os.Exit(0)
}

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

// A worker ends with its parent, also where the system does not see to it.
func TestWorkerEndsWhenItsParentHasGone(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, workerArg)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wasm := straight(bomb)
	o := order{Size: int64(len(wasm)), Memory: 4 * policy.GiB, CPU: time.Minute, Workers: 1}
	if err := json.NewEncoder(in).Encode(o); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(wasm); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitOrphan || time.Since(began) > killing {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestWorkerThatIsToldNothingEnds(t *testing.T) {
	for _, told := range []string{"", "\n", "{\n", `{"Size":10,"Memory":1073741824,"CPU":1000000000}` + "\nshort"} {
		path, err := program()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), path, workerArg)
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(told)
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitUnheard {
			t.Errorf("%q: %v", told, err)
		}
	}
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

// awaitChild blocks until a worker runs. A minute is more than a loaded machine
// takes to write two megabytes anew.
func awaitChild(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(children(t)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("no worker was started")
		}
		time.Sleep(time.Millisecond) // polls the system, and decides nothing
	}
}
