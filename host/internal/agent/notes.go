package agent

import (
	"sync"

	"github.com/wagent-dev/wagent/host/model"
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
	// maxPassing is how many may wait when a transient event of a nested run is passed
	// on: text that arrives is worth more than progress, and less than what happened.
	maxPassing = 4096
)

// notes is what the tools of a step say while they run, in order, agents with their
// events. A tool cannot hold the run by talking, nor be held by whoever is slow to
// listen: what does not fit is dropped, progress soon, log lines and events late, and
// lost lines and events are counted. It is safe for concurrent use.
type notes struct {
	ready chan struct{} // has an item when something waits

	mu    sync.Mutex
	queue []run.Body
	bytes int
	lost  map[string]int // log lines, by the id of the call
	gone  map[string]int // events of nested runs, likewise
}

func newNotes() *notes {
	return &notes{ready: make(chan struct{}, 1)}
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
		n.lost = counted(n.lost, l.CallID)
	}
}

func (n *notes) nested(e run.Nested) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if (e.Event.Transient() && len(n.queue) >= maxPassing) || !n.add(e, weight(&e.Event)) {
		n.gone = counted(n.gone, e.CallID)
	}
}

// counted adds one of a call. Nearly every step loses nothing and makes no map.
func counted(of map[string]int, callID string) map[string]int {
	if of == nil {
		of = make(map[string]int)
	}
	of[callID]++
	return of
}

// weight is about how many bytes an event keeps while it waits.
func weight(e *run.Event) int {
	switch b := e.Body.(type) {
	case run.Delta:
		return len(b.Text) + len(b.Reasoning)
	case run.CallDelta:
		return len(b.Name) + len(b.Arguments)
	case run.Logged:
		return len(b.Message)
	case run.Progressed:
		return len(b.Message)
	case run.Prompted:
		return messagesWeight(b.Messages)
	case run.Replied:
		if b.Message != nil {
			return messagesWeight([]model.Message{*b.Message})
		}
	case run.Called:
		return len(b.Arguments)
	case run.Returned:
		return partsWeight(b.Content) + len(b.Structured) + len(b.Detail)
	case run.Finished:
		return len(b.Output) + len(b.Partial)
	case run.Nested:
		return noteCost + weight(&b.Event)
	}
	return 0
}

func messagesWeight(ms []model.Message) int {
	n := 0
	for i := range ms {
		n += noteCost + partsWeight(ms[i].Content) + len(ms[i].Reasoning)
		for _, c := range ms[i].ToolCalls {
			n += noteCost + len(c.Arguments)
		}
	}
	return n
}

func partsWeight(parts []model.Part) int {
	n := 0
	for i := range parts {
		n += noteCost + len(parts[i].Text) + len(parts[i].Data)
	}
	return n
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

// missed returns how many log lines of a call, and events of its run, were dropped.
func (n *notes) missed(callID string) (lines, events int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost[callID], n.gone[callID]
}
