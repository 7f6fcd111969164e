package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
)

// The cache holds native code that the host will jump into. Whoever can write
// there runs code in the host, and a damaged entry is as bad: the engine checks
// the code itself but not the table of functions beside it. So the folder must
// be ours alone, and every file is compared with a digest before it is used.

// codeCache is a folder of compiled modules, one folder each.
type codeCache struct {
	dir string // "" for memory only
	log *slog.Logger
}

// openCodeCache makes the folder, or falls back to memory with a warning.
func openCodeCache(dir string, log *slog.Logger) codeCache {
	c := codeCache{log: log}
	if dir == "" {
		return c
	}
	if err := privateDir(dir); err != nil {
		log.Warn("compiled code is kept in memory only: the cache folder is not safe to use", "folder", dir, "error", err)
		return c
	}
	c.dir = dir
	return c
}

// cacheEntry is the place of one module's code.
type cacheEntry struct {
	cache wazero.CompilationCache
	dir   string // "" in memory
	name  string
	log   *slog.Logger
}

func newMemoryEntry() *cacheEntry { return &cacheEntry{cache: wazero.NewCompilationCache()} }

// inMemory returns another place for what e was to hold.
func (e *cacheEntry) inMemory() *cacheEntry {
	return &cacheEntry{cache: wazero.NewCompilationCache(), name: e.name, log: e.log}
}

// open prepares the place of the module with this digest. What is not as it
// was left is removed, and compiled again.
func (c codeCache) open(digest, name string) *cacheEntry {
	e := &cacheEntry{name: name, log: c.log}
	if c.dir == "" {
		return e.inMemory()
	}
	e.dir = filepath.Join(c.dir, strings.TrimPrefix(digest, "sha256:"))
	if err := e.prepare(); err != nil {
		c.log.Warn("compiled code is kept in memory only", "module", name, "error", err)
		return e.inMemory()
	}
	return e
}

func (e *cacheEntry) prepare() error {
	if err := privateDir(e.dir); err != nil {
		return err
	}
	if err := e.verify(); err != nil {
		e.log.Warn("damaged compiled code is removed and compiled again", "module", e.name, "error", err)
		if err := os.RemoveAll(e.dir); err != nil {
			return err
		}
		if err := privateDir(e.dir); err != nil {
			return err
		}
	}
	e.touch()
	var err error
	e.cache, err = wazero.NewCompilationCacheWithDir(e.dir)
	return err
}

// again returns the same place after it was closed.
func (e *cacheEntry) again() (*cacheEntry, error) {
	if !e.onDisk() {
		return e.inMemory(), nil
	}
	fresh := *e
	var err error
	fresh.cache, err = wazero.NewCompilationCacheWithDir(e.dir)
	return &fresh, err
}

func (e *cacheEntry) onDisk() bool { return e.dir != "" }

// close frees the code. No guest runs any more.
func (e *cacheEntry) close(ctx context.Context) error { return e.cache.Close(ctx) }

// tidy removes what a load that came to nothing has written.
func (e *cacheEntry) tidy() error {
	if !e.onDisk() {
		return nil
	}
	if err := e.verify(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// discard removes an entry that could not be used.
func (e *cacheEntry) discard(why error) {
	err := os.RemoveAll(e.dir)
	e.log.Warn("compiled code could not be kept or used", "module", e.name, "error", errors.Join(why, err))
}
