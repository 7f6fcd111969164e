package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/internal/spelling"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// declareState compiles the schemas of the run's state.
func (h *Host) declareState() error {
	var faults []error
	h.state = make(map[string]agent.StateKey)
	for _, name := range slices.Sorted(maps.Keys(h.manifest.Agent.State)) {
		k := h.manifest.Agent.State[name]
		key := agent.StateKey{Merge: run.Replace}
		if k.Appends() {
			key.Merge = run.Append
		}
		if raw := k.SchemaJSON(); raw != nil {
			var err error
			if key.Schema, err = schema.CompileValue(raw); err != nil {
				faults = append(faults, h.manifest.Fault(fmt.Sprintf("agent.state[%q].schema", name), err))
			}
		}
		h.state[name] = key
	}
	return errors.Join(faults...)
}

// bindState gives a tool what its entry maps of the state: the arguments that it has,
// which the model is not shown then, and what its results write.
func (b *binding) bindState(t *manifest.Tool, src *sandbox.Source, tool *abi.Tool) error {
	var hidden []string
	for _, key := range src.Policy.Grants.State {
		argument := t.InputsFromState[key]
		if argument != "" && !schema.Declares(b.info.Parameters, argument) {
			argument = "" // another tool of the module has it
		}
		b.reads = append(b.reads, agent.StateRead{Key: key, Argument: argument})
		if argument != "" {
			hidden = append(hidden, argument)
		}
	}
	b.writes = stateWrites(t)
	b.answers = tool.OutputSchema
	if len(hidden) == 0 {
		return nil
	}
	b.info.Parameters = schema.Without(b.info.Parameters, hidden)
	var err error
	b.shown, err = schema.Compile(b.info.Parameters)
	return err
}

// stateWrites is what results of a tool write to the state.
func stateWrites(t *manifest.Tool) []agent.StateWrite {
	var writes []agent.StateWrite
	for _, key := range slices.Sorted(maps.Keys(t.OutputsToState)) {
		out := t.OutputsToState[key]
		writes = append(writes, agent.StateWrite{Key: key, From: out.From, Merge: run.Merge(out.Merge)})
	}
	return writes
}

// unwritten says that a field which the entry takes from a result is in that of no tool,
// as far as they say what they answer.
func unwritten(t *manifest.Tool, bs []*binding) error {
	for _, key := range slices.Sorted(maps.Keys(t.OutputsToState)) {
		from := t.OutputsToState[key].From
		if from != "" && !slices.ContainsFunc(bs, func(b *binding) bool { return schema.Declares(b.answers, from) }) {
			return fmt.Errorf("outputs_to_state: no tool of the module has a field %s in its result, for the key %s", strconv.Quote(from), strconv.Quote(key))
		}
	}
	return nil
}

// unread says that an argument which the entry fills from the state is of no tool. A
// module that asks for the state itself needs none.
func unread(t *manifest.Tool, src *sandbox.Source, mod *sandbox.Module, bs []*binding) error {
	if slices.ContainsFunc(mod.Info().Imports, func(im sandbox.Import) bool { return im.Name == abi.ImportStateGet }) {
		return nil
	}
	for _, key := range src.Policy.Grants.State {
		read := agent.StateRead{Key: key, Argument: t.InputsFromState[key]}
		if read.Argument == "" {
			return fmt.Errorf("inputs_from_state: the module does not ask for the key %s itself (state_get): say which argument holds it", strconv.Quote(key))
		}
		if !slices.ContainsFunc(bs, func(b *binding) bool { return slices.Contains(b.reads, read) }) {
			return fmt.Errorf("inputs_from_state: no tool of the module has an argument %s for the key %s", strconv.Quote(read.Argument), strconv.Quote(key))
		}
	}
	return nil
}

// givenState checks the values that a run begins with.
func (h *Host) givenState(values map[string]any) (map[string]json.RawMessage, error) {
	if len(values) == 0 {
		return nil, nil
	}
	out := make(map[string]json.RawMessage, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, ok := h.state[name]
		if !ok {
			return nil, h.noKey(name)
		}
		raw, err := json.Marshal(values[name])
		if err != nil {
			return nil, fmt.Errorf("the value for the state's key %s is none of JSON: %w", strconv.Quote(name), err)
		}
		if key.Schema != nil {
			if err := key.Schema.CheckValue(raw); err != nil {
				return nil, fmt.Errorf("the value for the state's key %s does not fit agent.state: %w", strconv.Quote(name), err)
			}
		}
		out[name] = raw
	}
	return out, nil
}

func (h *Host) noKey(name string) error {
	names := slices.Sorted(maps.Keys(h.state))
	switch near := spelling.Nearest(name, names); {
	case len(names) == 0:
		return fmt.Errorf("the run's state has no key %s: the manifest has no agent.state", strconv.Quote(name))
	case near != "":
		return fmt.Errorf("the run's state has no key %s, did you mean %s?", strconv.Quote(name), strconv.Quote(near))
	default:
		return fmt.Errorf("the run's state has no key %s; it has %s", strconv.Quote(name), strings.Join(names, ", "))
	}
}
