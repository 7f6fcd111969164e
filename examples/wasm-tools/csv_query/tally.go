package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// tally works out one total of one group.
type tally interface {
	// take adds a field that is not empty, and returns how many bytes it holds
	// on to.
	take(v string) (int, error)
	value() string
}

func newTally(op string, n notation) tally {
	switch op {
	case "count":
		return new(counter)
	case "min":
		return &extreme{text: n, sign: -1}
	case "max":
		return &extreme{text: n, sign: 1}
	case "distinct":
		return distinct{}
	case "median":
		return &middle{text: n}
	case "avg":
		return &adder{text: n, mean: true}
	default:
		return &adder{text: n}
	}
}

// parse reads a field of which a total needs the number.
func (n notation) parse(v string) (float64, error) {
	f, ok := n.number(v)
	if ok {
		return f, nil
	}
	hint := "filter such rows out with where"
	if other := (notation{n.thousand, n.decimal}); n == plain() {
		if _, ok := other.number(v); ok {
			hint = "set decimal_comma if the file writes numbers like this"
		}
	}
	return 0, fmt.Errorf("%q is not a number; %s", clip(v), hint)
}

type counter int

func (c *counter) take(string) (int, error) {
	*c++
	return 0, nil
}

func (c *counter) value() string { return strconv.Itoa(int(*c)) }

// adder is a sum, or a mean.
type adder struct {
	text  notation
	mean  bool
	count int
	total float64
	carry float64 // what total has lost by rounding (Neumaier)
}

// take adds without losing the small to the large.
func (a *adder) take(v string) (int, error) {
	n, err := a.text.parse(v)
	if err != nil {
		return 0, err
	}
	a.count++
	t := a.total + n
	if math.Abs(a.total) >= math.Abs(n) {
		a.carry += (a.total - t) + n
	} else {
		a.carry += (n - t) + a.total
	}
	a.total = t
	return 0, nil
}

// value of no fields is a sum of 0, and no mean.
func (a *adder) value() string {
	sum := a.total + a.carry
	switch {
	case math.IsInf(sum, 0) || math.IsNaN(sum):
		return "too large"
	case !a.mean:
		return decimal(sum)
	case a.count == 0:
		return ""
	}
	return decimal(sum / float64(a.count))
}

// extreme is a minimum or a maximum, of numbers if there are any, else of text.
type extreme struct {
	text notation
	sign int
	best key
	some bool
}

func (e *extreme) take(v string) (int, error) {
	k := e.text.key(v)
	switch {
	case !e.some, k.rank < e.best.rank, k.rank == e.best.rank && k.compare(e.best, false) == e.sign:
	default:
		return 0, nil
	}
	grown := len(k.text) - len(e.best.text)
	k.text = strings.Clone(k.text)
	e.best, e.some = k, true
	return grown, nil
}

func (e *extreme) value() string { return e.best.text }

type distinct map[string]struct{}

func (d distinct) take(v string) (int, error) {
	if _, ok := d[v]; ok {
		return 0, nil
	}
	d[strings.Clone(v)] = struct{}{}
	return costEntry + len(v), nil
}

func (d distinct) value() string { return strconv.Itoa(len(d)) }

// middle is a median.
type middle struct {
	text    notation
	numbers []float64
}

func (m *middle) take(v string) (int, error) {
	n, err := m.text.parse(v)
	if err != nil {
		return 0, err
	}
	m.numbers = append(m.numbers, n)
	return 12, nil // eight bytes, and room to grow
}

func (m *middle) value() string {
	if len(m.numbers) == 0 {
		return ""
	}
	slices.Sort(m.numbers)
	mid := len(m.numbers) / 2
	if len(m.numbers)%2 == 1 {
		return decimal(m.numbers[mid])
	}
	return decimal(m.numbers[mid-1]/2 + m.numbers[mid]/2)
}
