package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

// folders makes a secret, a folder to read with a link that leads to the
// secret, and a folder to write.
func folders(t *testing.T) (root string, grant func(*Source)) {
	t.Helper()
	root = t.TempDir()
	for _, dir := range []string{"read", "write"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"secret": "secret", "read/a.txt": "hello", "read/b.txt": "b"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(root, "read", "link")); err != nil {
		t.Fatal(err)
	}
	return root, func(s *Source) {
		s.Policy.Grants.Read = []policy.Mount{{Host: filepath.Join(root, "read"), Guest: "/docs"}}
		s.Policy.Grants.Write = []policy.Mount{{Host: filepath.Join(root, "write"), Guest: "/out"}}
	}
}

func TestFoldersAreReadAndWrittenAndNothingElse(t *testing.T) {
	root, grant := folders(t)
	m := load(t, newEngine(t), guestSource(t), grant)
	for _, tc := range []struct{ tool, path, want string }{
		{"read", "/docs/a.txt", "hello"},
		{"list", "/docs", "a.txt b.txt link"},
		{"write", "/out/new.txt", "written"},
		{"read", "/out/new.txt", "from the guest"},
		{"tree", "/out", "made and removed"},
		{"read", "/docs/link", "!"},
		{"read", "/docs/../../secret", "!"},
		{"read", "/etc/passwd", "!"},
		{"read", root + "/secret", "!"},
		{"write", "/docs/a.txt", "!"},
		{"write", "/docs/new.txt", "!"},
		{"write", "/out/../secret", "!"},
		{"link", "/out/escape", "!"},
		{"hardlink", "/out/new.txt", "!"},
		{"readlink", "/docs/link", "!"},
		{"tree", "/docs", "!"},
		{"read", "/docs/nosuch", "!"},
	} {
		arg, err := json.Marshal(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		out := m.Call(t.Context(), Call{Tool: tc.tool, Arguments: arg})
		if tc.want == "!" {
			if out.Fault != "" || !out.Result.IsError || strings.Contains(said(out), root) && tc.path != root+"/secret" {
				t.Errorf("%s %s: %q %q %s", tc.tool, tc.path, out.Fault, said(out), out.Detail)
			}
			continue
		}
		if said(out) != tc.want || out.Fault != "" {
			t.Errorf("%s %s: got %q %s, want %q", tc.tool, tc.path, said(out), out.Detail, tc.want)
		}
	}
	for name, want := range map[string]string{"secret": "secret", "read/a.txt": "hello", "write/new.txt": "from the guest"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q %v", name, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "write", "escape")); err == nil {
		t.Error("the guest made a link")
	}
}

func TestDescribeSeesNoFolders(t *testing.T) {
	_, grant := folders(t)
	m := load(t, newEngine(t), guestSource(t), grant, func(s *Source) {
		s.Policy.Grants.Read[0].Host = "/nosuch"
	})
	if _, err := m.Describe(t.Context()); err != nil {
		t.Error(err)
	}
	if out := m.Call(t.Context(), Call{Tool: "echo"}); out.Fault != FaultDenied || !strings.Contains(out.Detail, "/docs") {
		t.Errorf("%q %s", out.Fault, out.Detail)
	}
}

func TestEveryPageOfALargeFolderIsListed(t *testing.T) {
	dir := t.TempDir()
	const files = 3000
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s%d", strings.Repeat("x", i%50), i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := load(t, newEngine(t), guestSource(t), func(s *Source) {
		s.Policy.Grants.Read = []policy.Mount{{Host: dir, Guest: "/d"}}
	})
	out := m.Call(t.Context(), Call{Tool: "list", Arguments: json.RawMessage(`"/d"`)})
	if got := len(strings.Fields(said(out))); got != files {
		t.Errorf("%d of %d: %s", got, files, out.Detail)
	}
}

func TestFilesAreClosedWhenTheCallEnds(t *testing.T) {
	_, grant := folders(t)
	m := load(t, newEngine(t), guestSource(t), grant)
	m.Call(t.Context(), Call{Tool: "echo"}) // makes the image, which stays
	before := descriptors(t)
	for range 20 {
		m.Call(t.Context(), Call{Tool: "read", Arguments: json.RawMessage(`"/docs/a.txt"`)})
		m.Call(t.Context(), Call{Tool: "panic"})
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestFolderWithTheCodeCacheIsNotGranted(t *testing.T) {
	base := t.TempDir()
	cache := filepath.Join(base, "a", "cache")
	e := newEngineAt(t, Options{CacheDir: cache})
	if err := os.Symlink(base, filepath.Join(base, "a", "round")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{base, filepath.Join(base, "a"), cache, filepath.Join(base, "a", "round")} {
		src := source(t, "done")
		src.Policy.Grants.Write = []policy.Mount{{Host: dir, Guest: "/out"}}
		if _, err := e.Load(t.Context(), src); err == nil || !strings.Contains(err.Error(), "compiled code") {
			t.Errorf("%s: %v", dir, err)
		}
	}
	src := source(t, "done")
	src.Policy.Grants.Write = []policy.Mount{{Host: t.TempDir(), Guest: "/out"}}
	load(t, e, src)
}

// Without a cache the code of a compiler in another process lies among the temporary
// files until it is loaded.
func TestThreat8TheFolderForTemporaryFilesIsNotWrittenWhereCodeIsInIt(t *testing.T) {
	base := t.TempDir()
	tmp := filepath.Join(base, "tmp")
	below := filepath.Join(tmp, "below")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	for dir, refused := range map[string]bool{base: true, tmp: true, below: false} {
		for _, cached := range []string{"", filepath.Join(t.TempDir(), "cache")} {
			src := source(t, "done")
			src.Policy.Grants.Write = []policy.Mount{{Host: dir, Guest: "/out"}}
			_, err := newEngineAt(t, Options{CacheDir: cached}).Load(t.Context(), src)
			var is *LoadError
			if got := errors.As(err, &is) && is.Kind == LoadGrant; got != (refused && cached == "") || !got && err != nil {
				t.Errorf("%s, cache %q: %v", dir, cached, err)
			}
		}
	}
}
