// Package counting is what the tools of the folder above answer, written once
// more in Go: the guest and the program in Go have it from here, and tests know
// from it what the others must answer.
package counting

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Args are what word_count is called with.
type Args struct {
	Text string `json:"text"`
}

// Result is what it answers.
type Result struct {
	Words    int     `json:"words"` // what is between white space, which is that of ASCII
	Distinct int     `json:"distinct"`
	Spaces   int     `json:"spaces"` // bytes of white space
	Mean     float64 `json:"mean"`   // bytes of a word, in hundredths; 0 if there is none
	Top      []Word  `json:"top"`    // at most three, the most frequent first, then by bytes
}

// Word is a word and how often it is there.
type Word struct {
	Word  string `json:"word"`
	Count int    `json:"count"`
}

const space = " \t\n\v\f\r"

// Count counts the words of a text.
func Count(text string) Result {
	counts := make(map[string]int)
	r := Result{Top: []Word{}}
	for from := 0; from < len(text); {
		at := from
		for at < len(text) && strings.IndexByte(space, text[at]) < 0 {
			at++
		}
		if at > from {
			counts[text[from:at]]++
			r.Words++
		}
		if at < len(text) {
			r.Spaces++
		}
		from = at + 1
	}
	if r.Words > 0 {
		r.Mean = math.Floor(float64(len(text)-r.Spaces)/float64(r.Words)*100+0.5) / 100
	}
	r.Distinct = len(counts)
	for w, n := range counts {
		r.Top = append(r.Top, Word{w, n})
	}
	slices.SortFunc(r.Top, func(a, b Word) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word)) })
	r.Top = r.Top[:min(3, len(r.Top))]
	return r
}
