package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// node is one schema, as the library compiled it, with what checking needs.
type node struct {
	at       string // JSON pointer
	never    bool   // the schema false
	types    kind   // 0: every type
	constant *set
	enum     *set

	refs, allOf, anyOf, oneOf  []*node
	not, when, then, otherwise *node

	object objectRules
	array  arrayRules
	text   textRules
	number numberRules
}

type objectRules struct {
	min, max     *int
	required     []string
	properties   map[string]*node
	known        []string // the names of properties, sorted
	patterns     []patternNode
	additional   *node
	names        *node
	dependencies []dependency
	unevaluated  *node
}

type patternNode struct {
	*pattern
	node *node
}

// dependency is what a field asks for when it is there.
type dependency struct {
	name     string
	required []string
	schema   *node
}

type arrayRules struct {
	min, max                 *int
	unique                   bool
	prefix                   []*node
	items                    *node // of what follows prefix
	contains                 *node
	minContains, maxContains *int
	unevaluated              *node
}

type textRules struct {
	min, max *int
	pattern  *pattern
}

// set is the values that an enum or a const allows.
type set struct {
	values map[string]struct{} // by their canonical form
	said   string
}

func newSet(values []any) *set {
	s := &set{values: make(map[string]struct{}, len(values))}
	shown := make([]string, 0, len(values))
	for _, v := range values {
		s.values[string(canonical(nil, v))] = struct{}{}
		shown = append(shown, showValue(v))
	}
	if s.said = "must be " + list(shown); len(values) > 1 {
		s.said = "must be one of " + list(shown)
	}
	return s
}

func (s *set) has(v any) bool {
	_, ok := s.values[string(canonical(nil, v))]
	return ok
}

const (
	maxInPlace = 20_000 // schemas that are applied to one value
	maxChain   = 100    // of them, inside each other
)

// inPlace are the schemas that n applies to the value it is applied to itself.
func (n *node) inPlace() []*node {
	var all []*node
	for _, list := range [][]*node{n.refs, n.allOf, n.anyOf, n.oneOf, {n.not, n.when, n.then, n.otherwise}} {
		all = append(all, list...)
	}
	for _, d := range n.object.dependencies {
		all = append(all, d.schema)
	}
	return all
}

// bound refuses schemas that never end on a value, or that combine to more
// work on one value than anybody writes by hand: twenty lines of allOf that
// each name the next line twice are a million checks.
// The nodes are measured from the root on, so that the same schema is always
// refused at the same place.
func bound[K comparable](nodes map[K]*node) error {
	costs := map[*node]cost{}
	inOrder := slices.SortedFunc(maps.Values(nodes), func(a, b *node) int { return strings.Compare(a.at, b.at) })
	for _, n := range inOrder {
		if err := measure(n, costs); err != nil {
			return err
		}
	}
	return nil
}

// cost is what a node does to one value. Both fields are 0 while it is being
// measured.
type cost struct{ schemas, chain int }

func measure(n *node, costs map[*node]cost) *Error {
	if known, ok := costs[n]; ok {
		if known.schemas == 0 {
			return &Error{Pointer: n.at, Problem: "the schema refers to itself without going into the value"}
		}
		return nil
	}
	costs[n] = cost{}
	sum := cost{1, 1}
	for _, child := range n.inPlace() {
		if child == nil {
			continue
		}
		if err := measure(child, costs); err != nil {
			return err
		}
		sum.schemas += costs[child].schemas
		sum.chain = max(sum.chain, costs[child].chain+1)
		if sum.schemas > maxInPlace || sum.chain > maxChain {
			return &Error{Pointer: n.at, Problem: fmt.Sprintf("$ref, allOf, anyOf and oneOf combine to more than %d checks of one value, or %d inside each other", maxInPlace, maxChain)}
		}
	}
	costs[n] = sum
	return nil
}
