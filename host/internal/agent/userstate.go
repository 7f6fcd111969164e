package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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

// waves says when each action of a plan may run: after those that write a key which it
// reads, wherever the model put them. Where they wait for each other, the first goes
// first. It follows from the plan alone, so it is the same after a crash.
func (a *Agent) waves(actions []run.Action) []int {
	waves := make([]int, len(actions))
	tools := make([]*Tool, len(actions))
	left := make([]int, len(actions))
	writers := make(map[string]int) // of each key, that are left
	reads := false
	for i := range actions {
		left[i], tools[i] = i, a.tool(actions[i].Tool)
		if tools[i] == nil {
			tools[i] = new(Tool)
		}
		reads = reads || len(tools[i].Reads) > 0
		tools[i].eachWritten(func(key string) { writers[key]++ })
	}
	if !reads {
		return waves
	}
	for wave := 0; len(left) > 0; wave++ {
		ready, wait := parted(left, func(i int) bool { return !tools[i].awaits(writers) })
		if len(ready) == 0 {
			ready, wait = left[:1], left[1:]
		}
		for _, i := range ready {
			waves[i] = wave
			tools[i].eachWritten(func(key string) { writers[key]-- })
		}
		left = wait
	}
	return waves
}

// parted returns those of list that are so and those that are not, in their order.
func parted(list []int, so func(int) bool) (yes, no []int) {
	for _, i := range list {
		if so(i) {
			yes = append(yes, i)
		} else {
			no = append(no, i)
		}
	}
	return yes, no
}

// eachWritten calls do with each key that the tool writes, once.
func (t *Tool) eachWritten(do func(key string)) {
	for i, w := range t.Writes {
		if !slices.ContainsFunc(t.Writes[:i], func(v StateWrite) bool { return v.Key == w.Key }) {
			do(w.Key)
		}
	}
}

// awaits says that others which are left write a key that the tool reads. It is one of
// writers itself.
func (t *Tool) awaits(writers map[string]int) bool {
	return slices.ContainsFunc(t.Reads, func(r StateRead) bool {
		others := writers[r.Key]
		if slices.ContainsFunc(t.Writes, func(w StateWrite) bool { return w.Key == r.Key }) {
			others--
		}
		return others > 0
	})
}

// waits says that a call must not be made yet: one of an earlier wave, which writes what
// it reads, has no result.
func (b *batch) waits(i int) bool {
	return slices.ContainsFunc(b.tools[i].Reads, func(r StateRead) bool {
		first, ok := b.unwritten[r.Key]
		return ok && first < b.waves[i]
	})
}

// look notes which keys are still to be written, each with the first wave that does.
func (b *batch) look() {
	b.unwritten = make(map[string]int)
	for i := range b.turn.Slots {
		if t := b.tools[i]; t != nil && b.turn.Slots[i].Returned == nil {
			t.eachWritten(func(key string) {
				if first, ok := b.unwritten[key]; !ok || b.waves[i] < first {
					b.unwritten[key] = b.waves[i]
				}
			})
		}
	}
}

// hidden says that the model gave an argument that is not its to give.
func (t *Tool) hidden(args json.RawMessage) (argument string, given bool) {
	if len(t.Reads) == 0 {
		return "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return "", false
	}
	for _, r := range t.Reads {
		if _, ok := fields[r.Argument]; ok && r.Argument != "" {
			return r.Argument, true
		}
	}
	return "", false
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

// MaxState bounds the state of a run, in bytes of JSON.
const MaxState = 4 << 20

// StateSize is what counts against [MaxState].
func StateSize(state map[string]json.RawMessage) (n int) {
	for _, v := range state {
		n += len(v)
	}
	return n
}

// writes is what a result writes to the state, as the call saw it. The error says why it
// does not fit, and then nothing is written.
func (d *driver) writes(t *Tool, r *Result, seen map[string]json.RawMessage) ([]run.Write, error) {
	var out []run.Write
	for _, w := range t.Writes {
		value, ok := w.value(r)
		if !ok {
			continue
		}
		key := d.State[w.Key]
		write := run.Write{Key: w.Key, Value: value, Merge: key.Merge}
		if w.Merge != "" {
			write.Merge = w.Merge
		}
		merged := write.Merged(seen[w.Key])
		if StateSize(seen)-len(seen[w.Key])+len(merged) > MaxState {
			return nil, fmt.Errorf("state key %q: the state would be larger than %d MiB", w.Key, MaxState>>20)
		}
		if key.Schema != nil {
			if err := key.Schema.CheckValue(merged); err != nil {
				return nil, fmt.Errorf("state key %q: %w", w.Key, err)
			}
		}
		out = append(out, write)
	}
	return out, nil
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

// textValue is the text of a result as JSON: what it is, where it is an object or a list,
// else a string.
func textValue(r *Result) json.RawMessage {
	text := model.PartsText(r.Content)
	if trimmed := strings.TrimSpace(text); (strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[")) && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	out, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return out
}
