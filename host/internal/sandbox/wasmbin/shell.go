package wasmbin

import "crypto/sha256"

// shellName is the custom section of a shell that says whose it is.
const shellName = "wagent.shell"

// shellBody is a function that traps: no locals, unreachable, end.
var shellBody = []byte{3, 0, byte(opUnreachable), byte(opEnd)}

// Shell returns what is left of a written module without its code: each function
// traps at once, and all else is the same. A custom section has the digest of the
// module, so the shells of two modules differ. To read and validate a shell takes an
// engine a fraction of the time that the module takes, which is of use to one that has
// its native code already. The error is an *Error.
func Shell(wasm []byte) ([]byte, error) {
	r := &reader{b: wasm}
	if string(r.take(uint32(len(magic)))) != string(magic) {
		r.fail(Malformed, "the module does not begin as one")
	}
	b := append(make([]byte, 0, len(wasm)/4), magic...)
	for r.err == nil && r.more() {
		id := r.byte()
		section := r.take(r.u32())
		if r.err == nil && id == secCode {
			section = r.emptied(section)
		}
		b = append(appendU32(append(b, id), uint32(len(section))), section...)
	}
	if r.err != nil {
		return nil, r.err
	}
	sum := sha256.Sum256(wasm)
	mark := append(appendName(nil, shellName), sum[:]...)
	return append(appendU32(append(b, secCustom), uint32(len(mark))), mark...), nil
}

// emptied is a code section of as many functions.
func (r *reader) emptied(section []byte) []byte {
	code := &reader{b: section}
	n := int(code.u32())
	if code.err != nil || n > len(section) {
		r.fail(Malformed, "%d functions in %d bytes", n, len(section))
		return nil
	}
	b := appendU32(make([]byte, 0, 4+n*len(shellBody)), uint32(n))
	for range n {
		b = append(b, shellBody...)
	}
	return b
}
