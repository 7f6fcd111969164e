package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxPattern = 1024 // bytes of a regular expression
	maxProgram = 4000 // instructions of it, with repetitions written out
)

// pattern is a regular expression together with what matching one byte costs.
type pattern struct {
	*regexp.Regexp
	source string
	size   int
}

func (p *pattern) String() string { return p.source }

// steps is the work of matching s, in the unit of a check's budget.
func (p *pattern) steps(s string) int { return 1 + (len(s)+1)*p.size/8 }

// compilePattern refuses expressions whose program is large before it is built:
// a few bytes like "((a{100}){100}){10}" ask for megabytes.
func compilePattern(source string) (*pattern, error) {
	if len(source) > maxPattern {
		return nil, fmt.Errorf("a regular expression of more than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, explainPattern(err)
	}
	size := programSize(tree)
	if size > maxProgram {
		return nil, errors.New("a regular expression that repeats too much")
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, explainPattern(err)
	}
	return &pattern{Regexp: re, source: source, size: size}, nil
}

func explainPattern(err error) error {
	var fault *syntax.Error
	if !errors.As(err, &fault) {
		return errors.New("not a regular expression")
	}
	if strings.HasPrefix(fault.Expr, "(?") {
		return fmt.Errorf("%s %s: look-around is not supported, nor are back references", fault.Code, show(fault.Expr))
	}
	return fmt.Errorf("%s %s", fault.Code, show(fault.Expr))
}

// programSize estimates the instructions that a tree compiles to, and stops
// growing above the limit.
func programSize(re *syntax.Regexp) int {
	size := 1
	switch re.Op {
	case syntax.OpLiteral:
		size = len(re.Rune)
	case syntax.OpCharClass:
		size = 1 + len(re.Rune)/8
	}
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxProgram+1)
	}
	if re.Op == syntax.OpRepeat {
		size = min(size*max(re.Min, re.Max, 1), maxProgram+1)
	}
	return size
}

func patternEngine(source string) (jsonschema.Regexp, error) { return compilePattern(source) }
