package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/visible"
)

// hostile is a program with two tables, a start function, and names that would
// clear a screen or run backwards: of exports, custom sections and producers.
func hostile() []byte {
	sized := func(s string) string {
		if len(s) > 0x3fff {
			panic("too long")
		}
		return string([]byte{byte(len(s)&0x7f | 0x80), byte(len(s) >> 7)}) + s
	}
	section := func(id byte, body string) string { return string([]byte{id}) + sized(body) }
	const bad = "\x1b[2J\n\u202egnp"
	m := "\x00asm\x01\x00\x00\x00" +
		section(1, "\x01\x60\x00\x00") +
		section(3, "\x01\x00") +
		section(4, "\x02\x70\x01\x03\x07\x6f\x00\x01") +
		section(5, "\x01\x00\x01") +
		section(7, "\x03"+sized("memory")+"\x02\x00"+sized("_start")+"\x00\x00"+sized(bad)+"\x00\x00") +
		section(8, "\x00") +
		section(10, "\x01\x02\x00\x0b") +
		section(0, sized("producers")+"\x01"+sized("language")+"\x01"+sized(bad)+sized(strings.Repeat("9", 400)))
	for i := range 100 {
		m += section(0, sized(fmt.Sprint(bad, i))+"data")
	}
	return []byte(m)
}

func TestThreat11HostileNamesOfAModuleAreCleanedAndBounded(t *testing.T) {
	module := filepath.Join(t.TempDir(), "hostile.wasm")
	if err := os.WriteFile(module, hostile(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	text, _ := command(t, "tools", "inspect", module)
	for _, want := range []string{
		"\ntable    funcref, entries: 3 at least, 7 at most; it gets 7\n",
		"\ntable    externref, entries: 1 at least; it gets 200000\n",
		"\nmade by  language \\u{1b}[2J\\u{a}\\u{202e}gnp 999",
		"\n  its start function waits until the time limit is armed\n",
		"\n  dropped: producers (",
		"\n  func \\u{1b}[2J",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && visible.Hidden(r) }) {
		t.Errorf("it has hidden characters: %q", text)
	}
	for line := range strings.Lines(text) {
		if len(line) > 600 {
			t.Errorf("a line of %d bytes: %.80s", len(line), line)
		}
	}
	text, _ = command(t, "tools", "inspect", "-o", "json", module)
	var info host.ModuleInfo
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		t.Fatal(err)
	}
	r := info.Rewritten
	if len(r.Dropped)+r.MoreDropped != 101 || len(r.Dropped) != 64 || !r.StartDeferred || r.Functions != 1 || len(info.Tables) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestFlagOfARuleMayHaveAPath(t *testing.T) {
	for given, want := range map[string]string{
		"api.example.com":                           "api.example.com  []",
		"GET,PUT api.example.com/v1/**":             "api.example.com GET,PUT [/v1/**]",
		"http://127.0.0.1:80/a b":                   "http://127.0.0.1:80  [/a b]",
		"POST http://[::1]:80/":                     "http://[::1]:80 POST [/]",
		"http://api.example.com":                    "http://api.example.com  []",
		"GET http://api.example.com:8080/a//b/*/c ": "http://api.example.com:8080 GET [/a//b/*/c]",
	} {
		r := httpRule(given)
		if got := fmt.Sprint(r.Host, " ", strings.Join(r.Methods, ","), " ", r.Paths); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

// What a guest asks for becomes one word of a shell, or is left out.
func TestThreat11SuggestedFlagsAreQuoted(t *testing.T) {
	s := &host.Suggestion{}
	s.Allow.Read = map[string]string{"./a'; rm -rf ~; '": "/a'; rm -rf ~; '", "./$(id)": "/$(id)", "./c:d": "/c:d"}
	text := suggestionText(s, style{})
	for _, want := range []string{`--read './a'\''; rm -rf ~; '\'':/a'\''; rm -rf ~; '\'''`, `--read './$(id):/$(id)'`, "there is no flag for /c:d"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
}
