package wasmbin

import "slices"

// What an emitter writes at its points, when it has seen the whole function.

// finish appends the body of the function, without its length. Its calls are
// charged frame, besides.
func (e *emitter) finish(b []byte, frame int) []byte {
	b = e.appendLocals(b)
	from := 0
	for _, p := range e.points {
		b = append(b, e.out[from:p.pos]...)
		from = p.pos
		b = e.point(b, p, frame)
		if p.looks() {
			e.looks++
		}
	}
	return append(b, e.out[from:]...)
}

// appendLocals declares the locals, and one more if there is a plain loop.
func (e *emitter) appendLocals(b []byte) []byte {
	more := slices.ContainsFunc(e.loops, func(l loop) bool { return l.plain })
	n := len(e.runs)
	if more {
		n++
	}
	b = appendU32(b, uint32(n))
	for _, r := range e.runs {
		b = append(appendU32(b, r.n), byte(r.t))
	}
	if more {
		b = append(b, 1, byte(I32))
	}
	return b
}

// point writes what happens at p.
func (e *emitter) point(b []byte, p point, frame int) []byte {
	if p.kind == entryPoint {
		return e.enter(b, p)
	}
	plain := e.loops[p.loop].plain
	switch p.kind {
	case reloadPoint:
		if plain {
			b = e.reload(b)
		}
		return b
	case endPoint:
		return e.again(b, e.points[e.loops[p.of].head], plain, frame)
	}
	cost := e.cost(p)
	if !p.calls {
		frame = 0
	}
	if (p.kind == gapPoint || p.kind == backPoint) && e.gaps > manyGaps {
		b = appendSigned(append(b, byte(opI32Const)), int64(cost))
		b = appendU32(append(b, byte(opCall)), e.base+helperCharge)
		if plain {
			b = e.reload(b)
		}
		return b
	}
	if n := cost + frame; n > 0 || p.kind == backPoint {
		b = e.left(b, plain && p.kind != backPoint)
		b = append(appendSigned(append(b, byte(opI32Const)), int64(n)), byte(opI32Sub))
		b = e.putLeft(b, plain)
	}
	if frame > 0 && e.opt.Fuel {
		b = e.repay(b, frame)
	}
	switch l := e.loops[p.of]; {
	case p.kind == blockPoint:
		return b
	case p.kind == headPoint && l.again:
		return appendSigned(append(e.some(b, plain), byte(opIf)), l.block)
	case p.kind == backPoint:
		// Nothing is in registers here, so that the shorter form loses nothing.
		b = append(e.left(b, plain), byte(opI32Const), 0, byte(opI32LtS), byte(opIf), emptyBlock)
		return append(e.pause(b, plain), byte(opEnd))
	default:
		b = append(e.some(b, plain), byte(opIf), emptyBlock, byte(opElse))
		return append(e.pause(b, plain), byte(opEnd))
	}
}

// cost is what is charged at p.
func (e *emitter) cost(p point) int {
	cost := 0
	if p.cost >= 0 {
		cost = e.costs[p.cost]
	}
	if !e.opt.Fuel {
		switch p.kind {
		case headPoint:
			cost = max(1, min(cost, e.most(), e.opt.Gap))
		case gapPoint, backPoint:
			cost = min(cost, e.most())
		}
	}
	return cost
}

// again ends the if around the body of a loop: it pauses, gives back what the
// head charged, and goes to it.
func (e *emitter) again(b []byte, head point, plain bool, frame int) []byte {
	if !head.calls {
		frame = 0
	}
	b = appendSigned(append(b, byte(opElse), byte(opI32Const)), int64(e.cost(head)+frame))
	b = e.hear(appendU32(append(b, byte(opCall)), e.base+helperAgain), plain)
	if frame > 0 && e.opt.Fuel {
		b = e.repay(b, -frame)
	}
	return append(b, byte(opBr), 1, byte(opEnd))
}

// enter reads what is left of the slice into the local, in front of the outermost
// plain loops.
func (e *emitter) enter(b []byte, p point) []byte {
	if !e.loops[p.of].plain || e.loops[p.loop].plain {
		return b
	}
	return e.reload(b)
}

// reload reads what is left of the slice into the local.
func (e *emitter) reload(b []byte) []byte {
	return appendU32(append(e.getLeft(b), byte(opLocalSet)), uint32(e.locals))
}

// left is what is left of the slice. A plain loop has it in the local, too.
func (e *emitter) left(b []byte, plain bool) []byte {
	if plain {
		return appendU32(append(b, byte(opLocalGet)), uint32(e.locals))
	}
	return e.getLeft(b)
}

func (e *emitter) getLeft(b []byte) []byte {
	return appendU32(append(b, byte(opGlobalGet)), e.global+globalLeft)
}

func (e *emitter) putLeft(b []byte, plain bool) []byte {
	if plain {
		b = appendU32(append(b, byte(opLocalTee)), uint32(e.locals))
	}
	return appendU32(append(b, byte(opGlobalSet)), e.global+globalLeft)
}

// repay makes the slice shorter and not the fuel less.
func (e *emitter) repay(b []byte, n int) []byte {
	b = appendU32(append(b, byte(opGlobalGet)), e.global+globalFuel)
	b = append(appendSigned(append(b, byte(opI64Const)), int64(n)), byte(opI64Add))
	return appendU32(append(b, byte(opGlobalSet)), e.global+globalFuel)
}

// some is whether anything is left of the slice.
func (e *emitter) some(b []byte, plain bool) []byte {
	return append(e.left(b, plain), byte(opI32Const), 0, byte(opI32GeS))
}

// pause calls the helper.
func (e *emitter) pause(b []byte, plain bool) []byte {
	return e.hear(appendU32(append(b, byte(opCall)), e.base+helperPause), plain)
}

// hear takes what is left of the slice from a helper.
func (e *emitter) hear(b []byte, plain bool) []byte {
	if plain {
		return appendU32(append(b, byte(opLocalSet)), uint32(e.locals))
	}
	return append(b, byte(opDrop))
}
