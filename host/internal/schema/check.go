package schema

import "fmt"

// maxWork bounds a check. One unit is a schema applied to a value, or looking
// at 64 bytes; it takes about 100 ns.
const maxWork = 2_000_000

// checker applies nodes to values. It belongs to one check.
type checker struct {
	budget int // below 0: given up
	tracks bool
}

func (c *checker) spend(work int) bool {
	c.budget -= work
	return c.budget >= 0
}

// check reports whether all of v fits n.
func (c *checker) check(n *node, v any) error {
	out := &report{}
	switch ok := c.visit(n, spot{value: v, out: out}); {
	case c.budget < 0:
		return &Violation{Problems: []Problem{{Why: "checking them against the tool's schema takes too much work; send less"}}}
	case ok:
		return nil
	}
	return &Violation{Problems: out.problems, More: out.more}
}

// spot is a value and where it is.
type spot struct {
	value any
	at    *path
	out   *report // nil: only whether it fits is asked
	seen  *marks  // what of the value a schema has spoken for; nil where nobody asks
}

// fail notes why a value does not fit, and reports whether looking for more is
// of use.
func (s spot) fail(format string, args ...any) (goOn bool) {
	return s.out != nil && s.out.add(s.at, fmt.Sprintf(format, args...))
}

func (r *report) add(at *path, why string) (goOn bool) {
	if len(r.problems) >= maxProblems {
		r.more = true
		return false
	}
	r.problems = append(r.problems, Problem{at.String(), why})
	return true
}

// visit reports whether the value fits n.
func (c *checker) visit(n *node, s spot) bool {
	if !c.spend(1) {
		return false
	}
	if n.never {
		s.fail("is not allowed")
		return false
	}
	if got := kindOf(s.value); n.types != 0 && n.types&got == 0 {
		s.fail("must be %s, got %s", n.types, got)
		return false
	}
	for _, allowed := range []*set{n.constant, n.enum} {
		if allowed == nil {
			continue
		}
		if !c.spend(weight(s.value)) {
			return false
		}
		if !allowed.has(s.value) {
			s.fail("%s", allowed.said)
			return false
		}
	}
	return c.rules(n, s)
}

// rules applies what is not about the kind of value. What a schema has spoken
// for counts only where all of it fits.
func (c *checker) rules(n *node, s spot) bool {
	outer := s.seen
	if s.seen = nil; c.tracks {
		s.seen = &marks{}
	}
	ok := c.typed(n, s)
	if ok || !c.stop(s) {
		ok = c.combined(n, s) && ok
	}
	if ok || !c.stop(s) {
		ok = c.leftOver(n, s) && ok
	}
	if ok && outer != nil {
		c.spend(outer.merge(s.seen))
	}
	return ok
}

func (c *checker) typed(n *node, s spot) bool {
	switch v := s.value.(type) {
	case map[string]any:
		return c.object(n, v, s)
	case []any:
		return c.array(n, v, s)
	case string:
		return c.text(&n.text, v, s)
	}
	return c.numeric(&n.number, s)
}

// marks are the parts of a value that a schema has spoken for.
type marks struct {
	all    bool // every element or field
	fields map[string]struct{}
	first  int // elements from the start
	items  map[int]struct{}
}

func (m *marks) field(name string) {
	if m == nil {
		return
	}
	if m.fields == nil {
		m.fields = map[string]struct{}{}
	}
	m.fields[name] = struct{}{}
}

func (m *marks) item(i int) {
	if m == nil {
		return
	}
	if m.items == nil {
		m.items = map[int]struct{}{}
	}
	m.items[i] = struct{}{}
}

func (m *marks) everything() {
	if m != nil {
		m.all = true
	}
}

func (m *marks) upTo(n int) {
	if m != nil {
		m.first = max(m.first, n)
	}
}

func (m *marks) hasField(name string) bool {
	_, ok := m.fields[name]
	return ok || m.all
}

func (m *marks) hasItem(i int) bool {
	_, ok := m.items[i]
	return ok || m.all || i < m.first
}

// merge takes over the marks of a schema that fits and returns the work it was.
func (m *marks) merge(other *marks) int {
	m.all = m.all || other.all
	m.upTo(other.first)
	for name := range other.fields {
		m.field(name)
	}
	for i := range other.items {
		m.item(i)
	}
	return 1 + len(other.fields) + len(other.items)
}
