//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// Somebody has a link to a repository in the folder: a name that does not say so
// leads to what makes Git run programs.
func TestThreat8GitIsNotWrittenThroughALink(t *testing.T) {
	l, p := newLab(t), newPremises(t)
	for _, dir := range []string{"deep/down/repo/.git/hooks", "plain"} {
		if err := os.MkdirAll(filepath.Join(p.write, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.put(t, "write/deep/down/repo/.git/config", "old")
	p.put(t, "write/deep/down/repo/.git/hooks/pre-commit", "old")
	for name, target := range map[string]string{
		"repo": "deep/down/repo/.git", "hooks": "deep/down/repo/.git/hooks", "config": "plain/../repo/config", "chain": "plain/back", "plain/back": "../repo",
	} {
		p.link(t, target, filepath.Join("write", name))
	}
	p.link(t, "plain", "write/harmless")
	var steps []doorStep
	for name, file := range map[string]string{"repo": "config", "repo/hooks": "pre-commit", "hooks": "pre-commit", "chain": "config", "plain/back": "config", "harmless/back": "config"} {
		at := name + "/" + file
		for _, s := range []doorStep{
			{Do: "mkdir", Path: name + "/new"},
			{Do: "make", Path: name + "/new", N: 3},
			{Do: "make", Path: at, N: 3},
			{Do: "open", Path: at, Flags: "write"},
			{Do: "open", Path: at, Flags: "truncate"},
			{Do: "open", Path: at, Flags: "append"},
			{Do: "rename", Path: "old.txt", To: "/out", Name: at},
			{Do: "rename", Path: at, To: "/out", Name: "mine"},
			{Do: "unlink", Path: at},
			{Do: "rmdir", Path: name + "/hooks"},
			{Do: "settimes", Path: at},
			{Do: "settimes", Path: name},
		} {
			s.Dir, s.want = "/out", refused(wasiAcces)
			steps = append(steps, s)
		}
		// Nor from a folder that is open already.
		steps = append(steps,
			doorStep{Do: "open", Dir: "/out", Path: name, Flags: "dir", As: "d", want: "ok"},
			doorStep{Do: "make", Dir: "d", Path: "new", want: refused(wasiAcces)},
			doorStep{Do: "unlink", Dir: "d", Path: file, want: refused(wasiAcces)},
			doorStep{Do: "open", Dir: "d", Path: file, As: "f", want: "ok"}, doorStep{Do: "read", FD: "f", N: 9, want: `"old"`},
			doorStep{Do: "close", FD: "f", want: "ok"}, doorStep{Do: "close", FD: "d", want: "ok"},
		)
	}
	for _, s := range []doorStep{
		{Do: "open", Path: "config", Flags: "write"}, {Do: "open", Path: "config", Flags: "create truncate"}, {Do: "make", Path: "config", N: 3}, {Do: "settimes", Path: "config"},
	} {
		s.Dir, s.want = "/out", refused(wasiAcces)
		steps = append(steps, s)
	}
	p.unchanged(t, l, append(steps, doorStep{Do: "stat", Dir: "/out", Path: "config", want: "kind 4 size 3"}))
}
