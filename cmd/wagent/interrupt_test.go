package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// build builds the command as a user would.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "wagent")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

const interruptible = `version: 1
model: {name: scripted, base_url: "${BASE_URL}"}
tools:
  - module: ${MODULES}/loop.wasm
    limits: {timeout: 1m}
`

// started is a real process in the middle of a run.
type started struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr shared
}

// shared is a buffer that is read while a process writes it.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *shared) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *shared) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func start(t *testing.T, turns ...modeltest.Turn) *started {
	t.Helper()
	dir := t.TempDir()
	end := modeltest.Server(t, turns...)
	if err := os.WriteFile(filepath.Join(dir, "wagent.yaml"), []byte(interruptible), 0o600); err != nil {
		t.Fatal(err)
	}
	return spawn(t, dir, []string{"BASE_URL=" + end.URL}, build(t), "run", "-o", "json", "go")
}

// spawn starts a process in dir.
func spawn(t *testing.T, dir string, env []string, args ...string) *started {
	t.Helper()
	s := &started{cmd: exec.CommandContext(t.Context(), args[0], args[1:]...)}
	s.cmd.Dir = dir
	s.cmd.Env = append(append(os.Environ(), env...), "MODULES="+modules(t), "XDG_CACHE_HOME="+dir)
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func modules(t *testing.T) string { return filepath.Join(root(t), "testdata", "wasm") }

// interrupt sends the signal and returns the exit status and how long it took.
func (s *started) interrupt(t *testing.T) (int, time.Duration) {
	t.Helper()
	began := time.Now()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := s.cmd.Wait()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("%v\n%s", err, s.stderr.String())
	}
	return exit.ExitCode(), time.Since(began)
}

func TestAnInterruptEndsAModelCallWithAResult(t *testing.T) {
	hang := modeltest.Hang()
	hang.Arrived = make(chan struct{})
	s := start(t, hang)
	<-hang.Arrived
	s.checkInterrupted(t, 0)
}

func TestAnInterruptStopsARunningGuest(t *testing.T) {
	asked := modeltest.Calls(modeltest.Call("loop", "{}"))
	s := start(t, asked)
	// The guest spins for a minute; the process prints the call before it makes it.
	s.waitFor(t, "→ loop")
	s.checkInterrupted(t, 1)
}

// waitFor blocks until standard error holds text. Half a minute is more than a
// loaded machine takes to start a process and compile 500 bytes.
func (s *started) waitFor(t *testing.T, text string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(s.stderr.String(), text) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in:\n%s", text, s.stderr.String())
		}
		time.Sleep(5 * time.Millisecond) // polls a process, and decides nothing
	}
}

func (s *started) checkInterrupted(t *testing.T, steps int) {
	t.Helper()
	code, took := s.interrupt(t)
	if code != exitInterrupted {
		t.Errorf("exit status %d, want %d\n%s", code, exitInterrupted, s.stderr.String())
	}
	// 100 ms is what the loop promises; the rest is a loaded machine.
	if took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	var r run.Result
	if err := json.Unmarshal(s.stdout.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, s.stdout.String())
	}
	if r.ExitReason != run.ExitInterrupted || len(r.Steps) != steps {
		t.Errorf("result is %+v", r)
	}
	for _, step := range r.Steps {
		if step.ErrorKind != run.KindCancelled {
			t.Errorf("step is %+v", step)
		}
	}
}

func TestAnInterruptStopsACallOfOneTool(t *testing.T) {
	s := spawn(t, t.TempDir(), nil, build(t), "tools", "call", "-vv", filepath.Join(modules(t), "loop.wasm"), "loop", "--timeout", "1m")
	s.waitFor(t, "msg=calling")
	code, took := s.interrupt(t)
	if code != exitInterrupted || took > 2*time.Second || !strings.Contains(s.stderr.String(), "wagent: interrupted\n") {
		t.Errorf("exit status %d after %s\n%s", code, took, s.stderr.String())
	}
}

// stubborn is a command that goes on after its first interrupt.
func stubborn() {
	ctx, stop := withInterrupt(context.Background())
	defer stop()
	fmt.Fprintln(os.Stderr, "ready")
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "once")
	select {}
}

func TestASecondInterruptEndsTheProcessAtOnce(t *testing.T) {
	bin, err := exec.LookPath("stubborn")
	if err != nil {
		t.Fatal(err)
	}
	s := spawn(t, t.TempDir(), nil, bin)
	s.waitFor(t, "ready")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.waitFor(t, "once")
	if code, took := s.interrupt(t); code != exitInterrupted || took > 2*time.Second {
		t.Errorf("exit status %d after %s", code, took)
	}
}
