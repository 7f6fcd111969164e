// Package native is the host that a tool sees when it is built for the machine
// itself and not for WebAssembly: what package sdktest puts in the sandbox's
// place.
package native

import (
	"encoding/json"
	"sync"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Host answers what a tool asks for. A nil function or map refuses.
type Host struct {
	Log      func(level abi.Level, message string)
	Progress func(permille int, message string)
	HTTP     func(*abi.HTTPRequest) *abi.HTTPResponse
	Secrets  []string                   // names that exist
	State    map[string]json.RawMessage // values of the run's state
	Folders  []string                   // that were granted

	KVMu sync.Mutex // guards KV
	KV   map[string][]byte
}
