package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A compiler in another process writes to a folder of its own, which nothing else
// looks at: what a process that was killed leaves is never part of an entry.

// scratchName begins the names of such folders.
const scratchName = "compiling-"

// scratch makes the folder: beside the entry, from where code can be moved, or
// where the system keeps temporary files.
func (e *cacheEntry) scratch() (string, error) {
	if e.onDisk() {
		root := filepath.Dir(e.dir)
		sweep(root)
		if dir, err := os.MkdirTemp(root, scratchName); err == nil {
			return dir, nil
		}
	}
	dir, err := os.MkdirTemp("", "wagent-"+scratchName)
	if err != nil {
		return "", err
	}
	if err := privateDir(dir); err != nil {
		_ = os.Remove(dir) // it is empty
		return "", err
	}
	return dir, nil
}

// sweep removes the folders of processes that were killed, with whatever is in
// them. That one cannot be removed harms nobody.
func sweep(root string) {
	entries, _ := os.ReadDir(root)
	for _, d := range entries {
		if info, err := d.Info(); err == nil && strings.HasPrefix(d.Name(), scratchName) && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(root, d.Name()))
		}
	}
}

// adopt moves the files of a scratch folder into the entry.
func (e *cacheEntry) adopt(dir string) error {
	if !e.onDisk() {
		return nil
	}
	from := cacheEntry{dir: dir}
	files, err := from.files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.temporary() {
			continue
		}
		to := filepath.Join(e.dir, f.name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, f.name), to); err != nil {
			return err
		}
	}
	return nil
}
