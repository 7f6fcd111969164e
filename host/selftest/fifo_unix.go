//go:build unix

package selftest

import (
	"context"
	"path/filepath"
	"syscall"
)

// fifo opens what would wait for a writer for ever.
func fifo(ctx context.Context, r *room) error {
	if err := syscall.Mkfifo(filepath.Join(r.inside, "fifo"), 0o600); err != nil {
		return skipped("no FIFO can be made here: " + err.Error())
	}
	return denied("fifo")(ctx, r)
}
