package wasmbin

// writer writes a module from its parts.
type writer struct {
	m           *Module
	o           *Options
	helperTypes uint32 // index of the first type that is added
	b           []byte
}

// moved is the new index of a function: one import is added behind the module's.
func (m *Module) moved(f uint32) uint32 {
	if int(f) < m.importedFuncs {
		return f
	}
	return f + 1
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
	b = append(appendName(appendName(b, HostModule), PauseImport), byte(ExternFunc))
	b = appendU32(b, w.helperTypes+typePause)
	w.section(secImport, len(w.m.Imports)+1, b)
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

func (w *writer) memories() {
	if w.m.Memory != nil && !w.m.importedMemory {
		w.section(secMemory, 1, appendSize(nil, *w.m.Memory))
	}
}

func (w *writer) globals() {
	var b []byte
	for _, g := range w.m.Globals {
		b = w.constant(appendGlobal(b, g.Type), g.Init)
	}
	left := 0
	if !w.o.Fuel {
		left = w.o.Slice
	}
	b = append(appendSigned(append(b, byte(I32), 1, byte(opI32Const)), int64(left)), byte(opEnd))
	n := len(w.m.Globals) + 1
	if w.o.Fuel {
		b = append(b, byte(I64), 1, byte(opI64Const), 0, byte(opEnd))
		n++
	}
	w.section(secGlobal, n, b)
}

func (w *writer) constant(b []byte, c Const) []byte {
	in := instr{op: c.op, x: c.index, bits: c.bits, high: c.high, ref: c.ref}
	if c.op == opRefFunc {
		in.x = w.m.moved(in.x)
	}
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
		index := e.Index
		if e.Kind == ExternFunc {
			index = m.moved(index)
		}
		add(e.Name, e.Kind, int(index))
	}
	ours := func(name string, k ExternKind, index int) {
		add(name, k, index)
		n++
	}
	ours(LeftExport, ExternGlobal, len(m.globals)+globalLeft)
	if w.o.Fuel {
		ours(FuelExport, ExternGlobal, len(m.globals)+globalFuel)
	}
	if m.hasStart {
		ours(StartExport, ExternFunc, int(m.moved(m.start)))
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
		b = w.elem(b, &e)
	}
	w.section(secElem, len(w.m.elems), b)
}

// elem writes functions as indices where all entries are, else expressions.
func (w *writer) elem(b []byte, e *elem) []byte {
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
		b = w.constant(b, e.offset)
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
			b = w.constant(b, c)
		} else {
			b = appendU32(b, w.m.moved(c.index))
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
			b = w.constant(append(b, 0), d.Offset)
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
		b = appendU32(b, w.m.moved(n.index))
		b = append(appendU32(b, uint32(len(n.name))), n.name...)
	}
	sub := appendName(nil, "name")
	sub = append(appendU32(append(sub, 1), uint32(len(b))), b...)
	w.b = append(appendU32(append(w.b, secCustom), uint32(len(sub))), sub...)
}
