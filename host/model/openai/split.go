package openai

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// What an endpoint sends is objects in objects, of which only some members are
// looked at. They are taken apart in one pass each, without a copy: decoding reads
// the inside of an object again for every level that it is in.

// fields is the members of an object in their order, each a slice of it.
type fields []member

type member struct {
	key   []byte // as it is meant, without quotes
	value json.RawMessage
}

// splitObject returns the members of an object that is known to be JSON. Of what is
// not, it returns false or any members, but never panics.
func splitObject(raw []byte) (object, bool) {
	f, ok := splitFields(raw)
	if !ok {
		return nil, false
	}
	o := make(object, len(f))
	for i := range f {
		o[string(f[i].key)] = f[i].value
	}
	return o, true
}

// splitFields is splitObject without a map.
func splitFields(raw []byte) (fields, bool) {
	at := skipSpace(raw, 0)
	if at == len(raw) || raw[at] != '{' {
		return nil, false
	}
	f := make(fields, 0, 6)
	if at = skipSpace(raw, at+1); at < len(raw) && raw[at] == '}' {
		return f, true
	}
	for {
		end := stringEnd(raw, at)
		if end < 0 {
			return nil, false
		}
		key := plainKey(raw[at:end])
		if at = skipSpace(raw, end); at == len(raw) || raw[at] != ':' {
			return nil, false
		}
		at = skipSpace(raw, at+1)
		if end = valueEnd(raw, at); end <= at {
			return nil, false
		}
		f = append(f, member{key, raw[at:end:end]})
		if at = skipSpace(raw, end); at == len(raw) {
			return nil, false
		}
		if raw[at] == '}' {
			return f, true
		}
		if raw[at] != ',' {
			return nil, false
		}
		at = skipSpace(raw, at+1)
	}
}

// plainKey is what a string means that names a member.
func plainKey(raw []byte) []byte {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner
	}
	return []byte(readString(raw))
}

// get returns the last member of a name, or nil.
func (f fields) get(key string) json.RawMessage {
	for i := len(f) - 1; i >= 0; i-- {
		if string(f[i].key) == key {
			return f[i].value
		}
	}
	return nil
}

// The methods of fields are those of object.

func (f fields) has(key string) bool               { return present(f.get(key)) }
func (f fields) str(key string) string             { return readString(f.get(key)) }
func (f fields) number(key string) (int64, bool)   { return readNumber(f.get(key)) }
func (f fields) list(key string) []json.RawMessage { return elements(f.get(key)) }

func (f fields) fields(key string) fields {
	child, _ := splitFields(f.get(key))
	return child
}

// splitList is splitObject for the elements of an array. It returns nil for what is
// none.
func splitList(raw []byte) []json.RawMessage {
	at := skipSpace(raw, 0)
	if at == len(raw) || raw[at] != '[' {
		return nil
	}
	list := []json.RawMessage{}
	if at = skipSpace(raw, at+1); at < len(raw) && raw[at] == ']' {
		return list
	}
	for {
		end := valueEnd(raw, at)
		if end <= at {
			return nil
		}
		list = append(list, raw[at:end:end])
		if at = skipSpace(raw, end); at == len(raw) {
			return nil
		}
		if raw[at] == ']' {
			return list
		}
		if raw[at] != ',' {
			return nil
		}
		at = skipSpace(raw, at+1)
	}
}

func skipSpace(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r') {
		at++
	}
	return at
}

// valueEnd returns where the value that begins at at ends, or -1.
func valueEnd(raw []byte, at int) int {
	if at >= len(raw) {
		return -1
	}
	switch raw[at] {
	case '"':
		return stringEnd(raw, at)
	case '{', '[':
		return nestedEnd(raw, at)
	}
	for at < len(raw) {
		switch raw[at] {
		case ',', ']', '}', ':', '"', ' ', '\n', '\t', '\r':
			return at
		}
		at++
	}
	return at
}

func nestedEnd(raw []byte, at int) int {
	for depth := 0; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			end := stringEnd(raw, at)
			if end < 0 {
				return -1
			}
			at = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return -1
}

// stringEnd returns the place behind the string that begins at at, or -1.
func stringEnd(raw []byte, at int) int {
	if at >= len(raw) || raw[at] != '"' {
		return -1
	}
	for at++; at < len(raw); at++ {
		quote := bytes.IndexByte(raw[at:], '"')
		if quote < 0 {
			return -1
		}
		end := at + quote
		escapes := 0
		for end-escapes > at && raw[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
		at = end
	}
	return -1
}

// plainString reads a string of valid JSON that holds no escape.
func plainString(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 || bytes.IndexByte(raw, '"') >= 0 || !utf8.Valid(raw) {
		return "", false
	}
	for _, c := range raw {
		if c < ' ' {
			return "", false
		}
	}
	return string(raw), true
}
