package sdk

import (
	"path"
	"strings"
)

// Folders returns the folders that the module was granted, as absolute paths; nil
// without a grant. What is in them is reached with package os; whether a folder may
// be written to shows when it is tried.
func Folders(c *Call) []string {
	return hostFolders(c)
}

// Granted says whether name is in one of the folders, or is one. It looks at the
// name only: what a link in a folder leads to is for the host to refuse. A
// program should ask before it opens a file, because the errors of the system do
// not say what was granted.
func Granted(folders []string, name string) bool {
	name = path.Clean(name)
	for _, f := range folders {
		f = path.Clean(f)
		if name == f || f == "/" && path.IsAbs(name) || strings.HasPrefix(name, f+"/") {
			return true
		}
	}
	return false
}
