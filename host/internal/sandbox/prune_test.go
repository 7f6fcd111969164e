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
