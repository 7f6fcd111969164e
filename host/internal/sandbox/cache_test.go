package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cached loads and calls a module with a cache folder and returns what was
// logged.
func cached(t *testing.T, dir string, names ...string) string {
	t.Helper()
	var log bytes.Buffer
	e := newEngineAt(t, Options{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, name := range names {
		m := load(t, e, source(t, name))
		if out := m.Call(t.Context(), Call{}); out.Fault != "" {
			t.Errorf("%s: %s", name, out.Detail)
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return log.String()
}

// stored lists the files of a cache folder.
func stored(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var cacheable = []string{"done", "cat", "extism-v1"}

func TestCompiledCodeIsKeptForTheNextRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if log := cached(t, dir, cacheable...); log != "" {
		t.Error(log)
	}
	files := stored(t, dir)
	if len(files) < 2*len(cacheable) {
		t.Fatalf("kept %v", files)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	before := times(t, files)
	if log := cached(t, dir, cacheable...); log != "" {
		t.Error(log)
	}
	for path, at := range times(t, stored(t, dir)) {
		if !at.Equal(before[path]) {
			t.Errorf("%s was written again", path)
		}
	}
}

func times(t *testing.T, files []string) map[string]time.Time {
	t.Helper()
	out := make(map[string]time.Time)
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		out[f] = info.ModTime()
	}
	return out
}

// Every file is cut short, emptied and given one wrong bit in turn, among them
// in the tables that the engine itself does not check.
func TestDamagedEntryIsCompiledAgainWithAWarning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cached(t, dir, cacheable...)
	for _, path := range stored(t, dir) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damages := [][]byte{nil, whole[:len(whole)/2], whole[:len(whole)-1], append(whole[:len(whole):len(whole)], 0)}
		for at := 0; at < len(whole); at += max(len(whole)/20, 1) {
			flipped := bytes.Clone(whole)
			flipped[at] ^= 1
			damages = append(damages, flipped)
		}
		for i, bad := range damages {
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			log := cached(t, dir, cacheable...)
			if !strings.Contains(log, "damaged") {
				t.Errorf("%s, damage %d: no warning: %s", filepath.Base(path), i, log)
			}
			if log := cached(t, dir, cacheable...); log != "" {
				t.Errorf("%s, damage %d: not repaired: %s", filepath.Base(path), i, log)
			}
			// Compiling gives the same code; put back what the next damage starts from.
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Whatever stands where the list of digests was: it is damage, and neither holds
// the host nor fills its memory.
func TestAListOfDigestsThatIsNoneIsDamage(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a FIFO":        func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":      func(path string) error { return os.Mkdir(path, 0o700) },
		"a huge file":   func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 20<<30)) },
		"a broken link": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			cached(t, dir, "done")
			seals, err := filepath.Glob(filepath.Join(dir, "*", sealName))
			if err != nil || len(seals) != 1 {
				t.Fatal(seals, err)
			}
			if err := errors.Join(os.Remove(seals[0]), put(seals[0])); err != nil {
				t.Fatal(err)
			}
			if log := cached(t, dir, "done"); !strings.Contains(log, "damaged") {
				t.Errorf("no warning: %s", log)
			}
			if log := cached(t, dir, "done"); log != "" {
				t.Errorf("not repaired: %s", log)
			}
		})
	}
}

func TestWhatABrokenOffRunLeftIsNoDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	cached(t, dir, "done")
	entries := stored(t, dir)
	for _, path := range entries {
		if filepath.Base(path) == sealName { // killed before it was written
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte("WAZEVO"), 0o600); err != nil { // and the code only in part
			t.Fatal(err)
		}
		old := path + ".123.tmp"
		if err := os.WriteFile(old, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-2 * abandoned)
		if err := os.Chtimes(old, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if log := cached(t, dir, "done"); log != "" {
		t.Error(log)
	}
	if got := stored(t, dir); len(got) != len(entries) {
		t.Errorf("left %v", got)
	}
}

func TestUnsafeCacheFolderIsAWarningAndMemoryOnly(t *testing.T) {
	base := t.TempDir()
	writable, file, open := filepath.Join(base, "writable"), filepath.Join(base, "file"), filepath.Join(base, "open")
	for _, dir := range []string{writable, filepath.Join(base, "real"), open} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{writable, open} {
		if err := os.Chmod(dir, 0o777); err != nil { // past the umask
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, why := range map[string]string{
		writable: "others can write", filepath.Join(base, "link"): "symbolic link", file: "", filepath.Join(open, "inside"): "others can replace",
	} {
		log := cached(t, dir, "done")
		if !strings.Contains(log, "memory only") || !strings.Contains(log, why) {
			t.Errorf("%s: %s", dir, log)
		}
		if left := stored(t, dir); len(left) > 1 {
			t.Errorf("%s holds %v", dir, left)
		}
	}
}

func TestLinkInsideTheCacheIsNotFollowed(t *testing.T) {
	base := t.TempDir()
	dir, target := filepath.Join(base, "cache"), filepath.Join(base, "target")
	cached(t, dir, "done")
	for _, path := range stored(t, dir) {
		if filepath.Base(path) == sealName {
			continue
		}
		if err := os.Rename(path, target); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	if log := cached(t, dir, "done"); !strings.Contains(log, "not a regular file") {
		t.Error(log)
	}
	if _, err := os.Stat(target); err != nil {
		t.Error("what the link led to is gone:", err)
	}
}

func TestCacheThatCannotBeWrittenIsNoError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	e := newEngineAt(t, Options{CacheDir: dir})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := load(t, e, source(t, "done")).Call(t.Context(), Call{}); said(out) != "done" {
		t.Error(out.Detail)
	}
}

// As on a full disk: the folder is there when the entry is opened, and the code
// cannot be written.
func TestCodeThatCannotBeKeptIsCompiledInMemory(t *testing.T) {
	var log bytes.Buffer
	e := newEngineAt(t, Options{CacheDir: filepath.Join(t.TempDir(), "cache"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	src := source(t, "done")
	entry := e.cache.open(digest(src.Wasm), src.Name)
	if err := os.RemoveAll(entry.dir); err != nil {
		t.Fatal(err)
	}
	code, refused := rewrite(src, entry)
	if refused != nil {
		t.Fatal(refused)
	}
	p, err := compileOrRetry(t.Context(), entry, src.Wasm, code, alone)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "could not be kept or used") {
		t.Error(log.String())
	}
}
