package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
)

// folder makes a folder with a module, work/sub/in.txt and other/ in it.
func folder(t *testing.T, module string) string {
	t.Helper()
	dir := t.TempDir()
	for _, sub := range []string{"work/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"tool.wasm": testkit.Wasm(t, module), "work/sub/in.txt": []byte("hi")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// traced calls a tool of tool.wasm, whose entry has the lines besides, with a trace.
func traced(t *testing.T, dir, tool, args, lines string, o host.Options) (host.Outcome, *host.Trace, host.Suggestion) {
	t.Helper()
	entry := "version: 1\ntools:\n  - module: ./tool.wasm\n"
	for l := range strings.Lines(lines) {
		entry += "    " + l
	}
	path := filepath.Join(dir, "wagent.yaml")
	if err := os.WriteFile(path, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	o.CacheDir, o.Late = cache.Dir(t), true
	h, err := host.Open(t.Context(), path, &o)
	if err != nil {
		t.Fatalf("%v\n%s", err, entry)
	}
	defer func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	out, trace, s, err := h.Trace(t.Context(), tool, json.RawMessage(args), &host.TraceOptions{Suggest: true})
	if err != nil {
		t.Fatal(err)
	}
	return out, trace, s
}

func yamlOf(t *testing.T, s host.Suggestion) string {
	t.Helper()
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Call, suggest, apply, call: what is suggested is exactly this, and lets the same
// call pass.
func TestSuggestedGrantLetsTheCallPass(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Method+" "+r.URL.Path)
	}))
	defer srv.Close()
	base := srv.URL
	plugin := func(export string) string {
		return "export: " + export + "\nname: " + export + "\ndescription: Asks.\nparameters: {type: object}\n"
	}
	rule := func(method, path string) string {
		return "allow:\n  http:\n    - host: " + base + "\n      methods:\n        - " + method + "\n      paths:\n        - " + path + "\n"
	}
	private := "allow: {private_networks: true}\n"
	// What a person puts into one line with private_networks.
	beside := func(s string) string { return strings.Replace(s, "allow:\n", "allow:\n  private_networks: true\n", 1) }
	for _, tc := range []struct {
		name, module, tool, args, first string
		want                            []string // of each round
		apply                           func(string) string
	}{
		{"read a file", "asks", "read", `{}`, "", []string{"allow:\n  read:\n    ./work/sub: /work/sub\n"}, nil},
		{"write a file", "asks", "write", `{}`, "", []string{"allow:\n  write:\n    ./work/sub: /work/sub\n"}, nil},
		{"write where it may read", "asks", "write", `{}`, "allow: {read: {./work: /work}}\n", []string{"allow:\n  write:\n    ./work/sub: /work/sub\n"}, nil},
		{"write instead of reading", "asks", "write", `{}`, "allow: {read: {./work/sub: /work/sub}}\n", []string{"allow:\n  write:\n    ./work/sub: /work/sub\n"}, nil},
		{"a variable", "asks", "env", `{}`, "", []string{"allow:\n  env:\n    ASKS_LANG: FILL-IN\n"}, nil},
		{"the clock", "asks", "clock", `{}`, "allow: {clock: \"fixed:2026-01-01\"}\n", nil, nil},
		{"a value", "extism-asks", "value", `{}`, plugin("value"), []string{"config:\n  greeting: FILL-IN\n"}, func(s string) string { return plugin("value") + s }},
		{
			"get a page", "extism-asks", "request", `{"url":"` + base + `/a/b?q=1"}`, plugin("request") + private,
			[]string{rule("GET", "/a/b")},
			func(s string) string { return plugin("request") + beside(s) },
		},
		{
			"post to a page", "extism-asks", "request", `{"url":"` + base + `/a","method":"POST"}`, plugin("request") + private,
			[]string{rule("POST", "/a")},
			func(s string) string { return plugin("request") + beside(s) },
		},
		{
			"a path that no rule spells", "extism-asks", "request", `{"url":"` + base + `/a/50%25*/c"}`, plugin("request") + private,
			[]string{rule("GET", "/a/*/c")},
			func(s string) string { return plugin("request") + beside(s) },
		},
		{
			"a redirect", "extism-asks", "request", `{"url":"` + base + `/from"}`, plugin("request") + private,
			[]string{rule("GET", "/from"), rule("GET", "/to")},
			func(s string) string {
				if strings.Contains(s, "/to") { // what was granted before stays
					s = strings.Replace(s, "        - /to\n", "        - /from\n        - /to\n", 1)
				}
				return plugin("request") + beside(s)
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t, tc.module)
			with := tc.first
			for i := range len(tc.want) + 1 {
				out, trace, s := traced(t, dir, tc.tool, tc.args, with, host.Options{})
				if i == len(tc.want) {
					refused := len(s.Refused) > 0 && tc.tool != "env" // the module also asks for what is no name
					if out.Kind != "" || !s.Empty() || refused || len(trace.Calls) == 0 {
						t.Errorf("with\n%sit is %s %s, and %+v", with, out.Kind, out.Detail, s)
					}
					return
				}
				if out.Kind == "" {
					t.Fatalf("it passes with\n%s", with)
				}
				got := yamlOf(t, s)
				if diff := cmp.Diff(tc.want[i], got); diff != "" {
					t.Fatalf("round %d: %s\n%+v\n%+v", i, diff, s, trace.Calls)
				}
				if with = got; tc.apply != nil {
					with = tc.apply(got)
				}
			}
		})
	}
}

// What a rule or the ceiling refuses is not suggested, and said.
func TestThreat11WhatIsRefusedIsNotSuggested(t *testing.T) {
	plugin := "export: request\nname: request\ndescription: Asks.\nparameters: {type: object}\n"
	ceiling := policy.Default()
	for _, tc := range []struct {
		name, module, tool, args, lines string
		opts                            host.Options
		why                             string
	}{
		{"what the kernel shows", "asks", "proc", `{}`, "", host.Options{}, "what the kernel shows in /proc is never granted"},
		{"a way out of a folder", "asks", "up", `{}`, "allow: {read: {./work: /work}}\n", host.Options{}, "a path that leads out of its folder"},
		{"this machine", "extism-asks", "request", `{"url":"http://127.0.0.1:1/"}`, plugin, host.Options{}, "http://127.0.0.1:1 is this machine or in its networks"},
		{"this machine by name", "extism-asks", "request", `{"url":"http://localhost:1/"}`, plugin, host.Options{}, "http://localhost:1 is this machine"},
		{"where clouds keep credentials", "extism-asks", "request", `{"url":"http://169.254.169.254/latest"}`, plugin, host.Options{}, "is this machine or in its networks"},
		{"a reserved address", "extism-asks", "request", `{"url":"http://192.0.2.1/"}`, plugin, host.Options{}, "the address is reserved"},
		{"a method that is never allowed", "extism-asks", "request", `{"url":"https://example.com/","method":"TRACE"}`, plugin, host.Options{}, "never allowed"},
		{"a host above the ceiling", "extism-asks", "request", `{"url":"https://example.com/"}`, plugin, host.Options{Ceiling: &ceiling}, "the host's ceiling does not allow it"},
		{"a folder above the ceiling", "asks", "read", `{}`, "", host.Options{Ceiling: &ceiling}, "the host's ceiling does not allow it"},
		{"a variable above the ceiling", "asks", "env", `{}`, "", host.Options{Ceiling: &ceiling}, "the host has a ceiling"},
		{"names of escapes", "asks", "flood", `{}`, "", host.Options{}, "a path is too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, _, s := traced(t, folder(t, tc.module), tc.tool, tc.args, tc.lines, tc.opts)
			if out.Kind == "" || !s.Empty() || !strings.Contains(strings.Join(s.Refused, "\n"), tc.why) {
				t.Errorf("%s: %+v", out.Kind, s)
			}
			for _, line := range append(s.Refused, s.Notes...) {
				if strings.ContainsAny(line, "\x1b\n") || len(line) > 512 {
					t.Errorf("%q", line)
				}
			}
		})
	}
}

// A folder that a tool may not write, since it holds the module, is not suggested.
func TestThreat11SuggestionsAreHeldAgainstTheManifest(t *testing.T) {
	dir := folder(t, "asks")
	if err := os.Rename(filepath.Join(dir, "tool.wasm"), filepath.Join(dir, "work", "sub", "tool.wasm")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("work", "sub", "tool.wasm"), filepath.Join(dir, "tool.wasm")); err != nil {
		t.Fatal(err)
	}
	_, _, s := traced(t, dir, "write", `{}`, "", host.Options{})
	if !s.Empty() || !strings.Contains(strings.Join(s.Refused, "\n"), "the folder holds the module") {
		t.Errorf("%+v", s)
	}
}

// Under a ceiling that has the grant it is suggested.
func TestSuggestionWithinTheCeiling(t *testing.T) {
	dir := folder(t, "asks")
	ceiling := policy.Default()
	ceiling.Grants.Read = []policy.Mount{{Host: filepath.Join(dir, "work"), Guest: "/any"}}
	_, _, s := traced(t, dir, "read", `{}`, "", host.Options{Ceiling: &ceiling})
	if diff := cmp.Diff(map[string]string{"./work/sub": "/work/sub"}, s.Allow.Read); diff != "" {
		t.Errorf("%s %v", diff, s.Refused)
	}
}

// Whatever a guest names, the lines say that and nothing else.
func TestThreat11SuggestedLinesAreEncoded(t *testing.T) {
	for _, name := range []string{
		"/a: b", "/- x", "/\"q\"", "/'", "/a #b", "/{a}", "/[a]", "/&a", "/*a", "/!a", "/|", "/>", "/%a", "/@a", "/`", "/null", "/true", "/~",
		"/ a ", "/a\tb", "/1", "/é", "/..", "/a\\nallow: {private_networks: true}", "/a,b", "/? a", "/a\\", "/0x1f",
	} {
		want := manifest.Allow{Read: map[string]string{"." + name: name}, HTTP: []manifest.HTTPRule{{Host: "example.com", Paths: []string{name}}}}
		text, err := manifest.Lines(&want, map[string]any{strings.TrimPrefix(name, "/"): host.FillIn})
		if err != nil {
			continue // it is refused
		}
		dir := folder(t, "asks")
		doc := "version: 1\ntools:\n  - module: ./tool.wasm\n"
		for l := range strings.Lines(text) {
			doc += "    " + l
		}
		path := filepath.Join(dir, "wagent.yaml")
		if err := os.WriteFile(path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Load(path, nil)
		if err != nil {
			if strings.Contains(err.Error(), "no such folder") || strings.Contains(err.Error(), "path ") || strings.Contains(err.Error(), "guest folder") {
				continue // the manifest takes no such name, and opens nothing
			}
			t.Errorf("%q: %v\n%s", name, err, doc)
			continue
		}
		if a := m.Tools[0].Allow; a.PrivateNetworks || len(a.HTTP) != 1 || len(a.Read) != 1 || a.HTTP[0].Paths[0] != name {
			t.Errorf("%q: %+v", name, a)
		}
	}
	for _, hidden := range []string{"/a\u202eb", "/a\x1b[31m", "/a\u200b", "/a\nb"} {
		if text, err := manifest.Lines(&manifest.Allow{Read: map[string]string{"." + hidden: hidden}}, nil); err == nil && strings.ContainsAny(text, "\u202e\x1b\u200b") {
			t.Errorf("%q became %q", hidden, text)
		}
	}
}

// A store is refused at the call, so that it can be said what it was for.
func TestSuggestionOfAStore(t *testing.T) {
	dir := folder(t, "needkv")
	_, trace, s := traced(t, dir, "needkv", `{}`, "", host.Options{})
	if len(trace.Calls) != 1 || trace.Calls[0].Function != "kv_get" || !trace.Calls[0].Denied() {
		t.Fatalf("%+v", trace)
	}
	lines := yamlOf(t, s)
	if lines != "allow:\n  kv: true\n" || s.Empty() || len(s.Refused) != 0 {
		t.Fatalf("%q %+v", lines, s)
	}
	_, trace, s = traced(t, dir, "needkv", `{}`, lines, host.Options{})
	if len(trace.Calls) != 1 || trace.Calls[0].Denied() || !s.Empty() {
		t.Errorf("with the grant: %+v %+v", trace, s)
	}
	_, _, s = traced(t, dir, "needkv", `{}`, "", host.Options{Ceiling: &policy.Policy{Limits: policy.Default().Limits}})
	if !s.Empty() || !strings.Contains(strings.Join(s.Refused, "\n"), "ceiling") {
		t.Errorf("under a ceiling: %+v", s)
	}
}

// A module that was called without a grant that it is not loaded without is said to
// want one, though this call did not.
func TestSuggestionNamesWhatTheModuleIsNotLoadedWithout(t *testing.T) {
	dir := folder(t, "done")
	thief := builds.Tool(t, filepath.Join(testkit.Root(t), "host", "internal", "sandbox", "testdata", "thief"))
	if err := os.WriteFile(filepath.Join(dir, "tool.wasm"), thief, 0o600); err != nil {
		t.Fatal(err)
	}
	out, _, s := traced(t, dir, "exists", `{"name":"TOKEN"}`, "", host.Options{})
	if out.Kind != "" || !s.Empty() || len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "allow.http (--allow-http HOST)") {
		t.Errorf("%q %+v", out.Kind, s)
	}
	_, _, s = traced(t, dir, "exists", `{"name":"TOKEN"}`, "allow: {http: [{host: example.com}]}\n", host.Options{})
	if len(s.Notes) != 0 {
		t.Errorf("%+v", s)
	}
}
