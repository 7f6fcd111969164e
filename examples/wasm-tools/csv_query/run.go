package main

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const (
	// maxGroups and maxKept bound what is held in memory at once.
	maxGroups = 100_000
	maxKept   = 200_000
	// maxValues bounds the values of medians and distinct counts.
	maxValues = 1_000_000
	// every is how many rows lie between two reports of progress.
	every = 50_000
)

// run reads the table to its end and returns the result.
func (q *query) run(c *sdk.Call, t *table) (Result, error) {
	res := Result{Columns: q.columns, Rows: [][]string{}}
	var out sink = &rows{query: q}
	if len(q.totals) > 0 {
		out = &groups{query: q, of: map[string]*group{}}
	}
	for {
		row, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, err
		}
		if res.Read++; res.Read%every == 0 {
			c.Progress(0, 0, itoa(res.Read)+" rows read")
		}
		if slices.ContainsFunc(q.filters, func(f filter) bool { return !f.meets(row) }) {
			continue
		}
		res.Matched++
		if err := out.take(row); err != nil {
			return Result{}, err
		}
	}
	all, err := out.result()
	if err != nil {
		return Result{}, err
	}
	q.sort(all)
	all = all[min(q.args.Offset, len(all)):]
	res.Left = max(0, len(all)-q.args.Limit)
	res.Rows = append(res.Rows, all[:len(all)-res.Left]...)
	return res, nil
}

func (q *query) sort(all [][]string) {
	if len(q.orders) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b []string) int {
		for _, o := range q.orders {
			d := compare(a[o.at], b[o.at])
			if o.desc {
				d = -d
			}
			if d != 0 {
				return d
			}
		}
		return 0
	})
}

// sink takes the rows that were not filtered out.
type sink interface {
	take(row []string) error
	result() ([][]string, error)
}

// rows keeps columns of rows.
type rows struct {
	*query
	kept [][]string
}

func (r *rows) take(row []string) error {
	if len(r.kept) == maxKept {
		return sdk.Errorf(abi.Input, "more than %d rows match: filter with where, or aggregate", maxKept)
	}
	picked := make([]string, len(r.picks))
	for i, at := range r.picks {
		picked[i] = strings.Clone(row[at])
	}
	r.kept = append(r.kept, picked)
	return nil
}

func (r *rows) result() ([][]string, error) { return r.kept, nil }

// groups adds rows up.
type groups struct {
	*query
	of     map[string]*group
	order  []*group // as they were first seen
	values int
}

type group struct {
	key    []string
	totals []sum
}

// sum is the running total of one aggregate.
type sum struct {
	count    int
	total    float64
	carry    float64 // what total has lost by rounding (Neumaier)
	least    string
	most     string
	numbers  []float64
	distinct map[string]struct{}
}

func (g *groups) take(row []string) error {
	key := make([]string, len(g.keys))
	for i, at := range g.keys {
		key[i] = row[at]
	}
	name := strings.Join(key, "\x00")
	one := g.of[name]
	if one == nil {
		if len(g.order) == maxGroups {
			return sdk.Errorf(abi.Input, "there are more than %d groups: group by fewer columns", maxGroups)
		}
		for i := range key {
			key[i] = strings.Clone(key[i])
		}
		one = &group{key: key, totals: make([]sum, len(g.totals))}
		g.of[name] = one
		g.order = append(g.order, one)
	}
	for i := range g.totals {
		if err := g.add(&one.totals[i], &g.totals[i], row); err != nil {
			return err
		}
	}
	return nil
}

// add adds a row to one total. Empty fields count as nothing.
func (g *groups) add(s *sum, t *total, row []string) error {
	if t.at < 0 {
		s.count++
		return nil
	}
	v := strings.TrimSpace(row[t.at])
	if v == "" {
		return nil
	}
	s.count++
	switch t.Op {
	case "min", "max":
		s.bound(v)
		return nil
	case "distinct":
		return g.distinct(s, v)
	case "count":
		return nil
	}
	n, ok := number(v)
	if !ok {
		return sdk.Errorf(abi.Input, "%s of %q: %q is not a number; filter such rows out with where", t.Op, t.Column, clip(v))
	}
	s.plus(n)
	if t.Op != "median" {
		return nil
	}
	if g.values++; g.values > maxValues {
		return sdk.Errorf(abi.Input, "the median of more than %d values is not supported", maxValues)
	}
	s.numbers = append(s.numbers, n)
	return nil
}

func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

func (s *sum) bound(v string) {
	if s.least == "" || compare(v, s.least) < 0 {
		s.least = strings.Clone(v)
	}
	if s.most == "" || compare(v, s.most) > 0 {
		s.most = strings.Clone(v)
	}
}

func (g *groups) distinct(s *sum, v string) error {
	if _, ok := s.distinct[v]; ok {
		return nil
	}
	if g.values++; g.values > maxValues {
		return sdk.Errorf(abi.Input, "there are more than %d distinct values", maxValues)
	}
	if s.distinct == nil {
		s.distinct = map[string]struct{}{}
	}
	s.distinct[strings.Clone(v)] = struct{}{}
	return nil
}

// plus adds without losing the small to the large.
func (s *sum) plus(n float64) {
	t := s.total + n
	if math.Abs(s.total) >= math.Abs(n) {
		s.carry += (s.total - t) + n
	} else {
		s.carry += (n - t) + s.total
	}
	s.total = t
}

func (g *groups) result() ([][]string, error) {
	if len(g.keys) == 0 && len(g.order) == 0 { // no rows are one group of nothing
		g.order = append(g.order, &group{totals: make([]sum, len(g.totals))})
	}
	out := make([][]string, len(g.order))
	for i, one := range g.order {
		out[i] = one.key
		for j := range g.totals {
			out[i] = append(out[i], one.totals[j].value(g.totals[j].Op))
		}
	}
	return out, nil
}

// value is a total as it is shown; of no values there is only a count and a sum.
func (s *sum) value(op string) string {
	switch op {
	case "count":
		return itoa(s.count)
	case "distinct":
		return itoa(len(s.distinct))
	case "sum":
		return decimal(s.total + s.carry)
	case "min":
		return s.least
	case "max":
		return s.most
	}
	if s.count == 0 {
		return ""
	}
	if op == "avg" {
		return decimal((s.total + s.carry) / float64(s.count))
	}
	slices.Sort(s.numbers)
	mid := len(s.numbers) / 2
	if len(s.numbers)%2 == 1 {
		return decimal(s.numbers[mid])
	}
	return decimal((s.numbers[mid-1] + s.numbers[mid]) / 2)
}
