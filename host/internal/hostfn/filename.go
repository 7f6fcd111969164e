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

// leadsToGit reports whether a name goes through a .git folder or into one.
func leadsToGit(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if isGit(part) {
			return true
		}
	}
	return false
}

// isGit reports whether a part of a name is a .git folder's, as any file system may
// see it: there are some that do not tell capitals apart, leave out characters of
// no width, or dots and blanks at the end.
func isGit(part string) bool {
	part = strings.Map(func(r rune) rune {
		if visible.Hidden(r) {
			return -1
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":") // a stream of the file
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")
}

// maxFollowed is how many links of a name are looked at. os.Root follows fewer.
const maxFollowed = 40

// ofGit is leadsToGit of what the name stands for: links on its way are followed,
// the last one too. A guest cannot make a link, so it cannot put one there in
// between.
func (d *Folder) ofGit(name string) bool {
	if leadsToGit(name) {
		return true
	}
	at, rest := ".", strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		target, err := d.root.Readlink(next)
		if err != nil { // no link, or nothing that could be opened
			at = next
			continue
		}
		target = filepath.ToSlash(target)
		if links++; links > maxFollowed || leadsToGit(target) {
			return true
		}
		rest = append(strings.Split(target, "/"), rest...)
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
