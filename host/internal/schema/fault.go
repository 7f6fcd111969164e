package schema

import (
	"fmt"
	"strings"
	"unicode"
)

// Error says why a schema cannot be used.
type Error struct {
	Pointer string // JSON pointer to the place, "" for the whole schema
	Problem string // the rule that is broken and what was found, one line
	Hint    string // what to write instead; may be empty
}

// Error is the place, the problem and the hint on one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pointer != "" {
		b.WriteString("at " + place(e.Pointer) + ": ")
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// place is a pointer as it can be shown: in quotes, and shorter, where a name in it
// has characters that cannot be seen.
func place(pointer string) string {
	if strings.ContainsFunc(pointer, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return show(pointer)
	}
	return cut(pointer, 4*maxShown)
}

// Violation says why arguments do not fit, in words for the model. It holds at
// most 64 bytes of any text that a model or a tool's author wrote.
type Violation struct {
	Problems []Problem
	More     bool // there are problems that were not looked for
}

// Problem is one field and what is wrong with it.
type Problem struct {
	Field string // dotted, as in filters[2].name; "" is the arguments themselves
	Why   string
}

// Error is all problems on one line, each with its field.
func (v *Violation) Error() string {
	var b strings.Builder
	for i, p := range v.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		if p.Field == "" {
			p.Field = "the arguments"
		}
		fmt.Fprintf(&b, "%s: %s", p.Field, p.Why)
	}
	if v.More {
		b.WriteString("; and more")
	}
	return b.String()
}

// maxProblems is how many problems a violation names.
const maxProblems = 8

// report collects problems up to a bound.
type report struct {
	problems []Problem
	more     bool
}
