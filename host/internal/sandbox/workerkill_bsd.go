//go:build unix && !linux

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
)

func program() (string, error) { return os.Executable() }

// detach puts cmd into a group of its own, which no terminal interrupts. That it
// ends with this process it sees to itself.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
