package sandbox

// reader reads the front of a piece of a module. Past the end it gives zeros
// and is bad from then on.
type reader struct {
	b      []byte
	bad    bool
	parent *reader
}

// fail makes the reader bad, and the one it was cut from.
func (r *reader) fail() {
	for ; r != nil; r = r.parent {
		r.bad = true
	}
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// uint reads an unsigned number of at most 32 bits.
func (r *reader) uint() uint64 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if v > 1<<32-1 {
				r.bad = true
			}
			return v
		}
	}
	r.bad = true
	return 0
}

// bytes reads a length and as many bytes.
func (r *reader) bytes() []byte {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.bad = true
		n = uint64(len(r.b))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// sub is bytes as a reader of its own.
func (r *reader) sub() *reader { return &reader{b: r.bytes(), parent: r} }

func (r *reader) skip(n int) {
	if n > len(r.b) {
		r.bad = true
		n = len(r.b)
	}
	r.b = r.b[n:]
}

// each reads a count and calls item as often, unless there are more than most
// or more than there are bytes.
func (r *reader) each(most uint64, item func()) {
	n := r.uint()
	if n > most || n > uint64(len(r.b)) {
		r.bad = true
	}
	for ; n > 0 && !r.bad; n-- {
		item()
	}
}

// limits reads the size of a table or memory and returns its minimum.
func (r *reader) limits() uint64 {
	flag := r.byte()
	least := r.uint()
	switch flag {
	case 0:
	case 1:
		r.uint()
	default: // shared, or of 64 bits
		r.bad = true
	}
	return least
}

func (r *reader) valueType() {
	switch r.byte() {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f: // i32 i64 f32 f64 v128 funcref externref
	default:
		r.bad = true
	}
}

func (r *reader) funcType() {
	if r.byte() != 0x60 {
		r.bad = true
	}
	r.each(maxParams, r.valueType)
	r.each(maxParams, r.valueType)
}

// constant reads an expression that the engine evaluates when it instantiates.
func (r *reader) constant() {
	for !r.bad {
		switch r.byte() {
		case 0x0b: // end
			return
		case 0x41, 0x42: // i32.const, i64.const
			for n := 0; r.byte() >= 0x80 && n < 10; n++ {
			}
		case 0x43: // f32.const
			r.skip(4)
		case 0x44: // f64.const
			r.skip(8)
		case 0x23, 0xd2: // global.get, ref.func
			r.uint()
		case 0xd0: // ref.null
			r.valueType()
		case 0xfd: // v128.const
			if r.uint() != 12 {
				r.bad = true
			}
			r.skip(16)
		default:
			r.bad = true
		}
	}
}

// data reads one data segment.
func (r *reader) data() {
	switch r.uint() {
	case 0:
		r.constant()
	case 1:
	case 2:
		r.uint()
		r.constant()
	default:
		r.bad = true
	}
	r.bytes()
}
