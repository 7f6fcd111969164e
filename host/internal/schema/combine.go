package schema

// quiet is the same spot where only the answer is asked for.
func (s spot) quiet() spot {
	s.out = nil
	return s
}

// combined applies the schemas that speak about the value as a whole. Schemas
// are all looked at, even after one fits, where somebody asks what is left over.
func (c *checker) combined(n *node, s spot) bool {
	ok := true
	for _, list := range [][]*node{n.refs, n.allOf} {
		for _, part := range list {
			if !c.visit(part, s) {
				if ok = false; c.stop(s) {
					return false
				}
			}
		}
	}
	if len(n.anyOf) > 0 && !c.anyOf(n.anyOf, s) {
		ok = false
	}
	if len(n.oneOf) > 0 && !c.oneOf(n.oneOf, s) {
		ok = false
	}
	if n.not != nil && c.visit(n.not, spot{value: s.value, at: s.at}) {
		s.fail("has a form that is not allowed")
		ok = false
	}
	return c.conditional(n, s) && ok
}

func (c *checker) conditional(n *node, s spot) bool {
	if n.when == nil {
		return true
	}
	branch := n.otherwise
	if c.visit(n.when, s.quiet()) {
		branch = n.then
	}
	return branch == nil || c.visit(branch, s)
}

func (c *checker) anyOf(branches []*node, s spot) bool {
	ok := false
	for _, branch := range branches {
		if c.visit(branch, s.quiet()) {
			if ok = true; !c.tracks {
				return true
			}
		}
	}
	if !ok {
		c.nearest(branches, s)
	}
	return ok
}

func (c *checker) oneOf(branches []*node, s spot) bool {
	fits := 0
	for _, branch := range branches {
		if c.visit(branch, s.quiet()) {
			fits++
		}
		if fits > 1 {
			s.fail("fits more than one of the %d allowed forms, and exactly one is wanted", len(branches))
			return false
		}
	}
	if fits == 0 {
		c.nearest(branches, s)
	}
	return fits == 1
}

// nearest says why no branch fits. Where one branch alone is for values of this
// kind, it must be the one that was meant, and its problems help.
func (c *checker) nearest(branches []*node, s spot) {
	if s.out == nil || s.out.more {
		return
	}
	var meant *node
	var types kind
	for _, branch := range branches {
		branch = through(branch)
		switch {
		case branch.never:
		case branch.types != 0 && branch.types&kindOf(s.value) == 0:
			types |= branch.types
		case meant != nil:
			s.fail("fits none of the %d allowed forms", len(branches))
			return
		default:
			meant = branch
		}
	}
	if meant == nil {
		s.fail("must be %s, got %s", types, kindOf(s.value))
		return
	}
	before := len(s.out.problems)
	s.seen = nil
	if c.visit(meant, s) || len(s.out.problems) == before {
		s.fail("fits none of the %d allowed forms", len(branches))
	}
}

// through follows a schema that is nothing but a reference.
func through(n *node) *node {
	for range maxChain {
		if n.types != 0 || len(n.refs) != 1 {
			break
		}
		n = n.refs[0]
	}
	return n
}

// leftOver applies the schemas of what no other schema has spoken for.
func (c *checker) leftOver(n *node, s spot) bool {
	ok := true
	switch v := s.value.(type) {
	case map[string]any:
		if n.object.unevaluated == nil {
			return true
		}
		for _, name := range fields(v) {
			if !c.spend(1) {
				return false
			}
			if !s.seen.hasField(name) && !c.field(n.object.unevaluated, name, v[name], s, nil) {
				ok = false
			}
		}
	case []any:
		if n.array.unevaluated == nil {
			return true
		}
		for i := range v {
			if !c.spend(1) {
				return false
			}
			if !s.seen.hasItem(i) && !c.visit(n.array.unevaluated, s.element(i, v[i])) {
				ok = false
			}
		}
	default:
		return true
	}
	s.seen.everything()
	return ok
}
