package planner

import "strings"

// Quoted returns what somebody other than the host says, a module or a tool, in words of
// its own, as the model of p is to be told it: no line of it can pass for one of the
// form. What is none is returned as it is.
func Quoted(p Planner, text string) string {
	switch p := p.(type) {
	case React:
		return quoteLabels(text, p.AnyCase)
	case JSON:
		return quoteObjects(text)
	}
	return text
}

// quoteObjects returns a text in which no line begins like an object, as the results of
// tools do, or like a list of them.
func quoteObjects(s string) string {
	var b strings.Builder
	for at := 0; at < len(s); {
		first := skip(s, at, isBlankInLine)
		if first < len(s) && (s[first] == '{' || s[first] == '[') {
			b.WriteString("> ")
		}
		end := skip(s, first, func(r rune) bool { return !breaksLine(r) })
		next := skip(s, end, breaksLine)
		b.WriteString(s[at:next])
		at = next
	}
	return b.String()
}

func isBlankInLine(r rune) bool { return isSpace(r) && !breaksLine(r) }
