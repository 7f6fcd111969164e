//go:build wasip1

package sdk

import (
	"runtime"
	"slices"
)

// warmRoom is how much memory a call finds that the collector has freed, in bytes.
const warmRoom = 1 << 20

// warm does once what the first call of each tool would do: packages such as
// encoding/json look at a type once and remember what they saw. A host that
// serves calls from a copy of the module as it is after it described itself
// spares every call that work. No function of a tool is called.
func (r *registry) warm() {
	r.mu.Lock()
	tools := slices.Clone(r.tools)
	r.mu.Unlock()
	for _, t := range tools {
		if t.fault == nil {
			t.warmUp()
		}
	}
	r.serve(host{}, []byte(`{"v":1,"id":"","tool":"","arguments":{},"run":{}}`))
	respond(Text(""), nil)
	room := make([]byte, warmRoom)
	runtime.KeepAlive(room)
	runtime.GC()
}

// warmUp is warm for one tool, whose types have methods that run here.
func (t *tool) warmUp() {
	defer func() { _ = recover() }()
	t.warm()
}
