package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// The imports of Extism plugins are served here and not by extism/go-sdk, which
// is what the tests compare this with. What is not the same on purpose is in
// the comments and in RATIONALE.md.

const (
	extismEnv          = "extism:host/env"
	extismUser         = "extism:host/user"
	extismUserMisspelt = "extism:host/usr" // as one published template writes it
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
	form   extismForm
	src    Source
	code   *compiled
	guests *guests
	bare   *pool // for the functions that start the language themselves
	config map[string]string
	spare  spareMemory
}

// newExtism gives the runtime of p what plugins import. On success it owns what
// was compiled.
func newExtism(ctx context.Context, src Source, p *part, idle *idlers) (*extismPlugin, error) {
	limits := src.Policy.Limits
	if need := p.info.Memory.Min + extismKernel; need > limits.Memory {
		return nil, refuse(LoadMemory, fmt.Sprintf("the plugin starts with %d bytes of memory, of which %d are for Extism; its limit is %d",
			need, int64(extismKernel), limits.Memory), fmt.Sprintf("set limits: {memory: %dMiB} or more", need>>20+1))
	}
	if err := linkExtism(ctx, p.runtime, &p.info); err != nil {
		return nil, err
	}
	src.Wasm = nil
	code := &p.compiled
	return &extismPlugin{
		form: formOf(src, &p.info), src: src, code: code,
		guests: newGuests(code, idle, src.Policy.Grants, (*instance).beginExtism, nil),
		bare:   newPool(code, code.base, idle),
		config: extismConfig(src.Config),
	}, nil
}

func (p *extismPlugin) close(ctx context.Context) error {
	return errors.Join(p.spare.close(), p.guests.close(), p.bare.close(), p.code.close(ctx))
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
