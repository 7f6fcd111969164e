package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

// folder makes a granted folder with a few files.
func folder(t *testing.T) (string, sdktest.Option) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"notes.txt":     "first line\nThe sea is near.\nlast line",
		"sub/deep.md":   "# Title\nthe SEA again\n",
		"picture.bin":   "\x00\x01the sea",
		"sub/empty.txt": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, sdktest.Folders(dir)
}

func call(t *testing.T, tool string, args map[string]any, opt sdktest.Option) string {
	t.Helper()
	res := sdktest.Call(t, tool, args, opt)
	if res.Error != nil {
		t.Fatalf("%s %v: %v", tool, args, res.Error)
	}
	return res.Text()
}

func TestFilesAreListed(t *testing.T) {
	dir, grant := folder(t)
	if got, want := call(t, "list_files", nil, grant), dir+"/notes.txt  37 bytes\n"+dir+"/picture.bin  9 bytes\n"+dir+"/sub/\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := call(t, "list_files", map[string]any{"recursive": true}, grant); !strings.Contains(got, "sub/deep.md  22 bytes") {
		t.Errorf("got %q", got)
	}
}

func TestLinesAreRead(t *testing.T) {
	dir, grant := folder(t)
	for want, args := range map[string]map[string]any{
		"first line\nThe sea is near.\nlast line\n":                   {"path": "notes.txt"},
		"The sea is near.\n… the file goes on: read it from line 3\n": {"path": dir + "/notes.txt", "start": 2, "lines": 1},
		"the file has fewer than 9 lines":                             {"path": "notes.txt", "start": 9},
		"the file is empty":                                           {"path": "sub/empty.txt"},
	} {
		if got := call(t, "read_file", args, grant); got != want {
			t.Errorf("%v: got %q, want %q", args, got, want)
		}
	}
}

func TestALongLineIsCut(t *testing.T) {
	dir, grant := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "long"), []byte(strings.Repeat("é", 300_000)+"\nend"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := call(t, "read_file", map[string]any{"path": "long"}, grant)
	if len(got) > 2*maxLine || !strings.HasSuffix(got, "… (the line is longer)\nend\n") {
		t.Errorf("%d bytes: …%q", len(got), got[max(0, len(got)-60):])
	}
}

func TestTextIsFound(t *testing.T) {
	dir, grant := folder(t)
	got := call(t, "search_files", map[string]any{"pattern": "the sea"}, grant)
	want := dir + "/notes.txt:2: The sea is near.\n" + dir + "/sub/deep.md:2: the SEA again\n2 matches in 3 files"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := call(t, "search_files", map[string]any{"pattern": "^the s.a", "regexp": true, "case_sensitive": true}, grant); !strings.HasPrefix(got, "0 matches") {
		t.Errorf("got %q", got)
	}
	if got := call(t, "search_files", map[string]any{"pattern": "e", "name": "*.txt", "limit": 1}, grant); !strings.Contains(got, "and more") {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsFoundLateInALineIsShown(t *testing.T) {
	dir, grant := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "min.js"), []byte(strings.Repeat("é", 100_000)+"needle"+strings.Repeat("x", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	got := call(t, "search_files", map[string]any{"pattern": "needle"}, grant)
	want := dir + "/min.js:1: …" + strings.Repeat("é", before/2) + "needle" + strings.Repeat("x", maxShown-before-len("needle")) + "…\n1 matches in 4 files"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// tooDeep makes folders in dir until the path of the last one is longer than what
// the system opens. It returns the name that they all have, and that path.
func tooDeep(t *testing.T, dir string) (name, unreadable string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	name = strings.Repeat("d", 255)
	for below := name; ; below += "/" + name {
		if err := root.MkdirAll(below, 0o750); err != nil {
			t.Fatal(err)
		}
		unreadable = dir + "/" + below
		if _, err := os.ReadDir(unreadable); err != nil {
			return name, unreadable
		}
	}
}

func TestWhatCannotBeReadDoesNotHideTheRest(t *testing.T) {
	dir, grant := folder(t)
	name, unreadable := tooDeep(t, dir)
	missing := filepath.Join(t.TempDir(), "missing")
	for tool, c := range map[string]struct {
		args  map[string]any
		found string
	}{
		"list_files":   {map[string]any{"recursive": true}, dir + "/sub/deep.md  22 bytes\n"},
		"search_files": {map[string]any{"pattern": "sea"}, dir + "/sub/deep.md:2: the SEA again\n"},
	} {
		got := call(t, tool, c.args, grant)
		want := fmt.Sprintf("not read: %q: file name too long\n", unreadable)
		if !strings.Contains(got, c.found) || strings.Count(got, want) != 1 || strings.Count(got, "not read") != 1 {
			t.Errorf("%s: got %q, want %q and %q", tool, strings.ReplaceAll(got, name, "…"), c.found, strings.ReplaceAll(want, name, "…"))
		}
		got = call(t, tool, c.args, sdktest.Folders(missing, filepath.Join(dir, "sub")))
		want = fmt.Sprintf("not read: there is nothing at %q: list_files shows what there is\n", missing)
		if !strings.Contains(got, c.found) || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q and %q", tool, got, c.found, want)
		}
		if res := sdktest.Call(t, tool, c.args, sdktest.Folders(missing)); res.Error == nil || res.Error.Kind != abi.NotFound {
			t.Errorf("%s: a folder that is all there is cannot be read, and the error is %v", tool, res.Error)
		}
	}
}

func TestNotMoreIsNamedThanIsRead(t *testing.T) {
	dir, grant := folder(t)
	for i := range 2 * maxUnread {
		if err := os.Symlink("nowhere", filepath.Join(dir, "link"+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	got := call(t, "search_files", map[string]any{"pattern": "sea"}, grant)
	if n := strings.Count(got, "not read: "); n != maxUnread+1 || !strings.Contains(got, "not read: and more\n2 matches in 3 files") {
		t.Errorf("%d are named: %q", n, got)
	}
}

// The host's limit is 1 MiB; it has to hold for the worst that files can hold.
func TestResultsStayBelowTheLimitOfTheHost(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("\x01", 200), strings.Repeat("\x02", 200))
	if err := os.MkdirAll(deep, 0o750); err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if err := os.WriteFile(filepath.Join(deep, strings.Repeat("\x03", 200)+strconv.Itoa(i)), []byte(strings.Repeat("\x04", 500)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte(strings.Repeat(strings.Repeat("\x04", 500)+"\n", 3000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for tool, args := range map[string]map[string]any{
		"list_files":   {"recursive": true},
		"search_files": {"pattern": "\x04", "limit": 1000},
		"read_file":    {"path": "a", "lines": 5000},
	} {
		res := sdktest.Call(t, tool, args, sdktest.Folders(dir))
		answer, err := json.Marshal(abi.Response{V: 1, Result: res.Result, Error: res.Error})
		if err != nil {
			t.Fatal(err)
		}
		if res.Error != nil || len(answer) > 1<<20 || !strings.Contains(res.Text(), "…") {
			t.Errorf("%s: %d bytes, error %v, not cut or too long", tool, len(answer), res.Error)
		}
	}
}

func TestWritingReplacesNothingUnasked(t *testing.T) {
	dir, grant := folder(t)
	if got := call(t, "write_file", map[string]any{"path": "new.txt", "content": "one\n"}, grant); got != "wrote 4 bytes to "+dir+"/new.txt" {
		t.Errorf("got %q", got)
	}
	res := sdktest.Call(t, "write_file", map[string]any{"path": "new.txt", "content": "two"}, grant)
	if res.Error == nil || !strings.Contains(res.Error.Message, "is there already") {
		t.Errorf("got %+v", res)
	}
	call(t, "write_file", map[string]any{"path": "new.txt", "content": "two", "append": true}, grant)
	data, err := os.ReadFile(filepath.Join(dir, "new.txt"))
	if err != nil || string(data) != "one\ntwo" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestErrorsNameWhatIsMissing(t *testing.T) {
	dir, grant := folder(t)
	none := sdktest.Folders()
	for _, c := range []struct {
		tool string
		args map[string]any
		opt  sdktest.Option
		kind abi.ErrorKind
		want string
	}{
		{"read_file", map[string]any{"path": "/data/x"}, none, abi.AuthRequired, "allow: {read: {./data: /data}}"},
		{"read_file", map[string]any{"path": "/etc/passwd"}, grant, abi.AuthRequired, "granted are: " + dir},
		{"read_file", map[string]any{"path": "../../etc/passwd"}, grant, abi.AuthRequired, "is in no granted folder"},
		{"read_file", map[string]any{"path": "nope"}, grant, abi.NotFound, "list_files shows"},
		{"read_file", map[string]any{"path": "sub"}, grant, abi.Input, "is a folder"},
		{"read_file", map[string]any{"path": "picture.bin"}, grant, abi.Input, "not a text file"},
		{"list_files", map[string]any{"path": "nope"}, grant, abi.NotFound, "there is nothing at"},
		{"search_files", map[string]any{"pattern": "(", "regexp": true}, grant, abi.Input, "pattern: "},
		{"write_file", map[string]any{"path": "/out/x", "content": ""}, grant, abi.AuthRequired, "is in no granted folder"},
		{"write_file", map[string]any{"path": "nope/x", "content": ""}, grant, abi.NotFound, `there is no folder "` + dir + `/nope"`},
	} {
		res := sdktest.Call(t, c.tool, c.args, c.opt)
		if res.Error == nil || res.Error.Kind != c.kind || !strings.Contains(res.Error.Message, c.want) {
			t.Errorf("%s %v: %+v, want %q", c.tool, c.args, res.Error, c.want)
		}
	}
}

// The system says the same of a link that leads out and of a folder that is for
// reading only. What a person has to grant is not the same.
func TestOnlyWritersAreToldToGrantWriting(t *testing.T) {
	refused := &fs.PathError{Op: "open", Path: "/data/x", Err: fs.ErrPermission}
	if err := explain("/data/x", refused); !strings.Contains(err.Error(), "may not be read") || strings.Contains(err.Error(), "write") {
		t.Errorf("reading: %v", err)
	}
	if err := explainWrite("/data/x", refused); !strings.Contains(err.Error(), "allow: {write: {HOST: /data}}") {
		t.Errorf("writing: %v", err)
	}
}
