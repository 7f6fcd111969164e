package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// entryName is the name of a folder of the cache.
func entryName(c string) string { return strings.Repeat(c, 64) }

// What was not used for a month goes, and of the rest what was used last stays. Other
// folders and files are nobody's business.
func TestOldCompiledCodeIsRemoved(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	for name, age := range map[string]time.Duration{
		entryName("a"): time.Minute, entryName("b"): 2 * time.Hour, entryName("c"): 24 * time.Hour,
		entryName("d"): 31 * 24 * time.Hour, entryName("e"): 40 * time.Minute,
		"compiling-1": time.Hour, "mine": 90 * 24 * time.Hour, strings.Repeat("f", 63): 90 * 24 * time.Hour,
	} {
		keepEntry(t, filepath.Join(root, name), 1000, now.Add(-age))
	}
	others := []string{"compiling-1", strings.Repeat("f", 63), "mine"}
	for _, c := range []struct {
		limit int64
		want  []string
	}{
		{1 << 20, []string{entryName("a"), entryName("b"), entryName("c"), entryName("e")}},
		{3500, []string{entryName("a"), entryName("b"), entryName("e")}},
		{0, []string{entryName("a"), entryName("e")}}, // they may be in use
	} {
		prune(root, now, c.limit)
		want := slices.Concat(c.want, others)
		slices.Sort(want)
		if got := names(t, root); !slices.Equal(got, want) {
			t.Errorf("limit %d: %q, want %q", c.limit, got, want)
		}
	}
}

func TestCompiledCodeThatIsUsedStays(t *testing.T) {
	root := t.TempDir()
	c := codeCache{dir: root}
	keepEntry(t, filepath.Join(root, entryName("a")), 10, time.Now().Add(-100*24*time.Hour))
	e := c.open("sha256:"+entryName("a"), "a")
	defer e.close(t.Context())
	prune(root, time.Now(), 0)
	if got := names(t, root); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// keepEntry makes an entry of so many bytes that was used last at that time.
func keepEntry(t *testing.T, dir string, size int, used time.Time) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := cacheEntry{dir: dir}
	if err := os.WriteFile(filepath.Join(dir, "code"), make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := e.seal(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "code"), filepath.Join(dir, sealName), dir} {
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// What was kept for one module is nothing for another.
func TestAnEntryOfAnotherModuleIsDamage(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, entryName("a")), filepath.Join(root, entryName("b"))
	keepEntry(t, a, 10, time.Now())
	if err := (&cacheEntry{dir: a}).verify(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(a, b); err != nil {
		t.Fatal(err)
	}
	if err := (&cacheEntry{dir: b}).verify(); err == nil {
		t.Error("the code of another module is taken")
	}
}

// A process that is started again takes kept code only if nobody has touched it.
func TestTouchedCodeIsNotTakenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), entryName("a"))
	keepEntry(t, dir, 10, time.Now().Add(-time.Hour))
	code := filepath.Join(dir, "code")
	verified, err := (&cacheEntry{dir: dir}).files()
	if err != nil {
		t.Fatal(err)
	}
	i := &isolated{dir: dir, verified: verified}
	if (&cacheEntry{dir: dir}).touch(); !i.untouched() {
		t.Error("code that was used is taken for touched")
	}
	info, err := os.Stat(code)
	if err != nil {
		t.Fatal(err)
	}
	// Another file of the same size and time takes its place.
	if err := os.WriteFile(code+".new", make([]byte, 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(code+".new", info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(code+".new", code); err != nil {
		t.Fatal(err)
	}
	if i.untouched() {
		t.Error("another file is taken")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if i.untouched() {
		t.Error("a folder that is gone is taken")
	}
}
