//go:build unix

package testkit

import (
	"syscall"
	"testing"
	"time"
)

// CPU returns how long processors have worked for this process. A bound on that
// holds on a machine that is busy with others, where one on the clock does not.
func CPU(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
