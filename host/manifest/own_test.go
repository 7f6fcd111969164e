package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	holds  = "the folder holds %s, which the host reads: grant a folder that holds nothing but what the tool may change, such as one below it"
	above  = "the folder holds a .git folder, whose files make Git run programs: grant a folder that holds nothing but what the tool may change, such as one below it"
	inside = "the folder lies in a .git folder, whose files make Git run programs: grant another"
)

// granting is the fault of a manifest whose second tool may write in folder, "" if
// there is none.
func granting(t *testing.T, path, folder string) string {
	t.Helper()
	src := "version: 1\nmodel: {provider: replay, recording: recordings/run.jsonl}\ntools:\n  - module: tools/wordcount.wasm\n  - module: more/other.wasm\n    allow:\n      write: {'" + folder + "': /all}\n"
	m, err := Parse([]byte(src), path, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if err = m.Check(); err == nil {
		return ""
	}
	_, fault, _ := strings.Cut(err.Error(), "]: ")
	if at := fmt.Sprintf("%s:7:%d: tools[1].allow.write[", path, 19+len(folder)); !strings.HasPrefix(err.Error(), at) {
		t.Errorf("fault is %q, want it at %s", err, at)
	}
	return fault
}

func put(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// Attack: a tool writes the manifest, a module, the recording or a hook of Git, by
// any name, and is another one in the next run.
func TestNoToolMayWriteWhatTheHostReads(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "agent")
	put(t, top, "agent/wagent.yaml", "agent/tools/wordcount.wasm", "agent/more/real.wasm", "agent/recordings/run.jsonl",
		"agent/out/old.txt", "agent/recordings-of-mine/a", "elsewhere/modules/far.wasm", "elsewhere/a", "repo/.git/hooks/x", "repo/src/a",
		"work/a/b/.git", "work/free/a", "loud/.GIT/config")
	link(t, dir, filepath.Join(top, "alias"))
	link(t, "out", filepath.Join(dir, "link-to-out"))
	link(t, "..", filepath.Join(dir, "out", "up"))
	link(t, filepath.Join(top, "repo", "src"), filepath.Join(dir, "src"))
	link(t, filepath.Join(top, "repo", ".git", "hooks"), filepath.Join(dir, "hooks"))
	// The module is found through two more folders.
	link(t, "../chain/other.wasm", filepath.Join(dir, "more", "other.wasm"))
	if err := os.Mkdir(filepath.Join(dir, "chain"), 0o700); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(top, "elsewhere", "modules", "far.wasm"), filepath.Join(dir, "chain", "other.wasm"))

	manifest, other := fmt.Sprintf(holds, "the manifest"), fmt.Sprintf(holds, `the module "other.wasm"`)
	for folder, want := range map[string]string{
		".": manifest, "..": manifest, "/": manifest, dir: manifest, "out/..": manifest,
		"../alias": manifest, filepath.Join(top, "alias"): manifest, "out/up": manifest,
		"tools": fmt.Sprintf(holds, `the module "wordcount.wasm"`), "../alias/tools": fmt.Sprintf(holds, `the module "wordcount.wasm"`),
		"more": other, "chain": other, "../elsewhere": other, "../elsewhere/modules": other,
		"recordings": fmt.Sprintf(holds, "the recording"),
		"../repo":    above, "../work": above, "../loud": above,
		"../repo/.git": inside, "../repo/.git/hooks": inside, "hooks": inside,
		"out": "", "link-to-out": "", "recordings-of-mine": "", "src": "", "../repo/src": "", "../work/free": "", "../alias/out": "",
	} {
		if got := granting(t, filepath.Join(dir, "wagent.yaml"), folder); got != want {
			t.Errorf("%s:\n got %q\nwant %q", folder, got, want)
		}
	}
	// The manifest is read by another name, and what is behind that is no secret.
	if got := granting(t, filepath.Join(top, "alias", "wagent.yaml"), "."); got != manifest {
		t.Errorf("by a link: %q", got)
	}
}

// A folder that may only be read is as it was.
func TestReadingWhatTheHostReadsIsAllowed(t *testing.T) {
	dir := folder(t)
	m, err := Parse([]byte(oneTool+"    allow: {read: {.: /all, tools: /tools}}\n"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil || m.Check() != nil {
		t.Errorf("%v, %v", err, m.Check())
	}
}

// Without a file there is no project: only what is named is kept from writing.
func TestAManifestMadeInGoKeepsItsModulesFromWriting(t *testing.T) {
	dir := folder(t)
	put(t, dir, "out/.git/config")
	m := &Manifest{Dir: dir, Tools: []Tool{{Module: "tools/wordcount.wasm", Allow: Allow{Write: map[string]string{"out": "/a", filepath.Join(dir, "docs"): "/b"}}}}}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	m.Tools[0].Allow.Write = map[string]string{dir: "/a", "tools": "/b"}
	said := fmt.Sprintf(holds, `the module "wordcount.wasm"`)
	want := fmt.Sprintf("tools[0].allow.write[%q]: %s\ntools[0].allow.write[\"tools\"]: %s", dir, said, said)
	if diff := cmp.Diff(want, m.Check().Error()); diff != "" {
		t.Error(diff)
	}
}

// Where the text is good, what is not there is left to whoever opens it, who has
// more to say; where it is not, all is told at once.
func TestWhatIsNotThereIsToldWithTheTextOrByCheck(t *testing.T) {
	path := filepath.Join(folder(t), "wagent.yaml")
	const missing = "version: 1\ntools:\n  - module: none.wasm\n    allow: {read: {nothing: /n}}\n"
	m, err := Parse([]byte(missing), path, noEnv)
	if err != nil || strings.Count(fmt.Sprint(m.Check()), "no such f") != 2 {
		t.Errorf("%v, then %v", err, m.Check())
	}
	_, err = Parse([]byte(missing+"tolls: []\n"), path, noEnv)
	if got := fmt.Sprint(err); strings.Count(got, "no such f") != 2 || !strings.Contains(got, "tolls") {
		t.Errorf("%v", err)
	}
	// More faults than are shown do not hide that the text has one.
	many := "version: 1\ntools:\n" + strings.Repeat("  - module: none.wasm\n", 200) + "  - module: none.wasm\n    abi: x\n"
	if m, err = Parse([]byte(many), path, noEnv); err == nil || m != nil {
		t.Error("the text is taken for a good one")
	}
}
