package wasmbin

import (
	"fmt"
	"runtime"
	"sync"
)

// Version changes whenever Rewrite makes other code of the same module, so that
// what is kept of an older one is not used.
const Version = 9

// Options say how a module is rewritten. The zero value is usable.
type Options struct {
	// Slice is how much work a guest does before it lets the host run for the
	// first time: units of about half a nanosecond. 0: DefaultSlice.
	Slice int
	// Gap is the longest way without a look at the slice, in units. 0: DefaultGap.
	Gap int
	// Piece is how much of a bulk operation is done at once, in bytes. 0: DefaultPiece.
	Piece int
	// Fuel counts work exactly. See [Output] for where.
	Fuel bool
	// Bare leaves out active data segments: the host writes memory itself.
	Bare bool
}

// Defaults of [Options].
const (
	DefaultSlice = 30_000
	MaxSlice     = 120_000
	DefaultGap   = 2500
	DefaultPiece = 256 << 10

	defaultFuelGap = 20_000
)

// The function without parameters that a rewritten module imports, and calls
// after each slice. It returns an i32, the length of the next slice, at most
// [MaxSlice]; at 0 the guest traps. No module that [Decode] takes imports from
// [HostModule] itself.
const (
	HostModule  = reserved + "host"
	PauseImport = "pause"
)

// Names that a rewritten module exports. Globals that the module defines and
// changes are exported as [GlobalExport] says.
const (
	// LeftExport is the i32 that holds what is left of the slice. A host sets it
	// to 0 before a call, or to the slice.
	LeftExport = reserved + "left"
	// FuelExport is the i64 that holds the fuel which is not yet part of the
	// slice. Fuel that is left is its sum with the slice's rest. When both are
	// used up the guest traps.
	FuelExport = reserved + "fuel"
	// StartExport is the module's start function, which does not run when the
	// module is instantiated.
	StartExport = reserved + "start"
)

// GlobalExport is the name under which the global with this index is exported.
func GlobalExport(index int) string { return fmt.Sprintf("%sg%d", reserved, index) }

// The globals that are added, in order.
const (
	globalLeft = iota
	globalFuel
)

// Output is a rewritten module.
type Output struct {
	Wasm []byte
	// Mutable are the indices and types of the mutable globals that the module
	// defines.
	Mutable []MutableGlobal
	// Exact says that memory and the mutable globals are all that code can change
	// of an instance: it leaves tables and segments alone, and the globals are
	// numbers that start with what is known here.
	Exact bool
	// Work is what was put in. It is zero of what was kept and not rewritten.
	Work Work
}

// Work is what a rewriting changed.
type Work struct {
	Functions int // that the module defines, all written anew
	Helpers   int // functions that were added
	CodeIn    int // bytes of the bodies, as they were
	CodeOut   int // bytes of the bodies, helpers left out
	Looks     int // places where a guest looks whether it has to stop
	Bulk      int // memory.fill and memory.copy that are done in pieces
}

// MutableGlobal is a global that code may change.
type MutableGlobal struct {
	Index int
	Value ValueType
	Init  uint64 // what it starts with, if it is a number
}

// Rewrite checks the bodies of all functions and returns the module with them
// written anew. The error is an *Error.
func (m *Module) Rewrite(o Options) (*Output, error) {
	if o.Slice == 0 {
		o.Slice = DefaultSlice
	}
	if o.Gap == 0 {
		o.Gap = DefaultGap
		if o.Fuel {
			o.Gap = defaultFuelGap
		}
	}
	if o.Piece == 0 {
		o.Piece = DefaultPiece
	}
	parts, err := m.rewriteBodies(&o)
	if err != nil {
		return nil, err
	}
	out := &Output{Exact: true}
	w := writer{m: m, o: &o, helperTypes: uint32(len(m.Types))}
	out.Work = Work{Functions: len(m.codes), Helpers: len(w.helpers())}
	for _, c := range m.codes {
		out.Work.CodeIn += len(c.body)
	}
	for _, p := range parts {
		out.Exact = out.Exact && !p.tables
		out.Work.CodeOut += len(p.bodies)
		out.Work.Looks += p.looks
		out.Work.Bulk += p.bulk
	}
	out.Wasm = w.module(parts)
	for i, g := range m.Globals {
		if g.Type.Mutable {
			bits, known := g.Init.constBits()
			out.Exact = out.Exact && known
			if g.Type.Value == I32 || g.Type.Value == F32 {
				bits = uint64(uint32(bits))
			}
			out.Mutable = append(out.Mutable, MutableGlobal{m.importedGlobals + i, g.Type.Value, bits})
		}
	}
	return out, nil
}

// part is a run of functions that were checked and written anew.
type part struct {
	from, to int // indices into Module.codes
	bodies   []byte
	tables   bool
	locals   int
	branches int // times locals, of each function
	blocks   int // squared, of each function
	looks    int
	bulk     int
	err      *Error
}

// rewriteBodies checks and rewrites all functions, which do not depend on each
// other, on several processors.
func (m *Module) rewriteBodies(o *Options) ([]part, error) {
	parts := m.divide(runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { parts[i].rewrite(m, o) })
	}
	wg.Wait()
	locals, branches, blocks := 0, 0, 0
	for i := range parts {
		if err := parts[i].err; err != nil {
			return nil, err
		}
		locals += parts[i].locals
		branches += parts[i].branches
		blocks += parts[i].blocks
	}
	if locals > m.lim.AllLocals || branches > m.lim.AllBranchLocals || blocks > m.lim.AllBlocks {
		return nil, &Error{Kind: TooLarge, Func: -1, Problem: "the functions have too many locals, blocks, or branches and locals, together"}
	}
	return parts, nil
}

// minPart is the least worth a goroutine, in bytes.
const minPart = 64 << 10

// divide cuts the functions into at most n runs of about the same size.
func (m *Module) divide(n int) []part {
	total := 0
	for i := range m.codes {
		total += len(m.codes[i].body)
	}
	each := max(total/n+1, minPart)
	var parts []part
	from, size := 0, 0
	for i := range m.codes {
		size += len(m.codes[i].body)
		if size >= each || i == len(m.codes)-1 {
			parts = append(parts, part{from: from, to: i + 1})
			from, size = i+1, 0
		}
	}
	return parts
}

func (p *part) rewrite(m *Module, o *Options) {
	c := &checker{m: m}
	c.emit = emitter{m: m, opt: o, base: m.moved(uint32(len(m.funcs))), global: uint32(len(m.globals))}
	total := 0
	for _, c := range m.codes[p.from:p.to] {
		total += len(c.body)
	}
	p.bodies = make([]byte, 0, total+total/4)
	var one []byte
	for i := p.from; i < p.to; i++ {
		if p.err = c.function(i); p.err != nil {
			return
		}
		p.locals += len(c.locals)
		p.branches += c.branch * len(c.locals)
		p.blocks += c.blocks * c.blocks
		one = c.emit.finish(one[:0], frameUnits(c))
		p.bodies = append(appendU32(p.bodies, uint32(len(one))), one...)
	}
	p.tables, p.looks, p.bulk = c.tables, c.emit.looks, c.emit.bulk
}

// constBits returns the value of a number's constant expression, if it is one.
func (c Const) constBits() (uint64, bool) {
	switch c.op {
	case opI32Const, opI64Const, opF32Const, opF64Const:
		return c.bits, true
	}
	return 0, false
}

// ActiveData calls write for every active data segment, in order. It reports
// whether all lie at a constant offset; otherwise only a fresh instance can
// place them.
func (m *Module) ActiveData(write func(offset uint32, b []byte)) bool {
	for _, d := range m.Data {
		if d.Passive {
			continue
		}
		at, ok := d.Offset.constBits()
		if !ok {
			return false
		}
		write(uint32(at), d.Bytes)
	}
	return true
}
