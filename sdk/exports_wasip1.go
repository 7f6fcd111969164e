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
	requests map[uint32][]byte // by address
	answer   []byte            // until the next call
}

// maxRequest is the largest buffer that wagent_alloc hands out.
const maxRequest = 1 << 28

//go:wasmexport wagent_abi
func exportABI() uint32 { return abi.Version }

//go:wasmexport wagent_alloc
func exportAlloc(n uint32) uint32 {
	if n > maxRequest {
		return 0
	}
	b := make([]byte, max(n, 1))
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
	return answer(description)
}

//go:wasmexport wagent_call
func exportCall(address, n uint32) uint64 {
	b, ok := guest.requests[address]
	delete(guest.requests, address)
	if !ok || n > uint32(len(b)) {
		return answer(respond(abi.Result{}, errors.New("the host's request is not where wagent_alloc put it")))
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
