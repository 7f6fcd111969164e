package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/visible"
)

// escapes are what a terminal obeys and an eye misses: C0 and C1, DEL, sequences of
// every kind, a clipboard and a link, text that runs backwards, characters of no
// width, tags that only a model reads, and a line that is written over.
const escapes = "\x1b]0;owned\x07 \x1b]52;c;cm0gLXJm\x07 \x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\ \x1b[2J\x1b[1;31m \u009b31m \u0090q\u009c \x1bPq\x1b\\ \x1b_x\x1b\\ \x1b^x\x1b\\ " +
	"\x01\x08\x0b\x0c\x0e\x7f \u202egnp\u202c \u2066x\u2069 \u200b\u200d\u2060\ufeff\u00ad \U000e0041\U000e007f \u2028\u2029 done\rover"

// ownSequences are the host's: colours, and the live line that is taken away.
var ownSequences = regexp.MustCompile(`\x1b\[[0-9;]*m|\r\x1b\[K`)

// looked runs a command and returns all that a person sees of it. It fails if that
// has anything which a person does not see.
func looked(t *testing.T, terminal bool, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	io := &streams{in: strings.NewReader(""), out: &out, err: &out, outTerm: terminal, errTerm: terminal, width: func() int { return 0 }, getenv: func(string) string { return "" }}
	code := wagent(t.Context(), args, io)
	text := out.String()
	if terminal {
		text = ownSequences.ReplaceAllString(text, "")
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && visible.Hidden(r) }); at >= 0 {
		t.Errorf("terminal %v: %.40q ended with %d, and %q is raw in it", terminal, args, code, text[max(0, at-40):min(len(text), at+20)])
	}
	return text
}

// project writes a manifest with a module, and a recording in which the model calls
// tools and answers.
func project(t *testing.T, module string, calls ...[2]string) (manifest string) {
	t.Helper()
	dir := t.TempDir()
	var replies bytes.Buffer
	enc := json.NewEncoder(&replies)
	say := func(message map[string]any) {
		message["role"] = "assistant"
		if err := enc.Encode(map[string]any{"message": message}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range calls {
		say(map[string]any{"tool_calls": []any{map[string]any{"name": c[0], "arguments": map[string]string{"text": c[1]}}}})
	}
	say(map[string]any{"content": []any{map[string]any{"type": "text", "text": "It said " + escapes}}})
	manifest = filepath.Join(dir, "wagent.yaml")
	text := fmt.Sprintf("version: 1\nmodel: {provider: replay, recording: rec/run.jsonl}\ntools:\n  - module: %q\n    allow: {http: [{host: status.example.com}]}\n", module)
	for name, data := range map[string]string{"wagent.yaml": text, "rec/run.jsonl": replies.String()} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return manifest
}

func textArg(t *testing.T, text string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// On every way to a person what a guest, a model or a file says is written out: its
// output, its log, what it describes, its errors and last words, and its own name.
// Programs get it as it is.
func TestTXT1NothingReachesATerminalRaw(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	module := filepath.Join(t.TempDir(), "x\x1b[2J\u202ewasm.\u200b.wasm")
	wasm, err := os.ReadFile(buildGuest(t, "./testdata/escapes"))
	if err == nil {
		err = os.WriteFile(module, wasm, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "escapes.wasm")
	if err := os.WriteFile(plain, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := project(t, plain, [2]string{"say", escapes}, [2]string{"fail", escapes}, [2]string{"crash", escapes}, [2]string{escapes, escapes})
	arg := textArg(t, escapes)
	call := func(tool string, more ...string) []string {
		return append([]string{"tools", "call", module, tool, "--args", arg, "--allow-http", "status.example.com"}, more...)
	}
	const title = "]0;owned"
	for _, c := range []struct {
		says string
		args []string
	}{
		{title, call("say")},
		{title, call("say", "-vv", "--trace", "--suggest")},
		{title, call("fail", "-v")},
		{title, call("crash", "-v", "--trace")},
		{"invalid", call("reach", "--trace", "--suggest")},
		{title, call(escapes)},
		{title, []string{"tools", "inspect", module}},
		{"was not granted any host", []string{"tools", "call", module, "say"}},
		{"202e", []string{"tools", "inspect", module + "\u202e"}},
		{title, []string{"tools", "list", "-f", manifest}},
		{title, []string{"validate", "-f", escapes}},
		{title, []string{"run", "-f", manifest, "go" + escapes}},
		{title, []string{"run", "-vv", "-f", manifest, "go"}},
		{title, []string{"run", "-f", manifest, "--tool", escapes, "go"}},
		{title, []string{escapes}},
		{title, []string{"tools", "--" + escapes}},
	} {
		for _, terminal := range []bool{false, true} {
			if text := looked(t, terminal, c.args...); !strings.Contains(text, c.says) {
				t.Errorf("terminal %v: %.60q does not say %q: %s", terminal, c.args, c.says, text)
			}
		}
	}
	for _, args := range [][]string{call("say", "-o", "json"), {"run", "-o", "jsonl", "-f", manifest, "go"}, {"run", "-o", "json", "-f", manifest, "go"}} {
		raw := false
		for line := range strings.Lines(looked(t, false, args...)) {
			var v any
			if json.Unmarshal([]byte(line), &v) == nil {
				raw = raw || strings.Contains(fmt.Sprint(v), escapes)
			}
		}
		if !raw {
			t.Errorf("%.60q does not give a program what was said", args)
		}
	}
}

// crashing is a program whose functions have long names that clear a screen, and
// which crashes in the innermost.
func crashing() []byte {
	section := func(id byte, body string) string {
		return string([]byte{id, byte(len(body)&0x7f | 0x80), byte(len(body) >> 7)}) + body
	}
	sized := func(s string) string { return string([]byte{byte(len(s)&0x7f | 0x80), byte(len(s) >> 7)}) + s }
	name := strings.Repeat("\x1b[2J\n\u202e", 100)
	return []byte("\x00asm\x01\x00\x00\x00" + section(1, "\x01\x60\x00\x00") + section(3, "\x02\x00\x00") + section(5, "\x01\x00\x01") +
		section(7, "\x02"+sized("memory")+"\x02\x00"+sized("_start")+"\x00\x00") + section(10, "\x02\x04\x00\x10\x01\x0b\x03\x00\x00\x0b") +
		section(0, sized("name")+"\x01"+sized("\x02\x00"+sized(name)+"\x01"+sized(name))))
}

// What a tool says beside its answer is short, is on lines that begin with its name,
// and comes ten times a second at the most.
func TestThreat11WhatAToolSaysIsShortAndNamed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	module := buildGuest(t, "./testdata/escapes")
	long := escapes + strings.Repeat(" and more", 1000)
	longHost := "https://" + strings.Repeat("data.", 45) + "evil.com/" // as long as a name may be
	broken := filepath.Join(t.TempDir(), "broken.wasm")
	if err := os.WriteFile(broken, crashing(), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest := project(t, module, [2]string{"hurry", escapes}, [2]string{"say", long}, [2]string{"crash", long}, [2]string{long, long}, [2]string{"reach", longHost})
	for _, c := range []struct {
		tool, says string
		args       []string
	}{
		{"hurry", `hurry: 0% \u{1b}`, []string{"tools", "call", "-v", module, "hurry", "--args", textArg(t, escapes), "--allow-http", "status.example.com"}},
		{"say", `say: warn: \u{1b}`, []string{"tools", "call", "-v", module, "say", "--args", textArg(t, long), "--allow-http", "status.example.com"}},
		{"crash", "crash: ", []string{"tools", "call", "-v", module, "crash", "--args", textArg(t, "x\n"+long), "--allow-http", "status.example.com"}},
		{"reach", "no grant covers this", []string{"tools", "call", "-v", module, "reach", "--args", textArg(t, longHost), "--allow-http", "status.example.com"}},
		{"run", `  run: `, []string{"tools", "call", "-v", broken, "run"}},
		{"", `hurry: 0% \u{1b}`, []string{"run", "-v", "-f", manifest, "go"}},
	} {
		start := time.Now()
		text := looked(t, false, c.args...)
		most := 1 + int(time.Since(start)/(time.Second/10))
		if !strings.Contains(text, c.says) {
			t.Errorf("%.40q does not say %q: %.2000s", c.args, c.says, text)
		}
		progress, last := 0, ""
		for line := range strings.Lines(text) {
			said, ofTool := strings.CutPrefix(line, "  ")
			switch {
			case strings.HasPrefix(line, "wagent: "), strings.HasPrefix(line, "→ "), strings.HasPrefix(line, "✗ "), strings.HasPrefix(line, "✓ "):
				if strings.Contains(line, "all is well") && !strings.Contains(line, "crash") {
					t.Errorf("a tool speaks for the host: %q", line)
				}
				if len(line) > maxComplaint+100 {
					t.Errorf("%d bytes: %.300q", len(line), line)
				}
			case strings.HasPrefix(last, "✓ "): // what it answered
			case ofTool:
				name, rest, named := strings.Cut(said, ": ")
				if !named || c.tool != "" && name != c.tool || len(rest) > maxLog+len("error: \n") {
					t.Errorf("%.40q: %d bytes: %.300q", c.args, len(rest), line)
				}
				if strings.Contains(line, "%") && name == "hurry" {
					progress++
				}
			}
			last = line
		}
		if progress > most {
			t.Errorf("%d lines of progress in the time of %d", progress, most)
		}
	}
}
