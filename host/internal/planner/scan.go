package planner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// scanned is a JSON object or list that a text begins with.
type scanned struct {
	value  json.RawMessage // with line breaks in strings escaped; valid JSON when complete
	end    int             // in the text
	closed bool            // the text has all of it
	// Of one that is not closed: how many brackets are missing, and whether the
	// text ends in a string.
	missing  int
	inString bool
}

var errNoJSON = errors.New("it does not begin with {")

// scanJSON reads the JSON object or list at the start of text. It takes the
// control characters that models leave in strings for what they stand for, and
// closes what the end of the text left open. It reads the text once.
func scanJSON(text string) (scanned, error) {
	if text == "" || (text[0] != '{' && text[0] != '[') {
		return scanned{}, errNoJSON
	}
	s := jsonScanner{text: text}
	if err := s.run(); err != nil {
		return scanned{}, err
	}
	out := scanned{end: s.at, closed: len(s.closers) == 0, missing: len(s.closers), inString: s.inString}
	out.value = s.closedValue()
	if err := validJSON(out.value); err != nil {
		return scanned{}, err
	}
	return out, nil
}

type jsonScanner struct {
	text     string
	at       int
	out      bytes.Buffer
	closers  []byte // of what is open
	inString bool
	escaped  bool // the character before is the \ of an escape
}

func (s *jsonScanner) run() error {
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		if s.inString {
			s.character(c)
			continue
		}
		if err := s.structure(c); err != nil {
			return err
		}
		if len(s.closers) == 0 {
			return nil
		}
	}
	return nil
}

func (s *jsonScanner) character(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = false
	case c < 0x20:
		const hex = "0123456789abcdef"
		s.out.WriteString(`\u00`)
		s.out.WriteByte(hex[c>>4])
		c = hex[c&15]
	}
	s.out.WriteByte(c)
}

func (s *jsonScanner) structure(c byte) error {
	switch c {
	case '"':
		s.inString = true
	case '{':
		s.closers = append(s.closers, '}')
	case '[':
		s.closers = append(s.closers, ']')
	case '}', ']':
		if s.closers[len(s.closers)-1] != c {
			return fmt.Errorf("%q at byte %d closes nothing", string(rune(c)), s.at)
		}
		s.closers = s.closers[:len(s.closers)-1]
	default:
		if strings.IndexByte(" \t\r\n,:+-.0123456789truefalsnE", c) < 0 {
			return fmt.Errorf("invalid character at byte %d, outside a string", s.at)
		}
	}
	if len(s.closers) > MaxDepth {
		return fmt.Errorf("more than %d arrays and objects inside each other, at byte %d", MaxDepth, s.at)
	}
	s.out.WriteByte(c)
	return nil
}

// closedValue closes what is open.
func (s *jsonScanner) closedValue() []byte {
	if s.inString {
		if s.escaped {
			s.out.Truncate(s.out.Len() - 1)
		}
		s.out.WriteByte('"')
	}
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.out.WriteByte(s.closers[i])
	}
	return s.out.Bytes()
}

// validJSON says what is wrong with raw, with the place.
func validJSON(raw []byte) error {
	if json.Valid(raw) {
		return nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	if se, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w, at byte %d", err, se.Offset)
	}
	return err
}

// members returns the members of a JSON object. One that is there twice is an
// error.
func members(object json.RawMessage) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	out := make(map[string]json.RawMessage)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("the member %s is there twice", shown(name))
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		out[name] = v
	}
	return out, nil
}

// quote returns s as a JSON string, without escapes for pages.
func quote(s string) json.RawMessage { return encode(s) }

// encode returns v as JSON on one line, which nothing in it breaks.
func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return json.RawMessage(oneLine.Replace(strings.TrimRight(buf.String(), "\n")))
}

// oneLine escapes, in JSON, what some readers take for the end of a line. Only a
// string can hold it.
var oneLine = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`, "\x7f", `\u007f`)

// errCut says that a text ends before its JSON does.
var errCut = errors.New("it ends before the object does")

// jsonString returns the string that s is in JSON.
func jsonString(s string) (string, bool) {
	var out string
	err := json.Unmarshal([]byte(s), &out)
	return out, err == nil
}
