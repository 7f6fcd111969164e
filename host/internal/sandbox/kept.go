package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// Beside the native code of a module the cache keeps what was written anew for
// it: checking and rewriting a Go tool takes as long as loading its code.

// keptHeader is the first line of the file; the module follows.
type keptHeader struct {
	Mutable []wasmbin.MutableGlobal
	Exact   bool
}

func (e *cacheEntry) keptPath(metered bool) string {
	form := "slices"
	if metered {
		form = "fuel"
	}
	return filepath.Join(e.dir, fmt.Sprintf("rewritten-%s-%d.wasm", form, wasmbin.Version))
}

// rewritten returns what keepRewritten has kept. The seal of the entry has been
// compared already.
func (e *cacheEntry) rewritten(metered bool) (*wasmbin.Output, bool) {
	if !e.onDisk() {
		return nil, false
	}
	data, err := readSmall(e.keptPath(metered), 2*maxModule)
	if err != nil {
		return nil, false
	}
	line, wasm, found := bytes.Cut(data, []byte("\n"))
	var h keptHeader
	if !found || json.Unmarshal(line, &h) != nil {
		return nil, false
	}
	return &wasmbin.Output{Wasm: wasm, Mutable: h.Mutable, Exact: h.Exact}, true
}

// keepRewritten keeps what was written. That it cannot be kept is no error: it
// is written again the next time.
func (e *cacheEntry) keepRewritten(metered bool, out *wasmbin.Output) {
	if !e.onDisk() {
		return
	}
	line, err := json.Marshal(keptHeader{out.Mutable, out.Exact})
	if err == nil {
		err = writeFile(e.keptPath(metered), string(line)+"\n"+string(out.Wasm))
	}
	if err != nil {
		e.log.Warn("keeping a rewritten module", "module", e.name, "error", err)
		_ = os.Remove(e.keptPath(metered)) // it may not be there
	}
}
