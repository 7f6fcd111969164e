package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	extism "github.com/extism/go-sdk"
)

// The files extism*.go are the only door to extism/go-sdk. What the SDK leaves open is shut
// here: it never gets a host or a folder to allow, because it follows redirects
// out of the one and links out of the other; it always gets a time limit,
// because without one it ignores the context; instantiation runs under the
// call's context, because its own limit does not cover it; sizes are checked
// before it sees the input, because it turns what does not fit into nothing.

const (
	extismEnv          = "extism:host/env"
	extismUser         = "extism:host/user"
	extismUserMisspelt = "extism:host/usr" // as one published template writes it
	// extismKernel is the memory that the SDK's own kernel starts with.
	extismKernel = 16 * pageSize
	// extismSlack is what the kernel needs around the input.
	extismSlack = 2 * pageSize
)

// extismForm is how the functions of a plugin are called.
type extismForm int

const (
	extismV1    extismForm = iota // describe, call
	extismV2                      // list_tools, call_tool
	extismPlain                   // one function that the manifest names
)

// extismPlugin speaks the extism ABI.
type extismPlugin struct {
	form  extismForm
	src   Source
	code  *extism.CompiledPlugin
	entry *cacheEntry
}

// newExtism compiles the module again inside of the SDK, which does not let its
// own runtime be looked into. The shared cache makes that a look-up. On success
// it owns the entry, and the runtime of p is closed.
func newExtism(ctx context.Context, src Source, p *part) (*extismPlugin, error) {
	if err := checkExtismGrants(src); err != nil {
		return nil, err
	}
	limits := src.Policy.Limits
	if need := p.info.Memory.Min + extismKernel; need > limits.Memory {
		return nil, refuse(LoadMemory, fmt.Sprintf("the plugin starts with %d bytes of memory, of which %d are for Extism; its limit is %d",
			need, int64(extismKernel), limits.Memory), fmt.Sprintf("set limits: {memory: %dMiB} or more", need>>20+1))
	}
	manifest := extism.Manifest{
		Wasm:    []extism.Wasm{extism.WasmData{Data: p.wasm, Hash: strings.TrimPrefix(digest(p.wasm), "sha256:")}},
		Memory:  &extism.ManifestMemory{MaxPages: 65536, MaxHttpResponseBytes: 0, MaxVarBytes: maxExtismVars},
		Config:  extismConfig(src.Config),
		Timeout: uint64(max(limits.Timeout.Milliseconds(), 1)),
	}
	config := extism.PluginConfig{RuntimeConfig: runtimeConfig(p.entry.cache).WithCloseOnContextDone(true), EnableWasi: true}
	code, err := extism.NewCompiledPlugin(ctx, manifest, config, extismHostFunctions())
	if err != nil {
		return nil, refuse(LoadMalformed, "Extism cannot load the module: "+oneLine(err.Error(), maxMessage), "")
	}
	if err := p.runtime.Close(ctx); err != nil {
		return nil, errors.Join(err, code.Close(ctx))
	}
	// The level is one for the whole process. Info lets a plugin's own lines
	// through and not the SDK's.
	extism.SetLogLevel(extism.LogLevelInfo)
	src.Wasm = nil
	return &extismPlugin{form: formOf(src, &p.info), src: src, code: code, entry: p.entry}, nil
}

// maxExtismVars bounds a plugin's variables, which live as long as a call.
const maxExtismVars = 1 << 20

// checkExtismGrants refuses what would be granted in vain.
func checkExtismGrants(src Source) *LoadError {
	g := src.Policy.Grants
	switch {
	case src.Inspect:
		return nil
	case len(g.HTTP) > 0:
		return refuse(LoadUnsupported, "allow.http for Extism plugins is not supported yet", "remove it, or use a module of abi wagent")
	case len(g.Read)+len(g.Write) > 0:
		return refuse(LoadUnsupported, "allow.read and allow.write for Extism plugins are not supported yet",
			"remove them, or use a module of abi wagent or wasi")
	}
	return nil
}

// extismConfig makes the values of the manifest strings, as Extism has them.
func extismConfig(raw json.RawMessage) map[string]string {
	var values map[string]json.RawMessage
	if json.Unmarshal(raw, &values) != nil {
		return nil
	}
	out := make(map[string]string, len(values))
	for k, v := range values {
		var s string
		if json.Unmarshal(v, &s) != nil {
			s = string(v)
		}
		out[k] = s
	}
	return out
}

// quietExtism removes a variable that makes the SDK send what guests print to
// the terminal of the host, raw.
func quietExtism() {
	const name = "EXTISM_ENABLE_WASI_OUTPUT"
	if _, ok := os.LookupEnv(name); ok {
		// A name without "=" cannot fail.
		_ = os.Unsetenv(name)
	}
}
