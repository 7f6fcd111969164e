package main

import (
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// query is the arguments, checked against the columns of the file.
type query struct {
	args    *Args
	columns []string // of the result
	picks   []int    // select: columns of the file
	keys    []int    // group_by: columns of the file
	totals  []total
	filters []filter
	orders  []order
}

type filter struct {
	Filter
	at int
}

type total struct {
	Total
	at int // column of the file; -1 for count without one
}

type order struct {
	at   int // column of the result
	desc bool
}

func plan(a *Args, columns []string) (*query, error) {
	q := &query{args: a}
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

func (q *query) filter(columns []string) error {
	for _, f := range q.args.Where {
		at, err := column(columns, f.Column, "where")
		if err != nil {
			return err
		}
		if f.Op == "in" && len(f.Values) == 0 {
			return sdk.Errorf(abi.Input, "where: in needs values")
		}
		q.filters = append(q.filters, filter{f, at})
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

func (q *query) order([]string) error {
	for _, o := range q.args.OrderBy {
		at, err := column(q.columns, o.Column, "order_by")
		if err != nil {
			return err
		}
		q.orders = append(q.orders, order{at, o.Desc})
	}
	return nil
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
	if near := nearest(columns, name); near != "" {
		hint = "; did you mean \"" + near + "\"?"
	}
	return 0, sdk.Errorf(abi.Input, "%s: there is no column %q%s The columns are: %s", where, name, hint, strings.Join(columns[:min(len(columns), 40)], ", "))
}

// nearest returns the column that is spelt most like name, if it is close.
func nearest(columns []string, name string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, c := range columns {
		if d := distance(strings.ToLower(c), strings.ToLower(name)); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance counts the letters to change, insert or delete (Levenshtein).
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// meets says that a row passes the filter.
func (f *filter) meets(row []string) bool {
	v := row[f.at]
	switch f.Op {
	case "=":
		return compare(v, f.Value) == 0
	case "!=":
		return compare(v, f.Value) != 0
	case "contains":
		return strings.Contains(strings.ToLower(v), strings.ToLower(f.Value))
	case "starts_with":
		return strings.HasPrefix(strings.ToLower(v), strings.ToLower(f.Value))
	case "in":
		return slices.ContainsFunc(f.Values, func(w string) bool { return compare(v, w) == 0 })
	case "is_empty":
		return strings.TrimSpace(v) == ""
	case "not_empty":
		return strings.TrimSpace(v) != ""
	}
	if strings.TrimSpace(v) == "" {
		return false // nothing is neither less nor more
	}
	d := compare(v, f.Value)
	switch f.Op {
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
