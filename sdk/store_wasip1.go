//go:build wasip1

package sdk

import (
	"runtime"
	"unsafe"
)

//go:wasmimport wagent secret_exists
func wagentSecretExists(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport wagent state_get
func wagentStateGet(ptr unsafe.Pointer, n uint32) int64

//go:wasmimport wagent kv_get
func wagentKVGet(ptr unsafe.Pointer, n uint32) int64

//go:wasmimport wagent kv_set
func wagentKVSet(ptr unsafe.Pointer, n uint32, vptr unsafe.Pointer, vn uint32) int32

//go:wasmimport wagent kv_delete
func wagentKVDelete(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport wagent kv_list
func wagentKVList(ptr unsafe.Pointer, n uint32) int64

func hostSecretExists(_ *Call, name string) (bool, error) {
	answer := wagentSecretExists(address(name), uint32(len(name)))
	runtime.KeepAlive(name)
	return answer == 1, errno(answer)
}

func hostStateGet(_ *Call, key string) ([]byte, error) {
	answer := wagentStateGet(address(key), uint32(len(key)))
	runtime.KeepAlive(key)
	return fetch(answer)
}

func hostKVGet(_ *Call, key string) ([]byte, error) {
	answer := wagentKVGet(address(key), uint32(len(key)))
	runtime.KeepAlive(key)
	return fetch(answer)
}

func hostKVSet(_ *Call, key string, value []byte) error {
	answer := wagentKVSet(address(key), uint32(len(key)), unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)))
	runtime.KeepAlive(key)
	runtime.KeepAlive(value)
	return errno(answer)
}

func hostKVDelete(_ *Call, key string) error {
	answer := wagentKVDelete(address(key), uint32(len(key)))
	runtime.KeepAlive(key)
	return errno(answer)
}

func hostKVList(_ *Call, request string) ([]byte, error) {
	answer := wagentKVList(address(request), uint32(len(request)))
	runtime.KeepAlive(request)
	return fetch(answer)
}

func address(s string) unsafe.Pointer {
	return unsafe.Pointer(unsafe.StringData(s))
}
