//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// project is a folder with all that a host reads, beside a folder to write: a
// manifest, its module, a recording, a repository, and the cache of compiled code.
func project(t *testing.T) (top string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	guest := builds.Command(t, filepath.Join(testkit.Root(t), "host", "internal", "sandbox", "testdata", "doors", "wasi"))
	for name, data := range map[string]string{
		"agent/wagent.yaml": "", "agent/wagent.lock": "lock", "agent/tools/script.wasm": string(guest), "agent/rec/run.jsonl": "{}\n",
		"agent/.git/config": "[core]", "agent/.git/hooks/pre-commit": "#!/bin/sh", "agent/out/mine.txt": "mine",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return top
}

// openProject opens the host of a project, whose tool may write the folder.
func openProject(t *testing.T, top, folder string) (*host.Host, error) {
	t.Helper()
	manifest := filepath.Join(top, "agent", "wagent.yaml")
	text := fmt.Sprintf("version: 1\nmodel: {provider: replay, recording: rec/run.jsonl}\ntools:\n  - module: tools/script.wasm\n    name: script\n    allow: {write: {%q: /out}}\n", folder)
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return host.Open(t.Context(), manifest, &host.Options{CacheDir: filepath.Join(top, "cache")})
}

// readable is every file below a folder, and what is in it.
func readable(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A tool may write in no folder that holds, or through which one finds, what the
// host reads: by any name of the folder.
func TestThreat8NoFolderIsGrantedThatTheHostReads(t *testing.T) {
	top := project(t)
	agent := filepath.Join(top, "agent")
	for name, target := range map[string]string{"alias": "agent", "agent/out/up": "..", "agent/out/tools": "../tools", "agent/out/hooks": "../.git/hooks", "far": "cache"} {
		if err := os.Symlink(target, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(top, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	for folder, says := range map[string]string{
		".": "the manifest", agent: "the manifest", top: "the manifest", "../alias": "the manifest", "out/..": "the manifest", "out/up": "the manifest",
		"tools": `the module "script.wasm"`, "out/tools": `the module "script.wasm"`, "../alias/tools": `the module "script.wasm"`,
		"rec": "the recording", ".git": "Git", ".git/hooks": "Git", "out/hooks": "Git", "../cache": "the host's compiled code", "../far": "the host's compiled code",
	} {
		h, err := openProject(t, top, folder)
		if err == nil {
			t.Errorf("%s is granted", folder)
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		if !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "wagent.yaml:6:") {
			t.Errorf("%s: %v, want %q", folder, err, says)
		}
	}
}

// step is one that the guest of the sandbox's tests does; see Step there.
type step struct {
	Do, Dir, Path, To, Name, Flags, Text string `json:",omitempty"`
}

// Somebody gave what the host reads a second name in the folder that a tool may
// write: by a hard link, by a symbolic one, by ones to the folders. The next run
// reads what this one did.
func TestThreat8WhatTheHostReadsIsNotChangedByAnotherName(t *testing.T) {
	top := project(t)
	agent, out := filepath.Join(top, "agent"), filepath.Join(top, "agent", "out")
	h, err := openProject(t, top, "out")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{
		"manifest": filepath.Join(agent, "wagent.yaml"), "lock": filepath.Join(agent, "wagent.lock"), "module": filepath.Join(agent, "tools", "script.wasm"),
		"recording": filepath.Join(agent, "rec", "run.jsonl"), "config": filepath.Join(agent, ".git", "config"), "hook": filepath.Join(agent, ".git", "hooks", "pre-commit"),
	}
	for path := range readable(t, filepath.Join(top, "cache")) {
		read["code "+filepath.Base(path)] = path
	}
	if len(read) < 7 {
		t.Fatal("the cache holds no compiled code, so that this shows nothing of it")
	}
	var steps []step
	var want []string
	expect := func(answer string, all ...step) {
		for _, s := range all {
			s.Dir = "/out"
			steps, want = append(steps, s), append(want, answer)
		}
	}
	const access = "errno 2"
	for name, path := range read {
		hard, soft, folder := name+" hard", name+" soft", name+" folder"
		if err := os.Link(path, filepath.Join(out, hard)); err != nil {
			t.Fatal(err)
		}
		rel, err := filepath.Rel(out, path)
		if err != nil {
			t.Fatal(err)
		}
		for link, target := range map[string]string{soft: rel, folder: filepath.Dir(rel)} {
			if err := os.Symlink(target, filepath.Join(out, link)); err != nil {
				t.Fatal(err)
			}
		}
		below := folder + "/" + filepath.Base(path)
		for _, at := range []string{hard, soft, below} {
			expect(access, step{Do: "open", Path: at, Flags: "write"}, step{Do: "open", Path: at, Flags: "truncate"}, step{Do: "open", Path: at, Flags: "append"},
				step{Do: "make", Path: at, Text: "x"}, step{Do: "settimes", Path: at})
		}
		expect(access, step{Do: "unlink", Path: below}, step{Do: "rename", Path: below, To: "/out", Name: "taken"}, step{Do: "rename", Path: "mine.txt", To: "/out", Name: below},
			step{Do: "rename", Path: soft, To: "/out", Name: "taken"}, step{Do: "mkdir", Path: folder + "/new"}, step{Do: "make", Path: folder + "/new", Text: "x"}, step{Do: "rmdir", Path: below})
		expect("errno 63", step{Do: "unlink", Path: "../" + filepath.ToSlash(strings.TrimPrefix(rel, "../"))}, step{Do: "rename", Path: rel, To: "/out", Name: "taken"}, step{Do: "rename", Path: "mine.txt", To: "/out", Name: rel})
	}
	before := readable(t, top)
	answer := said(t, h, steps)
	if diff := cmp.Diff(want, answer); diff != "" {
		for i := range min(len(answer), len(want)) {
			if answer[i] != want[i] {
				t.Errorf("%+v: got %q, want %q", steps[i], answer[i], want[i])
			}
		}
	}
	if diff := cmp.Diff(before, readable(t, top)); diff != "" {
		t.Errorf("the host's files changed: %.2000s", diff)
	}
	// The other names are the folder's: they may be replaced, moved and taken away.
	steps, want = nil, nil
	for name := range read {
		expect("ok", step{Do: "rename", Path: name + " hard", To: "/out", Name: "moved"}, step{Do: "unlink", Path: "moved"}, step{Do: "unlink", Path: name + " soft"}, step{Do: "unlink", Path: name + " folder"})
	}
	if diff := cmp.Diff(want, said(t, h, steps)); diff != "" {
		t.Error(diff)
	}
	for name, path := range read {
		if b, err := os.ReadFile(path); err != nil || string(b) != before[path] {
			t.Errorf("%s is another (%v)", name, err)
		}
	}
	digest := h.Tools()[0].Digest
	if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	h, err = openProject(t, top, "out")
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Tools()[0].Digest; got != digest {
		t.Errorf("the next run has the module %s, and had %s", got, digest)
	}
	if diff := cmp.Diff([]string{"ok"}, said(t, h, []step{{Do: "make", Dir: "/out", Path: "new.txt", Text: "x"}})); diff != "" {
		t.Error(diff)
	}
	if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// said are the answers to steps that the guest does in one call.
func said(t *testing.T, h *host.Host, steps []step) []string {
	t.Helper()
	args, err := json.Marshal(map[string]any{"Steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	got, err := h.Call(t.Context(), "script", args)
	if err != nil || got.Kind != "" || len(got.Result.Content) != 1 {
		t.Fatalf("%v %s %s %+v", err, got.Kind, got.Detail, got.Result)
	}
	return strings.Split(strings.TrimSuffix(got.Result.Content[0].Text, "\n"), "\n")
}
