package main

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// The grammar, from the loosest binding:
//
//	sum     = product { ("+" | "-") product }
//	product = unary { ("*" | "/" | "%") unary }
//	unary   = ("+" | "-") unary | power
//	power   = postfix [ "^" unary ]          so -2^2 is -4 and 2^-1 is 0.5
//	postfix = atom { "!" }
//	atom    = number | name | name "(" [ sum { "," sum } ] ")" | "(" sum ")"

// maxDepth bounds how deep an expression nests, and so the guest's stack.
const maxDepth = 200

// parser works an expression out while it reads it.
type parser struct {
	text  string
	pos   int // in bytes
	depth int
	names map[string]function
}

// problem is an error at a place of the expression.
type problem struct {
	text string
	pos  int
	what string
}

// excerpt is how much of the expression is shown on each side of a problem.
const excerpt = 24

// Error names the position, counted in characters from 1, and marks it.
func (p *problem) Error() string {
	from, to := max(0, p.pos-excerpt), min(len(p.text), p.pos+excerpt)
	before := strings.ToValidUTF8(p.text[from:p.pos], "")
	after := strings.ToValidUTF8(p.text[p.pos:to], "")
	return fmt.Sprintf("%s, at character %d: %s⟨here⟩%s", p.what, utf8.RuneCountInString(p.text[:p.pos])+1, before, after)
}

func (p *parser) fail(pos int, format string, args ...any) error {
	return &problem{text: p.text, pos: pos, what: fmt.Sprintf(format, args...)}
}

// evaluate returns the value of an expression.
func evaluate(text string) (value, error) {
	p := &parser{text: text, names: functions()}
	v, err := p.sum()
	if err != nil {
		return value{}, err
	}
	if p.space(); p.pos < len(p.text) {
		return value{}, p.fail(p.pos, "an operator was expected")
	}
	return v, nil
}

func (p *parser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// next takes one of these signs, or 0 if none is there. Typographic signs are
// taken for what they mean.
func (p *parser) next(signs string) byte {
	p.space()
	rest := p.text[p.pos:]
	for sign, plain := range map[string]byte{"×": '*', "·": '*', "÷": '/', "−": '-', "**": '^'} {
		if strings.HasPrefix(rest, sign) && strings.IndexByte(signs, plain) >= 0 {
			p.pos += len(sign)
			return plain
		}
	}
	if rest == "" || strings.IndexByte(signs, rest[0]) < 0 || strings.HasPrefix(rest, "**") {
		return 0
	}
	p.pos++
	return rest[0]
}

type operation func(a, b value) (value, error)

// chain reads operands and applies what stands between them, from the left.
func (p *parser) chain(signs string, operand func() (value, error), ops map[byte]operation) (value, error) {
	v, err := operand()
	for err == nil {
		at := p.pos
		op := ops[p.next(signs)]
		if op == nil {
			return v, nil
		}
		var right value
		if right, err = operand(); err == nil {
			v, err = p.applied(at, op, v, right)
		}
	}
	return value{}, err
}

// applied gives an error of op the place of the operator.
func (p *parser) applied(at int, op operation, a, b value) (value, error) {
	v, err := op(a, b)
	if err != nil {
		return value{}, p.fail(at, "%v", err)
	}
	return v, nil
}

func (p *parser) sum() (value, error) {
	if p.depth++; p.depth > maxDepth {
		return value{}, p.fail(p.pos, "the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	return p.chain("+-", p.product, map[byte]operation{'+': add, '-': subtract})
}

func (p *parser) product() (value, error) {
	return p.chain("*/%", p.unary, map[byte]operation{'*': multiply, '/': divide, '%': modulo})
}

func (p *parser) unary() (value, error) {
	if p.depth++; p.depth > maxDepth {
		return value{}, p.fail(p.pos, "the expression is nested too deeply")
	}
	defer func() { p.depth-- }()
	sign := p.next("+-")
	if sign == 0 {
		return p.power()
	}
	v, err := p.unary()
	if err == nil && sign == '-' {
		return negate(v)
	}
	return v, err
}

func (p *parser) power() (value, error) {
	base, err := p.postfix()
	if err != nil {
		return value{}, err
	}
	at := p.pos
	if p.next("^") == 0 {
		return base, nil
	}
	exponent, err := p.unary()
	if err != nil {
		return value{}, err
	}
	return p.applied(at, power, base, exponent)
}

func (p *parser) postfix() (value, error) {
	v, err := p.atom()
	for err == nil {
		at := p.pos
		if p.next("!") == 0 {
			return v, nil
		}
		if v, err = factorial(v); err != nil {
			return value{}, p.fail(at, "%v", err)
		}
	}
	return value{}, err
}

func (p *parser) atom() (value, error) {
	p.space()
	at := p.pos
	switch {
	case p.pos == len(p.text):
		return value{}, p.fail(at, "a number was expected, and the expression ends")
	case isDigit(p.text[at]) || p.text[at] == '.':
		return p.number()
	case isLetter(p.text[at]):
		return p.name()
	case p.next("(") == 0:
		return value{}, p.fail(at, "a number, a name or ( was expected")
	}
	v, err := p.sum()
	if err != nil {
		return value{}, err
	}
	if p.next(")") == 0 {
		return value{}, p.fail(p.pos, "a ) is missing for the ( at character %d", utf8.RuneCountInString(p.text[:at])+1)
	}
	return v, nil
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

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

func (p *parser) name() (value, error) {
	at := p.pos
	for p.pos < len(p.text) && (isLetter(p.text[p.pos]) || isDigit(p.text[p.pos])) {
		p.pos++
	}
	name := strings.ToLower(p.text[at:p.pos])
	switch name {
	case "pi":
		return value{approx: math.Pi}, nil
	case "e":
		return value{approx: math.E}, nil
	}
	f, ok := p.names[name]
	if !ok {
		return value{}, p.fail(at, "there is no %q; the functions are %s", name, strings.Join(p.known(), ", "))
	}
	if p.next("(") == 0 {
		return value{}, p.fail(p.pos, "%s needs its arguments in parentheses", name)
	}
	args, err := p.arguments()
	if err != nil {
		return value{}, err
	}
	v, err := f.with(name, args)
	if err != nil {
		return value{}, p.fail(at, "%v", err)
	}
	return v, nil
}

func (p *parser) known() []string {
	names := make([]string, 0, len(p.names))
	for n := range p.names {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func (p *parser) arguments() ([]value, error) {
	if p.next(")") != 0 {
		return nil, nil
	}
	var args []value
	for {
		v, err := p.sum()
		if err != nil {
			return nil, err
		}
		args = append(args, v)
		switch p.next(",)") {
		case ')':
			return args, nil
		case 0:
			return nil, p.fail(p.pos, "a , or ) was expected")
		}
	}
}
