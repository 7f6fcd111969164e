package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/wagent-dev/wagent/sdk/sdktest"
)

// same compares what looks for text with the regular expression that says the same.
func same(t *testing.T, pattern, line string, exact bool) {
	t.Helper()
	a := &SearchArgs{Pattern: pattern, Exact: exact}
	find, err := newFinder(a)
	if err != nil {
		t.Fatal(err)
	}
	match, err := matching(a)
	if err != nil {
		t.Fatal(err)
	}
	line = strings.ToValidUTF8(line, "\ufffd")
	if got, want := find(line), match(line); got != want {
		t.Fatalf("%q in %q: found at %d, want %d", pattern, line, got, want)
	}
}

// FuzzFind holds the search for text to that for a regular expression.
func FuzzFind(f *testing.F) {
	for _, s := range [][2]string{
		{"sea", "The SEA"},
		{"K", "\u212a"},
		{"\u212a", "k"},
		{"ſ", "S"},
		{"s", "aſ"},
		{"ss", "Straße"},
		{"ß", "ẞ"},
		{"σ", "ΛΟΓΟΣ ς"},
		{"İ", "i̇"},
		{"I", "ı"},
		{"ǆ", "ǅ Ǆ"},
		{"aab", "aaab"},
		{"a.b*", "A.B* axb"},
		{"日本", "x日本"},
		{"\ufffd", "a\xff"},
		{"μ", "µ"},
		{"", "a"},
		{"é", "É"},
		{"e", "é"},
		{"@", "`"},
		{"[", "{"},
	} {
		f.Add(s[0], s[1], false)
		f.Add(s[0], s[1], true)
	}
	f.Fuzz(func(t *testing.T, pattern, line string, exact bool) {
		same(t, strings.ToValidUTF8(pattern, "?"), line, exact)
	})
}

// TestEveryCharacterIsFoundInEachCase compares for all characters that have cases.
func TestEveryCharacterIsFoundInEachCase(t *testing.T) {
	for r := rune(1); r <= unicode.MaxRune; r++ {
		f := unicode.SimpleFold(r)
		if f == r {
			continue
		}
		same(t, string(f), "x"+string(r), false)
		same(t, "x"+string(f), "aX"+string(r)+"X"+string(f), false)
	}
}

func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "The Quick brown fox jumps over the lazy dog, comment %d of many\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "text.txt"), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string]string{
		"any case":  `{"pattern":"quick zebra"}`,
		"exact":     `{"pattern":"Quick zebra","case_sensitive":true}`,
		"not ASCII": `{"pattern":"Größe"}`,
		"regexp":    `{"pattern":"zebra [0-9]","regexp":true}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				if res := sdktest.Call(b, "search_files", args, sdktest.Folders(dir)); res.Error != nil {
					b.Fatal(res.Error)
				}
			}
		})
	}
}
