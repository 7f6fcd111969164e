package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// finder returns where in a line the first match begins, or -1. The line is UTF-8.
type finder func(line string) int

// newFinder makes what looks for the pattern of a search. A regular expression
// takes a module about a microsecond a byte, so that text is looked for without.
func newFinder(a *SearchArgs) (finder, error) {
	switch {
	case a.Regexp, !utf8.ValidString(a.Pattern):
		return matching(a)
	case a.Exact:
		return func(line string) int { return strings.Index(line, a.Pattern) }, nil
	default:
		return folding(a.Pattern), nil
	}
}

func matching(a *SearchArgs) (finder, error) {
	pattern := a.Pattern
	if !a.Regexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	if !a.Exact {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, sdk.Errorf(abi.Input, "pattern: %w", err)
	}
	return func(line string) int {
		if at := re.FindStringIndex(line); at != nil {
			return at[0]
		}
		return -1
	}, nil
}

// folding looks for a text whatever its case, as (?i) does: two characters are the
// same if Unicode folds them to the same one.
func folding(pattern string) finder {
	runes := []rune(pattern)
	for i, r := range runes {
		runes[i] = folded(r)
	}
	same := string(runes)
	ascii := isASCII(same)
	// Of what folds to ASCII only k and s have one that is not: K and ſ.
	only := ascii && !strings.ContainsAny(same, "ks")
	return func(line string) int {
		if only || ascii && isASCII(line) {
			return indexASCII(line, same)
		}
		return indexRunes(line, runes)
	}
}

// folded is the one that stands for all characters that differ in case only: of
// ASCII the lower case, else the least of them.
func folded(r rune) rune {
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// indexASCII is strings.Index for ASCII in lower case. It calls no function, which
// is what a module is fast at.
func indexASCII(line, lower string) int {
	for i := 0; i+len(lower) <= len(line); i++ {
		n := 0
		for n < len(lower) {
			c := line[i+n]
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			if c != lower[n] {
				break
			}
			n++
		}
		if n == len(lower) {
			return i
		}
	}
	return -1
}

func indexRunes(line string, want []rune) int {
	if len(want) == 0 {
		return 0
	}
	first := []rune{want[0]}
	for f := unicode.SimpleFold(want[0]); f != want[0]; f = unicode.SimpleFold(f) {
		first = append(first, f)
	}
	for i, r := range line {
		if slices.Contains(first, r) && begins(line[i:], want) {
			return i
		}
	}
	return -1
}

// begins says whether a line begins with runes that are folded.
func begins(line string, want []rune) bool {
	for _, r := range line {
		if len(want) == 0 || folded(r) != want[0] {
			break
		}
		want = want[1:]
	}
	return len(want) == 0
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
