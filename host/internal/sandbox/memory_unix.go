//go:build unix

package sandbox

import "syscall"

// hold makes sure that size bytes are there. Pages that are not written cost
// nothing.
func (l *linear) hold(uint64) bool {
	if l.reserved != nil || l.most == 0 {
		return true
	}
	b, err := syscall.Mmap(-1, 0, int(l.most), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return false
	}
	l.reserved = b
	return true
}

func release(b []byte) {
	if b != nil {
		// The range came from Mmap as it is, so this cannot fail.
		_ = syscall.Munmap(b)
	}
}
