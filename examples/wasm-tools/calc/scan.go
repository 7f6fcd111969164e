package main

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter says that c may begin a name; those of other scripts may not, but
// are part of what is called unknown.
func isLetter(c rune) bool { return c == '_' || unicode.IsLetter(c) }

func (p *parser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// sign returns the operator at the front of s and its length in bytes.
// Typographic signs are taken for what they mean.
func sign(s string) (op byte, size int) {
	switch {
	case s == "":
		return 0, 0
	case strings.HasPrefix(s, "**"):
		return '^', 2
	case s[0] < utf8.RuneSelf:
		return s[0], 1
	}
	switch r, size := utf8.DecodeRuneInString(s); r {
	case '×', '·', '⋅':
		return '*', size
	case '÷':
		return '/', size
	case '−', '–':
		return '-', size
	default:
		return 0, 0
	}
}

// next takes one of these signs, or returns 0 if none is there.
func (p *parser) next(signs string) byte {
	p.space()
	op, size := sign(p.text[p.pos:])
	if op == 0 || strings.IndexByte(signs, op) < 0 {
		return 0
	}
	p.pos += size
	return op
}

// word takes a name: a letter, then letters and digits.
func (p *parser) word() string {
	rest := p.text[p.pos:]
	for i, c := range rest {
		if !isLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			rest = rest[:i]
			break
		}
	}
	p.pos += len(rest)
	return rest
}

// number reads digits with a point and an exponent. Underscores may part the
// digits; commas may not, since they part arguments.
func (p *parser) number() (value, error) {
	at := p.pos
	for p.pos < len(p.text) && (isDigit(p.text[p.pos]) || p.text[p.pos] == '.' || p.text[p.pos] == '_') {
		p.pos++
	}
	mantissa := strings.ReplaceAll(p.text[at:p.pos], "_", "")
	exponent, err := p.exponent()
	if err != nil {
		return value{}, err
	}
	r, ok := new(big.Rat).SetString(mantissa + exponent)
	if !ok || strings.Count(mantissa, ".") > 1 {
		return value{}, p.fail(at, "this is not a number")
	}
	v, err := fraction(r)
	if err != nil {
		return value{}, p.fail(at, "%v", err)
	}
	return v, nil
}

// exponent reads e and digits, if they are there. It is bounded before a number
// is made of it.
func (p *parser) exponent() (string, error) {
	at := p.pos
	i := at
	if i < len(p.text) && (p.text[i] == 'e' || p.text[i] == 'E') {
		i++
		if i < len(p.text) && (p.text[i] == '+' || p.text[i] == '-') {
			i++
		}
	}
	first := i
	for i < len(p.text) && isDigit(p.text[i]) {
		i++
	}
	if i == first || first == at {
		return "", nil
	}
	if i-first > 3 {
		return "", p.fail(at, "%v", errExponent)
	}
	p.pos = i
	return p.text[at:i], nil
}
