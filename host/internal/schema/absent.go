package schema

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Fit is [Schema.Check] for arguments of a model, which often writes null for a
// field that it leaves out. Where a field is declared, not required, and its
// schema has no null, the null is taken for that: fit is args without such
// fields, and fits the schema as it stands. When there are none, fit is args
// themselves. The error is a [*Violation], and fit is nil then.
//
// A null that the schema allows stays, and so does one that no schema speaks of
// or that stands for an entry of a map: there it may mean something.
func (s *Schema) Fit(args json.RawMessage) (fit json.RawMessage, err error) {
	v, err := read(args)
	if err != nil {
		return nil, err
	}
	c := checker{tracks: s.tracks, budget: maxWork}
	if err = c.check(s.root, v); err == nil {
		return args, nil
	}
	if c.budget < 0 || !bytes.Contains(args, []byte("null")) || !c.drop([]*node{s.root}, v) || c.budget < 0 {
		return nil, err
	}
	if err = c.check(s.root, v); err != nil {
		return nil, err
	}
	return encode(v)
}

// encode writes a value that was decoded; numbers stay as they were written.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &Violation{Problems: []Problem{{Why: "not JSON that can be used"}}}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// drop takes the nulls out of v that say no more than that a field is left out,
// and reports whether there were any. nodes are the schemas that speak about v.
// Branches of which only one can hold count together: a field goes only when
// none of them wants it or has a null for it.
func (c *checker) drop(nodes []*node, v any) (dropped bool) {
	nodes = c.together(nodes)
	if len(nodes) == 0 {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range fields(v) {
			switch field := v[name]; {
			case !c.spend(1):
				return dropped
			case field == nil && c.optional(nodes, name):
				delete(v, name)
				dropped = true
			case field != nil:
				dropped = c.drop(c.ofField(nodes, name), field) || dropped
			}
		}
	case []any:
		for i, item := range v {
			if !c.spend(1) {
				return dropped
			}
			dropped = c.drop(c.ofItem(nodes, i), item) || dropped
		}
	}
	return dropped
}

// together adds the schemas that nodes apply to the same value. What a value
// must not be, or is only asked for, declares nothing.
func (c *checker) together(nodes []*node) []*node {
	var all []*node
	seen := make(map[*node]bool, len(nodes))
	for len(nodes) > 0 && c.spend(1) {
		n := nodes[0]
		if nodes = nodes[1:]; n == nil || seen[n] {
			continue
		}
		seen[n] = true
		all = append(all, n)
		for _, child := range n.inPlace() {
			if child != n.not && child != n.when {
				nodes = append(nodes, child)
			}
		}
	}
	return all
}

// optional reports whether a field is declared, and no schema requires it or
// has a null for it.
func (c *checker) optional(nodes []*node, name string) bool {
	declared := false
	for _, n := range nodes {
		if !c.spend(1+len(n.object.required)) || slices.Contains(n.object.required, name) {
			return false
		}
		if field := n.object.properties[name]; field != nil {
			declared = true
			if c.visit(field, spot{}) {
				return false
			}
		}
	}
	return declared
}

// ofField are the schemas that nodes apply to one field of an object.
func (c *checker) ofField(nodes []*node, name string) []*node {
	var all []*node
	for _, n := range nodes {
		declared := n.object.properties[name]
		spoken := declared != nil
		all = append(all, declared)
		for _, p := range n.object.patterns {
			if !c.spend(p.steps(name)) {
				return nil
			}
			if p.MatchString(name) {
				spoken = true
				all = append(all, p.node)
			}
		}
		if !spoken {
			all = append(all, n.object.additional)
		}
	}
	return all
}

// ofItem are the schemas that nodes apply to one element of an array.
func (c *checker) ofItem(nodes []*node, i int) []*node {
	var all []*node
	for _, n := range nodes {
		if i < len(n.array.prefix) {
			all = append(all, n.array.prefix[i])
		} else {
			all = append(all, n.array.items)
		}
	}
	return all
}
