//go:build !linux

package confine

// Files leaves the calling thread, and what it executes, no other path than those.
// The error is [ErrUnsupported].
func Files(Paths) error { return ErrUnsupported }

// Calls leaves the process no call of the system that its work does not need. The
// error is [ErrUnsupported].
func Calls() error { return ErrUnsupported }

// Shield does nothing.
func Shield() {}
