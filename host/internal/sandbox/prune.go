package sandbox

import (
	"cmp"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A module that is built again is another module, and its code stays when nobody has
// a use for it: twenty megabytes for each build of a tool in Go.
const (
	// unused is how long an entry is kept after its last use.
	unused = 30 * 24 * time.Hour
	// maxKept is how many bytes are kept together; what was used last stays.
	maxKept = 2 << 30
	// inUse is how long after its last use an entry is not removed for its size: a
	// process may be reading it.
	inUse = time.Hour
)

// keptEntry is what one module takes.
type keptEntry struct {
	dir  string
	used time.Time
	size int64
}

// touch remembers that the entry was used: its folder has the time.
func (e *cacheEntry) touch() {
	now := time.Now()
	_ = os.Chtimes(e.dir, now, now) // it may be a moment too old, which is a matter of a month
}

// prune removes entries of the cache in root that were not used for long, and those
// that are too much. That one cannot be removed harms nobody.
func prune(root string, now time.Time, limit int64) {
	entries := keptEntries(root)
	slices.SortFunc(entries, func(a, b keptEntry) int { return cmp.Compare(b.used.UnixNano(), a.used.UnixNano()) })
	var sum int64
	for _, e := range entries {
		age := now.Sub(e.used)
		if age > unused || sum+e.size > limit && age > inUse {
			removeEntry(root, e.dir)
			continue
		}
		sum += e.size
	}
}

// removeEntry takes an entry away at once: half of one would be damage.
func removeEntry(root, dir string) {
	away, err := os.MkdirTemp(root, scratchName)
	if err != nil {
		return
	}
	_ = os.Rename(dir, filepath.Join(away, "old"))
	_ = os.RemoveAll(away)
}

// keptEntries are the folders in root that are entries. One was used last when its
// folder, or what is in it, changed last.
func keptEntries(root string) []keptEntry {
	found, _ := os.ReadDir(root)
	var entries []keptEntry
	for _, d := range found {
		if sum, err := hex.DecodeString(d.Name()); err != nil || len(sum) != 32 || !d.IsDir() {
			continue
		}
		e := keptEntry{dir: filepath.Join(root, d.Name())}
		_ = filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is being removed, or cannot be
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			if info.Mode().IsRegular() {
				e.size += info.Size()
			}
			if changed := info.ModTime(); changed.After(e.used) {
				e.used = changed
			}
			return nil
		})
		entries = append(entries, e)
	}
	return entries
}
