package sdk

import "strings"

// Suggest returns the one of known that name was probably meant to be, or ""
// if none is near. A model corrects itself faster when it is told.
func Suggest(name string, known []string) string {
	if len(name) > longest {
		return ""
	}
	// Every name is near to one of a single letter.
	best, distance := "", min(1+max(1, len(name)/3), len(name))
	for _, k := range known {
		if len(k) > longest {
			continue
		}
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// longest is the most bytes of a name that are compared. The names come from a
// model, and the comparison costs the product of two lengths.
const longest = 64

// edits counts the insertions, deletions, replacements and swaps of neighbours
// that make b of a, in bytes.
func edits(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next := make([]int, len(b)+1)
		next[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
