package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// query is the arguments, checked against the columns of the file.
type query struct {
	args    *Args
	columns []string // of the result
	text    notation // how the file writes numbers
	picks   []int    // select: columns of the file
	keys    []int    // group_by: columns of the file
	totals  []total
	filters []filter
	orders  []order
}

type total struct {
	Total
	at int // column of the file; -1 for count without one
}

// order sorts by a column: of the result where there are totals, else of the
// file.
type order struct {
	at   int
	desc bool
	text notation
}

func plan(a *Args, columns []string) (*query, error) {
	q := &query{args: a, text: written(a)}
	if len(a.Aggregate) == 0 && len(a.GroupBy) > 0 {
		return nil, sdk.Errorf(abi.Input, "group_by needs aggregate, such as [{\"op\":\"count\"}]")
	}
	if len(a.Aggregate) > 0 && len(a.Select) > 0 {
		return nil, sdk.Errorf(abi.Input, "select and aggregate do not go together: the result has the columns of group_by and aggregate")
	}
	for _, step := range []func([]string) error{q.filter, q.group, q.pick, q.order} {
		if err := step(columns); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// reads says which columns of the file the query looks at.
func (q *query) reads(columns int) []bool {
	only := make([]bool, columns)
	for _, f := range q.filters {
		only[f.at] = true
	}
	for _, list := range [][]int{q.keys, q.picks} {
		for _, at := range list {
			only[at] = true
		}
	}
	for _, t := range q.totals {
		if t.at >= 0 {
			only[t.at] = true
		}
	}
	if len(q.totals) == 0 {
		for _, o := range q.orders {
			only[o.at] = true
		}
	}
	return only
}

func (q *query) filter(columns []string) error {
	for _, f := range q.args.Where {
		at, err := column(columns, f.Column, "where")
		if err != nil {
			return err
		}
		ready, err := newFilter(&f, at, q.text)
		if err != nil {
			return err
		}
		q.filters = append(q.filters, ready)
	}
	return nil
}

func (q *query) group(columns []string) error {
	for _, name := range q.args.GroupBy {
		at, err := column(columns, name, "group_by")
		if err != nil {
			return err
		}
		q.keys = append(q.keys, at)
		q.columns = append(q.columns, columns[at])
	}
	for _, t := range q.args.Aggregate {
		one := total{Total: t, at: -1}
		name := t.Op
		if t.Column != "" {
			var err error
			if one.at, err = column(columns, t.Column, "aggregate"); err != nil {
				return err
			}
			name += "_" + columns[one.at]
		} else if t.Op != "count" {
			return sdk.Errorf(abi.Input, "aggregate: %s needs a column", t.Op)
		}
		if t.As != "" {
			name = t.As
		}
		if slices.Contains(q.columns, name) {
			return sdk.Errorf(abi.Input, "aggregate: the result has a column %q already: name this one with as", clip(name))
		}
		q.totals = append(q.totals, one)
		q.columns = append(q.columns, name)
	}
	return nil
}

func (q *query) pick(columns []string) error {
	switch {
	case len(q.totals) > 0:
		return nil
	case len(q.args.Select) == 0:
		for i := range columns {
			q.picks = append(q.picks, i)
		}
		q.columns = columns
		return nil
	}
	for _, name := range q.args.Select {
		at, err := column(columns, name, "select")
		if err != nil {
			return err
		}
		q.picks = append(q.picks, at)
		q.columns = append(q.columns, columns[at])
	}
	return nil
}

func (q *query) order(columns []string) error {
	if len(q.totals) > 0 {
		columns = q.columns
	}
	for _, o := range q.args.OrderBy {
		at, err := column(columns, o.Column, "order_by")
		if err != nil {
			return err
		}
		q.orders = append(q.orders, order{at, o.Desc, q.notationOf(at)})
	}
	return nil
}

// notationOf says how the numbers of a column to sort by are written: totals that
// were worked out here are not as the file has them.
func (q *query) notationOf(at int) notation {
	if i := at - len(q.keys); len(q.totals) > 0 && i >= 0 && q.totals[i].Op != "min" && q.totals[i].Op != "max" {
		return plain()
	}
	return q.text
}

// column finds a column by its name, upper and lower case being the same where
// no other is meant.
func column(columns []string, name, where string) (int, error) {
	if i := slices.Index(columns, name); i >= 0 {
		return i, nil
	}
	if i := slices.IndexFunc(columns, func(c string) bool { return strings.EqualFold(c, strings.TrimSpace(name)) }); i >= 0 {
		return i, nil
	}
	hint := "."
	if near := sdk.Suggest(name, columns); near != "" {
		hint = "; did you mean \"" + near + "\"?"
	}
	return 0, sdk.Errorf(abi.Input, "%s: there is no column %q%s The columns are: %s", where, clip(name), hint, listed(columns))
}

// maxListedColumns is how many columns an error names.
const maxListedColumns = 40

func listed(columns []string) string {
	var shown []string
	for _, c := range columns[:min(len(columns), maxListedColumns)] {
		shown = append(shown, clip(c))
	}
	if n := len(columns) - len(shown); n > 0 {
		shown = append(shown, "and "+strconv.Itoa(n)+" more")
	}
	return strings.Join(shown, ", ")
}

// clip is the beginning of a text for an error.
func clip(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
