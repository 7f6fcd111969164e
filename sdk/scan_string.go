package sdk

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// text reads a string.
func (s *scanner) text() (string, bool) {
	b, plain, ok := s.written()
	switch {
	case !ok:
		return "", false
	case !plain:
		return unquote(b)
	case s.lends:
		return unsafe.String(unsafe.SliceData(b), len(b)), true
	default:
		return string(b), true
	}
}

// written reads a string and returns what is between its quotes as it is written.
// It is plain if it is ASCII and has no escape.
func (s *scanner) written() (b []byte, plain, ok bool) {
	start := s.at + 1
	plain = true
	for i := start; ; {
		n, high := ordinary(s.data[i:])
		plain = plain && !high
		i += n
		if i == len(s.data) {
			return nil, false, false
		}
		switch s.data[i] {
		case '"':
			s.at = i + 1
			return s.data[start:i], plain, true
		case '\\':
			plain = false
			n := escape(s.data[i:])
			if n == 0 {
				return nil, false, false
			}
			i += n
		default:
			return nil, false, false
		}
	}
}

// Every byte of a word, for looking at eight bytes at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// ordinary counts the bytes before the first that ends a string, begins an escape
// or may not be in one. high says whether one of them, or of the eight that follow,
// is beyond ASCII.
func ordinary(b []byte) (n int, high bool) {
	var seen uint64
	for ; len(b)-n >= 8; n += 8 {
		w := binary.LittleEndian.Uint64(b[n:])
		seen |= w
		if found := special(w); found != 0 {
			return n + bits.TrailingZeros64(found)/8, seen&highs != 0
		}
	}
	for ; n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\'; n++ {
		seen |= uint64(b[n])
	}
	return n, seen&highs != 0
}

// special has the high bit of each byte of w that is a quote, a backslash or a
// control character. Above the first one, bits may be set that should not be.
func special(w uint64) uint64 {
	quote, backslash := w^'"'*ones, w^'\\'*ones
	return ((w-' '*ones)&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// escape returns the length of the escape that b begins with, 0 if it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := unit(b); ok {
			return 6
		}
	}
	return 0
}

// unit reads an escape of the form \uxxxx at the start of b.
func unit(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// unquote is the string that b is the writing of. Its escapes are known to be
// right; what is not UTF-8 is refused.
func unquote(b []byte) (string, bool) {
	if !utf8.Valid(b) {
		return "", false
	}
	var out strings.Builder
	out.Grow(len(b))
	for {
		n, _ := ordinary(b)
		out.Write(b[:n])
		if b = b[n:]; len(b) == 0 {
			return out.String(), true
		}
		b = unescape(&out, b)
	}
}

// unescape adds what the escape at the start of b stands for, and returns the rest.
func unescape(out *strings.Builder, b []byte) []byte {
	switch c := b[1]; c {
	case 'b':
		out.WriteByte('\b')
	case 'f':
		out.WriteByte('\f')
	case 'n':
		out.WriteByte('\n')
	case 'r':
		out.WriteByte('\r')
	case 't':
		out.WriteByte('\t')
	case 'u':
		return unescapeUnit(out, b)
	default:
		out.WriteByte(c)
	}
	return b[2:]
}

// unescapeUnit does so for one of the form \uxxxx. Two may be one character; half
// of one stands for none.
func unescapeUnit(out *strings.Builder, b []byte) []byte {
	r, _ := unit(b)
	b = b[6:]
	if utf16.IsSurrogate(r) {
		low, _ := unit(b)
		if r = utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
			b = b[6:]
		}
	}
	out.WriteRune(r)
	return b
}
