package main

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// count counts a text. A word is a run of letters and digits, with apostrophes
// and hyphens inside of it.
func count(text string, top int) Result {
	res := Result{Lines: lines(text), Characters: utf8.RuneCountInString(text)}
	c := counter{counts: make(map[string]*int)}
	for start, end := next(text, 0); start < end; start, end = next(text, end) {
		if w := trim(text[start:end]); w != "" {
			res.Words++
			c.add(w)
		}
	}
	all := c.fold()
	res.Distinct, res.Top = len(all), all[:min(top, len(all))]
	return res
}

// lines counts lines; the last one need not end in a newline.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// counter counts words as they are written.
type counter struct {
	counts map[string]*int
	// recent has some of counts where they are found faster. A text says much the
	// same words, and a map costs more than all else there is to do for a word.
	recent [512]struct {
		word string
		n    *int
	}
}

// add counts a word, which is not empty.
func (c *counter) add(w string) {
	r := &c.recent[(int(w[0])+int(w[len(w)/2])*7+int(w[len(w)-1])*31+len(w))%len(c.recent)]
	if r.word == w {
		*r.n++
		return
	}
	n := c.counts[w]
	if n == nil {
		n = new(int)
		c.counts[w] = n
	}
	*n++
	r.word, r.n = w, n
}

// fold adds up words that differ in case only, and sorts them by how often they
// are there.
func (c *counter) fold() []Word {
	counts := make(map[string]int, len(c.counts))
	for w, n := range c.counts {
		counts[strings.ToLower(w)] += *n
	}
	all := make([]Word, 0, len(counts))
	for w, n := range counts {
		all = append(all, Word{w, n})
	}
	slices.SortFunc(all, func(a, b Word) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	return all
}
