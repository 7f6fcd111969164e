package wasmbin

import (
	"fmt"
	"unicode/utf8"
)

// reader reads from the front of a part of a module. The first error stays;
// from then on it gives zeros and is at its end.
type reader struct {
	b    []byte
	pos  int
	base int // offset of b in the module
	fn   int // function that is read, or -1
	err  *Error
}

func (r *reader) fail(kind Kind, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Kind: kind, Offset: r.base + r.pos, Func: r.fn, Problem: fmt.Sprintf(format, args...)}
	}
	r.pos = len(r.b)
}

func (r *reader) more() bool { return r.pos < len(r.b) }

func (r *reader) byte() byte {
	if r.pos >= len(r.b) {
		r.fail(Malformed, "unexpected end")
		return 0
	}
	c := r.b[r.pos]
	r.pos++
	return c
}

// u32 reads an unsigned number of 32 bits (5.2.2).
func (r *reader) u32() uint32 {
	if r.pos < len(r.b) && r.b[r.pos] < 0x80 {
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(Malformed, "a number is longer than 32 bits")
	return 0
}

// signed reads a signed number of so many bits (5.2.2).
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		left := bits - shift // bits that this byte may carry
		if left < 7 {
			// The rest of the last byte repeats the sign.
			if rest := int8(c<<1) >> left; c >= 0x80 || rest != 0 && rest != -1 {
				break
			}
		}
		if c < 0x80 {
			if shift += 7; shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
		if left <= 7 {
			break
		}
	}
	r.fail(Malformed, "a number is longer than %d bits", bits)
	return 0
}

// take returns the next n bytes.
func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)-r.pos) {
		r.fail(Malformed, "unexpected end")
		return nil
	}
	b := r.b[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *reader) fixed(n uint32) uint64 {
	var v uint64
	for i, c := range r.take(n) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// count reads the length of a vector whose items take at least one byte each.
func (r *reader) count(what string, most int) int {
	n := r.u32()
	switch {
	case uint64(n) > uint64(len(r.b)-r.pos):
		r.fail(Malformed, "unexpected end: %d %s are announced", n, what)
		return 0
	case uint64(n) > uint64(most):
		r.fail(TooLarge, "%d %s; the limit is %d", n, what, most)
		return 0
	}
	return int(n)
}

// name reads a name (5.2.4).
func (r *reader) name(most int) string {
	b := r.take(r.u32())
	switch {
	case len(b) > most:
		r.fail(TooLarge, "a name of %d bytes; the limit is %d", len(b), most)
	case !utf8.Valid(b):
		r.fail(Malformed, "a name is not UTF-8")
	}
	return string(b)
}

// valueType reads a value type (5.3.4).
func (r *reader) valueType() ValueType {
	switch t := ValueType(r.byte()); t {
	case I32, I64, F32, F64, V128, FuncRef, ExternRef:
		return t
	default:
		r.pos--
		if p := typeBeyond(t); p != "" {
			r.fail(Unsupported, "%s: value %v", p, t)
		}
		r.fail(Malformed, "%v is not a value type", t)
		return 0
	}
}

// typeBeyond names the proposal of a value type that Core 2.0 does not have.
func typeBeyond(t ValueType) string {
	switch {
	case t == 0x63 || t == 0x64:
		return "typed function references"
	case t == 0x69 || t == 0x74:
		return "exceptions"
	case t >= 0x6a && t <= 0x6e || t >= 0x71 && t <= 0x73:
		return "garbage collection"
	default:
		return ""
	}
}

func (r *reader) valueTypes(most int) []ValueType {
	n := r.count("value types", most)
	if n == 0 {
		return nil
	}
	ts := make([]ValueType, n)
	for i := range ts {
		ts[i] = r.valueType()
	}
	return ts
}

// refType reads a reference type (5.3.3).
func (r *reader) refType() ValueType {
	t := r.valueType()
	if r.err == nil && !t.IsRef() {
		r.pos--
		r.fail(Malformed, "%v is not a reference type", t)
	}
	return t
}

// size reads limits (5.3.7).
func (r *reader) size() Size {
	var s Size
	switch flag := r.byte(); flag {
	case 0:
		s.Min = r.u32()
	case 1:
		s.HasMax = true
		s.Min, s.Max = r.u32(), r.u32()
		if s.Max < s.Min {
			r.fail(Invalid, "the maximum %d is below the minimum %d", s.Max, s.Min)
		}
	case 2, 3:
		r.fail(Unsupported, "threads: a shared memory or table")
	case 4, 5, 6, 7:
		r.fail(Unsupported, "memory64: a memory or table with 64-bit addresses")
	default:
		r.fail(Malformed, "limits flag %#x", flag)
	}
	return s
}

func (r *reader) global() GlobalType {
	t := r.valueType()
	switch m := r.byte(); m {
	case 0:
		return GlobalType{t, false}
	case 1:
		return GlobalType{t, true}
	default:
		r.fail(Malformed, "mutability %#x", m)
		return GlobalType{}
	}
}
