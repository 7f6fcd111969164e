package main

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// granted returns the cleaned path, if it is in a granted folder. What a link in
// the folder leads to is for the host to refuse.
func granted(c *sdk.Call, name string) (string, error) {
	folders := sdk.Folders(c)
	if len(folders) == 0 {
		return "", sdk.Errorf(abi.AuthRequired, "no folder is granted: add allow: {read: {./data: /data}} to the tool in the manifest")
	}
	if !path.IsAbs(name) && len(folders) == 1 {
		name = path.Join(folders[0], name) // there is one thing it can mean
	}
	name = path.Clean(name)
	if !sdk.Granted(folders, name) {
		return "", sdk.Errorf(abi.AuthRequired, "%q is in no granted folder; granted are: %s", name, strings.Join(folders, ", "))
	}
	return name, nil
}

// roots returns the folders to begin with: the one that is named, or all.
func roots(c *sdk.Call, name string) ([]string, error) {
	if name == "" {
		if all := sdk.Folders(c); len(all) > 0 {
			return all, nil
		}
	}
	one, err := granted(c, name)
	return []string{one}, err
}

// explain says what an error of the system means for one who reads.
func explain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return sdk.Errorf(abi.NotFound, "there is nothing at %q: list_files shows what there is", name)
	case errors.Is(err, fs.ErrPermission):
		return sdk.Errorf(abi.AuthRequired, "%q may not be read: it is a link that leads out of the granted folder, or the host's own user may not", name)
	default:
		return sdk.Errorf(abi.Internal, "%q: %w", name, bare(err))
	}
}

// rest is what an answer leaves out.
type rest struct {
	Unread []string `json:"unread,omitempty" doc:"what could not be read, and why: what is in it is not in the answer"`
	Cut    bool     `json:"cut,omitempty" doc:"there is more than is returned"`
	size   int      // bytes that are returned
}

// room says whether n more bytes may be returned. Once they may not, none may.
func (r *rest) room(n int) bool {
	if r.size += n; r.size > maxFound {
		r.Cut = true
	}
	return !r.Cut
}

// maxUnread is how many places an answer names that could not be read.
const maxUnread = 20

// passOver notes what could not be read, where the answer goes on without it.
func (r *rest) passOver(err error) {
	why := err.Error()
	switch n := len(r.Unread); {
	case n > maxUnread:
		return
	case n == maxUnread:
		why = "and more"
	}
	if r.room(len(why)) {
		r.Unread = append(r.Unread, why)
	}
}

// text is the rest, one thing a line.
func (r *rest) text(more string) string {
	var b strings.Builder
	for _, why := range r.Unread {
		b.WriteString("not read: " + why + "\n")
	}
	if r.Cut {
		b.WriteString(more + "\n")
	}
	return b.String()
}

// bare takes the operation and the path off an error.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
