package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// hookTime is how long a module that a role asks has.
const hookTime = time.Second

// roleParseError is the role that makes what a model is told of a reply which could not
// be read.
const roleParseError = "parse_error"

// fieldParseError is the field of a manifest that names its module.
const fieldParseError = "agent.on_parse_error.module"

// loadHooks loads the modules that are not tools.
func (h *Host) loadHooks(ctx context.Context) error {
	on := &h.manifest.Agent.OnParseError
	if on.Module == "" {
		return nil
	}
	mod, err := h.loadRole(ctx, roleParseError, on.Module, on.Config)
	if err != nil {
		return h.manifest.Fault(fieldParseError, unnamed(err))
	}
	h.hook = mod.Info().Digest
	h.parseError = func(ctx context.Context, problem, reply string) (string, error) {
		var said struct {
			Text *string `json:"text"`
		}
		if err := askRole(ctx, mod, map[string]string{"error": problem, "output": reply}, &said); err != nil {
			return "", err
		}
		if said.Text == nil {
			return "", errors.New("the module's answer has no text")
		}
		return *said.Text, nil
	}
	return nil
}

// loadRole loads a module for a role, with no grants and little time.
func (h *Host) loadRole(ctx context.Context, role, path string, config map[string]any) (*sandbox.Module, error) {
	wasm, err := readModule(path)
	if err != nil {
		return nil, err
	}
	p := policy.Default()
	p.Limits.Timeout = hookTime
	if p, err = h.underCeiling(p); err != nil {
		return nil, err
	}
	src := sandbox.Source{
		Name: filepath.Base(path), Wasm: wasm, Role: role, Export: role, Policy: p, Redact: h.redact,
		Tool: &abi.Tool{Name: role},
	}
	if len(config) > 0 {
		if src.Config, err = json.Marshal(config); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	return h.engine.Load(ctx, src)
}

// askRole calls the module and reads its answer into out.
func askRole(ctx context.Context, mod *sandbox.Module, told, out any) error {
	args, err := json.Marshal(told)
	if err != nil {
		return fmt.Errorf("writing what the module is told: %w", err)
	}
	o := mod.Call(ctx, sandbox.Call{ID: "hook", Tool: mod.Role(), Arguments: args})
	switch {
	case o.Fault != "":
		return fmt.Errorf("%s: %s", o.Fault, o.Result.Content[0].Text)
	case o.Result.IsError || len(o.Result.Content) == 0:
		return errors.New("the module gave an error")
	}
	if err := json.Unmarshal([]byte(o.Result.Content[0].Text), out); err != nil {
		return errors.New("the module's answer is not what its role says")
	}
	return nil
}
