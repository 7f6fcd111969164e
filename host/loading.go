package host

import "sync"

// loading tells an embedder how far the loading of the modules is.
type loading struct {
	tell func(module string, n, of int)
	of   int

	mu      sync.Mutex
	pending []string // begun and not done, in the order they were begun
	done    int
}

// begin says that a module is being loaded. The function it returns says that it
// is no more, with or without success.
func (l *loading) begin(module string) (end func()) {
	if l.tell == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, module)
	l.report()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for i, p := range l.pending {
			if p == module {
				l.pending = append(l.pending[:i], l.pending[i+1:]...)
				break
			}
		}
		l.done++
		l.report()
	}
}

func (l *loading) report() {
	if len(l.pending) > 0 {
		l.tell(l.pending[0], l.done+1, l.of)
	}
}
