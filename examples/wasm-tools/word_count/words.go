package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// next finds the next run of what words are made of, from a place in the text on.
// It is empty at the end of the text only.
func next(text string, at int) (start, end int) {
	for {
		start, end = nextASCII(text, at)
		if end == len(text) || text[end] < utf8.RuneSelf {
			return start, end
		}
		if end = start + run(text[start:]); end > start {
			return start, end
		}
		_, size := utf8.DecodeRuneInString(text[start:])
		at = start + size
	}
}

// nextASCII is next up to what is not ASCII. It calls no function, and looks at a
// byte once: in a module that is several times as fast as asking for each
// character what it is.
func nextASCII(text string, at int) (start, end int) {
	for ; at < len(text); at++ {
		if c := text[at]; c|0x20-'a' < 26 || c-'0' < 10 || c == '-' || c == '\'' || c == '_' || c >= utf8.RuneSelf {
			break
		}
	}
	start = at
	for ; at < len(text); at++ {
		if c := text[at]; c|0x20-'a' >= 26 && c-'0' >= 10 && c != '-' && c != '\'' && c != '_' {
			break
		}
	}
	return start, at
}

// run returns how many bytes the run has that text begins with.
func run(text string) int {
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("-'’_", r) {
			return i
		}
	}
	return len(text)
}

// trim takes away the apostrophes and hyphens around a word.
func trim(run string) string {
	if edge(run[0]) || edge(run[len(run)-1]) {
		return strings.Trim(run, "-'’")
	}
	return run
}

// edge says whether c may be of something to trim.
func edge(c byte) bool { return c == '-' || c == '\'' || c >= utf8.RuneSelf }
