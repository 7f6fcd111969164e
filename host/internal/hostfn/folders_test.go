//go:build unix

package hostfn

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

const canary = "canary: a guest must never see or change this"

// jail is a folder granted to a guest, next to things it must not reach.
type jail struct {
	inside, outside string
	secret          string // a file outside
	all             *Folders
	ro, rw          *Folder // the same folder
}

func openJail(t *testing.T, lim policy.FileLimits) *jail {
	t.Helper()
	base := t.TempDir()
	j := &jail{inside: filepath.Join(base, "in"), outside: filepath.Join(base, "out")}
	j.secret = filepath.Join(j.outside, "secret")
	for _, d := range []string{j.inside, j.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, j.secret, canary)
	write(t, filepath.Join(j.inside, "file"), "hello")
	var err error
	j.all, err = OpenFolders([]policy.Mount{{Host: j.inside, Guest: "/ro"}}, []policy.Mount{{Host: j.inside, Guest: "/rw"}}, lim)
	if err != nil {
		t.Fatal(err)
	}
	j.ro, j.rw = j.all.Mounts()[0], j.all.Mounts()[1]
	t.Cleanup(func() {
		if err := j.all.Close(); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(j.secret)
		if err != nil || string(b) != canary {
			t.Errorf("the file outside is now %q (%v)", b, err)
		}
		names, err := os.ReadDir(j.outside)
		if err != nil || len(names) != 1 {
			t.Errorf("the folder outside has now %v (%v)", names, err)
		}
	})
	return j
}

func plenty() policy.FileLimits { return policy.FileLimits{Bytes: 1 << 20, Count: 1000, Open: 64} }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// attempt is everything a guest can do with one name. It returns the names of
// what was done without an error, and fails the test where an error names a
// place on the host.
func (j *jail) attempt(t *testing.T, d *Folder, name string) []string {
	t.Helper()
	var done []string
	try := func(what string, err error) {
		if err == nil {
			done = append(done, what)
			return
		}
		if strings.Contains(err.Error(), filepath.Dir(j.inside)) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s %q: the error names a place on the host: %v", what, name, err)
		}
	}
	open := func(what string, flag int) {
		f, err := d.OpenFile(name, flag, 0o644)
		try(what, err)
		if err != nil {
			return
		}
		b, err := io.ReadAll(f)
		if err == nil && strings.Contains(string(b), canary) {
			t.Errorf("%s %q: read the file outside", what, name)
		}
		_, _ = f.Write([]byte("overwritten"))
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	open("read", os.O_RDONLY)
	open("write", os.O_RDWR)
	open("append", os.O_WRONLY|os.O_APPEND)
	open("truncate", os.O_WRONLY|os.O_TRUNC)
	open("create", os.O_RDWR|os.O_CREATE)
	open("create new", os.O_RDWR|os.O_CREATE|os.O_EXCL)
	_, err := d.Stat(name)
	try("stat", err)
	_, err = d.Lstat(name)
	try("lstat", err)
	try("times", d.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)))
	try("rename from", d.Rename(name, "moved"))
	try("rename to", d.Rename("file", name))
	try("mkdir", d.Mkdir(name, 0o755))
	try("rmdir", d.Rmdir(name))
	try("remove", d.Remove(name))
	return done
}

// FS-1: names that are not below the folder.
func TestNamesThatLeadOutAreRefused(t *testing.T) {
	j := openJail(t, plenty())
	write(t, filepath.Join(j.inside, "other"), "")
	for _, name := range []string{
		"", "..", "../out/secret", "../in/file", "a/../../out/secret", "./../out", "/etc/passwd", "/", "//file", j.secret,
		`a\..\..\out`, `..\out\secret`, `\etc`, "file\x00", "\x00", "a\nb", "\x1b[2J", "\x7f",
		strings.Repeat("a", 4096), strings.Repeat("a", 256), strings.Repeat("a/", 2000),
	} {
		for _, d := range []*Folder{j.ro, j.rw} {
			if done := j.attempt(t, d, name); len(done) > 0 {
				t.Errorf("%.40q: could %v", name, done)
			}
		}
	}
	// What is legal elsewhere is only a name here.
	for _, name := range []string{"CON", "C:x", "COM¹", "file:stream"} {
		if _, err := j.ro.OpenFile(name, os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// The attack: names that take over the terminal of whoever lists the folder.
func TestNamesThatCannotBeShownAreNotMade(t *testing.T) {
	j := openJail(t, plenty())
	for _, name := range []string{"a\u202eb", "a\u200b", "a\u009b1m", "\xff", "d\U000e0041", "sub/\u2028"} {
		for _, err := range []error{
			j.rw.Mkdir(name, 0o755),
			j.rw.Rename("file", name),
			second(j.rw.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)),
		} {
			if err == nil {
				t.Errorf("%q was made", name)
			}
		}
	}
}

// Threat 8: what makes Git run programs is not written, however its name is spelt.
func TestNothingIsWrittenIntoGit(t *testing.T) {
	j := openJail(t, plenty())
	if err := os.MkdirAll(filepath.Join(j.inside, "sub", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(j.inside, "sub", ".git", "config"), "old")
	for _, name := range []string{".git", ".GIT", ".Git", "sub/.git", ".git.", ".git ", ".git. .", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION", ".g\u200cit", "\ufeff.git"} {
		for what, err := range map[string]error{
			"mkdir":       j.rw.Mkdir(name, 0o755),
			"make":        second(j.rw.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)),
			"make in":     second(j.rw.OpenFile(name+"/hooks", os.O_CREATE|os.O_WRONLY, 0o644)),
			"open":        second(j.rw.OpenFile(name+"/config", os.O_WRONLY, 0)),
			"rename to":   j.rw.Rename("file", name),
			"rename into": j.rw.Rename("file", name+"/config"),
			"rename from": j.rw.Rename(name+"/config", "config"),
			"move it":     j.rw.Rename(name, "mine"),
			"remove":      j.rw.Remove(name + "/config"),
			"rmdir":       j.rw.Rmdir(name),
			"times":       j.rw.Chtimes(name+"/config", time.Unix(1, 0), time.Unix(1, 0)),
		} {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	f, err := j.rw.OpenFile("sub/.git/config", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(f); string(b) != "old" || err != nil || f.Close() != nil {
		t.Errorf("%q %v", b, err)
	}
	for _, name := range []string{".gitignore", "git", ".github", "a.git", "git~10"} {
		if err := j.rw.Mkdir(name, 0o755); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Threat 8: nor through a link that somebody made, however many there are on the way.
func TestNothingIsWrittenIntoGitThroughALink(t *testing.T) {
	j := openJail(t, plenty())
	for _, dir := range []string{"a/b/.git/hooks", "plain"} {
		if err := os.MkdirAll(filepath.Join(j.inside, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(j.inside, "a/b/.git/config"), "old")
	for name, target := range map[string]string{
		"repo": "a/b/.git", "hooks": "a/b/.git/hooks", "config": "plain/../a/b/.git/config", "chain": "plain/back", "plain/back": "../a/b", "a/b/mine": ".git",
		"first": "second", "second": "repo", "loud": "a/b/.GIT/../.git",
	} {
		link(t, target, filepath.Join(j.inside, name))
	}
	link(t, "plain", filepath.Join(j.inside, "harmless"))
	for _, name := range []string{"repo", "a/b/mine", "chain/mine", "plain/back/mine", "first", "second", "loud"} {
		for what, err := range map[string]error{
			"mkdir":       j.rw.Mkdir(name+"/x", 0o755),
			"make":        second(j.rw.OpenFile(name+"/x", os.O_CREATE|os.O_WRONLY, 0o644)),
			"make below":  second(j.rw.OpenFile(name+"/hooks/x", os.O_CREATE|os.O_WRONLY, 0o644)),
			"open":        second(j.rw.OpenFile(name+"/config", os.O_WRONLY, 0)),
			"rename into": j.rw.Rename("file", name+"/config"),
			"rename from": j.rw.Rename(name+"/config", "config"),
			"remove":      j.rw.Remove(name + "/config"),
			"rmdir":       j.rw.Rmdir(name + "/hooks"),
			"times":       j.rw.Chtimes(name+"/config", time.Unix(1, 0), time.Unix(1, 0)),
		} {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	for what, err := range map[string]error{
		"make in hooks":  second(j.rw.OpenFile("hooks/x", os.O_CREATE|os.O_WRONLY, 0o644)),
		"open config":    second(j.rw.OpenFile("config", os.O_WRONLY, 0)),
		"make config":    second(j.rw.OpenFile("config", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)),
		"times":          j.rw.Chtimes("config", time.Unix(1, 0), time.Unix(1, 0)),
		"times of a dir": j.rw.Chtimes("hooks", time.Unix(1, 0), time.Unix(1, 0)),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(j.inside, "a/b/.git/config")); string(b) != "old" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	// Reading is as it was, a link itself may go, and other links lead where they led.
	if f, err := j.rw.OpenFile("config", os.O_RDONLY, 0); err != nil || f.Close() != nil {
		t.Error(err)
	}
	if err := j.rw.Mkdir("harmless/x", 0o755); err != nil {
		t.Error(err)
	}
	if err := j.rw.Remove("config"); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// FS-2, FS-3: links that lead out, by every operation, with and without a slash
// at the end. That a guest cannot make one shows in Folder having no method for it.
func TestLinksNeverLeadOut(t *testing.T) {
	for _, suffix := range []string{"", "/", "/.", "//"} {
		t.Run("suffix "+suffix, func(t *testing.T) {
			j := openJail(t, plenty())
			write(t, filepath.Join(j.inside, "other"), "")
			for name, target := range map[string]string{
				"abs": j.secret, "rel": "../out/secret", "absdir": j.outside, "reldir": "../out", "root": "/",
				"chain": "rel", "chain2": "chain", "dangling": "../out/new", "danglingabs": filepath.Join(j.outside, "new"),
				"loop": "loop", "proc": "/proc/self/environ",
			} {
				link(t, target, filepath.Join(j.inside, name))
			}
			// Looking at a link or removing it touches the link only.
			harmless := []string{"lstat", "remove"}
			for _, name := range []string{"abs", "rel", "chain", "chain2", "dangling", "danglingabs", "loop", "proc", "absdir", "reldir", "root"} {
				for _, d := range []*Folder{j.ro, j.rw} {
					for _, what := range j.attempt(t, d, name+suffix) {
						if !slices.Contains(harmless, what) && (what != "rename to" || d == j.ro) {
							t.Errorf("%s: could %s", name, what)
						}
					}
				}
			}
			for _, name := range []string{"absdir/secret", "reldir/secret", "root/etc/passwd", "reldir/../out/secret", "reldir/new"} {
				for _, d := range []*Folder{j.ro, j.rw} {
					if done := j.attempt(t, d, name); len(done) > 0 {
						t.Errorf("%s: could %v", name, done)
					}
				}
			}
		})
	}
}

func TestLinksInsideAreFollowed(t *testing.T) {
	j := openJail(t, plenty())
	link(t, "file", filepath.Join(j.inside, "l"))
	f, err := j.ro.OpenFile("l", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if string(b) != "hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	info, err := j.ro.Lstat("l")
	if err != nil || info.Mode().Type() != fs.ModeSymlink {
		t.Errorf("%v, %v", info, err)
	}
	if err := j.rw.Rename("l", "m"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a link was moved: %v", err)
	}
}

// FS-4: a rename stays in its folder; a file with a second name is not written.
func TestHardLinksAreNotWrittenThrough(t *testing.T) {
	j := openJail(t, plenty())
	hard := filepath.Join(j.inside, "hard")
	if err := os.Link(j.secret, hard); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []int{os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND, os.O_RDWR | os.O_CREATE} {
		if _, err := j.rw.OpenFile("hard", flag, 0o644); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("flags %#x: %v", flag, err)
		}
	}
	if err := j.rw.Chtimes("hard", time.Unix(1, 0), time.Unix(1, 0)); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("times: %v", err)
	}
	if err := j.rw.Rename("file", "../ro/x"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("rename out: %v", err)
	}
	if info, err := os.Stat(j.secret); err != nil || info.ModTime().Before(time.Unix(1000, 0)) {
		t.Errorf("the time of the file outside changed: %v, %v", info, err)
	}
}

// FS-5: a FIFO, socket or device is refused at once, wherever it stands.
func TestOnlyFilesAndDirectoriesOpen(t *testing.T) {
	j := openJail(t, plenty())
	if err := syscall.Mkfifo(filepath.Join(j.inside, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, "fifo", filepath.Join(j.inside, "tofifo"))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	// The name of a socket is short, and a temporary folder's may not be.
	t.Chdir(j.inside)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	for _, name := range []string{"fifo", "tofifo", "socket", "fifo/x", "fifo/"} {
		for _, d := range []*Folder{j.ro, j.rw} {
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_CREATE} {
				if _, err := d.OpenFile(name, flag, 0o644); err == nil {
					t.Errorf("%s was opened with %#x", name, flag)
				}
			}
		}
		for _, err := range []error{j.rw.Rename(name, "x"), j.rw.Chtimes(name, time.Time{}, time.Unix(1, 0))} {
			if err == nil {
				t.Errorf("%s was changed", name)
			}
		}
	}
	for _, name := range []string{"fifo", "socket"} {
		if err := j.rw.Remove(name); err == nil {
			t.Errorf("%s was removed", name)
		}
	}
	// The bound of the checklist, for each of 50 opens together.
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// FS-6: nothing changes in a folder that is granted for reading.
func TestReadOnlyFolderRefusesEveryChange(t *testing.T) {
	j := openJail(t, plenty())
	if err := os.Mkdir(filepath.Join(j.inside, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []int{
		os.O_WRONLY, os.O_RDWR, os.O_CREATE, os.O_TRUNC, os.O_APPEND, os.O_RDONLY | os.O_CREATE | os.O_EXCL,
		os.O_RDONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND,
	} {
		for _, name := range []string{"file", "new", "dir"} {
			if _, err := j.ro.OpenFile(name, flag, 0o644); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s with %#x: %v", name, flag, err)
			}
		}
	}
	f, err := j.ro.OpenFile("file", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"write":    second(f.Write([]byte("x"))),
		"writeat":  second(f.WriteAt([]byte("x"), 0)),
		"truncate": f.Truncate(0),
		"mkdir":    j.ro.Mkdir("new", 0o755),
		"remove":   j.ro.Remove("file"),
		"rmdir":    j.ro.Rmdir("dir"),
		"rename":   j.ro.Rename("file", "new"),
		"times":    j.ro.Chtimes("file", time.Time{}, time.Unix(1, 0)),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(j.inside, "file")); string(b) != "hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestWritableFolderServesAnHonestGuest(t *testing.T) {
	j := openJail(t, plenty())
	if err := j.rw.Mkdir("a", 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := j.rw.OpenFile("a/x", os.O_RDWR|os.O_CREATE, 0o777)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"one ", "two"} {
		if _, err := f.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteAt([]byte("O"), 0); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{f.Sync(), f.Close(), f.Close(), j.rw.Rename("a/x", "y")} {
		if err != nil {
			t.Error(err)
		}
	}
	ap, err := j.rw.OpenFile("y", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ap.Write([]byte("!"))
	_, err2 := ap.WriteAt([]byte("?"), 0)
	if err := errors.Join(err, err2); err != nil {
		t.Error(err)
	}
	y := filepath.Join(j.inside, "y")
	if b, err := os.ReadFile(y); string(b) != "One two!?" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(y); err != nil || info.Mode()&0o111 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	at := time.Unix(1_700_000_000, 0)
	if err := j.rw.Chtimes("y", time.Time{}, at); err != nil {
		t.Error(err)
	}
	if info, err := j.rw.Stat("y"); err != nil || !info.ModTime().Equal(at) {
		t.Errorf("%v, %v", info, err)
	}
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"rmdir of a file", j.rw.Rmdir("y"), syscall.ENOTDIR},
		{"remove of a directory", j.rw.Remove("a"), syscall.EISDIR},
		{"mkdir again", j.rw.Mkdir("a", 0o755), fs.ErrExist},
		{"create new again", second(j.rw.OpenFile("y", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)), fs.ErrExist},
		{"write a directory", second(j.rw.OpenFile("a", os.O_RDWR, 0)), syscall.EISDIR},
		{"stat a file as a directory", second(j.rw.Stat("y/")), syscall.ENOTDIR},
		{"open what is not there", second(j.rw.OpenFile("z", os.O_RDONLY, 0)), fs.ErrNotExist},
		{"unknown flags", second(j.rw.OpenFile("y", 1<<30, 0)), fs.ErrInvalid},
		{"rmdir", j.rw.Rmdir("a"), nil},
		{"remove", j.rw.Remove("y"), nil},
		{"remove the folder", j.rw.Rmdir("."), fs.ErrPermission},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", c.what, c.err, c.want)
		}
	}
}

func TestOpenFoldersNamesTheGuestsFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "")
	for what, read := range map[string][]policy.Mount{
		`"/gone"`:  {{Host: filepath.Join(dir, "gone"), Guest: "/gone"}},
		`"/file"`:  {{Host: file, Guest: "/file"}},
		`"/twice"`: {{Host: dir, Guest: "/twice"}, {Host: dir, Guest: "/twice"}},
	} {
		all, err := OpenFolders(read, nil, plenty())
		if all != nil || err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestFoldersListTheirMounts(t *testing.T) {
	j := openJail(t, plenty())
	var got []string
	for _, d := range j.all.Mounts() {
		if d.Writable() {
			got = append(got, "write "+d.GuestPath())
		} else {
			got = append(got, "read "+d.GuestPath())
		}
	}
	if d := cmp.Diff([]string{"read /ro", "write /rw"}, got); d != "" {
		t.Error(d)
	}
}
