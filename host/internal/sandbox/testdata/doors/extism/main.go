//go:build wasip1

// The guest of package script as an Extism plugin, by its imports alone.
package main

import "github.com/wagent-dev/wagent/host/internal/sandbox/testdata/doors/script"

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(at uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(size uint64) uint64

//go:wasmimport extism:host/env store_u8
func store8(at uint64, value uint32)

//go:wasmimport extism:host/env output_set
func outputSet(at, size uint64)

func main() {}

//go:wasmexport script
func run() int32 {
	in := make([]byte, inputLength())
	for i := range in {
		in[i] = byte(inputLoad8(uint64(i)))
	}
	out := script.Run(in)
	at := alloc(uint64(len(out)))
	for i := range len(out) {
		store8(at+uint64(i), uint32(out[i]))
	}
	outputSet(at, uint64(len(out)))
	return 0
}
