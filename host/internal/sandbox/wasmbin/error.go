package wasmbin

import "fmt"

// Kind says why a module was refused.
type Kind int

// The kinds.
const (
	Malformed   Kind = iota // not a module in the binary format
	Invalid                 // a module that does not type-check
	Unsupported             // a feature beyond Core 2.0
	TooLarge                // more of something than the limits allow
	Reserved                // it uses a name of the host
)

// Error is a module that was refused. It is the only error of this package.
type Error struct {
	Kind    Kind
	Offset  int // in the module, in bytes
	Func    int // index of the function, imports included; -1: not in a function
	Problem string
}

// Error says what is wrong and where.
func (e *Error) Error() string {
	if e.Func >= 0 {
		return fmt.Sprintf("function %d at offset %#x: %s", e.Func, e.Offset, e.Problem)
	}
	return fmt.Sprintf("offset %#x: %s", e.Offset, e.Problem)
}
