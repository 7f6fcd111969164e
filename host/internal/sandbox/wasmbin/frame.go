package wasmbin

// The engine's stack is outside of a module's memory, and the host looks at its
// size when a guest pauses. So that it cannot grow far in between, functions
// whose frames may be large are charged for them, too, where they call others.

const (
	// freeFrame is what a frame may take without being charged, in bytes. A call
	// costs so much that a slice has room for several hundred such frames.
	freeFrame = 4 << 10
	frameUnit = 64 // bytes a unit
)

// frameUnits is what each of the function's calls is charged for its frame. The
// engine may give every value that an instruction makes, or takes from a list of
// operands, and every local at every place where ways meet, a slot of its own.
func frameUnits(c *checker) int {
	slot := 8
	if c.emit.wide {
		slot = 16
	}
	values := c.emit.instrs + len(c.locals) + c.branch*len(c.locals) + c.spent()
	return min(max(0, values*slot-freeFrame)/frameUnit, maxFixed)
}
