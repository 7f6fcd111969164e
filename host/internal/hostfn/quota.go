package hostfn

// Attack: a guest takes what the host itself needs next: descriptors, inodes,
// the last bytes of the disk.

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/wagent-dev/wagent/host/policy"
)

// quota is what is left to one call of its [policy.FileLimits]. What the call
// made and removed again is given back: not when its name goes, but when the disk
// is free of it, with its last descriptor.
type quota struct {
	mu    sync.Mutex
	bytes int64
	count int
	open  int
	made  map[identity]*cost // at most as many as the limit of files
}

// cost is what a file or directory that the call made takes from its quota: one of
// the files, and bytes.
type cost struct {
	id    identity
	bytes int64
	open  int // descriptors
}

func newQuota(l policy.FileLimits) *quota {
	return &quota{bytes: l.Bytes, count: l.Count, open: l.Open, made: map[identity]*cost{}}
}

// enter notes that the call made f.
func (q *quota) enter(f *os.File) error {
	id, _, err := identityOf(f)
	if err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.made[id] = &cost{id: id}
	return nil
}

// enterName is enter for what has a name.
func (q *quota) enterName(parent *os.Root, base string) error {
	f, err := parent.Open(base)
	if err != nil {
		return err
	}
	return errors.Join(q.enter(f), f.Close())
}

// hold counts one more descriptor of f. The result is nil if the call did not make
// it; else it has to be let go.
func (q *quota) hold(f *os.File) (*cost, error) {
	q.mu.Lock()
	nothing := len(q.made) == 0
	q.mu.Unlock()
	if nothing {
		return nil, nil
	}
	id, _, err := identityOf(f)
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.made[id]
	if c != nil {
		c.open++
	}
	return c, nil
}

// letGo ends a hold. gone says that the file has no name left.
func (q *quota) letGo(c *cost, gone bool) {
	if c == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	c.open--
	// Another file may have the number since.
	if gone && c.open == 0 && q.made[c.id] == c {
		delete(q.made, c.id)
		q.bytes += c.bytes
		q.count++
	}
}

// charge takes bytes, for a file that may be one the call made. The quota is
// locked and has room for them.
func (q *quota) charge(c *cost, bytes int64) {
	q.bytes -= bytes
	if c != nil {
		c.bytes += bytes
	}
}

// removing runs remove, which takes the name base from what has it, and gives back
// what that cost if it was the last name and nobody holds the file.
func (q *quota) removing(parent *os.Root, base string, remove func() error) error {
	info, err := parent.Lstat(base)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return remove() // the call did not make it, and opening a device can have effects
	}
	f, err := parent.OpenFile(base, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return remove()
	}
	c, err := q.hold(f)
	if err == nil {
		err = remove()
	}
	gone := c != nil && hasNoName(f)
	err = errors.Join(err, f.Close())
	q.letGo(c, gone)
	return err
}

func hasNoName(f *os.File) bool {
	_, links, err := identityOf(f)
	return err == nil && links == 0
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
