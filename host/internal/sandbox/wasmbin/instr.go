package wasmbin

import "encoding/binary"

// instr is one decoded instruction.
type instr struct {
	op     opcode
	x, y   uint32 // indices, label, alignment and offset; see the instruction
	lane   byte
	bits   uint64      // of a constant; the low half of a v128
	high   uint64      // of a v128, and the high half of a shuffle's lanes
	block  int64       // block type: index, or negative as in the binary form
	labels []uint32    // of br_table, the default last; valid until the next one
	types  []ValueType // of a typed select
	ref    ValueType   // of ref.null
}

// opcode reads an opcode. Of prefixed ones only the shortest form is taken, so
// that nobody can read another instruction in the same bytes.
func (r *reader) opcode() opcode {
	switch b := r.byte(); b {
	case 0xfc:
		n := r.byte()
		if n > 17 {
			r.pos--
			r.fail(Malformed, "instruction fc %#x", n)
		}
		return prefixFC | opcode(n&0x7f)
	case 0xfd:
		n := r.byte()
		if n < 0x80 {
			return prefixFD | opcode(n)
		}
		if more := r.byte(); more != 1 {
			r.pos -= 2
			r.fail(Unsupported, "relaxed SIMD, or an instruction in a longer form than needed: fd %#x %#x", n, more)
		}
		return prefixFD | opcode(n)
	default:
		return opcode(b)
	}
}

// beyond names the proposal of an instruction that Core 2.0 does not have.
func beyond(o opcode) string {
	switch {
	case o >= 0x06 && o <= 0x0a || o == 0x18 || o == 0x19 || o == 0x1f:
		return "exceptions"
	case o == 0x12 || o == 0x13:
		return "tail calls"
	case o == 0x14 || o == 0x15 || o >= 0xd3 && o <= 0xd6:
		return "typed function references"
	case o == 0xfb:
		return "garbage collection"
	case o == 0xfe:
		return "threads"
	default:
		return ""
	}
}

// decode reads the next instruction.
func (c *checker) decode() {
	in := &c.in
	r := &c.r
	at := r.pos
	in.op = r.opcode()
	e := &ops[in.op]
	switch {
	case r.err != nil:
		return
	case !e.known:
		r.pos = at
		if p := beyond(in.op); p != "" {
			r.fail(Unsupported, "%s: instruction %v", p, in.op)
		} else {
			r.fail(Malformed, "instruction %v is not known", in.op)
		}
		return
	}
	switch e.imm {
	case immNone:
	case immMem:
		in.x, in.y = r.u32(), r.u32()
	case immMemLane:
		in.x, in.y, in.lane = r.u32(), r.u32(), r.byte()
	case immLane:
		in.lane = r.byte()
	case immSpecial:
		c.immediates(in)
	}
}

// immediates reads what follows an instruction that the table does not describe.
func (c *checker) immediates(in *instr) {
	r := &c.r
	switch in.op {
	case opBlock, opLoop, opIf:
		in.block = r.signed(33)
	case opBr, opBrIf, opCall, opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet, opTableGet, opTableSet,
		opRefFunc, opDataDrop, opElemDrop, opTableGrow, opTableSize, opTableFill:
		in.x = r.u32()
	case opBrTable:
		n := r.count("labels of br_table", c.m.lim.Targets)
		in.labels = in.labels[:0]
		for i := 0; i <= n && r.err == nil; i++ {
			in.labels = append(in.labels, r.u32())
		}
	case opCallIndirect, opTableInit, opTableCopy:
		in.x, in.y = r.u32(), r.u32()
	case opSelectTyped:
		in.types = r.valueTypes(1)
		if len(in.types) != 1 {
			r.fail(Invalid, "select with %d types", len(in.types))
		}
	case opMemorySize, opMemoryGrow, opMemoryFill:
		c.zero()
	case opMemoryInit:
		in.x = r.u32()
		c.zero()
	case opMemoryCopy:
		c.zero()
		c.zero()
	case opI32Const:
		in.bits = uint64(r.signed(32))
	case opI64Const:
		in.bits = uint64(r.signed(64))
	case opF32Const:
		in.bits = r.fixed(4)
	case opF64Const:
		in.bits = r.fixed(8)
	case opV128Const, opShuffle:
		in.bits, in.high = r.fixed(8), r.fixed(8)
	case opRefNull:
		in.ref = r.refType()
	}
}

// zero reads the byte that stands for the only memory.
func (c *checker) zero() {
	if b := c.r.byte(); b != 0 && c.r.err == nil {
		c.r.pos--
		c.r.fail(Malformed, "the byte %#x where memory 0 is named", b)
	}
}

// appendInstr writes an instruction in its shortest form.
func appendInstr(b []byte, in *instr) []byte {
	b = appendOp(b, in.op)
	switch ops[in.op].imm {
	case immNone:
		return b
	case immMem:
		return appendU32(appendU32(b, in.x), in.y)
	case immMemLane:
		return append(appendU32(appendU32(b, in.x), in.y), in.lane)
	case immLane:
		return append(b, in.lane)
	}
	switch in.op {
	case opBlock, opLoop, opIf:
		return appendSigned(b, in.block)
	case opBr, opBrIf, opCall, opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet, opTableGet, opTableSet,
		opRefFunc, opDataDrop, opElemDrop, opTableGrow, opTableSize, opTableFill:
		return appendU32(b, in.x)
	case opBrTable:
		b = appendU32(b, uint32(len(in.labels)-1))
		for _, l := range in.labels {
			b = appendU32(b, l)
		}
	case opCallIndirect, opTableInit, opTableCopy:
		return appendU32(appendU32(b, in.x), in.y)
	case opSelectTyped:
		return append(appendU32(b, 1), byte(in.types[0]))
	case opMemorySize, opMemoryGrow, opMemoryFill:
		return append(b, 0)
	case opMemoryInit:
		return append(appendU32(b, in.x), 0)
	case opMemoryCopy:
		return append(b, 0, 0)
	case opI32Const, opI64Const:
		return appendSigned(b, int64(in.bits))
	case opF32Const:
		return binary.LittleEndian.AppendUint32(b, uint32(in.bits))
	case opF64Const:
		return binary.LittleEndian.AppendUint64(b, in.bits)
	case opV128Const, opShuffle:
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, in.bits), in.high)
	case opRefNull:
		return append(b, byte(in.ref))
	}
	return b
}

func appendOp(b []byte, o opcode) []byte {
	switch {
	case o >= prefixFD:
		return appendU32(append(b, 0xfd), uint32(o-prefixFD))
	case o >= prefixFC:
		return append(b, 0xfc, byte(o-prefixFC))
	default:
		return append(b, byte(o))
	}
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
