package schema

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string and returns its content, which shares the text's memory
// where nothing in it is escaped.
func (s *scanner) str() ([]byte, *SyntaxError) {
	s.at++
	start := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1], nil
		case c == '\\':
			return s.escaped(append([]byte(nil), s.text[start:s.at]...))
		case c < ' ':
			return nil, s.fail("a control character in a string")
		}
		s.at++
	}
	return nil, s.fail("a string has no end")
}

// escaped goes on with a string in which something is escaped.
func (s *scanner) escaped(out []byte) ([]byte, *SyntaxError) {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return out, nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
			continue
		case c < ' ':
			return nil, s.fail("a control character in a string")
		default:
			out = append(out, c)
		}
		s.at++
	}
	return nil, s.fail("a string has no end")
}

func (s *scanner) escape() (rune, *SyntaxError) {
	s.at++
	c := s.peek()
	if c == 'u' {
		return s.unicode()
	}
	for i, short := range `"\/bfnrt` {
		if rune(c) == short {
			s.at++
			return rune("\"\\/\b\f\n\r\t"[i]), nil
		}
	}
	return 0, s.fail("an unknown escape in a string")
}

// unicode reads \uXXXX, and the second half where it is the first of a pair.
func (s *scanner) unicode() (rune, *SyntaxError) {
	high, err := s.hex()
	if err != nil || !utf16.IsSurrogate(high) {
		return high, err
	}
	if s.peek() == '\\' && s.at+1 < len(s.text) && s.text[s.at+1] == 'u' {
		s.at++
		low, err := s.hex()
		if err != nil {
			return 0, err
		}
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, s.fail("half of a surrogate pair in a string")
}

func (s *scanner) hex() (rune, *SyntaxError) {
	if len(s.text)-s.at < 5 {
		return 0, s.fail("a string has no end")
	}
	var r rune
	for _, c := range s.text[s.at+1 : s.at+5] {
		digit, ok := hexDigit(c)
		if !ok {
			return 0, s.fail("an escape in a string is not four hexadecimal digits")
		}
		r = r<<4 | digit
	}
	s.at += 5
	return r, nil
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0'), true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}

func (s *scanner) number() *SyntaxError {
	start := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return s.unexpected("a digit")
	}
	if s.peek() == '.' {
		if s.at++; !s.digits() {
			return s.unexpected("a digit")
		}
	}
	exponent := s.at
	if s.peek()|0x20 == 'e' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if !bounded(s.text[start:s.at], s.text[exponent:s.at]) {
		return &SyntaxError{start, "a number is too long, too large or too small"}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > start
}

// bounded reports whether a number can be a double and needs little memory
// exactly. exponent is its end, from the "e" on.
func bounded(number, exponent []byte) bool {
	if len(number) > maxNumber {
		return false
	}
	if len(exponent) > 1 {
		if e, err := strconv.Atoi(string(exponent[1:])); err != nil || e > maxExponent || e < -maxExponent {
			return false
		}
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return !errors.Is(err, strconv.ErrRange)
}
