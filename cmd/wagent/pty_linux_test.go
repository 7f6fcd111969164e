package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/visible"
)

// ioctl makes one of a terminal's own calls.
func ioctl(t *testing.T, f *os.File, call uintptr, arg unsafe.Pointer) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed syscall.Errno
	err = conn.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, call, uintptr(arg))
	})
	if err != nil || failed != 0 {
		t.Fatal(err, failed)
	}
}

// openTerminal opens a pseudo-terminal with so many columns: the end that a
// program has, and the one where the person sits.
func openTerminal(t *testing.T, columns uint16) (program, person *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var unlock int32
	var number uint32
	ioctl(t, person, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, person, syscall.TIOCGPTN, unsafe.Pointer(&number))
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	size := [4]uint16{24, columns}
	ioctl(t, program, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	return program, person
}

const onTerminal = `version: 1
model: {name: scripted, base_url: "${BASE_URL}"}
tools:
  - module: ${MODULES}/trap.wasm
`

// sitting is a person at a terminal where a run is under way.
type sitting struct {
	cmd    *exec.Cmd
	person *os.File
	seen   chan []byte // everything that was written, once the run has ended
}

// sit starts wagent run on a terminal of its own.
func sit(t *testing.T, columns uint16, env []string, turns ...modeltest.Turn) *sitting {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wagent.yaml"), []byte(onTerminal), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := exec.LookPath("wagent")
	if err != nil {
		t.Fatal(err)
	}
	program, person := openTerminal(t, columns)
	s := &sitting{cmd: exec.CommandContext(t.Context(), bin, "run", "go"), person: person, seen: make(chan []byte, 1)}
	s.cmd.Dir = dir
	s.cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "XDG_CACHE_HOME="+dir,
		"BASE_URL="+modeltest.Server(t, turns...).URL, "MODULES="+modules(t))
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = program, program, program
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := program.Close(); err != nil {
		t.Fatal(err)
	}
	go func() {
		all, _ := io.ReadAll(person) // ends with an error when nobody has the other end
		s.seen <- all
	}()
	return s
}

// leave waits for the end of the run and returns its exit status and all that the
// terminal was sent, with the line ends of the program.
func (s *sitting) leave(t *testing.T) (int, *bytes.Buffer) {
	t.Helper()
	code := 0
	if err := s.cmd.Wait(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			t.Fatal(err)
		}
		code = exit.ExitCode()
	}
	return code, bytes.NewBuffer(bytes.ReplaceAll(<-s.seen, []byte("\r\n"), []byte("\n")))
}

func TestATerminalHasALiveLineAndColoursAndNoOneElsesEscapes(t *testing.T) {
	turns := func() []modeltest.Turn {
		return []modeltest.Turn{modeltest.Calls(modeltest.Call("trap", "{}")), modeltest.Text("clear\x1b[2J\u009b31m")}
	}
	const want = `→ trap {}
✗ trap: trap: the tool crashed (unreachable): panic: out of \u{1b}[31mcheese  RECEIPT
clear\u{1b}[2J\u{9b}31m
2 steps, 1 tool call, N tokens
`
	receipt, tokens := regexp.MustCompile(`  [0-9.]+ m?s, .*`), regexp.MustCompile(`[0-9]+ tokens`)
	for _, c := range []struct {
		name  string
		env   []string
		plain bool
	}{
		{"colours", nil, false},
		{"NO_COLOR", []string{"NO_COLOR=1"}, true},
		{"dumb", []string{"TERM=dumb"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, tty := sit(t, 20, c.env, turns()...).leave(t)
			if code != exitOK {
				t.Errorf("exit status %d", code)
			}
			left := tokens.ReplaceAllString(receipt.ReplaceAllString(shown(tty), "  RECEIPT"), "N tokens")
			if diff := cmp.Diff(want, left); diff != "" {
				t.Error(diff)
			}
			for _, ours := range []string{
				`\r\x1b\[K\x1b\[2m. waiting for the …\x1b\[0m`, // as long as 20 columns allow
				`\r\x1b\[K\x1b\[2m. trap [0-9.]+s\x1b\[0m`,
				`\x1b\[31m✗ \x1b\[0mtrap: \x1b\[31mtrap\x1b\[0m`,
			} {
				if regexp.MustCompile(ours).MatchString(tty.String()) == c.plain {
					t.Errorf("plain is %v, and for %s it is not so in %q", c.plain, ours, tty)
				}
			}
			rest := regexp.MustCompile(`\r\x1b\[K|\x1b\[[0-9]*m|\n`).ReplaceAllString(tty.String(), "")
			if c.plain {
				rest = strings.ReplaceAll(tty.String(), "\n", "")
			}
			if i := strings.IndexFunc(rest, visible.Hidden); i >= 0 {
				t.Errorf("an escape that is not ours at %d of %q", i, rest)
			}
		})
	}
}

func TestCtrlCLeavesNoLiveLine(t *testing.T) {
	hang := modeltest.Hang()
	hang.Arrived = make(chan struct{})
	s := sit(t, 80, nil, hang)
	<-hang.Arrived
	if _, err := s.person.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	code, tty := s.leave(t)
	if !strings.Contains(tty.String(), " waiting for the model ") {
		t.Errorf("there was no live line: %q", tty)
	}
	if diff := cmp.Diff("wagent: interrupted\n", shown(tty)); diff != "" || code != exitInterrupted {
		t.Errorf("exit status %d: %s", code, diff)
	}
}
