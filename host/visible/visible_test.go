package visible_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/visible"
)

// TXT-1: nothing that a terminal obeys or an eye misses comes through.
func TestTextShowsWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, grün, 日本, 🙂":      "plain text, grün, 日本, 🙂",
		"two\nlines\tand a tab":        "two\nlines\tand a tab",
		"dos\r\nline":                  "dos\nline",
		"over\rwritten":                `over\u{d}written`,
		"\x1b[2J\x1b[31mred":           `\u{1b}[2J\u{1b}[31mred`,
		"\x1b]0;title\x07":             `\u{1b}]0;title\u{7}`,
		"\x1b]8;;http://e/\x1b\\link":  `\u{1b}]8;;http://e/\u{1b}\link`,
		"\x1b]52;c;cGFzdGU=\x07":       `\u{1b}]52;c;cGFzdGU=\u{7}`,
		"\u009b31m":                    `\u{9b}31m`,
		"\x9b31m":                      "\ufffd31m",
		"del\x7f nul\x00 bs\x08":       `del\u{7f} nul\u{0} bs\u{8}`,
		"\u202egnp.exe\u2066\u2069":    `\u{202e}gnp.exe\u{2066}\u{2069}`,
		"a\u200bb\u200d\ufeff\u2060":   `a\u{200b}b\u{200d}\u{feff}\u{2060}`,
		"tag\U000e0041\U000e007f":      `tag\u{e0041}\u{e007f}`,
		"vs\ufe00\U000e0100":           `vs\u{fe00}\u{e0100}`,
		"fill\u3164\u115f\uffa0\u2800": `fill\u{3164}\u{115f}\u{ffa0}\u{2800}`,
		"line\u2028par\u2029":          `line\u{2028}par\u{2029}`,
		"private\ue000":                `private\u{e000}`,
	} {
		if got := visible.Text(in); got != want {
			t.Errorf("%+q: got %q, want %q", in, got, want)
		}
	}
}

func TestLineStaysOneLineWithinItsBound(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{"too long", 5, "to…"},
		{"a\nb\tc\r\n", 99, `a\u{a}b\u{9}c\u{d}\u{a}`},
		{"grün", 5, "grün"},
		{"grüner", 6, "gr…"},
		{"ab\x1bcd", 8, "ab…"},
		{"ab\x1bcd", 10, `ab\u{1b}cd`},
		{"abc", 3, "abc"},
		{"abcd", 3, "…"},
		{"abc", 2, ""},
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"", 3, ""},
	} {
		if got := visible.Line(c.in, c.max); got != c.want {
			t.Errorf("%q within %d: got %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

// TXT-2: five thousand newlines push nothing off the screen.
func TestLineOfNewlinesIsBounded(t *testing.T) {
	if got := visible.Line(strings.Repeat("\n", 5000), 256); len(got) > 256 || strings.Contains(got, "\n") {
		t.Errorf("got %d bytes: %q", len(got), got)
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a", "\x1b[31m", "\xff\xfe", "\u202e", "日本\r\n", "\U000e0041"} {
		f.Add(s, 8)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		text, line := visible.Text(s), visible.Line(s, max)
		for _, r := range text {
			if !unicode.IsGraphic(r) && r != '\n' && r != '\t' {
				t.Errorf("%+q shows %U", s, r)
			}
		}
		for _, r := range line {
			if !unicode.IsGraphic(r) {
				t.Errorf("%+q shows %U on its line", s, r)
			}
		}
		if !utf8.ValidString(text) || !utf8.ValidString(line) || line != "" && len(line) > max {
			t.Errorf("%+q within %d: %q, %q", s, max, text, line)
		}
		if visible.Text(text) != text {
			t.Errorf("%+q: shown twice is not shown once", s)
		}
	})
}
