package wasmbin

// Functions that are added behind those of the module, in order. The function
// that the host serves is imported before them: see [PauseImport].
const (
	helperPause = iota
	helperAgain
	helperCharge
	helperFill
	helperCopy
)

// helper is one of them.
type helper struct {
	typ  uint32 // index into helperFuncTypes
	body []byte // locals and instructions
}

var helperFuncTypes = []FuncType{
	{},
	{Params: []ValueType{I32, I32, I32}},
	{Results: []ValueType{I32}},
	{Params: []ValueType{I32}},
	{Params: []ValueType{I32}, Results: []ValueType{I32}},
}

const typePause = 2

// asm writes instructions.
type asm struct{ b []byte }

func (a *asm) op(ops ...opcode) {
	for _, o := range ops {
		a.b = appendOp(a.b, o)
	}
}

func (a *asm) index(o opcode, i uint32) { a.b = appendU32(appendOp(a.b, o), i) }
func (a *asm) i32(v int)                { a.b = appendSigned(append(a.b, byte(opI32Const)), int64(v)) }
func (a *asm) i64(v int64)              { a.b = appendSigned(append(a.b, byte(opI64Const)), v) }
func (a *asm) block(o opcode)           { a.b = append(appendOp(a.b, o), emptyBlock) }

func (w *writer) helpers() []helper {
	hs := []helper{{typePause, w.pause()}, {4, w.again()}, {3, w.charge()}}
	if w.m.Memory != nil {
		hs = append(hs, helper{1, w.bulk(opMemoryFill)}, helper{1, w.bulk(opMemoryCopy)})
	}
	return hs
}

func (w *writer) helper(k uint32) uint32 { return w.m.moved(uint32(len(w.m.funcs))) + k }

func (w *writer) global(k uint32) uint32 { return uint32(len(w.m.globals)) + k }

// yield leaves compiled code for the host, where the scheduler and the garbage
// collector get their turn, and traps if the guest has to stop. The next slice is
// left in the local.
func (w *writer) yield(a *asm, slice uint32) {
	a.index(opCall, uint32(w.m.importedFuncs))
	a.index(opLocalTee, slice)
	a.op(0x45) // i32.eqz
	a.block(opIf)
	a.op(opUnreachable, opEnd)
}

// pause gives the guest a new slice, with exact fuel as long as there is some. It
// returns what is left of it.
func (w *writer) pause() []byte {
	left, fuel := w.global(globalLeft), w.global(globalFuel)
	const slice, part = 0, 1 // locals
	if !w.o.Fuel {
		a := &asm{b: []byte{1, 1, byte(I32)}}
		w.yield(a, slice)
		a.index(opLocalGet, slice)
		a.index(opGlobalSet, left)
		a.index(opLocalGet, slice)
		a.op(opEnd)
		return a.b
	}
	a := &asm{b: []byte{2, 1, byte(I32), 1, byte(I64)}}
	w.yield(a, slice)
	a.block(opLoop)
	a.index(opGlobalGet, fuel)
	a.op(0x50) // i64.eqz
	a.block(opIf)
	a.op(opUnreachable, opEnd)
	// part = min(fuel, slice)
	for range 2 {
		a.index(opGlobalGet, fuel)
		a.index(opLocalGet, slice)
		a.op(opI64ExtendU32)
	}
	a.op(0x54, opSelect) // i64.lt_u
	a.index(opLocalSet, part)
	a.index(opGlobalGet, fuel)
	a.index(opLocalGet, part)
	a.op(opI64Sub)
	a.index(opGlobalSet, fuel)
	a.index(opGlobalGet, left)
	a.index(opLocalGet, part)
	a.op(opI32WrapI64, opI32Add)
	a.index(opGlobalSet, left)
	a.index(opGlobalGet, left)
	a.i32(0)
	a.op(opI32LtS)
	a.index(opBrIf, 0)
	a.op(opEnd)
	a.index(opGlobalGet, left)
	a.op(opEnd)
	return a.b
}

// again makes again(n), which pauses, gives n back to what is left, and returns
// that.
func (w *writer) again() []byte {
	left := w.global(globalLeft)
	a := &asm{b: []byte{0}}
	a.index(opCall, w.helper(helperPause))
	a.index(opLocalGet, 0)
	a.op(opI32Add)
	a.index(opLocalTee, 0)
	a.index(opGlobalSet, left)
	a.index(opLocalGet, 0)
	a.op(opEnd)
	return a.b
}

// charge makes charge(n), which takes n from what is left and looks.
func (w *writer) charge() []byte {
	a := &asm{b: []byte{0}}
	w.take(a, func() { a.index(opLocalGet, 0) })
	a.op(opEnd)
	return a.b
}

// take charges what n leaves on the stack, and looks.
func (w *writer) take(a *asm, n func()) {
	left := w.global(globalLeft)
	a.index(opGlobalGet, left)
	n()
	a.op(opI32Sub)
	a.index(opGlobalSet, left)
	a.index(opGlobalGet, left)
	a.i32(0)
	a.op(opI32LtS)
	a.block(opIf)
	a.index(opCall, w.helper(helperPause))
	a.op(opDrop, opEnd)
}

// bulk makes fill(d, v, n) or copy(d, s, n): they charge one unit for 8 bytes,
// look whether anything is left, and do what is larger than a piece in pieces. An
// operation that does not fit traps before it writes anything, so the whole range
// is looked at first.
func (w *writer) bulk(op opcode) []byte {
	const d, s, n = 0, 1, 2
	a := &asm{b: []byte{0}}
	do := func() {
		a.b = append(appendOp(a.b, op), 0)
		if op == opMemoryCopy {
			a.b = append(a.b, 0)
		}
	}
	all := func() {
		a.index(opLocalGet, d)
		a.index(opLocalGet, s)
		a.index(opLocalGet, n)
		do()
	}
	// charge is for as many bytes as bytes leaves on the stack.
	charge := func(bytes func()) {
		w.take(a, func() {
			bytes()
			a.i32(3)
			a.op(opI32ShrU)
		})
	}
	chargeAll := func() { charge(func() { a.index(opLocalGet, n) }) }

	a.index(opLocalGet, n)
	a.i32(w.o.Piece)
	a.op(opI32LeU)
	a.block(opIf)
	chargeAll()
	all()
	a.op(opReturn, opEnd)

	outside := func(from uint32) {
		a.index(opLocalGet, from)
		a.op(opI64ExtendU32)
		a.index(opLocalGet, n)
		a.op(opI64ExtendU32, opI64Add)
		a.b = append(a.b, byte(opMemorySize), 0)
		a.op(opI64ExtendU32)
		a.i64(16)
		a.op(opI64Shl, opI64GtU)
		a.block(opIf)
		all() // traps
		a.op(opReturn, opEnd)
	}
	outside(d)
	if op == opMemoryCopy {
		outside(s)
	}
	move := func(local uint32, by opcode) {
		a.index(opLocalGet, local)
		a.i32(w.o.Piece)
		a.op(by)
		a.index(opLocalSet, local)
	}
	// pieces repeats step as long as more than a piece is left.
	pieces := func(step func()) {
		a.block(opLoop)
		a.index(opLocalGet, n)
		a.i32(w.o.Piece)
		a.op(opI32GtU)
		a.block(opIf)
		charge(func() { a.i32(w.o.Piece) })
		step()
		a.index(opBr, 1)
		a.op(opEnd, opEnd)
	}
	forwards := func() {
		pieces(func() {
			a.index(opLocalGet, d)
			a.index(opLocalGet, s)
			a.i32(w.o.Piece)
			do()
			move(d, opI32Add)
			if op == opMemoryCopy {
				move(s, opI32Add)
			}
			move(n, opI32Sub)
		})
	}
	if op == opMemoryFill {
		forwards()
	} else {
		a.index(opLocalGet, d)
		a.index(opLocalGet, s)
		a.op(opI32LeU)
		a.block(opIf)
		forwards()
		a.op(opElse)
		pieces(func() { // from the end, since the ranges may overlap
			move(n, opI32Sub)
			for _, from := range []uint32{d, s} {
				a.index(opLocalGet, from)
				a.index(opLocalGet, n)
				a.op(opI32Add)
			}
			a.i32(w.o.Piece)
			do()
		})
		a.op(opEnd)
	}
	chargeAll()
	all()
	a.op(opEnd)
	return a.b
}
