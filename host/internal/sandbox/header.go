package sandbox

import (
	"bytes"
	"fmt"
)

const (
	// maxModule bounds the file: the largest toolchains write about 20 MB.
	maxModule = 64 << 20
	pageSize  = 64 << 10
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
