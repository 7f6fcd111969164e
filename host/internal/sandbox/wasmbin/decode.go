package wasmbin

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

var magic = []byte("\x00asm\x01\x00\x00\x00")

// Sections by their number (5.5.2).
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElem
	secCode
	secData
	secDataCount

	secTag = 13 // of a proposal
)

// sections say in which order sections stand, and how each is read.
var sections = [...]struct {
	name  string
	order int
	read  func(*Module, *reader)
}{
	secType:      {"type", 1, (*Module).readTypes},
	secImport:    {"import", 2, (*Module).readImports},
	secFunction:  {"function", 3, (*Module).readFuncs},
	secTable:     {"table", 4, (*Module).readTables},
	secMemory:    {"memory", 5, (*Module).readMemory},
	secGlobal:    {"global", 6, (*Module).readGlobals},
	secExport:    {"export", 7, (*Module).readExports},
	secStart:     {"start", 8, (*Module).readStart},
	secElem:      {"element", 9, (*Module).readElems},
	secDataCount: {"data count", 10, func(m *Module, r *reader) { m.dataCount, m.announced = true, int(r.u32()) }},
	secCode:      {"code", 11, (*Module).readCode},
	secData:      {"data", 12, (*Module).readData},
}

// Decode reads a module and checks everything but the bodies of its functions,
// which [Module.Rewrite] checks. The Module keeps wasm, which must not change.
// The error is an *Error.
func Decode(wasm []byte, lim Limits) (*Module, error) {
	m := &Module{lim: lim}
	r := &reader{b: wasm, fn: -1}
	if !bytes.HasPrefix(wasm, magic) {
		r.fail(Malformed, "this is not a core module of version 1")
		return nil, r.err
	}
	r.pos = len(magic)
	last := 0
	for r.more() {
		at := r.pos
		id := int(r.byte())
		size := r.u32()
		s := &reader{base: r.pos, fn: -1}
		s.b = r.take(size)
		if r.err != nil {
			return nil, r.err
		}
		if id == secCustom {
			if m.readCustom(s); s.err != nil {
				return nil, s.err
			}
			continue
		}
		if id >= len(sections) {
			r.pos = at
			if id == secTag {
				r.fail(Unsupported, "exceptions: a section of tags")
			}
			r.fail(Malformed, "section %d is not known", id)
			return nil, r.err
		}
		sec := &sections[id]
		if sec.order <= last {
			r.pos = at
			r.fail(Malformed, "the %s section is out of order or there twice", sec.name)
			return nil, r.err
		}
		last = sec.order
		if sec.read(m, s); s.more() {
			s.fail(Malformed, "the %s section holds more than it says", sec.name)
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	switch {
	case len(m.codes) != len(m.funcs)-m.importedFuncs:
		r.fail(Malformed, "%d functions and %d bodies", len(m.funcs)-m.importedFuncs, len(m.codes))
	case m.dataCount && m.announced != len(m.Data):
		r.fail(Malformed, "%d data segments are announced and %d are there", m.announced, len(m.Data))
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

func (m *Module) readTypes(r *reader) {
	n := r.count("types", m.lim.Types)
	m.Types = make([]FuncType, 0, n)
	for range n {
		if form := r.byte(); form != 0x60 && r.err == nil {
			r.pos--
			if form >= 0x4e && form <= 0x50 || form == 0x5e || form == 0x5f {
				r.fail(Unsupported, "garbage collection: type form %#x", form)
			}
			r.fail(Malformed, "type form %#x", form)
		}
		params := r.valueTypes(m.lim.Params)
		m.Types = append(m.Types, FuncType{params, r.valueTypes(m.lim.Params)})
	}
}

func (m *Module) readImports(r *reader) {
	n := r.count("imports", m.lim.Imports)
	for range n {
		im := Import{Module: r.name(m.lim.Names), Name: r.name(m.lim.Names), Kind: ExternKind(r.byte())}
		if strings.HasPrefix(im.Module, reserved) {
			r.fail(Reserved, "the name %q of an imported module is reserved", im.Module)
		}
		switch im.Kind {
		case ExternFunc:
			im.Type = m.typeIndex(r)
			m.funcs = append(m.funcs, im.Type)
			m.importedFuncs++
		case ExternTable:
			im.Table = m.table(r)
			m.tables = append(m.tables, im.Table)
			m.importedTables++
		case ExternMemory:
			im.Memory = m.memory(r)
			m.importedMemory = true
		case ExternGlobal:
			im.Global = r.global()
			m.globals = append(m.globals, im.Global)
			m.importedGlobals++
		case 4:
			r.fail(Unsupported, "exceptions: a tag is imported")
		default:
			r.pos--
			r.fail(Malformed, "import kind %#x", byte(im.Kind))
		}
		m.Imports = append(m.Imports, im)
	}
}

func (m *Module) typeIndex(r *reader) uint32 {
	t := r.u32()
	if int64(t) >= int64(len(m.Types)) {
		r.fail(Invalid, "type %d of %d", t, len(m.Types))
		return 0
	}
	return t
}

func (m *Module) readFuncs(r *reader) {
	n := r.count("functions", m.lim.Funcs)
	m.funcs = slices.Grow(m.funcs, n)
	for range n {
		m.funcs = append(m.funcs, m.typeIndex(r))
	}
}

func (m *Module) table(r *reader) Table {
	t := Table{Elem: r.refType(), Size: r.size()}
	if t.Size.Min > m.lim.TableEntries {
		r.fail(TooLarge, "a table of %d entries; the limit is %d", t.Size.Min, m.lim.TableEntries)
	}
	if len(m.tables) >= m.lim.Tables {
		r.fail(TooLarge, "more than %d tables", m.lim.Tables)
	}
	return t
}

func (m *Module) readTables(r *reader) {
	for range r.count("tables", m.lim.Tables) {
		m.tables = append(m.tables, m.table(r))
	}
}

// maxPages is all that 32 bits can address.
const maxPages = 1 << 16

func (m *Module) memory(r *reader) Size {
	s := r.size()
	switch {
	case s.Min > maxPages || s.Max > maxPages:
		r.fail(Invalid, "a memory of more than 65536 pages")
	case m.Memory != nil:
		r.fail(Unsupported, "multi-memory: a second memory")
	}
	m.Memory = &s
	return s
}

func (m *Module) readMemory(r *reader) {
	for range r.count("memories", 1000) {
		m.memory(r)
	}
}

func (m *Module) readGlobals(r *reader) {
	n := r.count("globals", m.lim.Globals)
	for range n {
		g := Global{Type: r.global()}
		g.Init = m.constant(r, g.Type.Value)
		m.Globals = append(m.Globals, g)
		m.globals = append(m.globals, g.Type)
	}
}

// constant reads a constant expression of one instruction (3.3.10). Of globals
// it may name imported ones.
func (m *Module) constant(r *reader, want ValueType) Const {
	var c Const
	var got ValueType
	c.op = opcode(r.byte())
	switch c.op {
	case opI32Const:
		c.bits, got = uint64(r.signed(32)), I32
	case opI64Const:
		c.bits, got = uint64(r.signed(64)), I64
	case opF32Const:
		c.bits, got = r.fixed(4), F32
	case opF64Const:
		c.bits, got = r.fixed(8), F64
	case opGlobalGet:
		c.index = r.u32()
		switch {
		case int64(c.index) >= int64(m.importedGlobals):
			r.fail(Invalid, "a constant expression names global %d of %d imported ones", c.index, m.importedGlobals)
		case m.globals[c.index].Mutable:
			r.fail(Invalid, "a constant expression names a mutable global")
		default:
			got = m.globals[c.index].Value
		}
	case opRefNull:
		c.ref = r.refType()
		got = c.ref
	case opRefFunc:
		c.index = m.funcIndex(r)
		m.declare(c.index)
		got = FuncRef
	case 0xfd:
		if n := r.u32(); n != uint32(opV128Const-prefixFD) {
			r.fail(Invalid, "a constant expression with instruction fd %#x", n)
		}
		c.op = opV128Const
		c.bits, c.high, got = r.fixed(8), r.fixed(8), V128
	default:
		r.fail(Invalid, "a constant expression with instruction %v", c.op)
	}
	if r.err == nil && got != want {
		r.fail(Invalid, "a constant expression of type %v, want %v", got, want)
	}
	if end := r.byte(); end != byte(opEnd) {
		r.fail(Invalid, "a constant expression of more than one instruction")
	}
	return c
}

func (m *Module) funcIndex(r *reader) uint32 {
	i := r.u32()
	if int64(i) >= int64(len(m.funcs)) {
		r.fail(Invalid, "function %d of %d", i, len(m.funcs))
		return 0
	}
	return i
}

// declare notes a function that is named outside of bodies, so that ref.func
// may name it (3.4.1).
func (m *Module) declare(i uint32) {
	if m.declared == nil {
		m.declared = make([]bool, len(m.funcs))
	}
	if int64(i) < int64(len(m.declared)) {
		m.declared[i] = true
	}
}

// Names that begin like this belong to the host.
const reserved = "__wagent_"

func (m *Module) readExports(r *reader) {
	n := r.count("exports", m.lim.Exports)
	seen := make(map[string]bool, n)
	for range n {
		e := Export{Name: r.name(m.lim.Names), Kind: ExternKind(r.byte()), Index: r.u32()}
		var of int
		switch e.Kind {
		case ExternFunc:
			of = len(m.funcs)
			m.declare(e.Index)
		case ExternTable:
			of = len(m.tables)
		case ExternMemory:
			if m.Memory != nil {
				of = 1
			}
		case ExternGlobal:
			of = len(m.globals)
		default:
			r.fail(Malformed, "export kind %#x", byte(e.Kind))
		}
		switch {
		case r.err != nil:
		case int64(e.Index) >= int64(of):
			r.fail(Invalid, "export %q of %v %d of %d", e.Name, e.Kind, e.Index, of)
		case seen[e.Name]:
			r.fail(Invalid, "two exports are named %q", e.Name)
		case strings.HasPrefix(e.Name, reserved):
			r.fail(Reserved, "the name %q of an export is reserved", e.Name)
		}
		seen[e.Name] = true
		m.Exports = append(m.Exports, e)
	}
}

func (m *Module) readStart(r *reader) {
	m.start, m.hasStart = m.funcIndex(r), true
	if t := m.startType(); r.err == nil && len(t.Params)+len(t.Results) > 0 {
		r.fail(Invalid, "the start function has parameters or results")
	}
}

func (m *Module) startType() FuncType {
	if int64(m.start) >= int64(len(m.funcs)) {
		return FuncType{}
	}
	return m.FuncType(m.start)
}

// readElems reads the eight forms of element segments (5.5.12): bit 0 says that
// it is not active, bit 1 that the table or the mode is explicit, bit 2 that
// entries are expressions.
func (m *Module) readElems(r *reader) {
	n := r.count("element segments", m.lim.ElemSegments)
	total := 0
	for range n {
		form := r.u32()
		if form > 7 {
			r.fail(Malformed, "element segment of form %d", form)
			return
		}
		explicit, expressions := form&2 != 0, form&4 != 0
		e := elem{typ: FuncRef}
		switch {
		case form&1 == 0:
			if explicit {
				e.table = r.u32()
			}
			e.offset = m.constant(r, I32)
		case explicit:
			e.mode = declarative
		default:
			e.mode = passive
		}
		if form&3 != 0 {
			if expressions {
				e.typ = r.refType()
			} else if kind := r.byte(); kind != 0 {
				r.fail(Malformed, "element kind %#x", kind)
			}
		}
		if e.mode == active && r.err == nil {
			switch {
			case int64(e.table) >= int64(len(m.tables)):
				r.fail(Invalid, "an element segment for table %d of %d", e.table, len(m.tables))
			case m.tables[e.table].Elem != e.typ:
				r.fail(Invalid, "an element segment of %v for a table of %v", e.typ, m.tables[e.table].Elem)
			}
		}
		k := r.count("entries of an element segment", m.lim.Elems-total)
		total += k
		e.init = make([]Const, k)
		for i := range e.init {
			if expressions {
				e.init[i] = m.constant(r, e.typ)
			} else {
				f := m.funcIndex(r)
				m.declare(f)
				e.init[i] = Const{op: opRefFunc, index: f}
			}
		}
		m.elems = append(m.elems, e)
	}
}

func (m *Module) readCode(r *reader) {
	n := r.count("function bodies", m.lim.Funcs)
	m.codes = make([]code, n)
	for i := range m.codes {
		size := r.u32()
		m.codes[i].offset = r.base + r.pos
		m.codes[i].body = r.take(size)
		if uint64(size) > uint64(m.lim.Body) {
			r.fn = m.importedFuncs + i
			r.fail(TooLarge, "a body of %d bytes; the limit is %d", size, m.lim.Body)
		}
	}
}

func (m *Module) readData(r *reader) {
	n := r.count("data segments", m.lim.Data)
	m.Data = make([]Data, n)
	for i := range m.Data {
		d := &m.Data[i]
		switch form := r.u32(); form {
		case 0:
		case 1:
			d.Passive = true
		case 2:
			if mem := r.u32(); mem != 0 {
				r.fail(Invalid, "a data segment for memory %d", mem)
			}
		default:
			r.fail(Malformed, "data segment of form %d", form)
		}
		if !d.Passive {
			if m.Memory == nil {
				r.fail(Invalid, "a data segment without a memory")
			}
			d.Offset = m.constant(r, I32)
		}
		d.Bytes = r.take(r.u32())
		if d.Passive && len(d.Bytes) > m.lim.Passive {
			r.fail(TooLarge, "a passive data segment of %d bytes; the limit is %d", len(d.Bytes), m.lim.Passive)
		}
	}
}

// readCustom keeps the names of functions and the languages, and drops
// everything else. What is not well formed is dropped too: it has no meaning for
// the module.
func (m *Module) readCustom(r *reader) {
	section := r.name(m.lim.Names)
	m.noteCustom(section, r)
	if r.err == nil && section == "producers" && m.languages == nil {
		m.readProducers(&reader{b: r.b[r.pos:], fn: -1})
	}
	if section != "name" || r.err != nil || m.names != nil {
		return
	}
	names := &reader{b: r.b[r.pos:], fn: -1}
	r.pos = len(r.b)
	for names.more() {
		id, sub := names.byte(), &reader{fn: -1}
		sub.b = names.take(names.u32())
		if id != 1 {
			continue
		}
		found := m.readFuncNames(sub)
		if sub.err == nil && !sub.more() && names.err == nil {
			m.names = found
		}
		return
	}
}

func (m *Module) readFuncNames(r *reader) []funcName {
	n := r.count("names", m.lim.Funcs)
	out := make([]funcName, 0, n)
	last := int64(-1)
	for range n {
		f := funcName{index: r.u32()}
		f.name = r.take(r.u32())
		if len(f.name) > m.lim.Names {
			f.name = f.name[:m.lim.Names]
		}
		if !utf8.Valid(f.name) { // the engine would refuse the module
			f.name = bytes.ToValidUTF8(f.name, []byte("\uFFFD"))
		}
		if int64(f.index) <= last {
			r.fail(Malformed, "names out of order")
		}
		last = int64(f.index)
		out = append(out, f)
	}
	return out
}
