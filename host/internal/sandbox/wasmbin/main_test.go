package wasmbin_test

import (
	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

var builds testkit.Builds

// rewrite reads and rewrites a module.
func rewrite(wasm []byte, lim wasmbin.Limits, o wasmbin.Options) (*wasmbin.Output, error) {
	m, err := wasmbin.Decode(wasm, lim)
	if err != nil {
		return nil, err
	}
	return m.Rewrite(o)
}
