package wasmbin

// Boundaries checks the bodies of all functions and returns where their
// instructions begin, in the order of the module.
func (m *Module) Boundaries() ([]int, error) {
	c := &checker{m: m}
	c.emit = emitter{m: m, opt: &Options{Slice: 1, Gap: 1, Piece: 1}}
	var at []int
	for i := range m.codes {
		c.enter(i)
		for c.inside() {
			at = append(at, c.r.base+c.r.pos)
			c.step()
		}
		if c.leave(); c.r.err != nil {
			return nil, c.r.err
		}
	}
	return at, nil
}
