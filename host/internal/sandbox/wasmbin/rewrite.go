package wasmbin

import (
	"fmt"
	"runtime"
	"sync"
)

// Version changes whenever Rewrite makes other code of the same module, so that
// what is kept of an older one is not used.
const Version = 1

// Options say how a module is rewritten. The zero value is usable.
type Options struct {
	// Slice is how much work a guest does before it lets the host run: units
	// of about half a nanosecond. 0: DefaultSlice.
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
	DefaultSlice = 300_000
	DefaultGap   = 2500
	DefaultPiece = 256 << 10

	defaultFuelGap = 20_000
)

// Names that a rewritten module exports. Globals that the module defines and
// changes are exported as [GlobalExport] says.
const (
	// LeftExport is the i32 that holds what is left of the slice. A host sets it
	// to 0 before a call, or to the slice.
	LeftExport = reserved + "left"
	// StopExport is the i32 that makes the guest trap at its next pause when it
	// is not 0.
	StopExport = reserved + "stop"
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
	globalStop
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
	for _, p := range parts {
		out.Exact = out.Exact && !p.tables
	}
	w := writer{m: m, o: &o, helperTypes: uint32(len(m.Types))}
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
	c.emit = emitter{m: m, opt: o, base: uint32(len(m.funcs)), global: uint32(len(m.globals))}
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
		one = c.emit.finish(one[:0])
		p.bodies = append(appendU32(p.bodies, uint32(len(one))), one...)
	}
	p.tables = c.tables
}

// writer writes a module from its parts.
type writer struct {
	m           *Module
	o           *Options
	helperTypes uint32 // index of the first type that is added
	b           []byte
}

// section appends a section, unless it has no items.
func (w *writer) section(id byte, n int, items []byte) {
	if n == 0 {
		return
	}
	count := appendU32(nil, uint32(n))
	w.b = appendU32(append(w.b, id), uint32(len(count)+len(items)))
	w.b = append(append(w.b, count...), items...)
}

func (w *writer) module(parts []part) []byte {
	m := w.m
	size := 1 << 16
	for _, p := range parts {
		size += len(p.bodies)
	}
	w.b = append(make([]byte, 0, size), magic...)
	helpers := w.helpers()
	w.types()
	w.imports()
	var b []byte
	for _, t := range m.funcs[m.importedFuncs:] {
		b = appendU32(b, t)
	}
	for _, h := range helpers {
		b = appendU32(b, w.helperTypes+h.typ)
	}
	w.section(secFunction, len(m.funcs)-m.importedFuncs+len(helpers), b)
	w.tables()
	w.memories()
	w.globals()
	w.exports()
	w.elems()
	w.dataCount()
	b = b[:0]
	for _, p := range parts {
		b = append(b, p.bodies...)
	}
	for _, h := range helpers {
		b = append(appendU32(b, uint32(len(h.body))), h.body...)
	}
	w.section(secCode, len(m.codes)+len(helpers), b)
	w.data()
	w.names()
	return w.b
}

func appendTypes(b []byte, ts []ValueType) []byte {
	b = appendU32(b, uint32(len(ts)))
	for _, t := range ts {
		b = append(b, byte(t))
	}
	return b
}

func appendName(b []byte, s string) []byte { return append(appendU32(b, uint32(len(s))), s...) }

func (w *writer) types() {
	var b []byte
	all := append(w.m.Types[:len(w.m.Types):len(w.m.Types)], helperFuncTypes...)
	for _, t := range all {
		b = appendTypes(appendTypes(append(b, 0x60), t.Params), t.Results)
	}
	w.section(secType, len(all), b)
}

func (w *writer) imports() {
	var b []byte
	for _, im := range w.m.Imports {
		b = append(appendName(appendName(b, im.Module), im.Name), byte(im.Kind))
		switch im.Kind {
		case ExternFunc:
			b = appendU32(b, im.Type)
		case ExternTable:
			b = w.table(b, im.Table)
		case ExternMemory:
			b = appendSize(b, im.Memory)
		case ExternGlobal:
			b = appendGlobal(b, im.Global)
		}
	}
	w.section(secImport, len(w.m.Imports), b)
}

func appendSize(b []byte, s Size) []byte {
	if !s.HasMax {
		return appendU32(append(b, 0), s.Min)
	}
	return appendU32(appendU32(append(b, 1), s.Min), s.Max)
}

func appendGlobal(b []byte, g GlobalType) []byte {
	if g.Mutable {
		return append(b, byte(g.Value), 1)
	}
	return append(b, byte(g.Value), 0)
}

// table gives a table a maximum.
func (w *writer) table(b []byte, t Table) []byte {
	s := t.Size
	if !s.HasMax || s.Max > w.m.lim.TableEntries {
		s.Max, s.HasMax = w.m.lim.TableEntries, true
	}
	return appendSize(append(b, byte(t.Elem)), s)
}

func (w *writer) tables() {
	var b []byte
	own := w.m.tables[w.m.importedTables:]
	for _, t := range own {
		b = w.table(b, t)
	}
	w.section(secTable, len(own), b)
}

// memories gives a module without a memory an empty one, for the way out.
func (w *writer) memories() {
	switch {
	case w.m.Memory == nil:
		w.section(secMemory, 1, appendSize(nil, Size{HasMax: true}))
	case !w.m.importedMemory:
		w.section(secMemory, 1, appendSize(nil, *w.m.Memory))
	}
}

func (w *writer) globals() {
	var b []byte
	for _, g := range w.m.Globals {
		b = appendConst(appendGlobal(b, g.Type), g.Init)
	}
	left := 0
	if !w.o.Fuel {
		left = w.o.Slice
	}
	b = append(appendSigned(append(b, byte(I32), 1, byte(opI32Const)), int64(left)), byte(opEnd))
	b = append(b, byte(I32), 1, byte(opI32Const), 0, byte(opEnd))
	n := len(w.m.Globals) + 2
	if w.o.Fuel {
		b = append(b, byte(I64), 1, byte(opI64Const), 0, byte(opEnd))
		n++
	}
	w.section(secGlobal, n, b)
}

func appendConst(b []byte, c Const) []byte {
	in := instr{op: c.op, x: c.index, bits: c.bits, high: c.high, ref: c.ref}
	return append(appendInstr(b, &in), byte(opEnd))
}

func (w *writer) exports() {
	m := w.m
	var b []byte
	n := len(m.Exports)
	add := func(name string, k ExternKind, index int) {
		b = appendU32(append(appendName(b, name), byte(k)), uint32(index))
	}
	for _, e := range m.Exports {
		add(e.Name, e.Kind, int(e.Index))
	}
	ours := func(name string, k ExternKind, index int) {
		add(name, k, index)
		n++
	}
	ours(LeftExport, ExternGlobal, len(m.globals)+globalLeft)
	ours(StopExport, ExternGlobal, len(m.globals)+globalStop)
	if w.o.Fuel {
		ours(FuelExport, ExternGlobal, len(m.globals)+globalFuel)
	}
	if m.hasStart {
		ours(StartExport, ExternFunc, int(m.start))
	}
	for i, g := range m.Globals {
		if g.Type.Mutable {
			ours(GlobalExport(m.importedGlobals+i), ExternGlobal, m.importedGlobals+i)
		}
	}
	w.section(secExport, n, b)
}

func (w *writer) elems() {
	var b []byte
	for _, e := range w.m.elems {
		b = appendElem(b, &e)
	}
	w.section(secElem, len(w.m.elems), b)
}

// appendElem writes functions as indices where all entries are, else expressions.
func appendElem(b []byte, e *elem) []byte {
	expressions := e.typ != FuncRef
	for _, c := range e.init {
		expressions = expressions || c.op != opRefFunc
	}
	form := byte(0)
	switch {
	case e.mode == passive:
		form = 1
	case e.mode == declarative:
		form = 3
	case e.table != 0 || e.typ != FuncRef:
		form = 2
	}
	if expressions {
		form |= 4
	}
	b = append(b, form)
	if e.mode == active {
		if form&2 != 0 {
			b = appendU32(b, e.table)
		}
		b = appendConst(b, e.offset)
	}
	if form&3 != 0 {
		if expressions {
			b = append(b, byte(e.typ))
		} else {
			b = append(b, 0)
		}
	}
	b = appendU32(b, uint32(len(e.init)))
	for _, c := range e.init {
		if expressions {
			b = appendConst(b, c)
		} else {
			b = appendU32(b, c.index)
		}
	}
	return b
}

// dataCount announces the data segments, if the module did.
func (w *writer) dataCount() {
	if w.m.dataCount {
		n := appendU32(nil, uint32(len(w.m.Data)))
		w.b = append(appendU32(append(w.b, secDataCount), uint32(len(n))), n...)
	}
}

// data writes the data segments. Of a bare module the active ones are gone, or
// empty where the numbers of others must stay: so is one that was used.
func (w *writer) data() {
	var b []byte
	n := 0
	for _, d := range w.m.Data {
		switch {
		case d.Passive:
			b = append(b, 1)
		case !w.o.Bare:
			b = appendConst(append(b, 0), d.Offset)
		case w.m.dataCount:
			b = append(b, 1, 0)
			n++
			continue
		default:
			continue
		}
		b = append(appendU32(b, uint32(len(d.Bytes))), d.Bytes...)
		n++
	}
	if n > 0 || w.m.dataCount {
		count := appendU32(nil, uint32(n))
		w.b = appendU32(append(w.b, secData), uint32(len(count)+len(b)))
		w.b = append(append(w.b, count...), b...)
	}
}

func (w *writer) names() {
	if len(w.m.names) == 0 {
		return
	}
	b := appendU32(nil, uint32(len(w.m.names)))
	for _, n := range w.m.names {
		b = appendU32(b, n.index)
		b = append(appendU32(b, uint32(len(n.name))), n.name...)
	}
	sub := appendName(nil, "name")
	sub = append(appendU32(append(sub, 1), uint32(len(b))), b...)
	w.b = append(appendU32(append(w.b, secCustom), uint32(len(sub))), sub...)
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
