package manifest

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// text returns the content of a string, if n is one.
func text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

func kindOf(n ast.Node) string {
	switch n.Type() {
	case ast.NullType:
		return "nothing"
	case ast.BoolType:
		return "true or false"
	case ast.InfinityType:
		return "infinity"
	case ast.NanType:
		return "what is no number"
	case ast.IntegerType, ast.FloatType:
		return "a number"
	case ast.StringType, ast.LiteralType:
		return "a string"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.SequenceType:
		return "a list"
	}
	return "something else"
}

func (r *reader) scalar(n ast.Node, v reflect.Value, field string, ex expansion) {
	switch v.Type() {
	case reflect.TypeFor[Size]():
		r.size(n, v, field)
		return
	case reflect.TypeFor[Fuel]():
		r.fuel(n, v, field)
		return
	case reflect.TypeFor[Duration]():
		r.duration(n, v, field)
		return
	}
	switch v.Kind() {
	case reflect.String:
		r.str(n, v, field, ex)
	case reflect.Bool:
		b, ok := n.(*ast.BoolNode)
		if !ok {
			r.fail(n, field, "must be true or false, found %s", kindOf(n))
			return
		}
		v.SetBool(b.Value)
	case reflect.Int, reflect.Int64:
		r.integer(n, v, field)
	case reflect.Float64:
		r.float(n, v, field)
	}
}

func (r *reader) str(n ast.Node, v reflect.Value, field string, ex expansion) {
	s, ok := text(n)
	if !ok {
		hint := ""
		if _, isScalar := n.(ast.ScalarNode); isScalar && n.Type() != ast.NullType {
			hint = ": put it in quotes"
		}
		r.fail(n, field, "must be a string, found %s%s", kindOf(n), hint)
		return
	}
	if ex != inValues {
		r.literals[field] = s
		r.noteEmpty(field, s == "")
		v.SetString(s)
		return
	}
	out, ok := r.expand(n, field, s)
	if !ok {
		return
	}
	if out == s {
		r.literals[field] = s
	}
	r.noteEmpty(field, out == "")
	v.SetString(out)
}

// noteEmpty remembers that a field is there and holds nothing, which its value alone
// does not tell.
func (r *reader) noteEmpty(field string, empty bool) {
	if empty {
		r.origin.empty[field] = true
	}
}

func (r *reader) integer(n ast.Node, v reflect.Value, field string) {
	i, ok := n.(*ast.IntegerNode)
	if !ok && isHuge(n) {
		r.fail(n, field, "the number is too large")
		return
	}
	if !ok {
		r.fail(n, field, "must be a whole number, found %s", kindOf(n))
		return
	}
	value, ok := wholeNumber(i)
	if !ok || v.OverflowInt(value) {
		r.fail(n, field, "the number is too large")
		return
	}
	if value == 0 && !r.zero { // where zero means the default, a limit of 0 must not turn into it
		r.fail(n, field, "must be at least 1")
		return
	}
	v.SetInt(value)
}

// isHuge reports whether n is a number that is too large for the YAML library,
// which then takes it for text.
func isHuge(n ast.Node) bool {
	s, ok := n.(*ast.StringNode)
	if !ok || s.Token.Type != token.StringType {
		return false
	}
	if _, err := strconv.ParseFloat(s.Value, 64); errors.Is(err, strconv.ErrRange) {
		return true
	}
	digits := strings.TrimLeft(s.Value, "+-")
	return len(digits) > 15 && len(digits) >= len(s.Value)-1 && strings.Trim(digits, "0123456789") == ""
}

func wholeNumber(n *ast.IntegerNode) (int64, bool) {
	switch value := n.Value.(type) {
	case int64:
		return value, true
	case uint64:
		return int64(value), value <= math.MaxInt64 //nolint:gosec // the second result says so
	case int:
		return int64(value), true
	}
	return 0, false
}

func (r *reader) float(n ast.Node, v reflect.Value, field string) {
	switch n := n.(type) {
	case *ast.FloatNode:
		if !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value) {
			v.SetFloat(n.Value)
			return
		}
	case *ast.IntegerNode:
		if value, ok := wholeNumber(n); ok {
			v.SetFloat(float64(value))
			return
		}
	}
	if isHuge(n) {
		r.fail(n, field, "the number is too large")
		return
	}
	r.fail(n, field, "must be a number, found %s", kindOf(n))
}

func (r *reader) size(n ast.Node, v reflect.Value, field string) {
	r.quantity(n, v, field, `a size such as "64MiB"`, func(s string) (int64, error) {
		size, err := ParseSize(s)
		return int64(size), err
	})
}

func (r *reader) fuel(n ast.Node, v reflect.Value, field string) {
	r.quantity(n, v, field, `a number of units of work such as "5G"`, func(s string) (int64, error) {
		fuel, err := ParseFuel(s)
		return int64(fuel), err
	})
}

// quantity reads a whole number with or without a unit.
func (r *reader) quantity(n ast.Node, v reflect.Value, field, what string, parse func(string) (int64, error)) {
	s, ok := text(n)
	if i, isNumber := n.(*ast.IntegerNode); isNumber {
		s, ok = i.Token.Value, true
	}
	if !ok {
		r.fail(n, field, "must be %s, found %s", what, kindOf(n))
		return
	}
	q, err := parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		r.fail(n, field, "%s", err)
	case q == 0:
		r.fail(n, field, "must be more than 0")
	default:
		v.SetInt(q)
	}
}

func (r *reader) duration(n ast.Node, v reflect.Value, field string) {
	s, ok := text(n)
	switch n := n.(type) {
	case *ast.IntegerNode:
		s, ok = n.Token.Value, true
	case *ast.FloatNode:
		s, ok = n.Token.Value, true
	}
	if !ok {
		r.fail(n, field, `must be a duration such as "5s", found %s`, kindOf(n))
		return
	}
	d, err := ParseDuration(strings.TrimSpace(s))
	switch {
	case err != nil:
		r.fail(n, field, "%s", err)
	case d <= 0:
		r.fail(n, field, "must be more than 0")
	default:
		v.SetInt(int64(d))
	}
}

// plain is a value of a field that may hold anything that JSON can.
func (r *reader) plain(n ast.Node, field string, ex expansion) (any, bool) {
	switch n := n.(type) {
	case *ast.NullNode:
		return nil, true
	case *ast.BoolNode:
		return n.Value, true
	case *ast.IntegerNode:
		if value, ok := wholeNumber(n); ok {
			return value, true
		}
		return n.Value, true
	case *ast.FloatNode:
		if !math.IsInf(n.Value, 0) && !math.IsNaN(n.Value) {
			return n.Value, true
		}
	case *ast.StringNode, *ast.LiteralNode:
		if isHuge(n) {
			r.fail(n, field, "the number is too large: put it in quotes if it is text")
			return nil, false
		}
		var s string
		r.str(n, reflect.ValueOf(&s).Elem(), field, ex)
		return s, true
	case *ast.SequenceNode:
		var list []any
		r.list(n, reflect.ValueOf(&list).Elem(), field, ex)
		return list, true
	case *ast.MappingNode, *ast.MappingValueNode:
		var object map[string]any
		r.dictionary(n, reflect.ValueOf(&object).Elem(), field, ex)
		return object, true
	}
	r.fail(n, field, "%s cannot be used here: it is not a value of JSON", kindOf(n))
	return nil, false
}
