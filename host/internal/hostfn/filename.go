package hostfn

// Attack: a guest names what is not below its folder, or leaves names behind
// that take over the terminal of whoever lists them.

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wagent-dev/wagent/host/visible"
)

const (
	maxPath      = 4095 // bytes of a name
	maxComponent = 255  // bytes between two slashes
	maxDepth     = 128  // components
)

// name is a checked name: local, clean, with slashes.
type name struct {
	path string
	dir  bool // it ended in a slash: only a directory will do
}

func cleanName(s string) (name, error) {
	switch {
	case s == "":
		return name{}, fs.ErrNotExist
	case len(s) > maxPath:
		return name{}, syscall.ENAMETOOLONG
	case strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }):
		return name{}, fs.ErrInvalid
	case !filepath.IsLocal(filepath.FromSlash(s)):
		return name{}, fs.ErrPermission
	}
	n := name{path: path.Clean(s), dir: strings.HasSuffix(s, "/") || strings.HasSuffix(s, "/.")}
	depth := 0
	for part := range strings.SplitSeq(n.path, "/") {
		if depth++; depth > maxDepth || len(part) > maxComponent {
			return name{}, syscall.ENAMETOOLONG
		}
	}
	return n, nil
}

// ofGit reports whether the name leads into a .git folder, as any file system may
// see it: there are some that do not tell capitals apart, leave out characters of
// no width, or dots and blanks at the end.
func (n name) ofGit() bool {
	for part := range strings.SplitSeq(n.path, "/") {
		part = strings.Map(func(r rune) rune {
			if visible.Hidden(r) {
				return -1
			}
			return r
		}, part)
		part, _, _ = strings.Cut(part, ":") // a stream of the file
		part = strings.TrimRight(part, ". ")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// checkNewName refuses to make what cannot be shown as it is.
func checkNewName(base string) error {
	if visible.Text(base) != base {
		return fs.ErrInvalid
	}
	return nil
}
