package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// maxDepth is how deeply the JSON of a guest may be nested, and maxNames how many
// names an object of it may have.
const (
	maxDepth = 100
	maxNames = 100_000
)

var errTooDeep = errors.New("nested too deeply")

// checkDepth bounds how deeply JSON is nested, without decoding it.
func checkDepth(raw []byte) error {
	if nestedBeyond(raw, maxDepth) {
		return malformed(errTooDeep)
	}
	return nil
}

// unreadable is a depth of nesting at which encoding/json gives up, so that it
// cannot tell JSON from what is none.
const unreadable = 10_000

func nestedBeyond(raw []byte, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// checkNames refuses JSON that two readers may read differently: an object with a
// name twice, a number that is no double. It is valid otherwise and not nested
// too deeply; see [checkDepth].
func checkNames(valid []byte) error {
	var s nameScanner
	for i := 0; i < len(valid); i++ {
		switch c := valid[i]; {
		case c == '{':
			s.open(true)
		case c == '[':
			s.open(false)
		case c == '}' || c == ']':
			s.depth--
		case c == ',':
			s.name = s.levels[s.depth-1].object
		case c == ':':
			s.name = false
		case c == '"':
			n := stringLength(valid[i:])
			if s.name {
				if err := s.add(valid[i : i+n]); err != nil {
					return err
				}
			}
			i += n - 1
		case c == '-' || c >= '0' && c <= '9':
			n := numberLength(valid[i:])
			if _, err := strconv.ParseFloat(string(valid[i:i+n]), 64); err != nil {
				return fmt.Errorf("the number %s is out of range", oneLine(string(valid[i:i+n]), 40))
			}
			i += n - 1
		}
	}
	return nil
}

// nameScanner knows the names of the objects around a place in JSON.
type nameScanner struct {
	levels []nameLevel
	depth  int
	name   bool // the next string is a name
}

type nameLevel struct {
	object bool
	names  map[string]struct{}
}

// manyNames is what is not kept for the next object: emptying it takes time.
const manyNames = 64

func (s *nameScanner) open(object bool) {
	if s.depth == len(s.levels) {
		s.levels = append(s.levels, nameLevel{})
	}
	l := &s.levels[s.depth]
	l.object = object
	if len(l.names) > manyNames {
		l.names = nil
	}
	clear(l.names)
	s.depth++
	s.name = object
}

func (s *nameScanner) add(quoted []byte) error {
	name := string(quoted[1 : len(quoted)-1])
	if bytes.IndexByte(quoted, '\\') >= 0 {
		if err := json.Unmarshal(quoted, &name); err != nil {
			return err
		}
	}
	l := &s.levels[s.depth-1]
	if l.names == nil {
		l.names = make(map[string]struct{})
	}
	if _, twice := l.names[name]; twice {
		return fmt.Errorf("the name %q is there twice", oneLine(name, 40))
	}
	if len(l.names) == maxNames {
		return fmt.Errorf("an object has more than %d names", maxNames)
	}
	l.names[name] = struct{}{}
	return nil
}

// stringLength is how many bytes the string at the beginning takes, with quotes.
func stringLength(b []byte) int {
	for end := 1; ; end++ {
		n := bytes.IndexByte(b[end:], '"')
		if n < 0 {
			return len(b)
		}
		end += n
		escapes := 0
		for b[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

func numberLength(b []byte) int {
	n := bytes.IndexFunc(b, func(r rune) bool {
		return (r < '0' || r > '9') && r != '-' && r != '+' && r != '.' && r != 'e' && r != 'E'
	})
	if n < 0 {
		return len(b)
	}
	return n
}

// cleanJSON replaces, in place of the same length, what JSON may hold and text
// may not: escaped NUL and halves of surrogate pairs. Bytes that are not UTF-8
// are replaced as well.
func cleanJSON(raw []byte) []byte {
	out := bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		i++
		if out[i] != 'u' || i+4 >= len(out) {
			continue
		}
		switch u := hex4(out[i+1:]); {
		case u == 0, u >= 0xDC00 && u < 0xE000:
			copy(out[i+1:], "fffd")
		case u >= 0xD800 && u < 0xDC00:
			if i+10 < len(out) && out[i+5] == '\\' && out[i+6] == 'u' {
				if low := hex4(out[i+7:]); low >= 0xDC00 && low < 0xE000 {
					i += 10
					continue
				}
			}
			copy(out[i+1:], "fffd")
		}
		i += 4
	}
	return out
}

// hex4 reads four hexadecimal digits; -1 if they are none.
func hex4(b []byte) int {
	v := 0
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return v
}
