//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"syscall"
)

const unixModes = true

// ours says whether a file belongs to the user that runs this.
func ours(info fs.FileInfo) bool { return owner(info) == os.Geteuid() }

// roots says whether a file belongs to the system's administrator.
func roots(info fs.FileInfo) bool { return owner(info) == 0 }

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}
