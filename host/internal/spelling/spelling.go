// Package spelling finds the word that somebody probably meant.
package spelling

import "strings"

// maxLength bounds the words that are compared, since the work grows with the
// product of their lengths.
const maxLength = 64

// Nearest returns the word of among that is closest to word, or "" when none is
// close: it takes at most two changed, added, missing or swapped bytes, at most
// one for a word of less than six, and something of the word must stay. Of equally
// close ones the first is taken. Upper and lower case count as the same. Words of
// more than 64 bytes are close to nothing.
func Nearest(word string, among []string) string {
	if len(word) > maxLength {
		return ""
	}
	best, least := "", min(2, max(1, len(word)/3))+1
	for _, candidate := range among {
		if len(candidate) > maxLength || abs(len(candidate)-len(word)) >= least {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < min(least, len(word)) {
			best, least = candidate, d
		}
	}
	return best
}

// distance is the number of single-byte edits between a and b, where swapping
// two neighbours is one edit.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func abs(n int) int { return max(n, -n) }
