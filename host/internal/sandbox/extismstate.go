package sandbox

import (
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
)

// extismState is what the host functions of one call work on. It is made for
// the call, so nothing in it outlives that.
type extismState struct {
	*kernel
	guest  *guest
	config map[string]string
	start  *linear.Range // the memory that the kernel has before it grows
	given  []byte        // the input of the call
	begun  bool          // it is where the plugin finds it

	vars variables

	status  int32  // of the last HTTP response
	headers []byte // as JSON; nil before the first response
}

// variables are what a plugin keeps with the host, and what that counts.
type variables struct {
	byName map[string][]byte
	bytes  int64
}

// maxExtismVars bounds a plugin's variables; varOverhead is what Extism counts
// for each beside its name and value.
const (
	maxExtismVars = 1 << 20
	varOverhead   = 40
)

// newExtismState gives a guest the state of a plugin. It must be ended.
func newExtismState(g *guest, p *extismPlugin) (*extismState, error) {
	start, err := p.spare.take()
	if err != nil {
		return nil, err
	}
	s := &extismState{guest: g, config: p.config, vars: variables{byName: make(map[string][]byte)}, start: start}
	if s.kernel = newKernel(g.arena, start.Slice(extismKernel)); s.kernel == nil {
		p.spare.put(start, 0)
		return nil, g.arena.tooMuch()
	}
	g.plugin = s
	return s, nil
}

// end gives back what the state took of its plugin. The guest does not run any
// more.
func (s *extismState) end(p *extismPlugin) { p.spare.put(s.start, min(s.dirty, extismKernel)) }

// give puts data into a new block and returns its offset, 0 for no data.
func (s *extismState) give(data []byte) (uint64, error) {
	at := s.alloc(uint64(len(data)))
	if at == 0 && len(data) > 0 {
		return 0, s.guest.arena.tooMuch()
	}
	return at, s.put(at, data)
}

func (s *extismState) put(at uint64, data []byte) error {
	into := s.at(at, uint64(len(data)))
	return inPieces(s.guest.ctx, len(data), func(from, to int) { copy(into[from:to], data[from:to]) })
}

// take copies a range out of the memory.
func (s *extismState) take(r region) ([]byte, error) {
	out := make([]byte, r.len)
	whole := s.data[r.at : r.at+r.len]
	return out, inPieces(s.guest.ctx, len(out), func(from, to int) { copy(out[from:to], whole[from:to]) })
}

// begin puts the input where the plugin finds it, once. What a start function
// left in the memory is cleared, as Extism does before each call.
func (s *extismState) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	if err := s.reset(s.guest.ctx); err != nil {
		return err
	}
	n := uint64(len(s.given))
	at := s.alloc(n)
	if at == 0 && n > 0 {
		return fault(FaultMemory, "the arguments (%s) do not fit into the tool's memory limit of %s", size(int64(n)), size(s.guest.limits.Memory))
	}
	s.first = at
	s.setInput(region{at, n})
	return s.put(at, s.given)
}

func extismConfigGet(s *extismState, v []uint64) error {
	name, err := s.bytes(v[0])
	if err != nil {
		return err
	}
	v[0], err = s.give([]byte(s.config[string(name)]))
	return err
}

func extismVarGet(s *extismState, v []uint64) error {
	name, err := s.bytes(v[0])
	if err != nil {
		return err
	}
	value := s.vars.byName[string(name)]
	s.release(v[0])
	v[0], err = s.give(value)
	return err
}

// extismVarSet keeps a value, or with offset 0 forgets it. The value that is
// replaced counts until it is: so does Extism.
func extismVarSet(s *extismState, v []uint64) error {
	name, err := s.bytes(v[0])
	if err != nil {
		return err
	}
	s.release(v[0])
	if v[1] == 0 {
		s.forget(string(name))
		return nil
	}
	value, err := s.bytes(v[1])
	if err != nil {
		return err
	}
	s.release(v[1])
	more := int64(len(name)+len(value)) + varOverhead
	if s.vars.bytes+more >= maxExtismVars {
		return hostTrap("the plugin's variables are larger than 1 MiB")
	}
	if !s.arena.fits(more) {
		return s.guest.arena.tooMuch()
	}
	s.forget(string(name))
	s.vars.byName[string(name)] = append([]byte(nil), value...)
	s.vars.bytes += more
	return nil
}

// restore gives the plugin the variables of the call before, and says whether the
// limit allows it.
func (s *extismState) restore(v variables) bool {
	if !s.arena.fits(v.bytes) {
		return false
	}
	s.vars = v
	return true
}

func (s *extismState) forget(name string) {
	old, ok := s.vars.byName[name]
	if !ok {
		return
	}
	less := int64(len(name)+len(old)) + varOverhead
	delete(s.vars.byName, name)
	s.vars.bytes -= less
	s.arena.total -= less
}

// allocate gives the plugin a block. It may have a million of them, and to look
// for a free one takes milliseconds then, so a call that is over gets none.
func (s *extismState) allocate(n uint64) uint64 {
	if len(s.blocks) > manyBlocks && s.guest.over(time.Now()) {
		return 0
	}
	return s.alloc(n)
}

// manyBlocks are looked through in a few microseconds.
const manyBlocks = 1000
