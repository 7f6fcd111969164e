//go:build !linux

package sandbox

// lookAround is for Linux, whose walls there are.
func lookAround() {}
