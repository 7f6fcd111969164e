package manifest

import (
	"encoding/json"
	"slices"
)

// reservedKeys are what the host keeps of a run itself.
func reservedKeys() []string {
	return []string{
		"messages", "step_count", "token_usage", "context_tokens", "tool_call_counts", "exit_reason",
		"continue_run", "stop_run", "tools", "hook_context",
	}
}

// state checks the keys of the state. Their schemas are compiled when the host is made.
func (c *checker) state() {
	for _, key := range sortedKeys(c.Agent.State) {
		field, k := entry("agent.state", key), c.Agent.State[key]
		c.key(field, key)
		c.word(field+".merge", k.Merge, []string{"replace", "append"})
		c.encodable(field+".schema", k.Schema)
		if t, ok := k.Schema["type"]; ok && k.Merge == "append" && t != "array" {
			c.fail(field+".merge", "append makes a list, and the type of the schema is %s", showAny(t))
		}
	}
}

func (c *checker) key(field, key string) {
	switch {
	case !isName(key):
		c.fail(field, "%s is not a name: at most 64 letters, digits, _ and -, and no digit or - first", show(key))
	case slices.Contains(reservedKeys(), key):
		c.fail(field, "%s is kept by the host and cannot be a key of the state", show(key))
	}
}

// stateOf checks what an entry reads of the state and writes to it.
func (c *checker) stateOf(field string, t *Tool) {
	arguments := map[string]bool{}
	for _, key := range sortedKeys(t.InputsFromState) {
		c.declared(entry(field+".inputs_from_state", key), key)
		if a := t.InputsFromState[key]; a != "" && arguments[a] {
			c.fail(entry(field+".inputs_from_state", key), "the argument %s comes from another key already", show(a))
		} else {
			arguments[a] = true
		}
	}
	for _, key := range sortedKeys(t.OutputsToState) {
		place := entry(field+".outputs_to_state", key)
		c.declared(place, key)
		c.word(place+".merge", t.OutputsToState[key].Merge, []string{"replace", "append"})
	}
}

func (c *checker) declared(field, key string) {
	if _, ok := c.Agent.State[key]; ok {
		return
	}
	keys := sortedKeys(c.Agent.State)
	if len(keys) == 0 {
		c.fail(field, "the run's state has no key %s: declare it in agent.state", show(key))
		return
	}
	c.fail(field, "the run's state has no key %s%s", show(key), suggest(key, keys))
}

func showAny(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "none"
	}
	return cut(string(raw), maxShown)
}

// SchemaJSON returns the schema of the key's value, or nil.
func (k *StateKey) SchemaJSON() json.RawMessage { return asJSON(k.Schema) }

// Appends says that a write puts its value behind what there is.
func (k *StateKey) Appends() bool {
	return k.Merge == "append" || (k.Merge == "" && k.Schema["type"] == "array")
}

func asJSON(v map[string]any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil { // a value made in Go that JSON cannot hold; Check says so
		return json.RawMessage("{}")
	}
	return raw
}
