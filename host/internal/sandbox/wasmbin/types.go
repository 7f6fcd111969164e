package wasmbin

import "fmt"

// ValueType is the type of a value (5.3.4).
type ValueType byte

// The value types of Core 2.0, in their binary form.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f

	// anyType stands for a value of code that is never reached.
	anyType ValueType = 0
)

// String returns the name of the text format.
func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case anyType:
		return "any"
	default:
		return fmt.Sprintf("type %#x", byte(t))
	}
}

// IsRef says that values of the type are references.
func (t ValueType) IsRef() bool { return t == FuncRef || t == ExternRef }

// IsNum says that values of the type are numbers of 32 or 64 bits.
func (t ValueType) IsNum() bool { return t >= F64 && t <= I32 }

// FuncType is the type of a function (5.3.6).
type FuncType struct {
	Params, Results []ValueType
}

// Size is how large a table or memory is: entries, or pages of 64 KiB (5.3.7).
type Size struct {
	Min    uint32
	Max    uint32
	HasMax bool
}

// Table is a table (5.3.9).
type Table struct {
	Elem ValueType
	Size Size
}

// GlobalType is the type of a global (5.3.10).
type GlobalType struct {
	Value   ValueType
	Mutable bool
}

// ExternKind is what an import or export is (5.5.5).
type ExternKind byte

// The kinds of imports and exports.
const (
	ExternFunc   ExternKind = 0
	ExternTable  ExternKind = 1
	ExternMemory ExternKind = 2
	ExternGlobal ExternKind = 3
)

// String returns the name of the text format.
func (k ExternKind) String() string {
	return [...]string{"func", "table", "memory", "global"}[k&3]
}

// Import is something that a module wants (5.5.5).
type Import struct {
	Module, Name string
	Kind         ExternKind
	Type         uint32 // of a function
	Table        Table
	Memory       Size
	Global       GlobalType
}

// Export is something that a module offers (5.5.10).
type Export struct {
	Name  string
	Kind  ExternKind
	Index uint32
}

// Const is a constant expression (3.3.10): one instruction.
type Const struct {
	op    opcode
	index uint32    // of global.get and ref.func
	bits  uint64    // of numbers; the low half of a v128
	high  uint64    // of a v128
	ref   ValueType // of ref.null
}

// Global is a global that the module defines (5.5.9).
type Global struct {
	Type GlobalType
	Init Const
}

// segmentMode says when a segment is used (2.5.7).
type segmentMode byte

const (
	active segmentMode = iota
	passive
	declarative
)

// elem is an element segment (5.5.12).
type elem struct {
	mode   segmentMode
	table  uint32
	offset Const
	typ    ValueType
	init   []Const
}

// Data is a data segment (5.5.14).
type Data struct {
	Passive bool
	Offset  Const // of an active one
	Bytes   []byte
}

// code is the body of a function as it was read.
type code struct {
	body   []byte // locals and instructions
	offset int    // of body in the module
}

// Module is a decoded module. It shares memory with the bytes it was read from
// and is not changed once it is made.
type Module struct {
	Types   []FuncType
	Imports []Import
	Exports []Export
	Memory  *Size    // defined or imported; nil: there is none
	Globals []Global // defined ones
	Data    []Data

	funcs     []uint32 // types of all functions, imports first
	tables    []Table  // imports first
	globals   []GlobalType
	start     uint32
	hasStart  bool
	elems     []elem
	dataCount bool // there is a data count section
	announced int  // what it says
	codes     []code
	names     []funcName
	languages []string // of the producers section
	producers []Producer
	customs   []Custom

	moreCustoms int

	importedFuncs, importedTables, importedGlobals int
	importedMemory                                 bool

	declared []bool // functions that ref.func may name
	lim      Limits
}

// funcName is an entry of the name section.
type funcName struct {
	index uint32
	name  []byte
}

// FuncType returns the type of a function by its index.
func (m *Module) FuncType(index uint32) FuncType { return m.Types[m.funcs[index]] }
