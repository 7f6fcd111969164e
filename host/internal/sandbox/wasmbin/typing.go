package wasmbin

import "slices"

// instruction checks the types of the instruction that was read.
func (c *checker) instruction() {
	in := &c.in
	e := &ops[in.op]
	switch e.imm {
	case immSpecial:
		c.special(in)
		return
	case immMem, immMemLane:
		c.memory()
		if in.x > uint32(e.arg) {
			c.r.fail(Invalid, "alignment 2^%d of instruction %v is larger than natural", in.x, in.op)
		}
		if e.imm == immMemLane && in.lane >= 16>>e.arg {
			c.r.fail(Invalid, "lane %d of instruction %v", in.lane, in.op)
		}
	case immLane:
		if in.lane >= e.arg {
			c.r.fail(Invalid, "lane %d of instruction %v", in.lane, in.op)
		}
	}
	for k := int(e.npop) - 1; k >= 0; k-- {
		c.want(e.pops[k])
	}
	if e.push != anyType {
		c.push(e.push)
	}
}

func (c *checker) memory() {
	if c.m.Memory == nil {
		c.r.fail(Invalid, "instruction %v without a memory", c.in.op)
	}
}

func (c *checker) special(in *instr) {
	switch in.op {
	case opUnreachable:
		c.die()
	case opBlock:
		c.blocks++
		c.open(in.op)
	case opLoop:
		c.blocks += blocksOfLoop
		c.branch++
		c.open(in.op)
	case opIf:
		c.blocks += 2
		c.branch++
		c.want(I32)
		c.open(opIf)
	case opElse:
		f := c.top()
		if f.op != opIf {
			c.r.fail(Invalid, "else without if")
			return
		}
		c.branch++
		c.closing()
		f.op, f.dead = opElse, false
		c.pushAll(f.params)
	case opEnd:
		c.end()
	case opBr:
		c.branch++
		c.wantAll(c.label(in.x).takes())
		c.die()
	case opBrIf:
		c.branch++
		c.blocks++
		c.want(I32)
		ts := c.label(in.x).takes()
		c.wantAll(ts)
		c.pushAll(ts)
	case opBrTable:
		c.branchTable(in.labels)
	case opReturn:
		c.branch++
		c.wantAll(c.ctrl[0].results)
		c.die()
	case opCall:
		if int64(in.x) >= int64(len(c.m.funcs)) {
			c.r.fail(Invalid, "call of function %d of %d", in.x, len(c.m.funcs))
			return
		}
		t := &c.m.Types[c.m.funcs[in.x]]
		c.wantAll(t.Params)
		c.pushAll(t.Results)
	case opCallIndirect:
		c.callIndirect(in)
	case opDrop:
		c.pop()
	case opSelect:
		c.choose()
	case opSelectTyped:
		c.want(I32)
		c.want(in.types[0])
		c.want(in.types[0])
		c.push(in.types[0])
	case opLocalGet, opLocalSet, opLocalTee:
		c.local(in)
	case opGlobalGet, opGlobalSet:
		c.global(in)
	case opI32Const:
		c.push(I32)
	case opI64Const:
		c.push(I64)
	case opF32Const:
		c.push(F32)
	case opF64Const:
		c.push(F64)
	case opV128Const:
		c.push(V128)
	default:
		c.rare(in)
	}
}

func (c *checker) end() {
	c.closing()
	f := *c.top()
	if f.op == opIf && !slices.Equal(f.params, f.results) {
		c.r.fail(Invalid, "an if without else whose results are not its parameters")
	}
	c.ctrl = c.ctrl[:len(c.ctrl)-1]
	c.emit.closed(c, &f)
	if len(c.ctrl) > 0 {
		c.pushAll(f.results)
	}
}

func (c *checker) branchTable(labels []uint32) {
	c.branch += len(labels)
	c.blocks++
	c.want(I32)
	last := c.label(labels[len(labels)-1])
	arity := len(last.takes())
	var done []ValueType
	for _, l := range labels {
		ts := c.label(l).takes()
		switch {
		case len(ts) != arity:
			c.r.fail(Invalid, "the labels of br_table take different numbers of values")
			return
		case arity == 0 || len(done) > 0 && &done[0] == &ts[0]:
			continue // the same list was just checked
		}
		done = ts
		c.peekAll(ts)
	}
	c.wantAll(last.takes())
	c.die()
}

// peekAll checks operands that stay where they are.
func (c *checker) peekAll(ts []ValueType) {
	c.spend(len(ts))
	f := c.top()
	for i, t := range slices.Backward(ts) {
		k := len(c.stack) - (len(ts) - i)
		switch {
		case k >= f.height:
			if got := c.stack[k]; got != t && got != anyType {
				c.r.fail(Invalid, "instruction %v takes %v and is given %v", c.in.op, t, got)
			}
		case !f.dead:
			c.r.fail(Invalid, "instruction %v takes a value that is not there", c.in.op)
		}
	}
}

func (c *checker) callIndirect(in *instr) {
	c.blocks++
	switch {
	case int64(in.x) >= int64(len(c.m.Types)):
		c.r.fail(Invalid, "call of type %d of %d", in.x, len(c.m.Types))
		return
	case int64(in.y) >= int64(len(c.m.tables)):
		c.r.fail(Invalid, "call through table %d of %d", in.y, len(c.m.tables))
		return
	case c.m.tables[in.y].Elem != FuncRef:
		c.r.fail(Invalid, "call through a table of %v", c.m.tables[in.y].Elem)
		return
	}
	c.want(I32)
	t := &c.m.Types[in.x]
	c.wantAll(t.Params)
	c.pushAll(t.Results)
}

// choose checks a select without types: of two numbers or two vectors.
func (c *checker) choose() {
	c.want(I32)
	a, b := c.pop(), c.pop()
	switch {
	case a.IsRef() || b.IsRef():
		c.r.fail(Invalid, "select without a type of references")
	case a != b && a != anyType && b != anyType:
		c.r.fail(Invalid, "select of %v and %v", b, a)
	}
	if a == anyType {
		a = b
	}
	c.push(a)
}

func (c *checker) local(in *instr) {
	if int64(in.x) >= int64(len(c.locals)) {
		c.r.fail(Invalid, "local %d of %d", in.x, len(c.locals))
		return
	}
	t := c.locals[in.x]
	if in.op != opLocalGet {
		c.want(t)
	}
	if in.op != opLocalSet {
		c.push(t)
	}
}

func (c *checker) global(in *instr) {
	if int64(in.x) >= int64(len(c.m.globals)) {
		c.r.fail(Invalid, "global %d of %d", in.x, len(c.m.globals))
		return
	}
	g := c.m.globals[in.x]
	if in.op == opGlobalGet {
		c.push(g.Value)
		return
	}
	if !g.Mutable {
		c.r.fail(Invalid, "global %d is not mutable", in.x)
	}
	c.want(g.Value)
}

// rare checks instructions that compilers seldom make.
func (c *checker) rare(in *instr) {
	switch in.op {
	case opTableSet, opTableGrow, opTableFill, opTableCopy, opTableInit, opElemDrop, opDataDrop:
		c.tables = true
	}
	switch in.op {
	case opTableGet:
		t := c.tableOf(in.x)
		c.want(I32)
		c.push(t)
	case opTableSet:
		t := c.tableOf(in.x)
		c.want(t)
		c.want(I32)
	case opTableSize:
		c.tableOf(in.x)
		c.push(I32)
	case opTableGrow:
		t := c.tableOf(in.x)
		c.want(I32)
		c.want(t)
		c.push(I32)
	case opTableFill:
		t := c.tableOf(in.x)
		c.want(I32)
		c.want(t)
		c.want(I32)
	case opTableCopy:
		if to, from := c.tableOf(in.x), c.tableOf(in.y); to != from {
			c.r.fail(Invalid, "table.copy from %v to %v", from, to)
		}
		c.three()
	case opTableInit:
		t := c.tableOf(in.y)
		switch {
		case int64(in.x) >= int64(len(c.m.elems)):
			c.r.fail(Invalid, "element segment %d of %d", in.x, len(c.m.elems))
		case c.m.elems[in.x].typ != t:
			c.r.fail(Invalid, "table.init of %v with %v", t, c.m.elems[in.x].typ)
		}
		c.three()
	case opElemDrop:
		if int64(in.x) >= int64(len(c.m.elems)) {
			c.r.fail(Invalid, "element segment %d of %d", in.x, len(c.m.elems))
		}
	case opMemorySize:
		c.memory()
		c.push(I32)
	case opMemoryGrow:
		c.memory()
		c.want(I32)
		c.push(I32)
	case opMemoryFill, opMemoryCopy:
		c.memory()
		c.three()
	case opMemoryInit:
		c.memory()
		c.dataIndex(in.x)
		c.three()
	case opDataDrop:
		c.dataIndex(in.x)
	case opRefNull:
		c.push(in.ref)
	case opRefIsNull:
		if t := c.pop(); t != anyType && !t.IsRef() {
			c.r.fail(Invalid, "ref.is_null of %v", t)
		}
		c.push(I32)
	case opRefFunc:
		switch {
		case int64(in.x) >= int64(len(c.m.funcs)):
			c.r.fail(Invalid, "function %d of %d", in.x, len(c.m.funcs))
		case c.m.declared == nil || !c.m.declared[in.x]:
			c.r.fail(Invalid, "ref.func of function %d, which nothing outside of bodies names", in.x)
		}
		c.push(FuncRef)
	case opShuffle:
		for k := range 8 {
			if byte(in.bits>>(8*k)) >= 32 || byte(in.high>>(8*k)) >= 32 {
				c.r.fail(Invalid, "a shuffle of a lane over 31")
			}
		}
		c.want(V128)
		c.want(V128)
		c.push(V128)
	}
}

func (c *checker) three() {
	c.want(I32)
	c.want(I32)
	c.want(I32)
}

func (c *checker) tableOf(i uint32) ValueType {
	if int64(i) >= int64(len(c.m.tables)) {
		c.r.fail(Invalid, "table %d of %d", i, len(c.m.tables))
		return FuncRef
	}
	return c.m.tables[i].Elem
}

func (c *checker) dataIndex(i uint32) {
	switch {
	case !c.m.dataCount:
		c.r.fail(Malformed, "instruction %v in a module without a data count", c.in.op)
	case int64(i) >= int64(len(c.m.Data)):
		c.r.fail(Invalid, "data segment %d of %d", i, len(c.m.Data))
	}
}
