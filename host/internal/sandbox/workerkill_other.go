//go:build !unix

package sandbox

import (
	"os"
	"os/exec"
)

func program() (string, error) { return os.Executable() }

func detach(*exec.Cmd) {}

// kill ends cmd. It starts no processes that would have to end with it.
func polled(f *os.File) *os.File { return f }

func kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// killed says that cmd did not end by itself.
func killed(*os.ProcessState) bool { return false }
