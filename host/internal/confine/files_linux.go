package confine

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock can take, by the version of its interface: each bit that a kernel
// does not know makes it refuse (Linux, Documentation/userspace-api/landlock.rst).
const (
	fileRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE
	fileRun   = fileRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	fileWrite = fileRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE

	folderRead  = fileRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	folderRun   = fileRun | unix.LANDLOCK_ACCESS_FS_READ_DIR
	folderWrite = folderRead | fileWrite |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	firstFiles = unix.LANDLOCK_ACCESS_FS_REFER - 1 // all that come before it
)

// handled is what is taken, unless a rule leaves it.
type handled struct {
	files  uint64
	net    uint64
	scoped uint64
}

// handledBy is what a version of the interface can take.
func handledBy(version int) handled {
	h := handled{files: firstFiles}
	if version >= 2 {
		h.files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		h.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		h.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		h.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		h.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return h
}

// Files leaves the calling thread, and what it executes, no other path than those,
// and where the kernel can no TCP and no signal to other processes either. The
// thread must be locked, and the process must go on by executing itself: its other
// threads are as they were. The error is [ErrUnsupported] where the kernel has no
// Landlock; then nothing was taken but new privileges.
func Files(p Paths) error {
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	h := handledBy(version)
	ruleset, err := newRuleset(h)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		paths        []string
		file, folder uint64
	}{{p.Run, fileRun, folderRun}, {p.Read, fileRead, folderRead}, {p.Write, fileWrite, folderWrite}} {
		for _, path := range r.paths {
			if err := leave(ruleset, path, r.file&h.files, r.folder&h.files); err != nil {
				return errors.Join(err, unix.Close(ruleset))
			}
		}
	}
	err = enclose(ruleset)
	return errors.Join(err, unix.Close(ruleset))
}

func landlockVersion() (int, error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("landlock: %w (%w)", ErrUnsupported, errno)
	}
	return int(n), nil
}

func newRuleset(h handled) (int, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: h.files, Handled_access_net: h.net, Scoped: h.scoped}
	// An older kernel knows a shorter form, and takes no other bytes than 0 behind it.
	size := unsafe.Sizeof(attr)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0) //nolint:gosec // as the kernel wants it
	if errno != 0 {
		return -1, fmt.Errorf("landlock: a ruleset: %w", errno)
	}
	return int(fd), nil
}

// leave adds a rule for a path and all below it.
func leave(ruleset int, path string, file, folder uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	access := file
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = folder
	}
	if err == nil {
		attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}                                                                   //nolint:gosec // a descriptor fits
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0) //nolint:gosec // as the kernel wants it
		if errno != 0 {
			err = errno
		}
	}
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return fmt.Errorf("landlock: %s: %w", path, err)
	}
	return nil
}

func enclose(ruleset int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("landlock: %w", errno)
	}
	return nil
}

// Libraries are the folders and files of the system that a program needs to begin,
// if it was not linked statically. There is nothing of anyone in them.
func Libraries() []string {
	return []string{"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/nix/store", "/gnu/store"}
}
