package wasmbin

// CodeSize is what the time to compile a module goes by.
type CodeSize struct {
	Funcs   int // defined functions
	Locals  int // of all of them, parameters left out
	Largest Func
}

// Func is a function that a module defines.
type Func struct {
	Index uint32
	Name  string // of the name section, or of an export; "": it has none
	Bytes int    // of its code
}

// CodeSize returns how much code the module has.
func (m *Module) CodeSize() CodeSize {
	s := CodeSize{Funcs: len(m.codes)}
	for i := range m.codes {
		r := reader{b: m.codes[i].body}
		for range r.count("runs of locals", m.lim.Locals) {
			s.Locals += int(r.u32())
			r.byte()
		}
		if n := len(m.codes[i].body); n > s.Largest.Bytes {
			s.Largest = Func{Index: uint32(m.importedFuncs + i), Bytes: n}
		}
	}
	s.Largest.Name = m.nameOf(s.Largest.Index)
	return s
}

// Tables returns the tables, imported ones first, and the most entries that each may
// have when the module is rewritten.
func (m *Module) Tables() (all []Table, most uint32) { return m.tables, m.lim.TableEntries }

// HasStart reports whether the module has a start function.
func (m *Module) HasStart() bool { return m.hasStart }

// TableBytes is what the module's tables may take of the engine: a pointer for each
// entry that they may have.
func (m *Module) TableBytes() int64 {
	var n int64
	for _, t := range m.tables {
		most := m.lim.TableEntries
		if t.Size.HasMax {
			most = min(most, t.Size.Max)
		}
		n += 8 * int64(most)
	}
	return n
}

// TypeSize returns how many values the module's function types name, those that
// nothing uses included.
func (m *Module) TypeSize() int {
	n := 0
	for _, t := range m.Types {
		n += len(t.Params) + len(t.Results)
	}
	return n
}

func (m *Module) nameOf(index uint32) string {
	for _, n := range m.names {
		if n.index == index {
			return string(n.name)
		}
	}
	for _, e := range m.Exports {
		if e.Kind == ExternFunc && e.Index == index {
			return e.Name
		}
	}
	return ""
}
