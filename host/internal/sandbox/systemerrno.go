package sandbox

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
)

// errno is the answer of a WASI function.
type errno uint32

// The answers that this host gives, by the numbers of WASI preview 1.
const (
	wasiAcces       errno = 2
	wasiBadf        errno = 8
	wasiBusy        errno = 10
	wasiExist       errno = 20
	wasiFault       errno = 21
	wasiFbig        errno = 22
	wasiIlseq       errno = 25
	wasiIntr        errno = 27
	wasiInval       errno = 28
	wasiIO          errno = 29
	wasiIsdir       errno = 31
	wasiLoop        errno = 32
	wasiMfile       errno = 33
	wasiNametoolong errno = 37
	wasiNoent       errno = 44
	wasiNospc       errno = 51
	wasiNosys       errno = 52
	wasiNotdir      errno = 54
	wasiNotempty    errno = 55
	wasiNotsock     errno = 57
	wasiNotsup      errno = 58
	wasiPerm        errno = 63
	wasiRofs        errno = 69
	wasiSpipe       errno = 70
	wasiXdev        errno = 75
	wasiNotcapable  errno = 76
)

// errnoOf translates what hostfn says. What has no number of its own is EIO: a
// guest learns nothing from it.
func errnoOf(err error) errno {
	if err == nil {
		return 0
	}
	if away, ok := errors.AsType[doorError](err); ok {
		return errno(away)
	}
	for _, p := range []struct {
		from error
		to   errno
	}{
		{hostfn.ErrQuota, wasiNospc},
		{hostfn.ErrTooManyOpen, wasiMfile},
		{syscall.EISDIR, wasiIsdir},
		{syscall.ENOTDIR, wasiNotdir},
		{syscall.ENOTEMPTY, wasiNotempty},
		{syscall.ENAMETOOLONG, wasiNametoolong},
		{syscall.ELOOP, wasiLoop},
		{syscall.EXDEV, wasiXdev},
		{syscall.EROFS, wasiRofs},
		{syscall.EFBIG, wasiFbig},
		{syscall.EBUSY, wasiBusy},
		{fs.ErrInvalid, wasiInval},
		{syscall.EINVAL, wasiInval},
		{fs.ErrClosed, wasiBadf},
		{fs.ErrNotExist, wasiNoent},
		{fs.ErrExist, wasiExist},
		{fs.ErrPermission, wasiAcces},
	} {
		if errors.Is(err, p.from) {
			return p.to
		}
	}
	return wasiIO
}
