//go:build wasip1

// Word_count in Go as an Extism plugin, by its imports alone.
package main

import (
	"encoding/binary"
	"encoding/json"

	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u64
func inputLoad64(at uint64) uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(at uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(size uint64) uint64

//go:wasmimport extism:host/env store_u64
func store64(at, value uint64)

//go:wasmimport extism:host/env store_u8
func store8(at uint64, value uint32)

//go:wasmimport extism:host/env output_set
func outputSet(at, size uint64)

//go:wasmimport extism:host/env error_set
func errorSet(at uint64)

func main() {}

//go:wasmexport word_count
func wordCount() int32 {
	var a counting.Args
	err := json.Unmarshal(input(), &a)
	if err != nil {
		errorSet(store([]byte(err.Error())))
		return 1
	}
	out, err := json.Marshal(counting.Count(a.Text))
	if err != nil {
		errorSet(store([]byte(err.Error())))
		return 1
	}
	outputSet(store(out), uint64(len(out)))
	return 0
}

func input() []byte {
	n := inputLength()
	b := make([]byte, 0, n+8)
	for at := uint64(0); at+8 <= n; at += 8 {
		b = binary.LittleEndian.AppendUint64(b, inputLoad64(at))
	}
	for at := n / 8 * 8; at < n; at++ {
		b = append(b, byte(inputLoad8(at)))
	}
	return b
}

func store(b []byte) uint64 {
	to := alloc(uint64(len(b)))
	at := to
	for ; len(b) >= 8; b, at = b[8:], at+8 {
		store64(at, binary.LittleEndian.Uint64(b))
	}
	for i, c := range b {
		store8(at+uint64(i), uint32(c))
	}
	return to
}
