package sandbox

import (
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
)

// pool keeps instances of one module between calls. Each is put back to what it
// started from before another call gets it, byte for byte; one whose call did
// not end well is not kept.
type pool struct {
	code  *compiled
	idle  *idlers
	start snapshot

	mu     sync.Mutex
	free   []idleInstance // the one used last is at the end
	closed bool
}

type idleInstance struct {
	in    *instance
	since time.Time
}

func newPool(code *compiled, start snapshot, idle *idlers) *pool {
	p := &pool{code: code, start: start, idle: idle}
	idle.add(p)
	return p
}

// get returns an instance that is as start says, for one call. A new one is made
// with cfg.
func (p *pool) get(g *guest, cfg wazero.ModuleConfig) (*instance, error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		in := p.free[n-1].in
		p.free = p.free[:n-1]
		p.mu.Unlock()
		p.idle.left()
		if err := in.join(g, p.start); err != nil {
			in.close()
			return nil, err
		}
		return in, nil
	}
	p.mu.Unlock()
	return p.code.instantiate(g, cfg, p.start)
}

// put takes an instance back. Only one whose call went well is kept, and only if
// all that the call changed can be undone.
func (p *pool) put(in *instance, ok bool) {
	if !ok || !p.code.exact || !in.leave() {
		in.close()
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		in.discard()
		return
	}
	p.free = append(p.free, idleInstance{in, time.Now()})
	p.mu.Unlock()
	p.idle.came()
}

// drop closes the instance that was idle longest and says whether there was one.
func (p *pool) drop() bool {
	p.mu.Lock()
	if len(p.free) == 0 {
		p.mu.Unlock()
		return false
	}
	in := p.free[0].in
	p.free = append(p.free[:0], p.free[1:]...)
	p.mu.Unlock()
	in.discard()
	return true
}

// oldest says since when an instance has been idle.
func (p *pool) oldest() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return time.Time{}, false
	}
	return p.free[0].since, true
}

// close ends the idle instances; those in calls are closed when they come back.
func (p *pool) close() error {
	p.idle.remove(p)
	p.mu.Lock()
	p.closed = true
	free := p.free
	p.free = nil
	p.mu.Unlock()
	for _, f := range free {
		f.in.discard()
		p.idle.left()
	}
	if p.start.memory == nil || p.start.memory == p.code.base.memory {
		return nil
	}
	return p.start.memory.Close()
}

// idlers bounds the idle instances of all modules of an engine. When there are
// too many, the one that was idle longest goes, whosever it is.
type idlers struct {
	most int

	mu    sync.Mutex
	n     int
	pools map[*pool]struct{}
}

func newIdlers(most int) *idlers { return &idlers{most: most, pools: make(map[*pool]struct{})} }

func (i *idlers) add(p *pool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.pools[p] = struct{}{}
}

func (i *idlers) remove(p *pool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.pools, p)
}

func (i *idlers) left() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n--
}

// came counts an instance and drops others until there are not too many.
func (i *idlers) came() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	for i.n > i.most {
		var longest *pool
		var since time.Time
		for p := range i.pools {
			if at, ok := p.oldest(); ok && (longest == nil || at.Before(since)) {
				longest, since = p, at
			}
		}
		if longest == nil {
			return // they are all about to be counted
		}
		if longest.drop() {
			i.n--
		}
	}
}
