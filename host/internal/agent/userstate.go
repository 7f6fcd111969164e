package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// StateKey is a key of the run's state.
type StateKey struct {
	Schema *schema.Schema // of its value; nil: anything
	Merge  run.Merge      // what a write does
}

// StateRead gives a tool the value of a key of the state.
type StateRead struct {
	Key string
	// Argument is what holds it, which the model neither sees nor gives; empty: none
	// does, and the tool asks for it itself.
	Argument string
}

// StateWrite takes a value for a key of the state from a tool's result.
type StateWrite struct {
	Key   string
	From  string    // field of the structured result; empty: all of it
	Merge run.Merge // empty: that of the key
}

// hidden says that the model gave an argument that is not its to give. Many a guest takes
// names that differ in capitals alone for the same, the last one wins, and "uſer" is
// "user" to them: such a name is the argument too, unless the tool has it beside it.
func (t *Tool) hidden(args json.RawMessage) (argument string, given bool) {
	if len(t.Reads) == 0 {
		return "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return "", false
	}
	for _, r := range t.Reads {
		for name := range fields {
			if r.Argument != "" && (name == r.Argument || (strings.EqualFold(name, r.Argument) && !t.has(name))) {
				return r.Argument, true
			}
		}
	}
	return "", false
}

// has says that the model is shown an argument of this name.
func (t *Tool) has(argument string) bool {
	var shown struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	err := json.Unmarshal(t.Definition.Parameters, &shown)
	return err == nil && shown.Properties[argument] != nil
}

// fill returns the arguments with those that come from the state, and what of the state
// the tool may ask for. A key without a value gives no argument.
func (t *Tool) fill(args json.RawMessage, state map[string]json.RawMessage) (json.RawMessage, map[string]json.RawMessage, error) {
	if len(t.Reads) == 0 {
		return args, nil, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(args, &fields); err != nil {
		return nil, nil, err
	}
	seen := make(map[string]json.RawMessage, len(t.Reads))
	for _, r := range t.Reads {
		v, ok := state[r.Key]
		if !ok {
			continue
		}
		seen[r.Key] = v
		if r.Argument != "" {
			fields[r.Argument] = v
		}
	}
	full, err := json.Marshal(fields)
	if err != nil {
		return nil, nil, err
	}
	if t.Full != nil {
		if full, err = t.Full.Fit(full); err != nil {
			return nil, nil, err
		}
	}
	return full, seen, nil
}

// maxKept is how long the value of a key may become by writes, in bytes: a tool that
// appends with each call does so without end.
const maxKept = 4 << 20

// writes is what the result of a call writes to the state. The error says why the state
// would not fit with it, and then nothing is written.
func (d *driver) writes(t *Tool, callID string, r *Result) ([]run.Write, error) {
	var out []run.Write
	for _, w := range t.Writes {
		value, ok := w.value(r)
		if !ok {
			continue
		}
		write := run.Write{Key: w.Key, Value: value, Merge: d.State[w.Key].Merge}
		if w.Merge != "" {
			write.Merge = w.Merge
		}
		out = append(out, write)
	}
	if len(out) == 0 {
		return nil, nil
	}
	// With what others of the step have written: each alone may fit, and all not.
	state := d.state.Would(callID, out)
	for _, w := range out {
		if err := d.State[w.Key].fits(state[w.Key]); err != nil {
			return nil, fmt.Errorf("state key %q: %w", w.Key, err)
		}
	}
	return out, nil
}

func (k StateKey) fits(value json.RawMessage) error {
	switch {
	case len(value) > maxKept:
		return fmt.Errorf("its value would be longer than %d MiB", maxKept>>20)
	case k.Schema == nil:
		return nil
	}
	return k.Schema.CheckValue(value)
}

// value takes the value out of a result. A result without structure is its text.
func (w *StateWrite) value(r *Result) (json.RawMessage, bool) {
	whole := r.Structured
	if len(whole) == 0 {
		whole = textValue(r)
	}
	if w.From == "" {
		return whole, len(whole) > 0
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(whole, &fields) != nil {
		return nil, false
	}
	v, ok := fields[w.From]
	return v, ok
}

// textValue is the text of a result as JSON: what it is, where it is an object or a list
// that can be stored, else a string.
func textValue(r *Result) json.RawMessage {
	text := model.PartsText(r.Content)
	if trimmed := strings.TrimSpace(text); (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) && !planner.TooDeep([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	out, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return out
}
