package main

import (
	"strings"
	"testing"
)

// FuzzTagName holds the name of a tag to its definition: what comes before space or
// a slash, in lower case.
func FuzzTagName(f *testing.F) {
	for _, s := range []string{"DIV class=x", "/p", "br/", "//a\tb", "", "İx\ny", "\xff", "\u212a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		want := strings.ToLower(strings.TrimLeft(body, "/"))
		if i := strings.IndexAny(want, " \t\n\r/"); i >= 0 {
			want = want[:i]
		}
		if got := nameOf(body); got != want {
			t.Fatalf("%q: got %q, want %q", body, got, want)
		}
	})
}
