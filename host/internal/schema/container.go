package schema

import (
	"maps"
	"slices"

	"github.com/wagent-dev/wagent/host/internal/spelling"
)

// fields are the names of an object, sorted, so that the same arguments give
// the same message.
func fields(o map[string]any) []string { return slices.Sorted(maps.Keys(o)) }

// stop reports whether to look no further after something did not fit.
func (c *checker) stop(s spot) bool { return s.out == nil || s.out.more || c.budget < 0 }

// element and in are the spots inside a value. No path is kept where nobody is
// told it.
func (s spot) element(i int, v any) spot {
	if s.out == nil {
		return spot{value: v}
	}
	return spot{value: v, at: s.at.element(i), out: s.out}
}

func (s spot) in(name string, v any) spot {
	if s.out == nil {
		return spot{value: v}
	}
	return spot{value: v, at: s.at.field(name), out: s.out}
}

func (c *checker) object(n *node, o map[string]any, s spot) bool {
	rules := &n.object
	ok := counted(len(o), rules.min, rules.max, "fields", s)
	for _, name := range rules.required {
		ok = c.has(o, name, s) && ok
	}
	if !ok && c.stop(s) {
		return false
	}
	if len(rules.known) > 0 || len(rules.patterns) > 0 || rules.additional != nil || rules.names != nil {
		if !c.spend(len(o)) {
			return false
		}
		for _, name := range fields(o) {
			if !c.property(rules, name, o[name], s) {
				if ok = false; c.stop(s) {
					return false
				}
			}
		}
	}
	for _, d := range rules.dependencies {
		if _, there := o[d.name]; !there {
			continue
		}
		for _, name := range d.required {
			ok = c.has(o, name, s) && ok
		}
		if d.schema != nil {
			ok = c.visit(d.schema, s) && ok
		}
	}
	return ok
}

func (c *checker) has(o map[string]any, name string, s spot) bool {
	c.spend(1)
	if _, ok := o[name]; ok {
		return true
	}
	if s.out != nil {
		s.out.add(s.at.field(name), "is required and missing")
	}
	return false
}

// property applies all schemas that speak about one field.
func (c *checker) property(rules *objectRules, name string, v any, s spot) bool {
	ok, spoken := true, false
	if n := rules.properties[name]; n != nil {
		spoken = true
		ok = c.field(n, name, v, s, nil)
	}
	for _, p := range rules.patterns {
		if !c.spend(p.steps(name)) {
			return false
		}
		if p.MatchString(name) {
			spoken = true
			ok = c.field(p.node, name, v, s, nil) && ok
		}
	}
	if !spoken && rules.additional != nil {
		spoken = true
		ok = c.field(rules.additional, name, v, s, rules.known) && ok
	}
	if spoken {
		s.seen.field(name)
	}
	if rules.names != nil && !c.visit(rules.names, spot{value: name}) {
		s.fail("the name %s is not allowed for a field here", show(name))
		return false
	}
	return ok
}

// field applies a schema to one field. known are the names that would have been
// right, where the schema is what remains for others.
func (c *checker) field(n *node, name string, v any, s spot, known []string) bool {
	if !n.never {
		return c.visit(n, s.in(name, v))
	}
	if s.out == nil {
		return false
	}
	why := "is not a known field"
	if meant := spelling.Nearest(name, known); meant != "" {
		why += ", did you mean " + show(meant) + "?"
	} else if len(known) > 0 {
		why += "; the fields are " + listQuoted(known)
	}
	s.out.add(s.at.field(name), why)
	return false
}

func counted(got int, least, most *int, what string, s spot) bool {
	if least != nil && got < *least {
		s.fail("must have at least %d %s, has %d", *least, what, got)
		return false
	}
	if most != nil && got > *most {
		s.fail("must have at most %d %s, has %d", *most, what, got)
		return false
	}
	return true
}

func (c *checker) array(n *node, a []any, s spot) bool {
	rules := &n.array
	ok := counted(len(a), rules.min, rules.max, "items", s)
	if rules.unique {
		ok = c.unique(a, s) && ok
	}
	for i, v := range a {
		item := rules.items
		if i < len(rules.prefix) {
			item = rules.prefix[i]
		}
		if item == nil {
			break
		}
		if !c.visit(item, s.element(i, v)) {
			if ok = false; c.stop(s) {
				return false
			}
		}
	}
	if s.seen.upTo(len(rules.prefix)); rules.items != nil {
		s.seen.everything()
	}
	if rules.contains != nil {
		ok = c.contains(rules, a, s) && ok
	}
	return ok
}

func (c *checker) unique(a []any, s spot) bool {
	first := make(map[string]int, len(a))
	for i, v := range a {
		if !c.spend(weight(v)) {
			return false
		}
		key := string(canonical(nil, v))
		if j, twice := first[key]; twice {
			s.fail("the items %d and %d are equal, and must not be", j, i)
			return false
		}
		first[key] = i
	}
	return true
}

func (c *checker) contains(rules *arrayRules, a []any, s spot) bool {
	least, fits := 1, 0
	if rules.minContains != nil {
		least = *rules.minContains
	}
	for i, v := range a {
		if c.visit(rules.contains, spot{value: v}) {
			fits++
			s.seen.item(i)
		}
	}
	if fits < least {
		s.fail("must have at least %d items of the form that is wanted, has %d", least, fits)
		return false
	}
	if rules.maxContains != nil && fits > *rules.maxContains {
		s.fail("must have at most %d items of the form that is wanted, has %d", *rules.maxContains, fits)
		return false
	}
	return true
}
