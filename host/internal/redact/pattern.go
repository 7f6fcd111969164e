package redact

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// pattern is one form of a value: a sequence of characters, each of which may be
// written as it is, URL-encoded or escaped as in JSON.
type pattern struct {
	units []string // each: the bytes of which one has to be there
	skip  string   // what may be between the units
	digit bool     // the units are letters and digits, so that line breaks may be escaped as well
}

// maxSkip bounds what is skipped between two units, so that what is held back of
// a stream is bounded.
const maxSkip = 8

// patterns are the forms of a value.
func patterns(value string) []*pattern {
	out := []*pattern{
		{units: bytewise(value), skip: "\r\n"},
		{units: folded(hex.EncodeToString([]byte(value))), skip: "\r\n :", digit: true},
	}
	reversed := []byte(value)
	slices.Reverse(reversed)
	out = append(out, &pattern{units: bytewise(string(reversed)), skip: "\r\n"})
	for shift := range 3 {
		out = append(out, &pattern{units: base64Units(value, shift), skip: "\r\n", digit: true})
	}
	return out
}

func bytewise(s string) []string {
	units := make([]string, len(s))
	for i := range len(s) {
		units[i] = s[i : i+1]
	}
	return units
}

func folded(digits string) []string {
	units := bytewise(digits)
	for i, d := range units {
		if upper := strings.ToUpper(d); upper != d {
			units[i] = d + upper
		}
	}
	return units
}

// base64Units are the characters that a value has in base64 after shift other
// bytes, without those at the ends that its neighbours are part of. Both
// alphabets are in them.
func base64Units(value string, shift int) []string {
	all := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), value...))
	begin := (shift*8 + 5) / 6
	end := (shift + len(value)) * 8 / 6
	units := bytewise(all[begin:end])
	for i, u := range units {
		switch u {
		case "+":
			units[i] = "+-"
		case "/":
			units[i] = "/_"
		}
	}
	return units
}

// begins reports whether a match can begin with b.
func (p *pattern) begins(b byte) bool {
	return b == '%' || b == '\\' || strings.IndexByte(p.units[0], b) >= 0 || b == '+' && p.units[0] == " "
}

// match returns where the units from the k-th on end, if text has them from i on,
// else 0; and whether the text ends before that can be said.
func (p *pattern) match(text []byte, i, k int) (end int, more bool) {
	maybe := false // another way to read what was read so far goes on after the text
	for ; k < len(p.units); k++ {
		if k > 0 {
			i = p.skipped(text, i)
		}
		if i >= len(text) {
			return 0, true
		}
		// A "%" and a backslash may stand for themselves or begin an escape.
		raw := strings.IndexByte(p.units[k], text[i]) >= 0 || text[i] == '+' && p.units[k] == " "
		decoded, n, cut := escape(text[i:])
		if n > 0 && strings.IndexByte(p.units[k], decoded) < 0 {
			n = 0
		}
		switch {
		case raw && (n > 0 || cut):
			end, m := p.match(text, i+1, k+1)
			if maybe = maybe || m || cut; end > 0 || cut {
				return end, maybe
			}
			i += n
		case raw:
			i++
		case n > 0:
			i += n
		default:
			return 0, cut || maybe
		}
	}
	return i, maybe
}

// skipped returns where the text goes on after what may be between units.
func (p *pattern) skipped(text []byte, i int) int {
	for range maxSkip {
		if i < len(text) && strings.IndexByte(p.skip, text[i]) >= 0 {
			i++
			continue
		}
		if !p.digit || i >= len(text) {
			break
		}
		c, n, _ := escape(text[i:])
		if n == 0 || c != '\r' && c != '\n' {
			break
		}
		i += n
	}
	return i
}

// escape reads one escaped character as URLs and JSON have it. n is 0 if there is
// none, and cut says that there may be one that the text has only the beginning of.
func escape(text []byte) (c byte, n int, cut bool) {
	switch text[0] {
	case '%':
		return hexByte(text, "%")
	case '\\':
		if len(text) == 1 {
			return 0, 0, true
		}
	default:
		return 0, 0, false
	}
	switch text[1] {
	case 'u':
		return hexByte(text, `\u00`)
	case 'x':
		return hexByte(text, `\x`)
	case 'n':
		return '\n', 2, false
	case 'r':
		return '\r', 2, false
	case 't':
		return '\t', 2, false
	case '"', '\'', '\\', '/':
		return text[1], 2, false
	}
	return 0, 0, false
}

// hexByte reads two hexadecimal digits after a prefix.
func hexByte(text []byte, prefix string) (c byte, n int, cut bool) {
	want := len(prefix) + 2
	if len(text) < want {
		return 0, 0, strings.HasPrefix(prefix, string(text[:min(len(text), len(prefix))]))
	}
	if string(text[:len(prefix)]) != prefix {
		return 0, 0, false
	}
	v, err := strconv.ParseUint(string(text[len(prefix):want]), 16, 8)
	return byte(v), want * btoi(err == nil), false
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
