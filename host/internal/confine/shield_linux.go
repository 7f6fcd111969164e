package confine

import "golang.org/x/sys/unix"

// Shield makes the process one that others of the same user cannot trace, read or
// dump the memory of. It stays so until the process executes another program.
func Shield() {
	// It fails on no system that has the call.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}
