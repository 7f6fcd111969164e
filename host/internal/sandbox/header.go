package sandbox

import (
	"bytes"
	"fmt"
)

const (
	// maxModule bounds the file: the largest toolchains write about 20 MB.
	maxModule = 64 << 20
	// maxTable bounds the entries of all tables together. Entries take eight
	// bytes of the host and are outside of the memory limit.
	maxTable = 1 << 20
	pageSize = 64 << 10
)

var (
	magic        = []byte("\x00asm")
	coreVersion  = []byte{1, 0, 0, 0}
	componentTag = []byte{1, 0} // the layer, in the upper half of a component's version
)

// checkHeader tells a core module from all that is not one.
func checkHeader(wasm []byte) *LoadError {
	switch {
	case len(wasm) > maxModule:
		return refuse(LoadTooLarge, fmt.Sprintf("the module has %d bytes, the limit is %d", len(wasm), maxModule),
			"strip it, or build it with optimisation for size")
	case len(wasm) < 8 || !bytes.Equal(wasm[:4], magic):
		return refuse(LoadNotWasm, "this is not a WebAssembly module", "")
	case bytes.Equal(wasm[6:8], componentTag):
		return refuse(LoadComponent, "this is a component; only core modules run here",
			"build a core module for WASI preview 1: for Rust --target wasm32-wasip1; "+buildReactor)
	case !bytes.Equal(wasm[4:8], coreVersion):
		return refuse(LoadMalformed, fmt.Sprintf("WebAssembly version % x is not known", wasm[4:8]), "")
	}
	return nil
}

// checkSizes compares what a module claims with what it may have.
func checkSizes(s skeleton, memory int64) *LoadError {
	if got := s.memoryMin * pageSize; got > uint64(max(memory, 0)) {
		return refuse(LoadMemory, fmt.Sprintf("the module starts with %d bytes of memory, its limit is %d", got, memory),
			fmt.Sprintf("set limits: {memory: %dMiB} or more", (got+1<<20-1)>>20))
	}
	if s.tableMin > maxTable {
		return refuse(LoadMemory, fmt.Sprintf("the module starts with tables of %d entries, the limit is %d", s.tableMin, maxTable), "")
	}
	return nil
}
