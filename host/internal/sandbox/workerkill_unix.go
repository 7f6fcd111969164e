//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

// polled is f, read in a way that leaves the processor to others: a goroutine that
// reads a file in the system keeps it for milliseconds from one that is to go on.
func polled(f *os.File) *os.File {
	if syscall.SetNonblock(int(f.Fd()), true) != nil {
		return f
	}
	return os.NewFile(f.Fd(), f.Name())
}

// kill ends cmd and all of its group.
func kill(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// killed says that the system ended the process at once.
func killed(s *os.ProcessState) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == syscall.SIGKILL
}
