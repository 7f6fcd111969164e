package main

import (
	"slices"
	"strings"
)

// window keeps the rows that are asked for as they come, and counts the others.
type window struct {
	*query
	budget budget
	seen   int
	kept   [][]string
}

func (w *window) take(row []string) error {
	w.seen++
	if w.seen <= w.args.Offset || len(w.kept) == w.args.Limit {
		return nil
	}
	picked, size := w.picked(row)
	w.kept = append(w.kept, picked)
	return w.budget.spend(size)
}

func (w *window) result() ([][]string, int) { return w.kept, w.seen }

// picked returns the selected fields of a row, and about what they take. They
// share one piece of memory: many small ones would take twice as much.
func (q *query) picked(row []string) (fields []string, size int) {
	var b strings.Builder
	for _, at := range q.picks {
		b.WriteString(row[at])
	}
	all := strings.Clone(b.String()) // without what the builder has in reserve
	fields = make([]string, len(q.picks))
	from := 0
	for i, at := range q.picks {
		to := from + len(row[at])
		fields[i] = all[from:to]
		from = to
	}
	return fields, costRow + costText*len(fields) + len(all)
}

// entry is a row with what it is sorted by.
type entry struct {
	fields []string
	keys   []key
	size   int
}

// keysOf returns what a row is sorted by.
func (q *query) keysOf(row []string) []key {
	keys := make([]key, len(q.orders))
	for i, o := range q.orders {
		keys[i] = o.text.key(row[o.at])
	}
	return keys
}

func (q *query) compare(a, b []key) int {
	for i, o := range q.orders {
		if d := a[i].compare(b[i], o.desc); d != 0 {
			return d
		}
	}
	return 0
}

func (q *query) sort(all []entry) {
	slices.SortStableFunc(all, func(a, b entry) int { return q.compare(a.keys, b.keys) })
}

// part returns the rows that are asked for of all.
func (q *query) part(all []entry) [][]string {
	all = all[min(q.args.Offset, len(all)):]
	all = all[:min(q.args.Limit, len(all))]
	rows := make([][]string, len(all))
	for i, e := range all {
		rows[i] = e.fields
	}
	return rows
}

// sorted keeps the first rows of an order, and some more.
type sorted struct {
	*query
	budget budget
	seen   int
	kept   []entry
	worst  []key // what sorts behind this is not in the result
}

// slack is how many rows too many are kept before they are sorted.
const slack = 1000

func (s *sorted) take(row []string) error {
	s.seen++
	keys := s.keysOf(row)
	if s.worst != nil && s.compare(keys, s.worst) >= 0 {
		return nil
	}
	e := entry{keys: keys}
	e.fields, e.size = s.picked(row)
	for i := range keys {
		keys[i].text = strings.Clone(keys[i].text)
		e.size += costSort + len(keys[i].text)
	}
	s.kept = append(s.kept, e)
	if s.budget.left < e.size || len(s.kept) >= 2*s.wanted()+slack {
		s.shrink()
	}
	return s.budget.spend(e.size)
}

func (s *sorted) wanted() int { return s.args.Offset + s.args.Limit }

// shrink drops the rows that cannot be in the result any more.
func (s *sorted) shrink() {
	s.sort(s.kept)
	if len(s.kept) <= s.wanted() {
		return
	}
	for _, e := range s.kept[s.wanted():] {
		s.budget.left += e.size
	}
	clear(s.kept[s.wanted():])
	s.kept = s.kept[:s.wanted()]
	s.worst = s.kept[len(s.kept)-1].keys
}

func (s *sorted) result() ([][]string, int) {
	s.sort(s.kept)
	return s.part(s.kept), s.seen
}
