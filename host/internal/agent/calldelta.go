package agent

import (
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// Bounds of what is shown of the calls of one reply while it arrives. The calls
// themselves come with the reply, whole.
const (
	maxCallPieces = 256       // that are shown as they come; later ones are put together
	minCallPiece  = 1 << 10   // bytes of a later one
	maxCallShown  = 256 << 10 // bytes, names included
	maxCallDeltas = 2048      // events
)

// callsShown are the calls of the reply that is under way, as far as they were
// shown.
type callsShown struct {
	names   map[int]string
	pending run.CallDelta
	held    strings.Builder // arguments of pending
	events  int
	bytes   int
	off     bool // no tools are offered: no call is made
	over    bool // too much came: nothing more is shown
}

// showCall shows a piece of a call, or keeps it until there is more of it.
func (d *driver) showCall(c *model.CallChunk) {
	if _, native := d.Planner.(planner.Tools); !native || d.calling.off || d.calling.over {
		return
	}
	s := &d.calling
	if s.pending.Index != c.Index {
		d.flushCall()
	}
	s.bytes += len(c.Name) + len(c.Arguments)
	if s.bytes > maxCallShown || s.events >= maxCallDeltas-1 {
		d.flushCall()
		s.over = true
		d.emit(run.CallDelta{Index: c.Index, Cut: true})
		return
	}
	s.pending.Index = c.Index
	if c.Name != s.names[c.Index] {
		if s.names == nil {
			s.names = make(map[int]string)
		}
		s.names[c.Index], s.pending.Name = c.Name, c.Name
	} else if c.Arguments == "" {
		return
	}
	s.held.WriteString(c.Arguments)
	if s.events < maxCallPieces || s.held.Len() >= minCallPiece {
		d.flushCall()
	}
}

// flushCall shows what was kept.
func (d *driver) flushCall() {
	s := &d.calling
	if s.held.Len() == 0 && s.pending.Name == "" {
		return
	}
	s.pending.Arguments = s.held.String()
	d.emit(s.pending)
	s.events++
	s.pending = run.CallDelta{}
	s.held.Reset()
}
