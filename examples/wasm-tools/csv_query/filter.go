package main

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// filter is a condition, ready to be asked of many rows.
type filter struct {
	op    string
	at    int // column of the file
	text  notation
	value operand
	in    []operand
}

// operand is a value to compare with.
type operand struct {
	text   string
	lower  string
	number float64
	is     bool // a number
	date   bool // a day, month or year in ISO form
}

func (n notation) operand(v Literal) operand {
	o := operand{text: strings.TrimSpace(v.text)}
	o.lower = strings.ToLower(o.text)
	if !v.number {
		o.number, o.is = n.number(o.text)
	}
	if !o.is { // JSON has a point, whatever the file writes
		o.number, o.is = plain().number(o.text)
	}
	o.date = isDate(o.text) || len(o.text) == 4 && isDigits(o.text)
	return o
}

func newFilter(f *Filter, at int, n notation) (filter, error) {
	if f.Op == "in" && len(f.Values) == 0 {
		return filter{}, sdk.Errorf(abi.Input, "where: in needs values")
	}
	out := filter{op: f.Op, at: at, text: n, value: n.operand(f.Value)}
	for _, v := range f.Values {
		out.in = append(out.in, n.operand(v))
	}
	return out, nil
}

// isDate says that s begins as 2026-01 does.
func isDate(s string) bool {
	return len(s) >= 7 && s[4] == '-' && isDigits(s[:4]) && isDigits(s[5:7])
}

func isDigits(s string) bool {
	return strings.TrimLeft(s, "0123456789") == ""
}

// meets says that a row passes the filter.
func (f *filter) meets(row []string) bool {
	v := strings.TrimSpace(row[f.at])
	switch f.op {
	case "is_empty":
		return v == ""
	case "not_empty":
		return v != ""
	case "contains":
		return strings.Contains(lower(v), f.value.lower)
	case "starts_with":
		return strings.HasPrefix(lower(v), f.value.lower)
	case "in":
		return slices.ContainsFunc(f.in, func(o operand) bool {
			d, ok := f.compare(v, &o)
			return ok && d == 0
		})
	}
	d, ok := f.compare(v, &f.value)
	switch f.op {
	case "=":
		return ok && d == 0
	case "!=":
		return !ok || d != 0
	}
	if !ok || v == "" {
		return false // nothing is neither less nor more
	}
	switch f.op {
	case "<":
		return d < 0
	case "<=":
		return d <= 0
	case ">":
		return d > 0
	default:
		return d >= 0
	}
}

// lower is strings.ToLower. Most fields are lower case, which takes less to see.
func lower(v string) string {
	for i := range len(v) {
		if c := v[i]; c-'A' < 26 || c >= utf8.RuneSelf {
			return strings.ToLower(v)
		}
	}
	return v
}

// compare compares a field with an operand: dates as dates, numbers as numbers,
// all else as text. A number and what is none cannot be compared.
func (f *filter) compare(v string, o *operand) (d int, ok bool) {
	if o.date && isDate(v) {
		// A month is compared with months: 2026-01-31 is <= 2026-01, and = too.
		return strings.Compare(v[:min(len(v), len(o.text))], o.text), true
	}
	if !o.is {
		return strings.Compare(v, o.text), true
	}
	n, ok := f.text.number(v)
	switch {
	case !ok:
		return 0, v == o.text
	case n < o.number:
		return -1, true
	case n > o.number:
		return 1, true
	}
	return 0, true
}
