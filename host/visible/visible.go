// Package visible shows text that a model or a guest wrote to a person. What a
// terminal would obey or an eye would miss (escape sequences, text that runs
// backwards, characters of no width, hidden tags) is written out as \u{1b} and
// the like. It does not decide what is true: letters that look alike stay.
//
//	fmt.Fprintln(os.Stderr, visible.Line(message, 256))
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis stands at the end of a line that was cut.
const Ellipsis = "…"

// Text returns s with everything invisible written out; newlines and tabs stay,
// and "\r\n" becomes a newline. Bytes that are no UTF-8 become U+FFFD. The
// result is at most ten times as long as s.
func Text(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		default:
			b.WriteString(show(r))
		}
		i += n
	}
	return b.String()
}

// Line returns s as one line of at most max bytes, newlines and tabs written
// out as well. A line that is cut ends in [Ellipsis]. Line looks at no more of
// s than it returns. If max is not positive the result is empty.
func Line(s string, max int) string {
	var b strings.Builder
	end := 0 // how much of b may stay when an ellipsis has to follow
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		shown := show(r)
		if b.Len()+len(shown) > max {
			return cut(b.String()[:end], max)
		}
		b.WriteString(shown)
		if b.Len()+len(Ellipsis) <= max {
			end = b.Len()
		}
		i += n
	}
	return b.String()
}

func cut(s string, max int) string {
	if max < len(Ellipsis) {
		return ""
	}
	return s + Ellipsis
}

// Hidden reports whether a terminal would obey r or an eye would miss it:
// whether Text and Line write it out.
func Hidden(r rune) bool { return !unicode.IsGraphic(r) || invisible(r) }

func show(r rune) string {
	if !Hidden(r) {
		return string(r)
	}
	return fmt.Sprintf(`\u{%x}`, r)
}

// invisible lists what Unicode counts as letters, marks and symbols and yet
// shows nothing. The two variation selectors that choose between text and emoji
// stay: they are in ordinary use, and one bit is little to hide in.
func invisible(r rune) bool {
	switch {
	case r < 0x34f:
		return false
	case r >= 0xfe00 && r <= 0xfe0d, r >= 0xe0100 && r <= 0xe01ef: // variation selectors
		return true
	case r >= 0x180b && r <= 0x180f, r == 0x17b4, r == 0x17b5:
		return true
	}
	switch r {
	case 0x34f, 0x115f, 0x1160, 0x2800, 0x3164, 0xffa0, 0x1d159:
		return true
	}
	return false
}
