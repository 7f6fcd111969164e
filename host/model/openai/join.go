package openai

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// joinMembers writes an object of members that are JSON, in the order of their names.
func joinMembers(members map[string]json.RawMessage) []byte {
	n := 2
	keys := make([]string, 0, 8)
	for key, value := range members {
		n += len(key) + len(value) + 4
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b := append(make([]byte, 0, n), '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), ':')
		b = append(b, members[key]...)
	}
	return append(b, '}')
}

// named is a member of an object, with a name that needs no escape; without a value it
// is none.
type named struct {
	key   string
	value json.RawMessage
}

// joinKnown is joinMembers for members that may be nil and those in list, which are
// in the order of their names and win.
func joinKnown(members map[string]json.RawMessage, list []named) []byte {
	if members == nil {
		return joinList(list)
	}
	for _, k := range list {
		if k.value == nil {
			delete(members, k.key)
		} else {
			members[k.key] = k.value
		}
	}
	return joinMembers(members)
}

func joinList(list []named) []byte {
	n := 2
	for _, k := range list {
		n += len(k.key) + len(k.value) + 4
	}
	b := append(make([]byte, 0, n), '{')
	for _, k := range list {
		if k.value == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), k.key...), '"', ':')
		b = append(b, k.value...)
	}
	return append(b, '}')
}

// appendString writes s as JSON, as [marshal] does.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			if c >= ' ' && c != '"' && c != '\\' {
				continue
			}
			b = append(b, s[from:i-1]...)
			from = i
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			case '\b':
				b = append(b, '\\', 'b')
			case '\f':
				b = append(b, '\\', 'f')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if instead := escaped(r, size); instead != "" {
			b = append(append(b, s[from:i]...), instead...)
			from = i + size
		}
		i += size
	}
	return append(append(b, s[from:]...), '"')
}

// escaped is what is written for a character that is not written as it is.
func escaped(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	}
	return ""
}
