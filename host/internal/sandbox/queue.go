package sandbox

import (
	"context"
	"slices"
	"sync"
)

// queue bounds the memory that the guests of all modules may take together. A
// call whose limits do not fit beside those that run waits for its turn. Modules
// take turns, whatever number of calls each has waiting; within a module, the
// call that came first is the next. Nobody is overtaken by a smaller call, so a
// large one gets its turn, too.
type queue struct {
	total int64 // bytes

	mu      sync.Mutex
	taken   int64
	running int
	lines   []*line // of the modules whose calls wait; the first is the next
}

// line is the calls of one module that wait.
type line struct {
	of    *Module
	calls []*waiting
}

type waiting struct {
	need int64
	turn chan struct{} // closed when it may run
}

func newQueue(total int64) *queue { return &queue{total: total} }

// enter waits until need bytes are free, or alone if there are not so many, and
// takes them. The error is the context's or the module's end.
func (q *queue) enter(ctx context.Context, m *Module, need int64) error {
	q.mu.Lock()
	if len(q.lines) == 0 && q.fits(need) {
		q.take(need)
		q.mu.Unlock()
		return nil
	}
	w := &waiting{need, make(chan struct{})}
	q.join(m, w)
	q.mu.Unlock()

	var why error
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		why = context.Cause(ctx)
	case <-m.gate.shut:
		why = moduleClosed()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.abandon(m, w) {
		q.give(need) // its turn came meanwhile
	}
	q.next()
	return why
}

// leave gives back what enter took.
func (q *queue) leave(need int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.give(need)
	q.next()
}

// hold counts n bytes that are taken while no call has them. A negative number
// gives them back.
func (q *queue) hold(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken += n
	q.next()
}

func (q *queue) fits(need int64) bool { return q.running == 0 || q.taken+need <= q.total }

func (q *queue) take(need int64) {
	q.taken += need
	q.running++
}

func (q *queue) give(need int64) {
	q.taken -= need
	q.running--
}

func (q *queue) join(m *Module, w *waiting) {
	i := slices.IndexFunc(q.lines, func(l *line) bool { return l.of == m })
	if i < 0 {
		q.lines = append(q.lines, &line{of: m, calls: []*waiting{w}})
		return
	}
	q.lines[i].calls = append(q.lines[i].calls, w)
}

// abandon takes a call out of its line and says whether it was in it.
func (q *queue) abandon(m *Module, w *waiting) bool {
	for i, l := range q.lines {
		if at := slices.Index(l.calls, w); l.of == m && at >= 0 {
			l.calls = slices.Delete(l.calls, at, at+1)
			if len(l.calls) == 0 {
				q.lines = slices.Delete(q.lines, i, i+1)
			}
			return true
		}
	}
	return false
}

// next lets in those whose turn it is.
func (q *queue) next() {
	for len(q.lines) > 0 {
		l := q.lines[0]
		w := l.calls[0]
		if !q.fits(w.need) {
			return
		}
		q.take(w.need)
		close(w.turn)
		q.lines, l.calls = q.lines[1:], l.calls[1:]
		if len(l.calls) > 0 {
			q.lines = append(q.lines, l)
		}
	}
}
