package hostfn

// Attack: a guest learns from error texts where its folders lie on the host.

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// Errors of [Folders] beside those of io/fs.
var (
	ErrQuota       = errors.New("quota of written bytes or new files exceeded")
	ErrTooManyOpen = errors.New("too many open files")
	ErrInvalid     = fs.ErrInvalid
)

const (
	errIsDir  = syscall.EISDIR
	errNotDir = syscall.ENOTDIR
)

// guestError reduces an error of the operating system to what a guest may know:
// an errno or a value without text of its own.
func guestError(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{ErrQuota, ErrTooManyOpen, fs.ErrInvalid, fs.ErrClosed, io.EOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return guestErrno(no)
	}
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission} {
		if errors.Is(err, known) {
			return known
		}
	}
	// What is left is os.Root saying that a link leads out.
	return fs.ErrPermission
}

func guestErrno(no syscall.Errno) error {
	switch no {
	case syscall.EMFILE, syscall.ENFILE:
		return ErrTooManyOpen
	case syscall.ENOSPC, syscall.EDQUOT:
		return ErrQuota
	}
	return no
}
