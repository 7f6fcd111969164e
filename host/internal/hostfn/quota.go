package hostfn

// Attack: a guest takes what the host itself needs next: descriptors, inodes,
// the last bytes of the disk.

import (
	"sync"

	"github.com/wagent-dev/wagent/host/policy"
)

// quota is what is left to one call of its [policy.FileLimits].
type quota struct {
	mu    sync.Mutex
	bytes int64
	count int
	open  int
}

func newQuota(l policy.FileLimits) *quota {
	return &quota{bytes: l.Bytes, count: l.Count, open: l.Open}
}

// take counts n new files.
func (q *quota) take(n int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count < n {
		return ErrQuota
	}
	q.count -= n
	return nil
}

func (q *quota) giveBack(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count += n
}

func (q *quota) opened() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open < 1 {
		return ErrTooManyOpen
	}
	q.open--
	return nil
}

func (q *quota) closed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open++
}
