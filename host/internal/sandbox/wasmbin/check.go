package wasmbin

import "slices"

// checker checks one function body after the other, by the algorithm of the
// specification's appendix, and hands each instruction to an emitter.
type checker struct {
	m      *Module
	r      reader
	in     instr
	locals []ValueType // parameters first
	stack  []ValueType
	ctrl   []frame
	emit   emitter
	work   int  // operands that may still be compared
	tables bool // an instruction changes tables or drops segments
	branch int  // branches of the function, and places where its ways meet
	blocks int  // pieces of code between branches and labels, about
}

// blocksOfLoop counts the look that is put into a loop, too.
const blocksOfLoop = 4

// frame is a block that is open.
type frame struct {
	op       opcode // opBlock for the body
	params   []ValueType
	results  []ValueType
	height   int  // of the stack where the block began
	dead     bool // the rest of the block is never reached
	targeted bool // a branch leads to its label

	// Of the emitter:
	agains int // see emitter.label
	region int // the region that the block lies in; a loop's own
	gap    int // the longest way to its end over branches; -1: none
	atIf   int // the way to where an if began
}

// Operand lists are compared at most so often, by a function and its bytes:
// types of a thousand operands on blocks of two bytes would take a minute.
const (
	workFunction = 2000
	workByte     = 16
)

func allWork(body int) int { return workFunction + workByte*body }

// spent is how many operands of lists were looked at.
func (c *checker) spent() int { return allWork(len(c.r.b)) - c.work }

// function checks the body of defined function i.
func (c *checker) function(i int) *Error {
	c.enter(i)
	for c.inside() {
		c.step()
	}
	c.leave()
	return c.r.err
}

// enter reads what comes before the instructions of a body.
func (c *checker) enter(i int) {
	body := c.m.codes[i]
	index := c.m.importedFuncs + i
	c.r = reader{b: body.body, base: body.offset, fn: index}
	t := c.m.FuncType(uint32(index))
	c.stack, c.branch, c.blocks, c.work = c.stack[:0], 0, 0, allWork(len(body.body))
	c.locals = append(c.locals[:0], t.Params...)
	runs := c.readLocals()
	c.ctrl = append(c.ctrl[:0], frame{op: opBlock, results: t.Results, gap: -1})
	c.emit.begin(runs, len(t.Params), len(c.locals)-len(t.Params))
}

func (c *checker) inside() bool { return len(c.ctrl) > 0 && c.r.err == nil }

// step reads, checks and writes one instruction.
func (c *checker) step() {
	c.decode()
	if c.r.err == nil {
		c.emit.before(c)
		c.instruction()
	}
	if c.blocks > c.m.lim.Blocks && c.r.err == nil {
		c.r.fail(TooLarge, "more than %d blocks and branches in one function", c.m.lim.Blocks)
	}
	if c.r.err == nil {
		c.emit.after(c)
	}
}

// leave checks the body as a whole.
func (c *checker) leave() {
	if c.r.more() {
		c.r.fail(Malformed, "the body goes on after its end")
	}
	if cost := c.branch * len(c.locals); cost > c.m.lim.BranchLocals {
		c.r.pos = 0
		c.r.fail(TooLarge, "%d branches and %d locals are too much for one function: their product may be %d", c.branch, len(c.locals), c.m.lim.BranchLocals)
	}
}

// localRun is a run of locals of one type.
type localRun struct {
	n uint32
	t ValueType
}

func (c *checker) readLocals() []localRun {
	n := c.r.count("runs of locals", c.m.lim.Locals)
	runs := make([]localRun, 0, n)
	for range n {
		run := localRun{n: c.r.u32(), t: c.r.valueType()}
		if uint64(len(c.locals))+uint64(run.n) > uint64(c.m.lim.Locals) {
			c.r.fail(TooLarge, "more than %d locals", c.m.lim.Locals)
			return nil
		}
		runs = append(runs, run)
		for range run.n {
			c.locals = append(c.locals, run.t)
		}
	}
	return runs
}

func (c *checker) push(t ValueType) { c.stack = append(c.stack, t) }

func (c *checker) pop() ValueType {
	f := &c.ctrl[len(c.ctrl)-1]
	if len(c.stack) == f.height {
		if !f.dead {
			c.r.fail(Invalid, "instruction %v takes a value that is not there", c.in.op)
		}
		return anyType
	}
	t := c.stack[len(c.stack)-1]
	c.stack = c.stack[:len(c.stack)-1]
	return t
}

func (c *checker) want(t ValueType) {
	if got := c.pop(); got != t && got != anyType {
		c.r.fail(Invalid, "instruction %v takes %v and is given %v", c.in.op, t, got)
	}
}

func (c *checker) wantAll(ts []ValueType) {
	c.spend(len(ts))
	for _, t := range slices.Backward(ts) {
		c.want(t)
	}
}

func (c *checker) pushAll(ts []ValueType) {
	c.spend(len(ts))
	c.stack = append(c.stack, ts...)
}

func (c *checker) spend(n int) {
	if c.work -= n; c.work < 0 {
		c.r.fail(TooLarge, "the operand lists of its blocks are too long")
	}
}

func (c *checker) top() *frame { return &c.ctrl[len(c.ctrl)-1] }

// die marks the rest of the block as never reached.
func (c *checker) die() {
	f := c.top()
	c.stack = c.stack[:f.height]
	f.dead = true
}

// label returns the block that a branch leads to.
func (c *checker) label(depth uint32) *frame {
	if int64(depth) >= int64(len(c.ctrl)) {
		c.r.fail(Invalid, "a branch to label %d of %d", depth, len(c.ctrl))
		return &c.ctrl[0]
	}
	f := &c.ctrl[len(c.ctrl)-1-int(depth)]
	f.targeted = true
	return f
}

// takes is what a branch to the block needs.
func (f *frame) takes() []ValueType {
	if f.op == opLoop {
		return f.params
	}
	return f.results
}

// blockType resolves the type of a block (5.4.1).
func (c *checker) blockType() (params, results []ValueType) {
	switch b := c.in.block; {
	case b >= 0:
		if b >= int64(len(c.m.Types)) {
			c.r.fail(Invalid, "block type %d of %d", b, len(c.m.Types))
			return nil, nil
		}
		t := &c.m.Types[b]
		return t.Params, t.Results
	case b == -64:
		return nil, nil
	default:
		// One byte: the value type's own, read as a signed number.
		for i, t := range oneType {
			if int64(t)-0x80 == b {
				return nil, oneType[i : i+1 : i+1]
			}
		}
		c.r.fail(Malformed, "block type %d", b)
		return nil, nil
	}
}

var oneType = [...]ValueType{I32, I64, F32, F64, V128, FuncRef, ExternRef}

func (c *checker) open(op opcode) {
	params, results := c.blockType()
	c.wantAll(params)
	if len(c.ctrl) > c.m.lim.Nesting {
		c.r.fail(TooLarge, "blocks are nested more than %d deep", c.m.lim.Nesting)
		return
	}
	c.ctrl = append(c.ctrl, frame{op: op, params: params, results: results, height: len(c.stack), gap: -1})
	c.pushAll(params)
}

// closing checks that a block leaves its results and nothing else.
func (c *checker) closing() {
	f := c.top()
	c.wantAll(f.results)
	if len(c.stack) != f.height {
		c.r.fail(Invalid, "a block leaves %d values more than its type says", len(c.stack)-f.height)
	}
}
