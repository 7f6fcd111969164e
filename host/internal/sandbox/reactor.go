package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

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

	turn  chan struct{} // holds one token: who has it may use what follows
	tried bool
	pool  *pool // nil: initialise in each call
}

func newGuests(code *compiled, idle *idlers, grants policy.Grants, begin, warm func(*instance) error) *guests {
	s := &guests{code: code, idle: idle, grants: grants, begin: begin, warm: warm, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// lease is a guest that a call has. It must be ended.
type lease struct {
	*instance
	pool *pool // nil: it was made for this call
	seat *seat // of the session that has it; nil: none
}

// end gives the guest back. It is used again only if its call went well.
func (l lease) end(well bool) {
	switch {
	case l.seat != nil:
		l.seat.put(l.instance, well)
	case l.pool != nil:
		l.pool.put(l.instance, well)
	default:
		l.close()
	}
}

// get returns an initialised guest: that of the call's session, or a fresh one.
func (s *guests) get(g *guest) (lease, error) {
	if g.seat != nil {
		return g.seat.lease(g, s)
	}
	return s.fresh(g)
}

// fresh returns a guest that is as its initialisation left it.
func (s *guests) fresh(g *guest) (lease, error) {
	p, err := s.ready(g)
	if err != nil {
		return lease{}, err
	}
	if p != nil {
		return s.lend(g, p)
	}
	in, err := s.code.instantiate(g, g.config(noInput(), g.log()), s.code.base)
	if err != nil {
		return lease{}, err
	}
	if err := s.begin(in); err != nil {
		in.close()
		return lease{}, err
	}
	return lease{instance: in}, nil
}

// lend gives a call a guest of the pool.
func (s *guests) lend(g *guest, p *pool) (lease, error) {
	in, err := p.get(g, g.config(noInput(), g.log()))
	if err != nil {
		return lease{}, err
	}
	l := lease{instance: in, pool: p}
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
	if g.trace != nil {
		return nil, nil // its calls are to be seen, those of its start too
	}
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-g.ctx.Done():
		return nil, context.Cause(g.ctx)
	}
	// The environment may be secret, and an image is kept.
	if s.tried || !s.code.exact || len(s.grants.Env) > 0 {
		return s.pool, nil
	}
	start, err := s.capture(g)
	if err != nil && g.ctx.Err() != nil && !errors.Is(context.Cause(g.ctx), errTimeLimit) {
		return nil, err // nothing is known of the module: the next call tries again
	}
	s.tried = true
	if err != nil {
		return nil, nil // the call meets the same and can say why
	}
	p := newPool(s.code, start, s.idle)
	if err := s.try(g, p); err != nil {
		return nil, p.close()
	}
	s.pool = p
	return p, nil
}

// try has a guest from the image do what it did before it was captured. An image
// with which that goes wrong is not used.
func (s *guests) try(g *guest, p *pool) error {
	if s.warm == nil {
		return nil
	}
	own, err := s.ownGuest(g)
	if err != nil {
		return err
	}
	defer func() { _ = own.close() }() // it has only looked at its folders
	l, err := s.lend(own, p)
	if err != nil {
		return err
	}
	err = s.warm(l.instance)
	l.end(err == nil)
	return err
}

// close ends the idle guests. No call runs any more.
func (s *guests) close() error {
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
	own, err := s.ownGuest(g)
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

// initialFuel is what initialising for all calls may take where fuel is limited. A
// module that takes more is initialised in each call, within its limit.
const initialFuel = 1_000_000_000

// ownGuest prepares what runs for all calls: with the limits and the time of the
// call that happens to be the first, and with the names of its folders.
func (s *guests) ownGuest(g *guest) (*guest, error) {
	limits := g.limits
	if limits.Fuel > 0 {
		limits.Fuel = max(limits.Fuel, initialFuel) // a small limit is for the call
	}
	own, err := newGuest(g.ctx, policy.Policy{Limits: limits, Grants: policy.Grants{
		Clock: s.grants.Clock, Read: s.grants.Read, Write: s.grants.Write,
	}}, nil, Call{parent: g.parent})
	if err == nil {
		own.shared = true
	}
	return own, err
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

// The state of Go's random generator (internal/chacha8rand in Go's source): 32
// words of output, a seed of four, and three counters of 32 bits: the next word,
// the words that are used, and blocks made since the seed.
const (
	generatorWords = 32 + 4
	generatorSize  = generatorWords * 8
)

// generators finds the states of Go's random generators in two memories that
// were initialised with different random bytes. Pointers and numbers differ too,
// but not in each half of 36 words on end that three small counters follow.
func generators(a, b []byte) []span {
	var found []span
	end := min(len(a), len(b)) - generatorSize - 12
	for at := 0; at <= end; {
		n := differing(a[at:at+generatorSize], b[at:at+generatorSize])
		if n == generatorSize && counters(a[at+n:]) && counters(b[at+n:]) {
			found = append(found, span{at, at + n})
		}
		if n == generatorSize {
			n = 0 // it may begin one word further on
		}
		at += n + 8
	}
	return found
}

// differing is how far two memories differ in each 32 bits, in whole words.
func differing(a, b []byte) int {
	for at := 0; at < len(a); at += 4 {
		if string(a[at:at+4]) == string(b[at:at+4]) {
			return at / 8 * 8
		}
	}
	return len(a)
}

// counters says that bytes can be a generator's counters.
func counters(b []byte) bool {
	next, used, blocks := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	return next <= used && used <= 32 && used >= 28 && blocks <= 16 && blocks%4 == 0
}
