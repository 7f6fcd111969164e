package sandbox

import "github.com/wagent-dev/wagent/sdk/abi"

// responses are the answers that the guest has not read yet. A handle is never
// given twice in a call, and the table dies with it: a handle that a guest kept
// or made up reaches nothing.
type responses struct {
	limit int64 // bytes that may wait at once
	held  int64
	last  int32
	open  map[int32][]byte
}

// put keeps an answer and returns its handle.
func (r *responses) put(data []byte) (int32, abi.Errno) {
	if r.held+int64(len(data)) > r.limit {
		return 0, abi.ErrTooLarge
	}
	if r.open == nil {
		r.open = make(map[int32][]byte)
	}
	r.last++
	r.held += int64(len(data))
	r.open[r.last] = data
	return r.last, 0
}

// read copies the next bytes of an answer and returns how many; 0 at its end.
// What was read is let go.
func (r *responses) read(handle int32, into []byte) int64 {
	data, ok := r.open[handle]
	if !ok {
		return int64(abi.ErrNotFound)
	}
	n := copy(into, data)
	r.held -= int64(n)
	r.open[handle] = data[n:]
	return int64(n)
}
