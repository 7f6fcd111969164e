package main

import (
	"os"
	"syscall"
)

// lost says that what is written to f goes nowhere without anybody having said so:
// a descriptor that was closed is opened by Go's runtime, before we run, as
// /dev/null for reading and writing. Some programs that start others open it in
// the same way to throw output away, so this is worth a warning and no more.
func lost(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(null, info) {
		return err != nil
	}
	flags, _, failed := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFL, 0)
	return failed == 0 && flags&syscall.O_ACCMODE == syscall.O_RDWR
}
