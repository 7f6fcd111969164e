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

// sizes is what a module claims before it runs.
type sizes struct {
	memoryMin uint64 // pages
	tableMin  uint64 // entries of all tables
}

// readSizes reads the table and memory sections of a module that the engine
// has found valid. The engine's API does not show tables, nor a memory that is
// not exported.
func readSizes(wasm []byte) sizes {
	const sectionTable, sectionMemory = 4, 5
	var s sizes
	r := reader{wasm[8:]}
	for len(r.b) > 0 {
		id := r.byte()
		body := reader{r.take(r.uint())}
		switch id {
		case sectionTable:
			for n := body.uint(); n > 0 && len(body.b) > 0; n-- {
				body.byte() // the type of the elements
				s.tableMin += body.limits()
			}
		case sectionMemory:
			for n := body.uint(); n > 0 && len(body.b) > 0; n-- {
				s.memoryMin += body.limits()
			}
		}
	}
	return s
}

// reader reads a prefix and gives zeros past the end.
type reader struct{ b []byte }

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uint() uint64 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	return v
}

func (r *reader) take(n uint64) []byte {
	n = min(n, uint64(len(r.b)))
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) limits() uint64 {
	flag := r.byte()
	least := r.uint()
	if flag&1 != 0 {
		r.uint()
	}
	return least
}

// checkSizes compares what a module claims with what it may have.
func checkSizes(s sizes, memory int64) *LoadError {
	if got := s.memoryMin * pageSize; got > uint64(max(memory, 0)) {
		return refuse(LoadMemory, fmt.Sprintf("the module starts with %d bytes of memory, its limit is %d", got, memory),
			fmt.Sprintf("set limits: {memory: %dMiB} or more", (got+1<<20-1)>>20))
	}
	if s.tableMin > maxTable {
		return refuse(LoadMemory, fmt.Sprintf("the module starts with tables of %d entries, the limit is %d", s.tableMin, maxTable), "")
	}
	return nil
}
