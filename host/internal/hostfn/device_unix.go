//go:build unix

package hostfn

import (
	"os"
	"syscall"
)

// identity tells a file from all others that there are.
type identity struct{ device, number uint64 }

// identityOf also returns how many names the file has.
func identityOf(f *os.File) (id identity, links uint64, err error) {
	var st syscall.Stat_t
	err = control(f, func(fd int) error { return syscall.Fstat(fd, &st) })
	return identity{uint64(st.Dev), uint64(st.Ino)}, uint64(st.Nlink), err
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
