package sandbox

import "github.com/wagent-dev/wagent/sdk/abi"

// responses are the answers that the guest has not read yet. A handle is never
// given twice in a call, and the table dies with it: a handle that a guest kept
// or made up reaches nothing.
type responses struct {
	limit int64 // bytes that may wait at once
	held  int64
	last  int32
	open  map[int32]response
}

// response is what is left to read of an answer of size bytes. All of it counts
// until its end was read, since all of it is kept until then.
type response struct {
	rest []byte
	size int64
}

// put keeps an answer and returns its handle.
func (r *responses) put(data []byte) (int32, abi.Errno) {
	if r.held+int64(len(data)) > r.limit {
		return 0, abi.ErrTooLarge
	}
	if r.open == nil {
		r.open = make(map[int32]response)
	}
	r.last++
	r.held += int64(len(data))
	r.open[r.last] = response{data, int64(len(data))}
	return r.last, 0
}

// read copies the next bytes of an answer and returns how many; 0 at its end.
// What was read to the end is let go.
func (r *responses) read(handle int32, into []byte) int64 {
	a, ok := r.open[handle]
	if !ok {
		return int64(abi.ErrNotFound)
	}
	n := copyInPieces(into, a.rest)
	a.rest = a.rest[n:]
	if len(a.rest) == 0 {
		r.held -= a.size
		a = response{}
	}
	r.open[handle] = a
	return int64(n)
}
