package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Limits bound a JSON text that somebody else wrote. A zero field takes the
// value that is named here.
type Limits struct {
	Bytes  int // of the whole text; 0: 4 MiB
	Depth  int // arrays and objects inside each other; 0: 64
	Values int // objects, arrays, strings, numbers, booleans and nulls; 0: 200,000
}

func (l Limits) orDefault() Limits {
	return Limits{Bytes: or(l.Bytes, 4<<20), Depth: or(l.Depth, 64), Values: or(l.Values, 200_000)}
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

const (
	maxNumber   = 128 // bytes of a number
	maxExponent = 400 // a larger one makes exact arithmetic a memory bomb
)

// SyntaxError says where a text is not the JSON that [Strict] wants.
type SyntaxError struct {
	Offset  int    // bytes before the place
	Problem string // one line that holds at most 64 bytes of the text
}

// Error is the problem and its place on one line.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Problem, e.Offset) }

// Strict checks that raw is one JSON value that every reader takes to mean the
// same, and within lim: valid UTF-8, no key twice in an object, no lone
// surrogate, no number that a double cannot hold. It takes time in proportion
// to the text and memory in proportion to its longest object. The error is a
// [*SyntaxError].
func Strict(raw json.RawMessage, lim Limits) error {
	s := scanner{text: raw, Limits: lim.orDefault()}
	_, err := s.read()
	return err
}

// strictValue is [Strict] that also gives the value, as encoding/json does with numbers
// as they are written.
func strictValue(raw json.RawMessage, lim Limits) (any, error) {
	s := scanner{text: raw, Limits: lim.orDefault(), builds: true}
	return s.read()
}

func (s *scanner) read() (any, error) {
	if len(s.text) > s.Bytes {
		return nil, &SyntaxError{0, fmt.Sprintf("%d bytes of JSON, the limit is %d", len(s.text), s.Bytes)}
	}
	if !utf8.Valid(s.text) {
		return nil, &SyntaxError{invalidAt(s.text), "not valid UTF-8"}
	}
	v, err := s.document()
	if err != nil {
		return nil, err
	}
	return v, nil
}

func invalidAt(raw []byte) int {
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(raw)
}

type scanner struct {
	Limits
	text   []byte
	builds bool // the values are wanted, and not only whether they are some
	at     int
	depth  int
	values int
}

func (s *scanner) fail(format string, args ...any) *SyntaxError {
	return &SyntaxError{s.at, fmt.Sprintf(format, args...)}
}

func (s *scanner) document() (any, *SyntaxError) {
	s.space()
	if s.at == len(s.text) {
		return nil, s.fail("there is no JSON")
	}
	v, err := s.value()
	if err != nil {
		return nil, err
	}
	if s.space(); s.at < len(s.text) {
		return nil, s.fail("more text after the JSON value")
	}
	return v, nil
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// peek is the next byte, or 0 at the end: a NUL is valid nowhere it is looked for.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// value reads a value, and returns it if it is wanted.
func (s *scanner) value() (any, *SyntaxError) {
	if s.values++; s.values > s.Values {
		return nil, s.fail("more than %d values", s.Values)
	}
	switch c := s.peek(); {
	case c == '{' || c == '[':
		return s.nested(c == '{')
	case c == '"':
		text, err := s.str()
		if err != nil || !s.builds {
			return nil, err
		}
		return string(text), nil
	case c == '-' || (c >= '0' && c <= '9'):
		start := s.at
		if err := s.number(); err != nil || !s.builds {
			return nil, err
		}
		return json.Number(s.text[start:s.at]), nil
	case c == 't':
		return true, s.word("true")
	case c == 'f':
		return false, s.word("false")
	case c == 'n':
		return nil, s.word("null")
	}
	return nil, s.unexpected("a value")
}

func (s *scanner) nested(isObject bool) (v any, err *SyntaxError) {
	if s.depth++; s.depth > s.Depth {
		return nil, s.fail("more than %d arrays and objects inside each other", s.Depth)
	}
	s.at++
	if isObject {
		v, err = s.object()
	} else {
		v, err = s.array()
	}
	s.depth--
	return v, err
}

func (s *scanner) unexpected(want string) *SyntaxError {
	if s.at >= len(s.text) {
		return s.fail("the JSON ends where %s should be", want)
	}
	r, _ := utf8.DecodeRune(s.text[s.at:])
	return s.fail("found %s where %s should be", strconv.QuoteRuneToASCII(r), want)
}

func (s *scanner) word(word string) *SyntaxError {
	if len(s.text)-s.at < len(word) || string(s.text[s.at:s.at+len(word)]) != word {
		return s.unexpected("a value")
	}
	s.at += len(word)
	return nil
}

func (s *scanner) object() (map[string]any, *SyntaxError) {
	var keys keySet
	var out map[string]any
	if s.builds {
		out = make(map[string]any)
	}
	for first := true; ; first = false {
		s.space()
		if first && s.peek() == '}' {
			s.at++
			return out, nil
		}
		key, v, err := s.member(&keys)
		if err != nil {
			return nil, err
		}
		if s.builds {
			out[string(key)] = v
		}
		if done, err := s.next('}'); done || err != nil {
			return out, err
		}
	}
}

// member reads a key that is not among keys, and its value.
func (s *scanner) member(keys *keySet) (key []byte, v any, err *SyntaxError) {
	if s.peek() != '"' {
		return nil, nil, s.unexpected("a key in double quotes")
	}
	start := s.at
	if key, err = s.str(); err != nil {
		return nil, nil, err
	}
	if !keys.add(key) {
		return nil, nil, &SyntaxError{start, "the key " + show(string(key)) + " is there twice"}
	}
	if s.space(); s.peek() != ':' {
		return nil, nil, s.unexpected(`":"`)
	}
	s.at++
	s.space()
	v, err = s.value()
	return key, v, err
}

func (s *scanner) array() ([]any, *SyntaxError) {
	out := []any{}
	for first := true; ; first = false {
		s.space()
		if first && s.peek() == ']' {
			s.at++
			return out, nil
		}
		v, err := s.value()
		if err != nil {
			return nil, err
		}
		if s.builds {
			out = append(out, v)
		}
		if done, err := s.next(']'); done || err != nil {
			return out, err
		}
	}
}

// next reads the comma before the next element, or the end.
func (s *scanner) next(end byte) (done bool, err *SyntaxError) {
	s.space()
	switch s.peek() {
	case ',':
		s.at++
		return false, nil
	case end:
		s.at++
		return true, nil
	}
	return false, s.unexpected(`"," or "` + string(end) + `"`)
}

// keySet finds keys that are there twice. Few keys are compared one by one,
// since most objects are small and a map costs more.
type keySet struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

func (k *keySet) add(key []byte) bool {
	if k.many == nil {
		for _, other := range k.few[:k.n] {
			if string(other) == string(key) {
				return false
			}
		}
		if k.n < len(k.few) {
			k.few[k.n] = key
			k.n++
			return true
		}
		k.many = make(map[string]struct{}, 4*len(k.few))
		for _, other := range k.few {
			k.many[string(other)] = struct{}{}
		}
	}
	if _, twice := k.many[string(key)]; twice {
		return false
	}
	k.many[string(key)] = struct{}{}
	return true
}
