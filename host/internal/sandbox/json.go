package sandbox

import (
	"bytes"
	"errors"
)

// maxDepth is how deeply the JSON of a guest may be nested.
const maxDepth = 100

var errTooDeep = errors.New("nested too deeply")

// checkDepth bounds how deeply JSON is nested, without decoding it.
func checkDepth(raw []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return malformed(errTooDeep)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
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
