package schema

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// kind is a set of the types that JSON Schema knows.
type kind uint8

const (
	null kind = 1 << iota
	boolean
	integer
	decimal
	str
	array
	object
)

func kindNamed(name string) kind {
	switch name {
	case "null":
		return null
	case "boolean":
		return boolean
	case "integer":
		return integer
	case "number":
		return integer | decimal
	case "string":
		return str
	case "array":
		return array
	}
	return object
}

// kindOf is the type of a decoded value: one bit.
func kindOf(v any) kind {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case json.Number:
		if _, exponent := normal(v); exponent < 0 {
			return decimal
		}
		return integer
	case string:
		return str
	case []any:
		return array
	}
	return object
}

func (k kind) String() string {
	var names []string
	for bit, name := range []string{"null", "boolean", "integer", "number", "string", "array", "object"} {
		if k&(1<<bit) != 0 && !(1<<bit == integer && k&decimal != 0) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// rational is the exact value of a number that [Strict] let through.
func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return new(big.Rat)
	}
	return r
}

// normal is a number as a signed whole number without zeros at its ends, and the
// power of ten that it is multiplied with. It is the same for equal numbers, and
// finding it does no arithmetic on large ones.
func normal(n json.Number) (digits string, exponent int) {
	text := n.String()
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(text[i+1:]) // Strict has bounded it
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	exponent -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0", 0
	}
	exponent += len(digits) - len(short)
	if negative {
		short = "-" + short
	}
	return short, exponent
}

// canonical appends an encoding that two values share exactly when JSON Schema
// calls them equal: keys sorted, 1.0 as 1.
func canonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		digits, exponent := normal(v)
		return strconv.AppendInt(append(append(b, digits...), 'e'), int64(exponent), 10)
	case string:
		return strconv.AppendQuote(b, v)
	case []any:
		b = append(b, '[')
		for _, item := range v {
			b = append(canonical(b, item), ',')
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = append(strconv.AppendQuote(b, key), ':')
			b = append(canonical(b, v[key]), ',')
		}
		return append(b, '}')
	}
	return b
}

// weight is the work of looking at all of v, in the unit of a check's budget.
func weight(v any) int {
	w := 1
	switch v := v.(type) {
	case string:
		w += len(v) / 64
	case []any:
		for _, item := range v {
			w += weight(item)
		}
	case map[string]any:
		for key, item := range v {
			w += 1 + len(key)/64 + weight(item)
		}
	}
	return w
}
