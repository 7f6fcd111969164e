//go:build unix

package hostfn

import (
	"os"
	"syscall"
)

// linksOf returns how many names the file has.
func linksOf(f *os.File) (uint64, error) {
	var st syscall.Stat_t
	err := control(f, func(fd int) error { return syscall.Fstat(fd, &st) })
	return uint64(st.Nlink), err
}

// control runs do on the descriptor, without changing how f uses it.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}
