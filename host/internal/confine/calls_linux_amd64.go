package confine

import "golang.org/x/sys/unix"

func auditArch() (uint32, bool) { return unix.AUDIT_ARCH_X86_64, true }

// foreignCalls is where the numbers of another ABI begin, that of x32.
func foreignCalls() uint32 { return 0x40000000 }

// olderCalls are those that newer processors do not have.
func olderCalls() []uint32 {
	return []uint32{
		unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_MKNOD, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB,
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT, unix.SYS_INOTIFY_INIT,
	}
}
