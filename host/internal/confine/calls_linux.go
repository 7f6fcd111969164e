package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Calls leaves the process, with all of its threads, no call of the system by which
// it could reach another process, the network, or more of the kernel than its work
// needs: such a call is EPERM. It can start no process any more. The error is
// [ErrUnsupported] where the kernel has no filters, or none for this processor.
func Calls() error {
	arch, ok := auditArch()
	if !ok {
		return fmt.Errorf("seccomp: %w: not for this processor", ErrUnsupported)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	code := filter(arch, uint32(os.Getpid())) //nolint:gosec // a process id fits
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	const all = unix.SECCOMP_FILTER_FLAG_TSYNC
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, all, uintptr(unsafe.Pointer(&prog))) //nolint:gosec // as the kernel wants it
	switch {
	case errno == unix.ENOSYS || errno == unix.EINVAL:
		return fmt.Errorf("seccomp: %w (%w)", ErrUnsupported, errno)
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case thread != 0:
		return errors.New("seccomp: a thread has another filter")
	}
	return nil
}

// A filter is a program for the kernel's packet machine over struct seccomp_data
// (Linux, Documentation/userspace-api/seccomp_filter.rst): the number of the call
// is at 0, the processor at 4, the arguments, of 64 bits, from 16 on. Of those the
// low halves are looked at, which is right where bytes begin with the low one.
const (
	atNumber = 0
	atArch   = 4
	atFirst  = 16
	atSecond = 24
)

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func answer(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// jump goes on after so many instructions, by how the value compares.
func jump(code uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | code, K: value, Jt: yes, Jf: no}
}

const (
	equal   = unix.BPF_JEQ
	anyBit  = unix.BPF_JSET
	atLeast = unix.BPF_JGE

	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter is the program for a process.
func filter(arch, pid uint32) []unix.SockFilter {
	code := []unix.SockFilter{
		load(atArch), jump(equal, arch, 1, 0), answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(atNumber),
	}
	if foreign := foreignCalls(); foreign != 0 {
		code = append(code, jump(atLeast, foreign, 0, 1), answer(refuse))
	}
	for _, n := range refused() {
		code = append(code, jump(equal, n, 0, 1), answer(refuse))
	}
	// A thread is one of this process; anything else would be another one. The
	// newer call has its flags in memory, where a filter cannot see them, and
	// libraries go on with the older one.
	code = append(code, jump(equal, unix.SYS_CLONE3, 0, 1), answer(absent))
	code = append(code, jump(equal, unix.SYS_CLONE, 0, 4), load(atFirst), jump(anyBit, unix.CLONE_THREAD, 1, 0), answer(refuse), answer(unix.SECCOMP_RET_ALLOW))
	// Signals go to this process only.
	for _, n := range []uint32{unix.SYS_TGKILL, unix.SYS_KILL} {
		code = append(code, jump(equal, n, 0, 4), load(atFirst), jump(equal, pid, 1, 0), answer(refuse), answer(unix.SECCOMP_RET_ALLOW))
	}
	for _, u := range refusedUses() {
		code = append(code, jump(equal, u.call, 0, 4), load(u.at), jump(equal, u.value, 0, 1), answer(refuse), load(atNumber))
	}
	return append(code, answer(unix.SECCOMP_RET_ALLOW))
}

// use is a call with that argument.
type use struct{ call, at, value uint32 }

// refusedUses are what no work of ours needs of calls that it needs: to have the
// kernel send another process a signal, or tell of a folder, and to live on when the
// parent has ended.
func refusedUses() []use {
	uses := []use{{unix.SYS_PRCTL, atFirst, unix.PR_SET_PDEATHSIG}}
	for _, cmd := range []uint32{unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG, unix.F_SETLEASE, unix.F_NOTIFY} {
		uses = append(uses, use{unix.SYS_FCNTL, atSecond, cmd})
	}
	return uses
}

// refused are the calls that no work of ours needs.
func refused() []uint32 {
	return append(olderCalls(),
		// Other programs and processes.
		unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
		unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_TKILL, unix.SYS_PRLIMIT64,
		unix.SYS_SETPGID, unix.SYS_SETSID, unix.SYS_SETPRIORITY, unix.SYS_SETRLIMIT,
		unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY, unix.SYS_IOPRIO_SET,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		// Of files Landlock leaves who may use them, their times and attributes, and
		// what happens to them. Its first versions leave their sizes, too.
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
		unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH,
		// The network, and whatever else is a socket.
		unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
		unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
		// Names and mounts.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_UNSHARE,
		unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
		// Parts of the kernel that have let others out.
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
		unix.SYS_VMSPLICE, unix.SYS_SPLICE, unix.SYS_TEE, unix.SYS_PERSONALITY, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_ACCT,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_MSGSND, unix.SYS_MSGRCV,
		unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_SETFSUID, unix.SYS_SETFSGID,
		unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETGROUPS, unix.SYS_CAPSET,
	)
}
