//go:build wasip1

package sdk

import (
	"runtime"
	"unsafe"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// host is empty in a module: its host is what it imports.
type host struct{}

//go:wasmimport wagent log
func wagentLog(level int32, ptr unsafe.Pointer, n uint32)

//go:wasmimport wagent progress
func wagentProgress(permille int32, ptr unsafe.Pointer, n uint32)

//go:wasmimport wagent read
func wagentRead(handle uint32, ptr unsafe.Pointer, n uint32) int32

func hostLog(_ *Call, level abi.Level, message string) {
	wagentLog(int32(level), unsafe.Pointer(unsafe.StringData(message)), uint32(len(message)))
	runtime.KeepAlive(message)
}

func hostProgress(_ *Call, permille int, message string) {
	wagentProgress(int32(permille), unsafe.Pointer(unsafe.StringData(message)), uint32(len(message)))
	runtime.KeepAlive(message)
}

// fetch copies what a host function answered: handle<<32 | length, or an errno.
func fetch(answer int64) ([]byte, error) {
	if answer < 0 {
		return nil, abi.Errno(answer)
	}
	handle, n := uint32(answer>>32), uint32(answer)
	b := make([]byte, n)
	got := wagentRead(handle, unsafe.Pointer(unsafe.SliceData(b)), n)
	if got < 0 {
		return nil, abi.Errno(got)
	}
	return b[:min(uint32(got), n)], nil
}

// errno is the error of a host function that answers with a number only.
func errno(answer int32) error {
	if answer < 0 {
		return abi.Errno(answer)
	}
	return nil
}
