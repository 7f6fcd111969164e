// Package confine takes from a process of ours, which works on what a stranger
// made, what it does not need of the system: files, the network, other processes.
// A fault of the engine that let a guest out of its memory would find itself there.
//
// It is for Linux: [Files] is Landlock, [Calls] a seccomp filter. Both are meant for
// a process that does nothing but its work, and neither can be taken back.
package confine

import "errors"

// ErrUnsupported says that this system, or its kernel, has no such wall.
var ErrUnsupported = errors.New("this system has no such wall")

// Paths are what of the file system is left. Those that are not there count as
// nothing.
type Paths struct {
	Run   []string // files and folders to read and to execute
	Read  []string // files and folders to read
	Write []string // folders to read, write and change, without links, devices and sockets
}
