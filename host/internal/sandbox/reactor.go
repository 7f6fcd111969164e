package sandbox

import (
	"errors"
	"io"
	"sync"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/policy"
)

// guests gives calls their guests. A module whose initialisation comes out the
// same each time is initialised once: its calls get guests that are as that left
// them. Others are initialised in each call.
type guests struct {
	code   *compiled
	idle   *idlers
	grants policy.Grants
	begin  func(*instance) error // initialises
	warm   func(*instance) error // what a guest does before it is captured; may be nil

	mu    sync.Mutex
	tried bool
	pool  *pool // nil: initialise in each call
}

// lease is a guest that a call has. It must be ended.
type lease struct {
	*instance
	pool *pool // nil: it was made for this call
}

// end gives the guest back. It is used again only if its call went well.
func (l lease) end(well bool) {
	if l.pool == nil {
		l.close()
		return
	}
	l.pool.put(l.instance, well)
}

// get returns an initialised guest.
func (s *guests) get(g *guest) (lease, error) {
	p, err := s.ready(g)
	if err != nil {
		return lease{}, err
	}
	cfg := g.config(noInput(), g.log())
	if p == nil {
		in, err := s.code.instantiate(g, cfg, s.code.base)
		if err != nil {
			return lease{}, err
		}
		if err := s.begin(in); err != nil {
			in.close()
			return lease{}, err
		}
		return lease{instance: in}, nil
	}
	in, err := p.get(g, cfg)
	if err != nil {
		return lease{}, err
	}
	l := lease{in, p}
	g.sys.clock.Continue(p.start.mono)
	g.sys.open.setFlags(p.start.flags)
	for _, s := range p.start.seeds {
		view, _ := in.mod.Memory().Read(uint32(s.from), uint32(s.to-s.from))
		if _, err := io.ReadFull(g.sys.random, view); err != nil {
			l.end(false)
			return lease{}, err
		}
	}
	return l, nil
}

// ready returns the pool of initialised guests, which the first call makes. It
// is nil if there is none for this module.
func (s *guests) ready(g *guest) (*pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The environment may be secret, and an image is kept.
	if s.tried || !s.code.exact || len(s.grants.Env) > 0 {
		return s.pool, nil
	}
	start, err := s.capture(g)
	if err != nil && g.ctx.Err() != nil {
		return nil, err // nothing is known of the module: the next call tries again
	}
	s.tried = true
	if err == nil {
		s.pool = newPool(s.code, start, s.idle)
	}
	// Otherwise the call meets the same and can say why.
	return s.pool, nil
}

func (s *guests) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool == nil {
		return nil
	}
	return s.pool.close()
}

// captured is what a guest is after its initialisation.
type captured struct {
	snapshot
	bytes  []byte
	random bool // it took random bytes
}

var errNotTheSame = errors.New("the module has to be initialised in each call")

// capture initialises a guest and keeps what it is then. A Go guest takes random
// bytes; it is initialised twice, with different ones, and the states of its
// generators are found by how they differ. Each call writes new ones there.
func (s *guests) capture(g *guest) (snapshot, error) {
	one, err := s.initialise(g, hostfn.NewRandom(s.grants.Random))
	if err != nil {
		return snapshot{}, err
	}
	if one.random {
		two, err := s.initialise(g, hostfn.NewRandom(policy.Random{}))
		if err != nil {
			return snapshot{}, err
		}
		if one.seeds = generators(one.bytes, two.bytes); !s.code.fromGo || len(one.seeds) == 0 {
			return snapshot{}, errNotTheSame
		}
	}
	one.memory, err = linear.NewImage(one.bytes)
	return one.snapshot, err
}

// sameAlways are the functions whose answers are the same in each call, or are
// not remembered: what a guest reads of the clock at its start is from then. The
// flags that it sets are part of the snapshot.
var sameAlways = map[string]bool{
	"args_get": true, "args_sizes_get": true, "environ_get": true, "environ_sizes_get": true,
	"clock_res_get": true, "clock_time_get": true, "random_get": true, "sched_yield": true, "poll_oneoff": true,
	"fd_prestat_get": true, "fd_prestat_dir_name": true, "fd_fdstat_get": true, "fd_fdstat_set_flags": true, "fd_write": true,
}

// initialise makes a guest without anything but the names of its folders, and
// returns what it is when it has begun.
func (s *guests) initialise(g *guest, random io.Reader) (captured, error) {
	own, err := newGuest(g.ctx, policy.Policy{Limits: g.limits, Grants: policy.Grants{
		Clock: s.grants.Clock, Read: s.grants.Read, Write: s.grants.Write,
	}}, nil, Call{})
	if err != nil {
		return captured{}, err
	}
	defer func() { _ = own.close() }() // it has only looked at its folders
	cfg := own.config(noInput(), own.log())
	counted := &countingReader{r: random}
	own.sys.random, own.sys.called = counted, make(map[string]bool)
	in, err := s.code.instantiate(own, cfg, s.code.base)
	if err != nil {
		return captured{}, err
	}
	defer in.close()
	if err := s.begin(in); err != nil {
		return captured{}, err
	}
	if s.warm != nil {
		if err := s.warm(in); err != nil {
			return captured{}, err
		}
	}
	for name := range own.sys.called {
		if !sameAlways[name] {
			return captured{}, errNotTheSame
		}
	}
	if own.hostCalls > 0 || in.memory == nil {
		return captured{}, errNotTheSame
	}
	view, _ := in.mod.Memory().Read(0, in.mod.Memory().Size())
	c := captured{bytes: append([]byte(nil), view...), random: counted.n > 0}
	c.mono = own.sys.clock.Mono()
	c.flags = own.sys.open.flags()
	for _, v := range in.vars {
		c.globals = append(c.globals, v.Get())
	}
	return c, nil
}

// countingReader counts the bytes that are read.
type countingReader struct {
	r io.Reader
	n int
}

// Read reads and counts.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// generatorSize is how long the state of Go's random generator is, in bytes: 32
// words that were made and are not used yet, and a seed of four
// (internal/chacha8rand in Go's source).
const generatorSize = (32 + 4) * 8

// generators finds the states of random generators: long stretches in which two
// memories that were initialised with different random bytes have no word in
// common.
func generators(a, b []byte) []span {
	var found []span
	from := 0
	end := min(len(a), len(b)) / 8 * 8
	for at := 0; ; at += 8 {
		if at < end && string(a[at:at+8]) != string(b[at:at+8]) {
			continue
		}
		if at-from >= generatorSize {
			found = append(found, span{from, at})
		}
		if from = at + 8; at >= end {
			return found
		}
	}
}
