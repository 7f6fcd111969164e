package sandbox

import "fmt"

// The engine makes room for as many items as a count says before it looks for
// them, so that twenty bytes can ask for a hundred GiB. Before it sees a module
// every count is compared here with the bytes that are there and with a limit,
// which is that of the WebAssembly JavaScript interface or, for totals, far
// above what compilers write. This reads no instructions and validates nothing.
const (
	maxItems  = 1_000_000  // of any section
	maxParams = 1_000      // of one type, results too
	maxLocals = 50_000     // of one function
	allLocals = 10_000_000 // of a module
	maxElems  = maxTable   // entries of all element segments
)

// skeleton is what a module claims, found by walking its sections.
type skeleton struct {
	memoryMin uint64 // pages
	tableMin  uint64 // entries of all tables
	locals    uint64
	elems     uint64
	// code is the module without custom sections, but for the names of its
	// functions, which make a trap readable.
	code []byte
}

const (
	sectionCustom = 0
	sectionCode   = 10
)

var sectionNames = [...]string{
	"custom", "type", "import", "function", "table", "memory", "global",
	"export", "start", "element", "code", "data", "data count",
}

// readSkeleton walks a module whose header was checked.
func readSkeleton(wasm []byte) (skeleton, *LoadError) {
	s := skeleton{code: append(make([]byte, 0, len(wasm)), wasm[:8]...)}
	named := false
	for r := (&reader{b: wasm[8:]}); len(r.b) > 0; {
		whole := r.b
		id := r.byte()
		body := r.sub()
		if r.bad || int(id) >= len(sectionNames) {
			return s, refuse(LoadMalformed, fmt.Sprintf("this is not a valid core module: section %d is not known or cut short", id), "")
		}
		if id == sectionCustom {
			if names := functionNames(body.b); names != nil && !named {
				s.code, named = append(s.code, names...), true
			}
			continue
		}
		if walk := walker(id); walk != nil {
			walk(&s, body)
			if body.bad || len(body.b) > 0 {
				return s, refuse(LoadMalformed, fmt.Sprintf("this is not a valid core module: its %s section holds less than it says, or more than the limits",
					sectionNames[id]), "")
			}
		}
		s.code = append(s.code, whole[:len(whole)-len(r.b)]...)
	}
	return s, nil
}

// walker returns how the items of a section are counted.
func walker(id byte) func(*skeleton, *reader) {
	switch id {
	case 1:
		return func(_ *skeleton, r *reader) { r.each(maxItems, r.funcType) }
	case 2:
		return func(s *skeleton, r *reader) { r.each(maxItems/10, func() { s.imported(r) }) }
	case 3:
		return func(_ *skeleton, r *reader) { r.each(maxItems, func() { r.uint() }) }
	case 4:
		return func(s *skeleton, r *reader) { r.each(maxItems/10, func() { s.table(r) }) }
	case 5:
		return func(s *skeleton, r *reader) { r.each(maxItems/10, func() { s.memoryMin += r.limits() }) }
	case 6:
		return func(_ *skeleton, r *reader) { r.each(maxItems, func() { r.valueType(); r.byte(); r.constant() }) }
	case 7:
		return func(_ *skeleton, r *reader) { r.each(maxItems/10, func() { r.bytes(); r.byte(); r.uint() }) }
	case 9:
		return func(s *skeleton, r *reader) { r.each(maxItems, func() { s.element(r) }) }
	case sectionCode:
		return func(s *skeleton, r *reader) { r.each(maxItems, func() { s.function(r.sub()) }) }
	case 11:
		return func(_ *skeleton, r *reader) { r.each(maxItems, r.data) }
	}
	return nil
}

func (s *skeleton) imported(r *reader) {
	r.bytes()
	r.bytes()
	switch r.byte() {
	case 0:
		r.uint()
	case 1:
		s.table(r)
	case 2:
		s.memoryMin += r.limits()
	case 3:
		r.valueType()
		r.byte()
	default:
		r.bad = true
	}
}

func (s *skeleton) table(r *reader) {
	r.valueType()
	s.tableMin += r.limits()
}

// function counts the locals of one body; its instructions are not read.
func (s *skeleton) function(body *reader) {
	own := uint64(0)
	body.each(maxLocals, func() {
		own += body.uint()
		body.valueType()
	})
	s.locals += own
	if body.bad || own > maxLocals || s.locals > allLocals {
		body.fail()
	}
}

// element walks one element segment: three flags say where it goes, whether
// the table is named and whether its entries are expressions.
func (s *skeleton) element(r *reader) {
	flags := r.uint()
	passive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
	if !passive {
		if explicit {
			r.uint()
		}
		r.constant()
	}
	if passive || explicit {
		r.byte() // the kind or type of the entries
	}
	if flags > 7 {
		r.bad = true
	}
	r.each(maxElems, func() {
		if s.elems++; s.elems > maxElems {
			r.bad = true
		} else if expressions {
			r.constant()
		} else {
			r.uint()
		}
	})
}

// functionNames makes a custom section of the function names of a name
// section, or nil when the section is another or is not well formed.
func functionNames(custom []byte) []byte {
	r := &reader{b: custom}
	if string(r.bytes()) != "name" {
		return nil
	}
	for len(r.b) > 0 && !r.bad {
		id, body := r.byte(), r.sub()
		if id != 1 || r.bad {
			continue
		}
		names := body.b
		body.each(maxItems, func() { body.uint(); body.bytes() })
		if body.bad || len(body.b) > 0 {
			return nil
		}
		sub := append([]byte("\x04name\x01"), encodeUint(len(names))...)
		sub = append(sub, names...)
		return append(append([]byte{sectionCustom}, encodeUint(len(sub))...), sub...)
	}
	return nil
}

func encodeUint(n int) []byte {
	var b []byte
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
