package openai

import "strings"

const (
	maxJudged = 2 * maxBody
	maxName   = 512 // bytes of a tool's name; there is no tool with a longer one
)

// callDraft is a call as it grows.
type callDraft struct {
	index    int
	hasIndex bool
	id, name string
	args     strings.Builder
	extra    object

	// Some servers send all arguments so far again with each piece. While every
	// piece begins with the one before, both readings are open: appended, and
	// replaced by the last piece.
	last      string
	pieces    int
	appending bool // the pieces cannot be repetitions

	touched int // the last chunk that had a piece of it
}

// callList puts pieces of calls together.
type callList struct {
	calls  []*callDraft
	tools  *toolset
	chunks int
	judged int // bytes of arguments that were looked through for their end
}

// add takes the pieces of one chunk and returns the call each belongs to. When
// whole is set each piece is a call of its own.
func (l *callList) add(pieces []callPiece, whole bool) []int {
	l.chunks++
	slots := make([]int, len(pieces))
	for i := range pieces {
		p := &pieces[i]
		slot := -1
		if !whole {
			slot = l.find(p, i, len(pieces))
		}
		if slot < 0 {
			l.calls = append(l.calls, &callDraft{index: p.index, hasIndex: p.hasIndex, extra: make(object)})
			slot = len(l.calls) - 1
		}
		l.calls[slot].take(p, l)
		slots[i] = slot
	}
	return slots
}

// find returns the call that a piece continues, or -1 when it begins a new one:
// by its id, then by its index, then by its place, then the last one.
func (l *callList) find(p *callPiece, at, of int) int {
	if p.id != "" {
		if slot, ok := l.findByID(p); ok {
			return slot
		}
	}
	slot := l.findByPlace(p, at, of)
	if slot < 0 || l.begins(p, l.calls[slot]) {
		return -1
	}
	return slot
}

// findByID looks for the call with the id of p. The same id at another index is
// another call: ids are not unique everywhere.
func (l *callList) findByID(p *callPiece) (int, bool) {
	for i := len(l.calls) - 1; i >= 0; i-- {
		c := l.calls[i]
		if c.id != p.id {
			continue
		}
		if p.hasIndex && c.hasIndex && p.index != c.index && p.name != "" {
			continue
		}
		if !p.hasIndex && c.touched == l.chunks && p.name != "" {
			continue
		}
		return i, true
	}
	return 0, false
}

func (l *callList) findByPlace(p *callPiece, at, of int) int {
	if p.hasIndex {
		for i := len(l.calls) - 1; i >= 0; i-- {
			if l.calls[i].hasIndex && l.calls[i].index == p.index {
				return i
			}
		}
		return -1
	}
	if of > 1 {
		if at < len(l.calls) {
			return at
		}
		return -1
	}
	return len(l.calls) - 1
}

// begins says that p, which would continue c by its place, begins a new call.
func (l *callList) begins(p *callPiece, c *callDraft) bool {
	switch {
	case p.name == "" || c.name == "":
		return false
	case p.id != "" && c.id != "" && p.id != c.id:
		return true
	case c.touched == l.chunks:
		return true
	}
	// Without ids, a name after complete arguments is the next call, unless
	// the same one is told again.
	args := c.args.String()
	if l.judged += len(args); l.judged > maxJudged { // a name with each piece makes this the square of them
		return false
	}
	if !strings.HasSuffix(strings.TrimRight(args, " \r\n\t"), "}") || !readArguments(args).strict {
		return false
	}
	if p.name != c.name {
		return true
	}
	return p.args != "" && !strings.HasPrefix(p.args, args)
}

func (c *callDraft) take(p *callPiece, l *callList) {
	c.touched = l.chunks
	if c.id == "" {
		c.id = p.id
	}
	c.takeName(p.name, l.tools)
	c.takeArguments(p)
	for key, value := range p.extra {
		keepUnknown(c.extra, key, value)
	}
}

// takeName takes a piece of a name, which may be the whole name once more, a
// longer beginning of it, or what follows.
func (c *callDraft) takeName(name string, tools *toolset) {
	switch {
	case name == "" || name == c.name:
	case strings.HasPrefix(name, c.name):
		c.name = name
	case tools.extends(c.name + name):
		c.name += name
	default:
		if _, known := tools.offered(c.name); !known {
			c.name = truncate(c.name+name, maxName)
		}
	}
}

func (c *callDraft) takeArguments(p *callPiece) {
	if p.args == "" {
		return
	}
	c.pieces++
	if !strings.HasPrefix(p.args, c.last) {
		c.appending = true
	}
	if p.wholeArg {
		c.args.Reset()
	}
	c.args.WriteString(p.args)
	if !c.appending {
		c.last = p.args
	} else {
		c.last = ""
	}
}

// read decides between the two readings and reads the arguments.
func (c *callDraft) read() arguments {
	appended := readArguments(c.args.String())
	if c.appending || c.pieces < 2 {
		return appended
	}
	replaced := readArguments(c.last)
	switch {
	case appended.strict:
		return appended
	case replaced.strict:
		return replaced
	case replaced.cut: // the better reading: the other has the beginning more than once
		return replaced
	}
	return appended
}

// blank says that nothing but the place of a call ever came.
func (c *callDraft) blank() bool {
	return c.id == "" && c.name == "" && c.pieces == 0
}
