package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
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
		return value{}, p.fail(p.pos, "%s", p.unexpected())
	}
	return v, nil
}

// unexpected says why an expression does not go on as it does.
func (p *parser) unexpected() string {
	switch op, _ := sign(p.text[p.pos:]); {
	case op == ',':
		return "a comma only parts the arguments of a function: write 1234.5 for 1,234.5"
	case op == ')':
		return "there is no ( for this )"
	case op == '=':
		return "an expression has no =, only what is on one side of it"
	}
	return "an operator was expected"
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
		return value{}, p.fail(at, "a number was expected, and the expression ends%s", p.percent(at))
	case isDigit(p.text[at]) || p.text[at] == '.':
		return p.number()
	case p.next("(") == 0:
		if word := p.word(); word != "" {
			return p.name(at, word)
		}
		return value{}, p.fail(at, "a number, a name or ( was expected%s", p.percent(at))
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

// percent is a hint for those who mean percent by the % in front of at.
func (p *parser) percent(at int) string {
	if strings.HasSuffix(strings.TrimRight(p.text[:at], " \t\r\n"), "%") {
		return " (% is what is left of a division; 15 percent is 15/100)"
	}
	return ""
}

// name is a constant, or a function with its arguments.
func (p *parser) name(at int, word string) (value, error) {
	name := strings.ToLower(word)
	switch name {
	case "pi", "π":
		return value{approx: math.Pi}, nil
	case "e":
		return value{approx: math.E}, nil
	}
	f, ok := p.names[name]
	if !ok {
		return value{}, p.fail(at, "%s", p.unknown(name))
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

// maxName is how much of an unknown name is repeated.
const maxName = 40

func (p *parser) unknown(name string) string {
	known := p.known()
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName]) + "…"
	} else if near := sdk.Suggest(name, known); near != "" {
		return fmt.Sprintf("there is no %q: did you mean %s?", name, near)
	}
	return fmt.Sprintf("there is no %q; the functions are %s, the constants pi and e", name, strings.Join(known, ", "))
}

func (p *parser) known() []string { return slices.Sorted(maps.Keys(p.names)) }

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
