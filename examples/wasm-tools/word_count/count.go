package main

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// count counts a text. A word is a run of letters and digits, with apostrophes
// and hyphens inside of it.
func count(text string, top int) Result {
	seen := make(map[string]int)
	res := Result{Lines: lines(text), Characters: utf8.RuneCountInString(text)}
	for f := range strings.FieldsFuncSeq(text, between) {
		if w := strings.Trim(f, "-'’"); w != "" {
			res.Words++
			seen[strings.ToLower(w)]++
		}
	}
	res.Distinct = len(seen)
	res.Top = make([]Word, 0, len(seen))
	for w, n := range seen {
		res.Top = append(res.Top, Word{w, n})
	}
	slices.SortFunc(res.Top, func(a, b Word) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	res.Top = res.Top[:min(top, len(res.Top))]
	return res
}

// between says whether r is not part of a word.
func between(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-'’_", r)
}

// lines counts lines; the last one need not end in a newline.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}
