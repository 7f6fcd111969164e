//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

// kill ends cmd and all of its group.
func kill(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// killed says that the system ended the process at once.
func killed(s *os.ProcessState) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}
