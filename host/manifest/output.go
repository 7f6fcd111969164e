package manifest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

const outputField = "agent.output"

// output checks what a run is to give. Whether its schema is one is seen where schemas
// are compiled; see [Manifest.OutputFault].
func (c *checker) output(o *Output) {
	if o == nil {
		return
	}
	c.word(outputField+".strategy", o.Strategy, []string{"auto", "native", "tool", "prompt"})
	c.between(outputField+".attempts", int64(o.Attempts), 1, 20)
	switch kind, ok := o.Schema["type"]; {
	case o.Schema == nil:
		c.fail(outputField, `the field "schema" is missing: it says what the value is`)
	case ok && kind != "object":
		c.fail(outputField+".schema", `must be a JSON Schema of an object: write "type: object", with the value in a field of it`)
	}
	c.encodable(outputField+".schema", o.Schema)
	if p := c.Agent.Planner; p != "" && p != "tools" && (o.Strategy == "native" || o.Strategy == "tool") {
		c.fail(outputField+".strategy", "%s needs the planner tools: write prompt or auto", o.Strategy)
	}
	if exits := c.Agent.ExitConditions; len(exits) > 0 && !slices.Contains(exits, "text") {
		c.fail(outputField, `no reply ends the run here, so none can be its output: add "text" to agent.exit_conditions`)
	}
}

// OutputSchema returns the schema of agent.output, or nil. Where it was read from a
// file its members are in the file's order, since models write them in that order.
func (m *Manifest) OutputSchema() json.RawMessage {
	if m.Agent.Output == nil {
		return nil
	}
	raw, err := m.origin.ordered(outputField+".schema", m.Agent.Output.Schema)
	if err != nil { // a value made in Go that JSON cannot hold; Check says so
		return json.RawMessage("{}")
	}
	return raw
}

// OutputFault makes an error about the place in the schema of agent.output that a JSON
// pointer leads to, an [*Error] there.
func (m *Manifest) OutputFault(pointer string, err error) error {
	field := outputField + ".schema"
	var v any
	if m.Agent.Output != nil {
		v = m.Agent.Output.Schema
	}
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch x := v.(type) {
		case map[string]any:
			field, v = entry(field, token), x[token]
		case []any:
			n, bad := strconv.Atoi(token)
			if bad != nil || n < 0 || n >= len(x) {
				return m.Fault(field, err)
			}
			field, v = item(field, n), x[n]
		}
	}
	return m.Fault(field, err)
}

// ordered encodes a value that stands at field, the members of objects in the order of
// the file.
func (o *origin) ordered(field string, v any) ([]byte, error) {
	switch v := v.(type) {
	case map[string]any:
		names := sortedKeys(v)
		if o != nil {
			slices.SortStableFunc(names, func(a, b string) int {
				p, q := o.keys[entry(field, a)], o.keys[entry(field, b)]
				return cmp.Or(cmp.Compare(p.line, q.line), cmp.Compare(p.column, q.column))
			})
		}
		return o.join('{', '}', len(names), func(i int) ([]byte, error) {
			name, err := json.Marshal(names[i])
			if err != nil {
				return nil, err
			}
			value, err := o.ordered(entry(field, names[i]), v[names[i]])
			return append(append(name, ':'), value...), err
		})
	case []any:
		return o.join('[', ']', len(v), func(i int) ([]byte, error) { return o.ordered(item(field, i), v[i]) })
	}
	return json.Marshal(v)
}

func (o *origin) join(begin, end byte, n int, part func(int) ([]byte, error)) ([]byte, error) {
	out := []byte{begin}
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		p, err := part(i)
		if err != nil {
			return nil, err
		}
		out = append(out, p...)
	}
	return append(out, end), nil
}
