package wasmbin

// emitter writes a function anew, with points put in where the guest is charged
// for work and looks whether it has to stop.
//
// Work is charged before it is done. Without exact fuel, a function and each of
// its loops is a region: all of its instructions that are in no inner loop.
// They run at most once each time that its head is passed, so the head charges
// their sum, or at most maxHead; on any way through the region that is longer than
// a gap there are more points. So what is charged is never less than a fifth of
// what is done, and no way without a point is longer than a gap. To charge no more
// than that is for the code of Go, in which a function is one loop, and a turn of
// it a small part of its sum.
//
// What comes after a call has a point of its own, unless it is next to nothing:
// on the way back out of a deep recursion as many tails are done, one after the
// other, as there were calls.
//
// A body that costs little and calls nothing outside of its loops is a region
// without a head: every call is charged what such a body may cost. Most of the
// time of small functions would go into their heads.
//
// What is left of the slice is in a global, in memory. A loop that calls nothing
// keeps it in a local, too, and writes the global without reading it: a processor
// takes longer to read what it has just written than a short loop for a turn. So
// does every loop in the code of Go, and reads it anew after each call.
//
// The engine keeps values in registers along the first way that it sees, and what
// was called has used them all. So no look has the pause on its first way: it is
// in an else. The body of a loop is the then of such an if, with nothing behind
// it: a pause gives back what the head charged, and goes to the head again. The
// pauses of loops are thus behind the code of the function, and a turn without
// one jumps over nothing.
//
// With exact fuel every stretch of code that runs as a whole is charged what it
// costs where it begins. A long one is cut.
type emitter struct {
	opt     *Options
	m       *Module
	base    uint32 // index of the first helper function
	global  uint32 // index of the first added global
	out     []byte
	points  []point
	costs   []int // of stretches and regions
	cur     int   // the stretch that the next instruction belongs to, with exact fuel; -1: it is never reached
	regions []region
	runs    []localRun
	loops   []loop
	open    []int // indices of the loops around, and of the body
	agains  int   // those of them that are in an if
	locals  int   // of the function, parameters included
	wasDead bool
	instrs  int // of the function
	wide    bool
	table   bool // the function has branched by a table
	gaps    int  // points on long ways
	split   bool // the instruction just read ends a stretch

	looks, bulk int // of all functions: see Work
}

// region is the body of a function or loop.
type region struct {
	cost  int  // index of its cost
	gap   int  // work on the longest way since the last point of the region
	work  int  // of all its instructions
	head  int  // index of its point
	calls bool // one of them may do work that is not counted here
}

// loop is the body of the function, or a loop in it.
type loop struct {
	head  int   // index of its point
	block int64 // its type, as of an instruction
	again bool  // its body is in an if, see emitter
	plain bool  // it has what is left of the slice in the local
}

// point is a place in the new code.
type point struct {
	loop  int // index of the loop that it is in
	pos   int
	cost  int // index of what it charges; -1: see emitter.charge
	kind  pointKind
	calls bool // of a head: its region calls functions
	of    int  // of an entry, a head or an end: the index of its loop
}

type pointKind byte

const (
	headPoint   pointKind = iota // of a function or loop: charges and looks
	gapPoint                     // on a long way: charges and looks
	backPoint                    // the same, right after a call
	blockPoint                   // of a stretch: charges
	fixedPoint                   // in front of one long instruction: charges it and looks
	entryPoint                   // of a loop, before it: reads what is left
	reloadPoint                  // after a call: reads what is left
	endPoint                     // of a loop, before it: pauses and begins the loop anew
)

// looks says that the guest looks there whether it has to stop.
func (p point) looks() bool {
	return p.kind == headPoint || p.kind == gapPoint || p.kind == backPoint || p.kind == fixedPoint
}

// begin starts a function.
func (e *emitter) begin(runs []localRun, params, locals int) {
	e.loops, e.open = append(e.loops[:0], loop{}), append(e.open[:0], 0)
	e.locals, e.agains = params+locals, 0
	e.out, e.points, e.costs, e.regions = e.out[:0], e.points[:0], e.costs[:0], e.regions[:0]
	e.runs, e.instrs, e.wide, e.table, e.gaps = runs, 0, false, false, 0
	e.head()
	e.costs[0] += locals / 4
	e.here().work = locals / 4
}

// head opens a region.
func (e *emitter) head() {
	e.regions = append(e.regions, region{cost: e.stretch(headPoint), head: len(e.points) - 1})
}

// stretch begins to count into a new cost, which a point here charges.
func (e *emitter) stretch(k pointKind) int {
	e.cur = len(e.costs)
	e.costs = append(e.costs, 0)
	e.add(k, e.cur)
	return e.cur
}

// add puts a point here.
func (e *emitter) add(k pointKind, cost int) {
	e.points = append(e.points, point{loop: e.open[len(e.open)-1], pos: len(e.out), cost: cost, kind: k})
}

// meddle says that something here reads or writes what is left of the slice.
func (e *emitter) meddle() {
	for _, l := range e.open {
		e.loops[l].plain = false
	}
}

func (e *emitter) here() *region { return &e.regions[len(e.regions)-1] }

// before charges the instruction that was decoded and is not checked yet.
func (e *emitter) before(c *checker) {
	in := &c.in
	f := c.top()
	e.wasDead, e.split = f.dead, false
	if in.op == opElse && !f.dead {
		f.gap = max(f.gap, e.here().gap)
	}
	if f.dead {
		return
	}
	w := int(ops[in.op].weight)
	e.instrs++
	e.wide = e.wide || in.op >= prefixFD
	r := e.here()
	charged := 0 // for what the function that is called is not charged
	switch in.op {
	case opCall:
		r.calls, e.points[r.head].calls = true, true
		if charged = e.opt.headless(); int(in.x) < e.m.importedFuncs {
			w = weightHost
		}
	case opCallIndirect:
		r.calls, e.points[r.head].calls = true, true
		charged = e.opt.headless()
	case opMemoryFill, opMemoryCopy:
		r.calls = true
	}
	e.table = e.table || in.op == opBrTable
	if r.calls && !e.table {
		e.meddle()
	}
	need := w + charged
	if w >= weightMemory {
		need = max(need, maxTail+1)
	}
	if r.gap > 0 && r.gap+need > e.longest() {
		e.gap(r, gapPoint)
		r.gap = 0
	}
	r.gap += w + charged
	r.work += w
	if !e.opt.Fuel {
		e.costs[r.cost] += w + charged
	} else if e.cur >= 0 {
		e.costs[e.cur] += w
	}
	if n := e.fixed(in); n > 0 {
		e.costs = append(e.costs, n)
		e.add(fixedPoint, len(e.costs)-1)
		e.meddle()
	}
}

// gap puts in a point on a long way. It charges, since a look sees nothing but what
// was charged: with exact fuel for a stretch that begins here, else once more for
// the region.
func (e *emitter) gap(r *region, k pointKind) {
	e.gaps++
	if e.opt.Fuel {
		e.stretch(k)
	} else {
		e.add(k, r.cost)
	}
}

// fixed is the cost of an instruction whose work one cannot see, or 0. Tables
// are small, and data segments are known.
func (e *emitter) fixed(in *instr) int {
	switch in.op {
	case opTableCopy, opTableFill, opTableInit, opTableGrow:
		return int(min(e.m.lim.TableEntries, maxFixed))
	case opMemoryGrow:
		return weightGrow
	case opMemoryInit:
		if int64(in.x) < int64(len(e.m.Data)) {
			return min(len(e.m.Data[in.x].Bytes)/8+1, maxFixed)
		}
	}
	return 0
}

// maxFixed keeps what one instruction is charged far from what a slice can hold.
const maxFixed = 1 << 20

// closed follows the end of a block, which f was.
func (e *emitter) closed(c *checker, f *frame) {
	if len(c.ctrl) == 0 {
		e.behead()
		return
	}
	if f.op == opLoop {
		way := 0
		if !f.dead {
			way = e.here().gap
		}
		e.regions = e.regions[:len(e.regions)-1]
		e.here().gap = max(e.here().gap, way)
		of := e.open[len(e.open)-1]
		if e.loops[of].again {
			e.add(endPoint, -1)
			e.points[len(e.points)-1].of = of
			e.agains--
		}
		e.open = e.open[:len(e.open)-1]
		e.split = true
		return
	}
	way := f.gap
	if !f.dead {
		way = max(way, e.here().gap)
	}
	if f.op == opIf {
		way = max(way, f.atIf)
	}
	if way >= 0 {
		e.here().gap = way
	}
	e.split = f.op != opBlock || f.targeted || f.dead
}

// behead takes the head of the function away if it can do without. With exact
// fuel it still charges.
func (e *emitter) behead() {
	body := e.regions[0]
	if body.calls || body.work > e.opt.headless() {
		return
	}
	e.points[0].kind = blockPoint
	if !e.opt.Fuel {
		e.costs[0] = 0
	}
}

// after writes the instruction, which was checked, and what follows from it.
func (e *emitter) after(c *checker) {
	in := &c.in
	switch in.op {
	case opMemoryFill:
		e.call(helperFill)
	case opMemoryCopy:
		e.call(helperCopy)
	case opLoop:
		e.add(entryPoint, -1)
		e.points[len(e.points)-1].of = len(e.loops)
		e.loops = append(e.loops, loop{plain: true, block: in.block, again: len(c.top().params) == 0})
		e.open = append(e.open, len(e.loops)-1)
		e.out = appendInstr(e.out, in)
	case opBr, opBrIf:
		e.out = appendU32(append(e.out, byte(in.op)), e.label(c, in.x))
	case opBrTable:
		e.out = appendU32(append(e.out, byte(in.op)), uint32(len(in.labels)-1))
		for _, l := range in.labels {
			e.out = appendU32(e.out, e.label(c, l))
		}
	case opCall, opRefFunc:
		e.out = appendU32(append(e.out, byte(in.op)), e.m.moved(in.x))
	default:
		e.out = appendInstr(e.out, in)
	}
	switch in.op {
	case opBlock:
		e.opened(c)
	case opLoop:
		e.head()
		e.opened(c)
		l := len(e.loops) - 1
		e.loops[l].head = len(e.points) - 1
		e.points[len(e.points)-1].of = l
		if e.loops[l].again {
			e.agains++
		}
	case opIf:
		f := e.opened(c)
		f.atIf = e.here().gap
		e.split = true
	case opElse:
		e.here().gap = c.top().atIf
		e.split = true
	case opBr:
		e.leads(c, in.x)
		e.cur = -1
	case opBrIf:
		e.leads(c, in.x)
		e.split = true
	case opMemoryFill, opMemoryCopy:
		e.add(reloadPoint, -1)
	case opCall, opCallIndirect:
		e.returned(in.op == opCall && int(in.x) < e.m.importedFuncs)
	case opBrTable:
		for _, l := range in.labels {
			e.leads(c, l)
		}
		e.cur = -1
	case opReturn, opUnreachable:
		e.cur = -1
	}
	if e.split && e.opt.Fuel && len(c.ctrl) > 0 {
		e.stretch(blockPoint)
	}
}

// returned follows a call. In a function of Go, which has a table of branches to
// all places where it may go on, the point is put in at once: else the ways that
// meet with this one further on would pay for it, and those are the short loops.
func (e *emitter) returned(host bool) {
	r := e.here()
	if e.table && !host && !e.wasDead {
		e.gap(r, backPoint)
		r.gap = 0
		return
	}
	e.add(reloadPoint, -1)
	if !host && !e.wasDead {
		r.gap = max(r.gap, e.opt.Gap-maxTail)
	}
}

// opened follows the begin of a block.
func (e *emitter) opened(c *checker) *frame {
	f := c.top()
	f.region, f.agains = len(e.regions)-1, e.agains
	return f
}

// label is the label in the new code.
func (e *emitter) label(c *checker, depth uint32) uint32 {
	return depth + uint32(e.agains-c.ctrl[len(c.ctrl)-1-int(depth)].agains)
}

// leads notes how long the way to a label is. A way out of loops is no shorter
// than the one since their heads.
func (e *emitter) leads(c *checker, depth uint32) {
	f := &c.ctrl[len(c.ctrl)-1-int(depth)]
	if !e.wasDead && f.op != opLoop {
		f.gap = max(f.gap, e.regions[f.region].gap, e.here().gap)
	}
}

func (e *emitter) call(h uint32) {
	e.bulk++
	e.out = appendU32(append(e.out, byte(opCall)), e.base+h)
}

// manyGaps is how many points on long ways a function has in its own code. Each is
// a branch there, and the engine's compiler takes time by the square of those; more
// call a helper.
const manyGaps = 300

// maxTail is what may come after a call without a point, if it is no access to
// memory, no division and no call.
const maxTail = 24

// maxHead is the most that a head charges for its region.
const maxHead = 500

// most is the most that a point charges for its region, and longest how long a way
// may be without one. In a function of Go, which is one loop around a table, a turn
// is a small part of the region, and both are a fifth.
func (e *emitter) most() int {
	if e.table {
		return maxHead / 5
	}
	return maxHead
}

func (e *emitter) longest() int {
	if e.table && !e.opt.Fuel {
		return max(1, e.opt.Gap/5)
	}
	return e.opt.Gap
}

// headless is the most that a body without a head costs.
func (o *Options) headless() int { return min(maxHeadless, o.Gap) }

const maxHeadless = 32

const emptyBlock = 0x40
