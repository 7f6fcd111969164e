//go:build wasip1

package sdk

import (
	"errors"
	"unsafe"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// guest holds the memory that the host was told the address of, so that the
// garbage collector leaves it alone. It is one value of the package because the
// host comes in through exported functions, which have no receiver.
var guest struct {
	requests map[uint32][]byte // by address, until the call that reads it
	held     uint64            // bytes of them
	answer   []byte            // until the next call
}

// maxRequests is the most bytes of buffers that wagent_alloc has out at once.
const maxRequests = 1 << 28

//go:wasmexport wagent_abi
func exportABI() uint32 { return abi.Version }

//go:wasmexport wagent_alloc
func exportAlloc(n uint32) uint32 {
	size := uint64(max(n, 1))
	if guest.held+size > maxRequests {
		return 0
	}
	guest.held += size
	b := make([]byte, size)
	address := uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	if guest.requests == nil {
		guest.requests = make(map[uint32][]byte)
	}
	guest.requests[address] = b
	return address
}

//go:wasmexport wagent_describe
func exportDescribe() uint64 {
	description, faults := registered.describe()
	for _, err := range faults {
		hostLog(nil, abi.LevelError, err.Error())
	}
	registered.warm()
	return answer(description)
}

//go:wasmexport wagent_call
func exportCall(address, n uint32) uint64 {
	b, ok := guest.requests[address]
	delete(guest.requests, address)
	guest.held -= uint64(len(b))
	if !ok || n > uint32(len(b)) {
		return answer(fail(errors.New("the host's request is not where wagent_alloc put it")))
	}
	return answer(registered.serve(host{}, b[:n]))
}

// answer keeps b and says where it is: address<<32 | length.
func answer(b []byte) uint64 {
	guest.answer = b
	if len(b) == 0 {
		return 0
	}
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))<<32 | uint64(len(b))
}
