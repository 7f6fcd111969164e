package testkit

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// A test that needs a module which no compiler would make, or very many that
// differ little, puts it together from these.

// Uint is a number as modules have it: in LEB128.
func Uint(n uint64) string { return string(binary.AppendUvarint(nil, n)) }

// Int is a signed number as modules have it.
func Int(n int64) string {
	var b []byte
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return string(append(b, low))
		}
		b = append(b, low|0x80)
	}
}

// Sized is bytes after their number: a name, or the code of a function.
func Sized(s string) string { return Uint(uint64(len(s))) + s }

// Vec is a vector of items that are written already.
func Vec(items ...string) string { return Uint(uint64(len(items))) + strings.Join(items, "") }

// Section is a section, by its number.
func Section(id byte, body string) string { return string([]byte{id}) + Sized(body) }

// Module is a module of sections.
func Module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// CustomSection is a section that says nothing to a machine.
func CustomSection(name, body string) string { return Section(0, Sized(name)+body) }

// Code is instructions as bytes. They are words with blanks between, in the order
// of the binary format; blocks have no type, and offsets of memory are 0. Words
// that nobody knows are a mistake of the test, and panic.
func Code(text string) string {
	var out strings.Builder
	words := strings.Fields(text)
	for len(words) > 0 {
		op, ok := instructions()[words[0]]
		if !ok || len(words) <= len(op.operands) {
			panic(fmt.Sprintf("%q is no instruction, or lacks an operand", words[0]))
		}
		out.WriteString(op.code)
		for i, kind := range op.operands {
			n, err := strconv.ParseInt(words[i+1], 0, 64)
			switch {
			case err != nil:
				panic(err)
			case kind == 's':
				out.WriteString(Int(n))
			default:
				out.WriteString(Uint(uint64(n)))
			}
		}
		out.WriteString(op.after)
		words = words[1+len(op.operands):]
	}
	return out.String()
}

// instruction is how one is written: what goes before its operands, of which u
// are unsigned and s signed, and what after.
type instruction struct{ code, operands, after string }

func instructions() map[string]instruction {
	return map[string]instruction{
		"unreachable": {code: "\x00"}, "nop": {code: "\x01"},
		"block": {code: "\x02\x40"}, "loop": {code: "\x03\x40"}, "if": {code: "\x04\x40"}, "else": {code: "\x05"}, "end": {code: "\x0b"},
		"br": {code: "\x0c", operands: "u"}, "br_if": {code: "\x0d", operands: "u"}, "return": {code: "\x0f"},
		"call": {code: "\x10", operands: "u"}, "call_indirect": {code: "\x11", operands: "uu"},
		"return_call": {code: "\x12", operands: "u"}, "return_call_indirect": {code: "\x13", operands: "uu"},
		"drop": {code: "\x1a"}, "select": {code: "\x1b"},
		"local.get": {code: "\x20", operands: "u"}, "local.set": {code: "\x21", operands: "u"}, "local.tee": {code: "\x22", operands: "u"},
		"global.get": {code: "\x23", operands: "u"}, "global.set": {code: "\x24", operands: "u"},
		"table.get": {code: "\x25", operands: "u"}, "table.set": {code: "\x26", operands: "u"},
		"i32.load": {code: "\x28\x02\x00"}, "i64.load": {code: "\x29\x03\x00"}, "i32.load8_u": {code: "\x2d\x00\x00"},
		"i32.store": {code: "\x36\x02\x00"}, "i64.store": {code: "\x37\x03\x00"}, "i32.store8": {code: "\x3a\x00\x00"},
		"memory.size": {code: "\x3f\x00"}, "memory.grow": {code: "\x40\x00"},
		"i32.const": {code: "\x41", operands: "s"}, "i64.const": {code: "\x42", operands: "s"},
		"i32.eqz": {code: "\x45"}, "i32.eq": {code: "\x46"}, "i32.ne": {code: "\x47"}, "i32.lt_u": {code: "\x49"}, "i32.gt_u": {code: "\x4b"},
		"i64.eqz": {code: "\x50"}, "i64.eq": {code: "\x51"}, "i64.ne": {code: "\x52"}, "i64.lt_s": {code: "\x53"}, "i64.lt_u": {code: "\x54"},
		"i32.add": {code: "\x6a"}, "i32.sub": {code: "\x6b"}, "i32.mul": {code: "\x6c"}, "i32.and": {code: "\x71"}, "i32.shr_u": {code: "\x76"}, "i32.or": {code: "\x72"},
		"i64.add": {code: "\x7c"}, "i64.sub": {code: "\x7d"}, "i64.xor": {code: "\x85"}, "i64.or": {code: "\x84"}, "i64.shl": {code: "\x86"},
		"i32.wrap_i64": {code: "\xa7"}, "i64.extend_i32_u": {code: "\xad"},
		"ref.null_func": {code: "\xd0\x70"}, "ref.null_extern": {code: "\xd0\x6f"}, "ref.is_null": {code: "\xd1"}, "ref.func": {code: "\xd2", operands: "u"},
		"memory.init": {code: "\xfc\x08", operands: "u", after: "\x00"}, "data.drop": {code: "\xfc\x09", operands: "u"},
		"memory.copy": {code: "\xfc\x0a\x00\x00"}, "memory.fill": {code: "\xfc\x0b\x00"},
		"table.init": {code: "\xfc\x0c", operands: "uu"}, "elem.drop": {code: "\xfc\x0d", operands: "u"}, "table.copy": {code: "\xfc\x0e", operands: "uu"},
		"table.grow": {code: "\xfc\x0f", operands: "u"}, "table.size": {code: "\xfc\x10", operands: "u"}, "table.fill": {code: "\xfc\x11", operands: "u"},
		"i32x4.splat": {code: "\xfd\x11"}, "i32x4.extract_lane": {code: "\xfd\x1b", operands: "u"},
	}
}
