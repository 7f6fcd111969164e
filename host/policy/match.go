package policy

import (
	"slices"
	"strings"
)

// Allows reports whether the rule covers a request. It compares and does not
// interpret: method in upper case, scheme in lower case, host as [CleanHost]
// returns it, path decoded. It takes time in proportion to the length of path
// times that of the patterns, whatever they are.
func (r HTTPRule) Allows(method, scheme, host string, port int, path string) bool {
	return r.Scheme == scheme && r.Port == port &&
		coversHost(r.Host, host) && !strings.HasPrefix(host, "*") &&
		slices.Contains(r.methods(), method) &&
		r.allowsPath(path)
}

func (r HTTPRule) allowsPath(path string) bool {
	for _, set := range r.pathSets() {
		if !slices.ContainsFunc(set, func(p string) bool { return matches(p, path) }) {
			return false
		}
	}
	return true
}

// methods returns what an empty list stands for, without what no rule can open.
func (r HTTPRule) methods() []string {
	if len(r.Methods) == 0 {
		return []string{"GET", "HEAD"}
	}
	return slices.DeleteFunc(slices.Clone(r.Methods), func(m string) bool {
		return m == "TRACE" || m == "CONNECT"
	})
}

// pathSets returns the sets of patterns of which a path must match one each.
func (r HTTPRule) pathSets() [][]string {
	var sets [][]string
	if len(r.Paths) > 0 {
		sets = append(sets, r.Paths)
	}
	return append(sets, r.Within...)
}

// coversHost reports whether every host that b stands for is one that a stands for.
func coversHost(a, b string) bool {
	if a == b {
		return true
	}
	suffix, wild := strings.CutPrefix(a, "*")
	label, ok := strings.CutSuffix(b, suffix)
	return wild && ok && label != "" && !strings.Contains(label, ".")
}

// The symbols of a pattern: bytes, and two beyond them.
const (
	star     = 256 + iota // "*": any run without "/"
	starStar              // "**": any run
)

// symbols splits a pattern. Two stars are one symbol, from the left.
func symbols(pattern string) []int {
	out := make([]int, 0, len(pattern))
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			out = append(out, starStar)
			i++
		case pattern[i] == '*':
			out = append(out, star)
		default:
			out = append(out, int(pattern[i]))
		}
	}
	return out
}

func literals(s string) []int {
	out := make([]int, len(s))
	for i := range len(s) {
		out[i] = int(s[i])
	}
	return out
}

func matches(pattern, path string) bool { return coversSymbols(symbols(pattern), literals(path)) }

// covers reports whether pattern a provably matches whatever b matches. It may
// say no where a cleverer proof would say yes.
func covers(a, b string) bool { return coversSymbols(symbols(a), symbols(b)) }

// coversSymbols matches pattern against text, whose stars only a star that is
// at least as wide can swallow. reached[i] says that the first i symbols of the
// pattern can swallow the text so far.
func coversSymbols(pattern, text []int) bool {
	reached := make([]bool, len(pattern)+1)
	reached[0] = true
	skipStars(pattern, reached)
	for _, c := range text {
		for i := len(pattern); i > 0; i-- {
			p := pattern[i-1]
			reached[i] = reached[i] && swallows(p, c) || reached[i-1] && p == c && p < star
		}
		reached[0] = false
		skipStars(pattern, reached)
	}
	return reached[len(pattern)]
}

// skipStars lets each star match nothing.
func skipStars(pattern []int, reached []bool) {
	for i, p := range pattern {
		if p >= star && reached[i] {
			reached[i+1] = true
		}
	}
}

func swallows(p, c int) bool {
	return p == starStar || p == star && c != '/' && c != starStar
}

// overlap reports whether there is a path that both patterns match.
func overlap(a, b string) bool {
	x, y := symbols(a), symbols(b)
	// row[j]: some text is matched by the rest of x from i on and of y from j on.
	row := make([]bool, len(y)+1)
	for i := len(x); i >= 0; i-- {
		next := slices.Clone(row)
		for j := len(y); j >= 0; j-- {
			row[j] = overlapAt(x[i:], y[j:], next, row, j)
		}
	}
	return row[0]
}

// overlapAt decides one cell: next is the row of the symbol after x[0], row the
// current one, of which the cells beyond j are done.
func overlapAt(x, y []int, next, row []bool, j int) bool {
	switch {
	case len(x) == 0 && len(y) == 0:
		return true
	case len(x) == 0:
		return y[0] >= star && row[j+1]
	case len(y) == 0:
		return x[0] >= star && next[j]
	case x[0] >= star && (next[j] || (swallows(x[0], y[0]) || y[0] >= star) && row[j+1]):
		return true
	case y[0] >= star && (row[j+1] || (swallows(y[0], x[0]) || x[0] >= star) && next[j]):
		return true
	}
	return x[0] == y[0] && x[0] < star && next[j+1]
}
