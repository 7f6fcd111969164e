//go:build wasip1

package sdk

import (
	"runtime"
	"unsafe"
)

//go:wasmimport wagent http
func wagentHTTP(ptr unsafe.Pointer, n uint32) int64

func hostHTTP(_ *Call, req []byte) ([]byte, error) {
	answer := wagentHTTP(unsafe.Pointer(unsafe.SliceData(req)), uint32(len(req)))
	runtime.KeepAlive(req)
	return fetch(answer)
}
