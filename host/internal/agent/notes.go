package agent

import (
	"sync"

	"github.com/wagent-dev/wagent/host/run"
)

const (
	// maxNotes bounds what waits to be shown, in bytes with noteCost for each
	// note. The lines that a call may log by default fit into it, however short
	// they are; a manifest can allow more than a process should keep.
	maxNotes = 16 << 20
	noteCost = 128
	// maxBehind is how many notes may wait when a tool's progress is passed on.
	maxBehind = 64
)

// notes is what the tools of a step say while they run, in order. A tool cannot
// hold the run by talking, nor be held by whoever is slow to listen: what does
// not fit is dropped, progress soon and log lines late, and lost lines are
// counted. It is safe for concurrent use.
type notes struct {
	ready chan struct{} // has an item when something waits

	mu    sync.Mutex
	queue []run.Body
	bytes int
	lost  map[string]int // log lines, by the id of the call
}

func newNotes() *notes {
	return &notes{ready: make(chan struct{}, 1), lost: make(map[string]int)}
}

func (n *notes) progress(p run.Progressed) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) < maxBehind {
		n.add(p, len(p.Message))
	}
}

func (n *notes) log(l run.Logged) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.add(l, len(l.Message)) {
		n.lost[l.CallID]++
	}
}

// add puts a note into the queue, which is locked, and reports whether there was
// room for it.
func (n *notes) add(body run.Body, size int) bool {
	if n.bytes+size+noteCost > maxNotes {
		return false
	}
	n.queue = append(n.queue, body)
	n.bytes += size + noteCost
	select {
	case n.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns what waits, and makes room.
func (n *notes) take() []run.Body {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.queue
	n.queue, n.bytes = nil, 0
	return all
}

// missed returns how many log lines of a call were dropped.
func (n *notes) missed(callID string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost[callID]
}
