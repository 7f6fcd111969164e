package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/visible"
)

// truncate cuts s to at most n bytes without cutting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// oneLine makes what an endpoint wrote one line of at most n bytes that hides
// nothing: each run of space is one space, and what a terminal would obey or an
// eye would miss is written out.
func oneLine(s string, n int) string {
	return visible.Line(strings.Join(strings.Fields(s), " "), n)
}
