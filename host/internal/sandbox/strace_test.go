//go:build linux && e2e

package sandbox

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ownFile is all that the process itself names while a guest runs: which pages of
// its memory were written, so that it can be put back. Everything else that it
// needs it has opened before: its code, the cache, the module.
var ownFile = regexp.MustCompile(`^/proc/(self|[0-9]+)/pagemap$`)

// The hostile file guests under strace: whatever they ask for, the process names no
// file but those of the folders that they were granted, and its own.
func TestFSNothingOutsideIsOpened(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("strace is needed to see what is opened (Debian: apt-get install strace): ", err)
	}
	p := newPremises(t)
	var steps []doorStep
	steps = append(steps, stepsThatLeadOut()...)
	for _, name := range []string{"pre", "absolute", "dirlink/etc/passwd", "up/secret", "dangling", "round"} {
		steps = append(steps,
			doorStep{Do: "open", Dir: "/docs", Path: name}, doorStep{Do: "stat", Dir: "/docs", Path: name},
			doorStep{Do: "open", Dir: "/out", Path: name, Flags: "write"}, doorStep{Do: "make", Dir: "/out", Path: name, N: 3},
			doorStep{Do: "settimes", Dir: "/out", Path: name}, doorStep{Do: "rename", Dir: "/out", Path: "old.txt", To: "/out", Name: name + "/x"},
			doorStep{Do: "symlink", Path: "../outside/secret", To: "/out", Name: "escape"}, doorStep{Do: "readlink", Dir: "/out", Path: name},
		)
	}
	steps = append(steps, doorStep{Do: "open", Dir: "/docs", Path: "a.txt", As: "last"}, doorStep{Do: "read", FD: "last", N: 9, want: `"hello"`})
	for _, dir := range []string{"read", "write"} {
		p.link(t, "../outside/secret", dir+"/pre")
		p.link(t, filepath.Join(p.outside, "secret"), dir+"/absolute")
		p.link(t, "/", dir+"/dirlink")
		p.link(t, "../outside", dir+"/up")
		p.link(t, "../outside/new", dir+"/dangling")
		p.link(t, "round", dir+"/round")
	}
	args, err := json.Marshal(map[string]any{"Steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	order := tracedOrder{
		Cache: filepath.Join(p.base, "cache"), Wasm: map[string]string{}, Args: args,
		Read: map[string]string{p.read: "/docs"}, Write: map[string]string{p.write: "/out", p.other: "/out2"},
	}
	for _, door := range doors() {
		order.Wasm[door] = filepath.Join(p.base, door+".wasm")
		if err := os.WriteFile(order.Wasm[door], doorSource(t, door).Wasm, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	p.put(t, "order.json", string(raw))
	trace := filepath.Join(p.base, "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-s", "8192", "-e", "trace=%file", "-o", trace,
		os.Args[0], tracedArg+filepath.Join(p.base, "order.json"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "\n\"hello\"\n"); n != 4*len(doors()) { // twice in a script, and two calls
		t.Errorf("%d of %d files were read that are granted", n, 4*len(doors()))
	}
	lines := strings.Split(string(mustRead(t, trace)), "\n")
	calls, inside := 0, 0
	for _, line := range lines {
		switch {
		case strings.Contains(line, tracedBegin):
			calls++
		case strings.Contains(line, tracedEnd):
			calls--
		case strings.Contains(line, "<... readlink"):
			// What a link holds is an answer; the name was in the line that begins the call.
		case calls > 0:
			for _, path := range named(line) {
				if isIn(path, p.read, p.write, p.other) {
					inside++
				} else if !ownFile.MatchString(path) {
					t.Errorf("a call named %s: %.300s", path, line)
				}
			}
		}
	}
	if inside == 0 || calls != 0 {
		t.Errorf("the trace shows nothing: %d names, %d lines", inside, len(lines))
	}
	t.Logf("%d names in granted folders, %d lines", inside, len(lines))
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A call of the system in a trace has names, each behind the folder that it is
// relative to, and where it opened something what that is.
var (
	relative = regexp.MustCompile(`(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"`)
	opened   = regexp.MustCompile(`= \d+<([^>]*)>`)
)

// named are the names in a line, in full, but for what a link holds.
func named(line string) (paths []string) {
	if strings.Contains(line, "readlinkat(") { // its second text is where the link leads
		line, _, _ = strings.Cut(line, `", "`)
		line += `"`
	}
	if strings.Contains(line, "execve(") {
		return nil
	}
	for _, m := range relative.FindAllStringSubmatch(line, -1) {
		path := m[2]
		if !filepath.IsAbs(path) {
			path = filepath.Join(m[1], path)
		}
		paths = append(paths, filepath.Clean(path))
	}
	for _, m := range opened.FindAllStringSubmatch(line, -1) {
		paths = append(paths, m[1])
	}
	return paths
}

func isIn(path string, folders ...string) bool {
	for _, dir := range folders {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}
