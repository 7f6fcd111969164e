//go:build unix && !linux

package hostfn

import (
	"os"
	"syscall"
)

// device says which file system a file is on.
type device struct{ number uint64 }

func (d device) same(o device) bool { return d == o }

// pseudo is always false: what the kernel shows as files here is made of
// devices, which are refused one by one.
func (d device) pseudo() bool { return false }

func deviceOf(f *os.File) (device, error) {
	var st syscall.Stat_t
	err := control(f, func(fd int) error { return syscall.Fstat(fd, &st) })
	return device{number: uint64(st.Dev)}, err
}
