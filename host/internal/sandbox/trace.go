package sandbox

// Attack: a guest calls the host a million times, with names of megabytes, so
// that the list of its calls fills the host's memory; or names what a person
// then grants who only meant to let the tool work.

import (
	"slices"
	"time"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/redact"
)

// HostCall is one call of a function of the host, as a trace has it. Its texts
// are one visible line each, of at most 256 bytes.
type HostCall struct {
	Door     string // wagent, wasi or extism
	Function string
	About    string // path, URL, key or the like; may be empty
	Denied   bool
	// Why names the grant or limit that decided. Empty: the function is open to
	// every guest.
	Why      string
	Result   string // ok, the name of an errno, or what was given
	Duration time.Duration
}

// Need is what would let a denied call pass. One of its fields is set.
type Need struct {
	Path   *PathNeed
	HTTP   *hostfn.HTTPNeed
	Config string // a value that an Extism plugin asked for
	Store  bool   // a store for values under keys
	Never  string // why no grant would
}

// PathNeed is a path of the guest that it may not use.
type PathNeed struct {
	Path  string // absolute, cleaned
	Write bool   // to change it or to make it
}

// Bounds of one trace. What is over is counted.
const (
	maxTraced      = 4096    // calls
	maxTracedBytes = 1 << 20 // of their texts
	maxAbout       = 256     // bytes
	maxNeeds       = 64      // that differ
	maxLooked      = 4096    // denied calls after those, whose needs are still wanted
)

// Trace records the host calls of one call of a tool, in their order and bounded.
// The zero Trace is ready. It belongs to the call until that has ended, and must
// not be used for two. A traced call has a guest of its own, which is initialised
// in it: so the calls that a language makes at its start are there.
type Trace struct {
	// Probe shows the guest a root folder, if it has none, in which nothing is
	// granted. Languages look for the folder of a path among those that they were
	// given, and without one the host would never hear what the guest wanted.
	Probe bool

	Calls   []HostCall
	Dropped int // calls that are not in Calls
	Kernel  int // calls of an Extism plugin that only move its own bytes; not in Calls
	Needs   []Need
	Environ bool // the guest read the environment

	redact *redact.Set // what is taken out of every text; nil: nothing
	bytes  int
	looked int             // calls that were denied when no more were recorded
	http   *hostfn.HTTPEnd // of the request under way
	stand  *descriptor     // the folder of Probe
}

// hide has values taken out of every text.
func (t *Trace) hide(values *redact.Set) {
	if t != nil {
		t.redact = values
	}
}

// full says that no more calls are recorded.
func (t *Trace) full() bool { return len(t.Calls) >= maxTraced || t.bytes >= maxTracedBytes }

// verdict is what a door decided.
type verdict struct {
	denied bool
	why    string
	need   Need // of what is denied
}

// add records a call.
func (t *Trace) add(c HostCall, v verdict) {
	if v.denied && v.need != (Need{}) && len(t.Needs) < maxNeeds && !slices.ContainsFunc(t.Needs, v.need.same) {
		t.Needs = append(t.Needs, v.need)
	}
	if t.full() {
		t.Dropped++
		return
	}
	c.Denied, c.Why = v.denied, oneLine(t.redact.String(v.why), maxAbout)
	c.About = oneLine(t.redact.String(c.About), maxAbout)
	t.bytes += len(c.About) + len(c.Why) + len(c.Result)
	t.Calls = append(t.Calls, c)
}

// same reports whether two needs are met by the same grant.
func (n Need) same(o Need) bool {
	switch {
	case n.Path != nil && o.Path != nil:
		return *n.Path == *o.Path
	case n.HTTP != nil && o.HTTP != nil:
		return n.HTTP.Covered == o.HTTP.Covered && n.HTTP.Never == o.HTTP.Never && n.HTTP.Rule.String() == o.HTTP.Rule.String()
	case n.Path != nil || o.Path != nil || n.HTTP != nil || o.HTTP != nil:
		return false
	}
	return n == o
}

// watch listens to the requests of a call.
func (t *Trace) watch(s httpDoor) {
	if t != nil && s != nil {
		s.Watch(func(end hostfn.HTTPEnd) { t.http = &end })
	}
}
