package sdk

import "encoding/json"

// scanner reads JSON several times as fast as encoding/json, which goes through
// a text byte by byte and more than once: in a module that is most of a call.
//
// It takes a part of JSON only. What it refuses may be right or wrong, and is
// read again by encoding/json, which then has the last word and the words of the
// error. What it takes, it reads as encoding/json does.
type scanner struct {
	data  []byte
	at    int
	depth int
	dense bool // white space is refused
	lends bool // strings share the memory of data, which nobody changes
}

// maxDepth is how deep the scanner follows lists and objects.
const maxDepth = 500

// value reads one value, with its numbers as they are written.
func (s *scanner) value() (v any, ok bool) {
	switch s.next() {
	case '"':
		return s.text()
	case '{':
		return s.object()
	case '[':
		return s.list()
	case 't':
		return true, s.word("true")
	case 'f':
		return false, s.word("false")
	case 'n':
		return nil, s.word("null")
	default:
		n, ok := s.number()
		return json.Number(n), ok
	}
}

func (s *scanner) object() (any, bool) {
	m := make(map[string]any)
	ok := s.members(func(name string) bool {
		v, ok := s.value()
		m[name] = v
		return ok
	})
	return m, ok
}

func (s *scanner) list() (any, bool) {
	l := []any{}
	ok := s.series('[', ']', func() bool {
		v, ok := s.value()
		l = append(l, v)
		return ok
	})
	return l, ok
}

// skip reads a value that nobody needs.
func (s *scanner) skip() bool {
	switch s.next() {
	case '"':
		_, _, ok := s.written()
		return ok
	case '{':
		return s.series('{', '}', s.skipMember)
	case '[':
		return s.series('[', ']', s.skip)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		_, ok := s.number()
		return ok
	}
}

func (s *scanner) skipMember() bool {
	if s.next() != '"' {
		return false
	}
	_, _, ok := s.written()
	return ok && s.colon() && s.skip()
}

// raw reads a value and returns it as it is written, a part of the scanner's data.
func (s *scanner) raw() ([]byte, bool) {
	s.next()
	start := s.at
	ok := s.skip()
	return s.data[start:s.at:s.at], ok
}

// members reads an object. member reads the value of each.
func (s *scanner) members(member func(name string) bool) bool {
	return s.series('{', '}', func() bool {
		if s.next() != '"' {
			return false
		}
		name, ok := s.text()
		return ok && s.colon() && member(name)
	})
}

// series reads what stands between two brackets, with commas between.
func (s *scanner) series(first, last byte, each func() bool) bool {
	if s.next() != first || s.depth == maxDepth {
		return false
	}
	s.depth++
	defer func() { s.depth-- }()
	s.at++
	if s.next() == last {
		s.at++
		return true
	}
	for each() {
		c := s.next()
		s.at++
		switch c {
		case last:
			return true
		case ',':
		default:
			return false
		}
	}
	return false
}

// next returns the byte that comes next after white space, 0 at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.data); s.at++ {
		c := s.data[s.at]
		if s.dense || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// end says whether nothing but white space is left.
func (s *scanner) end() bool {
	return s.next() == 0 && s.at == len(s.data)
}

func (s *scanner) colon() bool {
	s.next()
	return s.one(':')
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.at < len(w) || string(s.data[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// number reads a number and returns it as it is written.
func (s *scanner) number() (string, bool) {
	start := s.at
	s.one('-')
	if !s.one('0') && !s.digits() {
		return "", false
	}
	if s.one('.') && !s.digits() {
		return "", false
	}
	if s.one('e') || s.one('E') {
		if !s.one('+') {
			s.one('-')
		}
		if !s.digits() {
			return "", false
		}
	}
	return string(s.data[start:s.at]), true
}

func (s *scanner) one(c byte) bool {
	if s.at == len(s.data) || s.data[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.data) && '0' <= s.data[s.at] && s.data[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}
