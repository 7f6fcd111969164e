package main

import (
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// groups adds rows up.
type groups struct {
	*query
	budget budget
	of     map[string]*group
	order  []*group // as they were first seen
	name   []byte   // of the group of a row
}

type group struct {
	key    []string
	totals []tally
}

func (g *groups) take(row []string) error {
	g.name = g.name[:0]
	for _, at := range g.keys {
		g.name = append(append(g.name, strings.TrimSpace(row[at])...), 0) // no field has a zero
	}
	one := g.of[string(g.name)]
	if one == nil {
		var err error
		if one, err = g.add(row); err != nil {
			return err
		}
	}
	for i, t := range g.totals {
		v := ""
		if t.at >= 0 {
			if v = strings.TrimSpace(row[t.at]); v == "" {
				continue // nothing is not counted
			}
		}
		size, err := one.totals[i].take(v)
		if err != nil {
			return sdk.Errorf(abi.Input, "%s of %q: %w", t.Op, clip(t.Column), err)
		}
		if err := g.budget.spend(size); err != nil {
			return err
		}
	}
	return nil
}

// add makes the group of a row.
func (g *groups) add(row []string) (*group, error) {
	one := g.fresh()
	for i, at := range g.keys {
		one.key[i] = strings.Clone(strings.TrimSpace(row[at]))
	}
	g.of[string(g.name)] = one
	g.order = append(g.order, one)
	return one, g.budget.spend(costRow + costEntry + 2*len(g.name) + (len(g.keys)+len(g.totals))*(costText+costSort))
}

func (g *groups) fresh() *group {
	one := &group{key: make([]string, len(g.keys)), totals: make([]tally, len(g.totals))}
	for i, t := range g.totals {
		one.totals[i] = newTally(t.Op, g.text)
	}
	return one
}

func (g *groups) result() ([][]string, int) {
	if len(g.keys) == 0 && len(g.order) == 0 { // no rows are one group of nothing
		g.order = append(g.order, g.fresh())
	}
	all := make([]entry, len(g.order))
	for i, one := range g.order {
		row := one.key
		for _, t := range one.totals {
			row = append(row, t.value())
		}
		all[i] = entry{fields: row, keys: g.keysOf(row)}
	}
	g.sort(all)
	return g.part(all), len(all)
}
