package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxFound is how many values a * may find.
const maxFound = 50_000

// pick goes down the steps and returns what is there. Below a * what is missing
// is left out; many says that there was one, and then found may be empty.
func pick(doc json.RawMessage, steps []step) (found []json.RawMessage, many bool, err error) {
	found = []json.RawMessage{doc}
	for i, s := range steps {
		var below []json.RawMessage
		for _, v := range found {
			got, err := s.into(v, maxFound-len(below))
			if _, broken := err.(*fault); broken { //nolint:errorlint // into wraps none
				return nil, false, err
			}
			if err != nil && !many {
				return nil, false, faultf("not_found", "at %s: %v", where(steps[:i]), err)
			}
			below = append(below, got...)
		}
		many = many || s.kind == all
		found = below
	}
	return found, many, nil
}

// where writes the steps that were taken.
func where(steps []step) string {
	var b strings.Builder
	b.WriteString("$")
	for _, s := range steps {
		b.WriteString(s.String())
	}
	return b.String()
}

// into takes one step. Of a * it takes no more than room values.
func (s step) into(v json.RawMessage, room int) ([]json.RawMessage, error) {
	switch {
	case s.kind == all && (isList(v) || isObject(v)):
		return values(v, room)
	case s.kind == item && isList(v):
		return itemOf(v, s.index)
	case s.kind == member && isObject(v):
		return memberOf(v, s.name)
	}
	return nil, fmt.Errorf("%s leads nowhere: it is %s", s, outline(v))
}

func values(v json.RawMessage, room int) (all []json.RawMessage, err error) {
	for _, value := range children(v) {
		if len(all) == room {
			return nil, faultf("input", "* finds more than %d values: pick a part of them", maxFound)
		}
		all = append(all, value)
	}
	return all, nil
}

func itemOf(v json.RawMessage, index int) ([]json.RawMessage, error) {
	i := index
	if i < 0 {
		i += count(v)
	}
	for _, value := range children(v) {
		if i == 0 {
			return []json.RawMessage{value}, nil
		}
		i--
	}
	return nil, fmt.Errorf("there is no item %d; it is %s", index, outline(v))
}

// memberOf finds a member by its name. Of two with one name the last one counts.
func memberOf(v json.RawMessage, name string) (found []json.RawMessage, err error) {
	for n, value := range children(v) {
		if named(n, name) {
			found = []json.RawMessage{value}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no %q; it is %s", name, outline(v))
	}
	return found, nil
}

// named says whether n, as it is written, is the JSON of a name.
func named(n json.RawMessage, name string) bool {
	if inner := n[1 : len(n)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner) == name // most names, and many times as fast
	}
	return plain(n) == name
}

func count(v json.RawMessage) int {
	n := 0
	for range children(v) {
		n++
	}
	return n
}

// list makes a JSON list of values.
func list(values []json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(v)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// What an error tells of a value.
const (
	maxNames = 12
	maxName  = 40
)

// outline says what a value is, so that the next path can be right.
func outline(v json.RawMessage) string {
	switch v[0] {
	case '[':
		return fmt.Sprintf("a list of %d", count(v))
	case '{':
		return members(v)
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

func members(v json.RawMessage) string {
	var shown []string
	for n := range children(v) {
		if len(shown) == maxNames {
			shown = append(shown, fmt.Sprintf("and %d more", count(v)-maxNames))
			break
		}
		name := []rune(plain(n))
		if len(name) > maxName {
			name = append(name[:maxName], '…')
		}
		shown = append(shown, string(name))
	}
	if shown == nil {
		return "an empty object"
	}
	return "an object of " + strings.Join(shown, ", ")
}
