package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
)

const (
	maxEntries = 1000
	maxDeep    = 16
)

// Entry is a file or folder.
type Entry struct {
	Path  string `json:"path"`
	Dir   bool   `json:"dir,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
}

// Listing is what list_files answers.
type Listing struct {
	Entries []Entry `json:"entries"`
	rest
}

// Text is the listing, one entry a line.
func (l Listing) Text() string {
	if len(l.Entries) == 0 && len(l.Unread) == 0 {
		return "the folder is empty"
	}
	var b strings.Builder
	for _, e := range l.Entries {
		if e.Dir {
			fmt.Fprintf(&b, "%s/\n", strings.TrimSuffix(e.Path, "/"))
		} else {
			fmt.Fprintf(&b, "%s  %d bytes\n", e.Path, e.Bytes)
		}
	}
	return b.String() + l.rest.text("… and more")
}

func listFiles(c *sdk.Call, a ListArgs) (Listing, error) {
	if a.Path == "" && !a.Recursive {
		if all := sdk.Folders(c); len(all) > 1 {
			out := Listing{}
			for _, f := range all {
				out.Entries = append(out.Entries, Entry{Path: f, Dir: true})
			}
			return out, nil
		}
	}
	dirs, err := roots(c, a.Path)
	if err != nil {
		return Listing{}, err
	}
	out := Listing{Entries: []Entry{}}
	for _, d := range dirs {
		err := out.add(d, a.Recursive, 0)
		switch {
		case err == nil:
		case len(dirs) == 1 && len(out.Entries) == 0:
			return Listing{}, err
		default:
			out.passOver(err)
		}
	}
	return out, nil
}

// add lists what is in dir. Its error is of dir itself, of which what could be
// read is listed all the same; what is below it and cannot be read is passed over.
func (l *Listing) add(dir string, deep bool, depth int) error {
	entries, failed := os.ReadDir(dir)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if len(l.Entries) == maxEntries {
			l.Cut = true
		}
		if !l.room(len(name)) {
			return nil
		}
		l.Entries = append(l.Entries, Entry{Path: name, Dir: e.IsDir(), Bytes: size(e)})
		if !e.IsDir() || !deep {
			continue
		}
		if depth == maxDeep {
			l.Cut = true
			continue
		}
		if err := l.add(name, deep, depth+1); err != nil {
			l.passOver(err)
		}
	}
	return explain(dir, failed)
}

func size(e fs.DirEntry) int64 {
	info, err := e.Info()
	if err != nil || e.IsDir() {
		return 0 // a link to nowhere, or gone meanwhile
	}
	return info.Size()
}
