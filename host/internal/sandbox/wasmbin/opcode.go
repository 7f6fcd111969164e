package wasmbin

import "fmt"

// opcode is an instruction: one byte, or a prefix and a number, as
// prefixFC|number and prefixFD|number (5.4).
type opcode uint16

const (
	prefixFC opcode = 0x100
	prefixFD opcode = 0x200
	numOps          = 0x300
)

// Instructions that the code names.
const (
	opUnreachable  opcode = 0x00
	opNop          opcode = 0x01
	opBlock        opcode = 0x02
	opLoop         opcode = 0x03
	opIf           opcode = 0x04
	opElse         opcode = 0x05
	opEnd          opcode = 0x0b
	opBr           opcode = 0x0c
	opBrIf         opcode = 0x0d
	opBrTable      opcode = 0x0e
	opReturn       opcode = 0x0f
	opCall         opcode = 0x10
	opCallIndirect opcode = 0x11
	opDrop         opcode = 0x1a
	opSelect       opcode = 0x1b
	opSelectTyped  opcode = 0x1c
	opLocalGet     opcode = 0x20
	opLocalSet     opcode = 0x21
	opLocalTee     opcode = 0x22
	opGlobalGet    opcode = 0x23
	opGlobalSet    opcode = 0x24
	opTableGet     opcode = 0x25
	opTableSet     opcode = 0x26
	opI32Load      opcode = 0x28
	opI64Store32   opcode = 0x3e
	opMemorySize   opcode = 0x3f
	opMemoryGrow   opcode = 0x40
	opI32Const     opcode = 0x41
	opI64Const     opcode = 0x42
	opF32Const     opcode = 0x43
	opF64Const     opcode = 0x44
	opI32LtS       opcode = 0x48
	opI32GtU       opcode = 0x4b
	opI32LeU       opcode = 0x4d
	opI32GeS       opcode = 0x4e
	opI32LtU       opcode = 0x49
	opI64GtU       opcode = 0x56
	opI64LeS       opcode = 0x57
	opI32Add       opcode = 0x6a
	opI32Sub       opcode = 0x6b
	opI32ShrU      opcode = 0x76
	opI64Add       opcode = 0x7c
	opI64Sub       opcode = 0x7d
	opI64Shl       opcode = 0x86
	opI32WrapI64   opcode = 0xa7
	opI64ExtendI32 opcode = 0xac
	opI64ExtendU32 opcode = 0xad
	opRefNull      opcode = 0xd0
	opRefIsNull    opcode = 0xd1
	opRefFunc      opcode = 0xd2

	opMemoryInit = prefixFC | 8
	opDataDrop   = prefixFC | 9
	opMemoryCopy = prefixFC | 10
	opMemoryFill = prefixFC | 11
	opTableInit  = prefixFC | 12
	opElemDrop   = prefixFC | 13
	opTableCopy  = prefixFC | 14
	opTableGrow  = prefixFC | 15
	opTableSize  = prefixFC | 16
	opTableFill  = prefixFC | 17

	opV128Const = prefixFD | 12
	opShuffle   = prefixFD | 13
)

// immediate says what follows an opcode.
type immediate byte

const (
	immNone    immediate = iota
	immSpecial           // decoded by the function that checks the instruction
	immMem               // alignment and offset; arg is the largest alignment
	immMemLane           // the same and a lane
	immLane              // a lane; arg is how many there are
)

// op is what the tables say of an instruction: its immediates, and its type
// where that is always the same.
type op struct {
	known  bool
	imm    immediate
	arg    byte // see immediate
	pops   [3]ValueType
	npop   byte
	push   ValueType // anyType: nothing
	weight uint16    // units of work, see weights
}

var ops [numOps]op

// Weights: a unit is about what the engine's code takes for an addition, or
// half a nanosecond. Memory is weighed as if its lines were not in a cache:
// following pointers through a large memory takes 100 ns a step.
const (
	weightPlain  = 1
	weightMemory = 8
	weightDivide = 10
	weightVector = 4
	weightCall   = 8
	weightHost   = 60
	weightGrow   = 64 // a page
)

func init() {
	for _, o := range []opcode{
		opUnreachable, opNop, opBlock, opLoop, opIf, opElse, opEnd, opBr, opBrIf, opBrTable, opReturn, opDrop, opSelect, opSelectTyped,
		opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet,
		opI32Const, opI64Const, opF32Const, opF64Const, opV128Const, opRefNull, opRefIsNull, opRefFunc, opMemorySize, opTableSize, opDataDrop, opElemDrop,
	} {
		ops[o] = op{known: true, imm: immSpecial, weight: weightPlain}
	}
	for _, o := range []opcode{opCall, opCallIndirect} {
		ops[o] = op{known: true, imm: immSpecial, weight: weightCall}
	}
	for _, o := range []opcode{opTableGet, opTableSet, opMemoryGrow, opMemoryInit, opMemoryCopy, opMemoryFill, opTableInit, opTableCopy, opTableGrow, opTableFill, opShuffle} {
		ops[o] = op{known: true, imm: immSpecial, weight: weightMemory}
	}
	ops[opNop].imm = immNone
	numericOps()
	memoryOps()
	vectorOps()
}

// set defines one instruction after the other, from o on, all of one type.
func set(o opcode, n int, weight uint16, pops []ValueType, push ValueType) {
	for ; n > 0; n-- {
		e := op{known: true, push: push, weight: weight, npop: byte(len(pops))}
		copy(e.pops[:], pops)
		ops[o] = e
		o++
	}
}

// Operand lists.
var (
	i32x1, i32x2     = []ValueType{I32}, []ValueType{I32, I32}
	i64x1, i64x2     = []ValueType{I64}, []ValueType{I64, I64}
	f32x1, f32x2     = []ValueType{F32}, []ValueType{F32, F32}
	f64x1, f64x2     = []ValueType{F64}, []ValueType{F64, F64}
	v128x1, v128x2   = []ValueType{V128}, []ValueType{V128, V128}
	v128x3           = []ValueType{V128, V128, V128}
	v128i32, i32v128 = []ValueType{V128, I32}, []ValueType{I32, V128}
	i32i64           = []ValueType{I32, I64}
	i32f32, i32f64   = []ValueType{I32, F32}, []ValueType{I32, F64}
	v128i64          = []ValueType{V128, I64}
	v128f32, v128f64 = []ValueType{V128, F32}, []ValueType{V128, F64}
)

// numericOps are those of 5.4.7 and the saturating conversions.
func numericOps() {
	const p, d = weightPlain, weightDivide
	set(0x45, 1, p, i32x1, I32)  // i32.eqz
	set(0x46, 10, p, i32x2, I32) // i32 comparisons
	set(0x50, 1, p, i64x1, I32)  // i64.eqz
	set(0x51, 10, p, i64x2, I32) // i64 comparisons
	set(0x5b, 6, p, f32x2, I32)  // f32 comparisons
	set(0x61, 6, p, f64x2, I32)  // f64 comparisons
	set(0x67, 3, p, i32x1, I32)  // i32.clz ctz popcnt
	set(0x6a, 3, p, i32x2, I32)  // i32.add sub mul
	set(0x6d, 4, d, i32x2, I32)  // i32.div rem
	set(0x71, 8, p, i32x2, I32)  // i32.and … rotr
	set(0x79, 3, p, i64x1, I64)
	set(0x7c, 3, p, i64x2, I64)
	set(0x7f, 4, d, i64x2, I64)
	set(0x83, 8, p, i64x2, I64)
	set(0x8b, 6, d, f32x1, F32) // f32.abs … nearest
	set(0x91, 1, d, f32x1, F32) // f32.sqrt
	set(0x92, 7, d, f32x2, F32) // f32.add … copysign
	set(0x99, 6, d, f64x1, F64)
	set(0x9f, 1, d, f64x1, F64)
	set(0xa0, 7, d, f64x2, F64)
	set(0xa7, 1, p, i64x1, I32) // i32.wrap_i64
	set(0xa8, 2, d, f32x1, I32) // i32.trunc_f32
	set(0xaa, 2, d, f64x1, I32)
	set(0xac, 2, p, i32x1, I64) // i64.extend_i32
	set(0xae, 2, d, f32x1, I64)
	set(0xb0, 2, d, f64x1, I64)
	set(0xb2, 2, d, i32x1, F32) // f32.convert_i32
	set(0xb4, 2, d, i64x1, F32)
	set(0xb6, 1, d, f64x1, F32) // f32.demote_f64
	set(0xb7, 2, d, i32x1, F64)
	set(0xb9, 2, d, i64x1, F64)
	set(0xbb, 1, d, f32x1, F64) // f64.promote_f32
	set(0xbc, 1, p, f32x1, I32) // reinterpretations
	set(0xbd, 1, p, f64x1, I64)
	set(0xbe, 1, p, i32x1, F32)
	set(0xbf, 1, p, i64x1, F64)
	set(0xc0, 2, p, i32x1, I32) // i32.extend8_s, 16
	set(0xc2, 3, p, i64x1, I64)
	set(prefixFC, 2, d, f32x1, I32) // i32.trunc_sat
	set(prefixFC|2, 2, d, f64x1, I32)
	set(prefixFC|4, 2, d, f32x1, I64)
	set(prefixFC|6, 2, d, f64x1, I64)
}

// mem defines loads or stores, whose largest alignment is given in bits.
func mem(o opcode, imm immediate, align byte, pops []ValueType, push ValueType) {
	set(o, 1, weightMemory, pops, push)
	ops[o].imm, ops[o].arg = imm, align
}

// memoryOps are those of 5.4.6.
func memoryOps() {
	for i, l := range []struct {
		align byte
		t     ValueType
	}{
		{2, I32},
		{3, I64},
		{2, F32},
		{3, F64},
		{0, I32},
		{0, I32},
		{1, I32},
		{1, I32},
		{0, I64},
		{0, I64},
		{1, I64},
		{1, I64},
		{2, I64},
		{2, I64},
	} {
		mem(opI32Load+opcode(i), immMem, l.align, i32x1, l.t)
	}
	for i, s := range []struct {
		align byte
		pops  []ValueType
	}{
		{2, i32x2},
		{3, i32i64},
		{2, i32f32},
		{3, i32f64},
		{0, i32x2},
		{1, i32x2},
		{0, i32i64},
		{1, i32i64},
		{2, i32i64},
	} {
		mem(0x36+opcode(i), immMem, s.align, s.pops, anyType)
	}
}

// vectorOps are those of 5.4.8.
func vectorOps() {
	fd := func(from, to int, pops []ValueType, push ValueType) {
		set(prefixFD|opcode(from), to-from+1, weightVector, pops, push)
	}
	// Loads and stores.
	for i, align := range []byte{4, 3, 3, 3, 3, 3, 3, 0, 1, 2, 3} {
		mem(prefixFD|opcode(i), immMem, align, i32x1, V128)
	}
	mem(prefixFD|11, immMem, 4, i32v128, anyType)
	mem(prefixFD|92, immMem, 2, i32x1, V128) // v128.load32_zero
	mem(prefixFD|93, immMem, 3, i32x1, V128)
	for i := range 4 {
		mem(prefixFD|opcode(84+i), immMemLane, byte(i), i32v128, V128)
		mem(prefixFD|opcode(88+i), immMemLane, byte(i), i32v128, anyType)
	}
	fd(14, 14, v128x2, V128) // i8x16.swizzle
	fd(15, 17, i32x1, V128)  // splats
	fd(18, 18, i64x1, V128)
	fd(19, 19, f32x1, V128)
	fd(20, 20, f64x1, V128)
	for _, l := range []struct {
		o     int
		lanes byte
		pops  []ValueType
		push  ValueType
	}{
		{21, 16, v128x1, I32},
		{22, 16, v128x1, I32},
		{23, 16, v128i32, V128},
		{24, 8, v128x1, I32},
		{25, 8, v128x1, I32},
		{26, 8, v128i32, V128},
		{27, 4, v128x1, I32},
		{28, 4, v128i32, V128},
		{29, 2, v128x1, I64},
		{30, 2, v128i64, V128},
		{31, 4, v128x1, F32},
		{32, 4, v128f32, V128},
		{33, 2, v128x1, F64},
		{34, 2, v128f64, V128},
	} {
		fd(l.o, l.o, l.pops, l.push)
		ops[prefixFD|opcode(l.o)].imm, ops[prefixFD|opcode(l.o)].arg = immLane, l.lanes
	}
	fd(35, 76, v128x2, V128) // comparisons
	fd(77, 77, v128x1, V128) // v128.not
	fd(78, 81, v128x2, V128)
	fd(82, 82, v128x3, V128) // v128.bitselect
	fd(83, 83, v128x1, I32)  // v128.any_true
	fd(94, 95, v128x1, V128) // f32x4.demote, f64x2.promote
	// Each lane shape in turn; what is missing in a row is no instruction.
	unary := []int{96, 97, 98, 103, 104, 105, 106, 116, 117, 122, 124, 125, 126, 127, 128, 129, 135, 136, 137, 138, 148, 160, 161, 167, 168, 169, 170, 192, 193, 199, 200, 201, 202, 224, 225, 227, 236, 237, 239, 248, 249, 250, 251, 252, 253, 254, 255}
	toI32 := []int{99, 100, 131, 132, 163, 164, 195, 196}
	shift := []int{107, 108, 109, 139, 140, 141, 171, 172, 173, 203, 204, 205}
	binary := []int{
		101, 102, 110, 111, 112, 113, 114, 115, 118, 119, 120, 121, 123,
		130, 133, 134, 142, 143, 144, 145, 146, 147, 149, 150, 151, 152, 153, 155, 156, 157, 158, 159,
		174, 177, 181, 182, 183, 184, 185, 186, 188, 189, 190, 191,
		206, 209, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223,
		228, 229, 230, 231, 232, 233, 234, 235,
		240, 241, 242, 243, 244, 245, 246, 247,
	}
	for _, n := range unary {
		fd(n, n, v128x1, V128)
	}
	for _, n := range toI32 {
		fd(n, n, v128x1, I32)
	}
	for _, n := range shift {
		fd(n, n, v128i32, V128)
	}
	for _, n := range binary {
		fd(n, n, v128x2, V128)
	}
}

// String returns the bytes of an instruction.
func (o opcode) String() string {
	switch {
	case o >= prefixFD:
		return fmt.Sprintf("fd %#x", int(o-prefixFD))
	case o >= prefixFC:
		return fmt.Sprintf("fc %d", int(o-prefixFC))
	default:
		return fmt.Sprintf("%#x", int(o))
	}
}
