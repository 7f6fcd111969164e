package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	diff "github.com/google/go-cmp/cmp"
)

// plainCount is count without care for speed.
func plainCount(text string, top int) Result {
	seen := make(map[string]int)
	res := Result{Lines: lines(text), Characters: utf8.RuneCountInString(text), Top: []Word{}}
	for f := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-'’_", r)
	}) {
		if w := strings.Trim(f, "-'’"); w != "" {
			res.Words++
			seen[strings.ToLower(w)]++
		}
	}
	res.Distinct = len(seen)
	for w, n := range seen {
		res.Top = append(res.Top, Word{w, n})
	}
	slices.SortFunc(res.Top, func(a, b Word) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	res.Top = res.Top[:min(top, len(res.Top))]
	return res
}

// FuzzCount holds count to the plain way of counting.
func FuzzCount(f *testing.F) {
	f.Add("The cat's 'tail' - ’tis the CAT’S\nend_of-it 12 x", 3)
	f.Add("日本語 Straße e\u0301t\u00e9, «naïve»—no", 9)
	f.Add("--'a'-- -' ’ ’’b’", 100)
	f.Add("a\xffb \xe2\x80", 1)
	f.Fuzz(func(t *testing.T, text string, top int) {
		top = min(max(top, 0), 100)
		if d := diff.Diff(plainCount(text, top), count(text, top)); d != "" {
			t.Fatal(d)
		}
	})
}

func TestManyWordsAreCounted(t *testing.T) {
	var text strings.Builder
	for i := range 50_000 {
		text.WriteString(strings.Repeat("ab", i%7))
		text.WriteByte(byte('a' + i%26))
		text.WriteString(" É\n"[:1+i%4])
	}
	if d := diff.Diff(plainCount(text.String(), 100), count(text.String(), 100)); d != "" {
		t.Error(d)
	}
}
