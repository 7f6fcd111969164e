package main

import (
	"encoding/json"
	"iter"
)

// children yields the members of an object or the items of a list, in their
// order and as they are written; of an item the name is nil. v is valid JSON
// without space around it, as everything here once the document was checked, so
// the scan need not look for mistakes. It copies nothing: a document may be
// large, and a guest's memory is small.
func children(v json.RawMessage) iter.Seq2[json.RawMessage, json.RawMessage] {
	return func(yield func(name, value json.RawMessage) bool) {
		if !isObject(v) && !isList(v) {
			return
		}
		for rest := gap(v[1:]); rest[0] != ']' && rest[0] != '}'; {
			var name, value json.RawMessage
			if isObject(v) {
				name, rest = next(rest)
			}
			value, rest = next(rest)
			if !yield(name, value) {
				return
			}
		}
	}
}

func isList(v json.RawMessage) bool   { return v[0] == '[' }
func isObject(v json.RawMessage) bool { return v[0] == '{' }

// next returns the value at the front of s, and what follows it and the comma or
// colon after it.
func next(s json.RawMessage) (value, rest json.RawMessage) {
	end := length(s)
	return s[:end:end], gap(s[end:])
}

// gap leaves out the space, comma or colon at the front of s.
func gap(s json.RawMessage) json.RawMessage {
	for i, c := range s {
		switch c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return s[i:]
		}
	}
	return s[len(s):]
}

// length is how many bytes the value at the front of s has.
func length(s json.RawMessage) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i = closing(s, i)
		case '[', '{':
			depth++
		case ']', '}':
			if depth == 0 {
				return i // of a number before it
			}
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue // a number or word ends where something else begins
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(s)
}

// closing returns where the string that opens at s[i] closes.
func closing(s json.RawMessage, i int) int {
	for i++; s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i
}

// depth is how many lists and objects are inside of each other in v.
func depth(v json.RawMessage) int {
	now, most := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			i = closing(v, i)
		case '[', '{':
			now++
			most = max(most, now)
		case ']', '}':
			now--
		}
	}
	return most
}
