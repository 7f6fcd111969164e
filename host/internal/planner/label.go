package planner

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// labelKind is one of the labels of the text form.
type labelKind uint8

const (
	actionLabel labelKind = iota + 1
	inputLabel
	finalLabel
	observationLabel
)

// label is a label found in a text.
type label struct {
	kind       labelKind
	start, end int  // with the emphasis around it
	leads      bool // nothing but list marks, heading marks and emphasis before it in its line
	open       int  // characters of emphasis before it that are not closed at its end
}

// findLabels returns the labels of text in order. A line that begins with > is a
// quotation and has none. It reads the text once.
func findLabels(text string, anyCase bool) []label {
	var found []label
	line := lineState{blank: true, leads: true}
	behind := 0 // the label before
	for i := 0; i < len(text); {
		if c := text[i]; !line.leads && c >= ' ' && c < utf8.RuneSelf && !isLetter(rune(c)) {
			i++ // nothing that matters inside a line
			continue
		}
		if l, ok := labelAt(text, i, behind, anyCase); ok && !line.quoted {
			l.leads = line.leads
			found = append(found, l)
			line.blank, line.leads, line.word = false, false, false
			i, behind = l.end, l.end
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		line.pass(r)
		i += size
		i = line.skipWord(text, i)
	}
	return found
}

// lineState is what is known of the line up to a place in it.
type lineState struct {
	blank  bool // only white space
	leads  bool // only what may come before a label at the start of a line
	quoted bool // the line is a quotation
	word   bool // the character before is a letter or a digit
}

func (s *lineState) pass(r rune) {
	if breaksLine(r) {
		*s = lineState{blank: true, leads: true}
		return
	}
	if s.blank && r == '>' {
		s.quoted = true
	}
	s.word = isLetter(r)
	if !isSpace(r) {
		s.blank = false
		s.leads = s.leads && marksLine(r)
	}
}

// marksLine says that r may stand before a label at the start of a line.
func marksLine(r rune) bool {
	switch r {
	case '*', '_', '#', '-', '`', '.', ')':
		return true
	}
	return unicode.IsDigit(r)
}

// skipWord passes the rest of a word: no label begins inside one.
func (s *lineState) skipWord(text string, i int) int {
	for s.word && i < len(text) {
		if c := text[i]; c < utf8.RuneSelf {
			if !isLetter(rune(c)) {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isLetter(r) {
			break
		}
		i += size
	}
	return i
}

// labelAt returns the label that begins at i, emphasis left aside, which begins
// at floor at the earliest.
func labelAt(text string, i, floor int, anyCase bool) (label, bool) {
	switch text[i] {
	case 'A', 'F', 'O', 'a', 'f', 'o':
	default:
		return label{}, false
	}
	kind, colon := labelWord(text[i:], anyCase)
	if kind == 0 {
		return label{}, false
	}
	l := label{kind: kind, start: i, end: i + colon + 1}
	for l.start > floor && i-l.start < 3 && isEmphasis(text[l.start-1]) {
		l.start--
	}
	l.open = i - l.start
	if l.open > 0 && isEmphasis(text[l.end-2]) {
		l.open = 0
	}
	for n := l.open; n > 0 && l.end < len(text) && text[l.end] == text[i-1]; n-- {
		l.end++
		l.open = 0
	}
	return l, true
}

// labelWord returns the label that text begins with, and where its colon is.
func labelWord(text string, anyCase bool) (labelKind, int) {
	if n, ok := word(text, 0, "Action", anyCase); ok {
		n = skipNumber(text, n)
		if colon, ok := colonAt(text, n); ok {
			return actionLabel, colon
		}
		if n, ok = word(text, n, "Input", anyCase); ok {
			if colon, ok := colonAt(text, skipNumber(text, n)); ok {
				return inputLabel, colon
			}
		}
		return 0, 0
	}
	if n, ok := word(text, 0, "Final Answer", anyCase); ok {
		if anyCase {
			n = skipSpace(text, n)
		}
		if colon, ok := colonAt(text, n); ok {
			return finalLabel, colon
		}
		return 0, 0
	}
	if n, ok := word(text, 0, "Observation", anyCase); ok {
		if colon, ok := colonAt(text, skipNumber(text, n)); ok {
			return observationLabel, colon
		}
	}
	return 0, 0
}

// word returns where want ends when it is in text at i.
func word(text string, i int, want string, anyCase bool) (int, bool) {
	end := i + len(want)
	if end > len(text) {
		return 0, false
	}
	got := text[i:end]
	return end, got == want || (anyCase && strings.EqualFold(got, want))
}

// colonAt returns the colon at i, or behind the end of emphasis that is at i.
func colonAt(text string, i int) (int, bool) {
	for n := 0; n < 3 && i < len(text) && isEmphasis(text[i]); n++ {
		i++
	}
	return i, i < len(text) && text[i] == ':'
}

// skipNumber passes white space, digits and white space.
func skipNumber(text string, i int) int {
	i = skipSpace(text, i)
	i = skip(text, i, unicode.IsDigit)
	return skipSpace(text, i)
}

func skipSpace(text string, i int) int { return skip(text, i, isSpace) }

func skip(text string, i int, of func(rune) bool) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !of(r) {
			break
		}
		i += size
	}
	return i
}

func isEmphasis(c byte) bool { return c == '*' || c == '_' }

func isSpace(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r)
}

// breaksLine says that a reader may take r for the end of a line.
func breaksLine(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// quoteLabels returns a text of somebody else in which no line begins like one
// of the text form: such lines become quotations. Emphasis, invisible characters
// and the like before a word do not hide it.
func quoteLabels(s string, anyCase bool) string {
	var b strings.Builder
	from := 0 // of what is not written yet
	for at := 0; at < len(s); {
		first := skip(s, at, func(r rune) bool { return !breaksLine(r) && !isLetter(r) })
		if forges(s[first:], anyCase) {
			b.WriteString(s[from:at])
			b.WriteString("> ")
			from = at
		}
		end := skip(s, first, func(r rune) bool { return !breaksLine(r) })
		at = skip(s, end, breaksLine)
	}
	if from == 0 && b.Len() == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// forges says that a line which begins with s looks like one of the text form. A
// plain "action:" in small letters is in too many files to count.
func forges(s string, anyCase bool) bool {
	kind, _ := labelWord(s, true)
	if kind == actionLabel && !anyCase {
		kind, _ = labelWord(s, false)
	}
	if kind != 0 {
		return true
	}
	n, ok := word(s, 0, "Thought", true)
	if !ok {
		return false
	}
	_, ok = colonAt(s, skipNumber(s, n))
	return ok
}
