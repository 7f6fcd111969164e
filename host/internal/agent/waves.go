package agent

import (
	"slices"

	"github.com/wagent-dev/wagent/host/run"
)

// Attack: a reply with a thousand calls that all read and write the state, so that
// finding out which of them waits for which keeps the host busy for minutes. What is
// done here grows with the calls and with the tools that they name, and not with the
// pairs of calls.

// waves says when each action of a plan may run: after those that write a key which it
// reads, wherever the model put them. Where they wait for each other, the first goes
// first. It follows from the plan alone, so it is the same after a crash.
func (a *Agent) waves(actions []run.Action) []int {
	waves := make([]int, len(actions))
	if len(actions) == 1 {
		return waves
	}
	p := a.newPlaces(actions)
	if !p.reads {
		return waves
	}
	for wave, left := 0, len(actions); left > 0; wave++ {
		for _, i := range p.takeReady() {
			waves[i] = wave
			left--
		}
	}
	return waves
}

// places are the actions that have no wave yet, by the tool that they call.
type places struct {
	tools   []*toolPlaces
	writers map[string]int // actions left that write a key
	reads   bool           // some tool reads the state
}

// toolPlaces are the actions left of one tool. All of them wait for the same keys.
type toolPlaces struct {
	reads, writes []string
	left          []int // in order
}

func (a *Agent) newPlaces(actions []run.Action) *places {
	p := &places{writers: make(map[string]int)}
	byName := make(map[string]*toolPlaces)
	for i := range actions {
		t := byName[actions[i].Tool]
		if t == nil {
			t = &toolPlaces{}
			t.reads, t.writes = a.tool(actions[i].Tool).keys()
			byName[actions[i].Tool] = t
			p.tools = append(p.tools, t)
			p.reads = p.reads || len(t.reads) > 0
		}
		t.left = append(t.left, i)
		for _, key := range t.writes {
			p.writers[key]++
		}
	}
	return p
}

// keys are what a tool reads of the state and writes to it, each once.
func (t *Tool) keys() (reads, writes []string) {
	if t == nil {
		return nil, nil
	}
	for _, r := range t.Reads {
		reads = append(reads, r.Key)
	}
	for _, w := range t.Writes {
		if !slices.Contains(writes, w.Key) {
			writes = append(writes, w.Key)
		}
	}
	return reads, writes
}

// takeReady takes out the actions that wait for none of the others, or the first one if
// there is no such action.
func (p *places) takeReady() []int {
	var taken []int
	var ready []*toolPlaces
	var first *toolPlaces
	for _, t := range p.tools {
		if p.ready(t) {
			ready = append(ready, t)
		}
		if first == nil || t.left[0] < first.left[0] {
			first = t
		}
	}
	for _, t := range ready {
		taken = append(taken, p.take(t, len(t.left))...)
	}
	if len(ready) == 0 {
		taken = p.take(first, 1)
	}
	p.tools = slices.DeleteFunc(p.tools, func(t *toolPlaces) bool { return len(t.left) == 0 })
	return taken
}

// ready says that no action but itself writes what an action of this tool reads.
func (p *places) ready(t *toolPlaces) bool {
	return !slices.ContainsFunc(t.reads, func(key string) bool {
		others := p.writers[key]
		if slices.Contains(t.writes, key) {
			others--
		}
		return others > 0
	})
}

func (p *places) take(t *toolPlaces, n int) []int {
	for _, key := range t.writes {
		p.writers[key] -= n
	}
	taken := t.left[:n]
	t.left = t.left[n:]
	return taken
}

// unwritten is how many actions are to write a key and have no result, by their waves.
type unwritten struct {
	of    []int
	first int // the lowest wave that has one
}

// expect notes that an action is to write its keys.
func (b *batch) expect(slot int) {
	_, writes := b.tools[slot].keys()
	for _, key := range writes {
		u := b.unwritten[key]
		if u == nil {
			u = &unwritten{}
			b.unwritten[key] = u
		}
		for len(u.of) <= b.waves[slot] {
			u.of = append(u.of, 0)
		}
		u.of[b.waves[slot]]++
	}
}

// settled notes that an action has its result.
func (b *batch) settled(slot int) {
	_, writes := b.tools[slot].keys()
	for _, key := range writes {
		b.unwritten[key].of[b.waves[slot]]--
	}
}

// waits says that a call must not be made yet: one of an earlier wave, which writes what
// it reads, has no result.
func (b *batch) waits(slot int) bool {
	return slices.ContainsFunc(b.tools[slot].Reads, func(r StateRead) bool {
		u := b.unwritten[r.Key]
		if u == nil {
			return false
		}
		for u.first < len(u.of) && u.of[u.first] == 0 {
			u.first++
		}
		return u.first < len(u.of) && u.first < b.waves[slot]
	})
}
