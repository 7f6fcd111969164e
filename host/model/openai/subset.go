package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Bounds of what is written out of a schema.
const (
	maxPlainDepth = 12
	maxPlainNodes = 2000
)

// plainSchema is a schema with the words that all endpoints take: types, properties,
// items, enums, bounds of lists and numbers, descriptions. References are written
// out; what they say in a circle, and all other words, are left out. So it allows
// more, never less, than the schema does.
func plainSchema(schema json.RawMessage) (json.RawMessage, error) {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	w := plainer{root: root, left: maxPlainNodes, open: make(map[string]bool)}
	out := w.schema(root, 0)
	delete(out, "enum")
	out["type"] = "object"
	if _, ok := out["properties"]; !ok {
		out["properties"] = map[string]any{}
	}
	return marshal(out)
}

type plainer struct {
	root any
	left int             // nodes that may be written yet
	open map[string]bool // references that are being written out
}

// schema writes one schema. true and false, and what is too deep, become {}, which
// allows everything.
func (w *plainer) schema(v any, depth int) map[string]any {
	out := map[string]any{}
	s, ok := v.(map[string]any)
	if w.left--; !ok || depth > maxPlainDepth || w.left < 0 {
		return out
	}
	if ref, ok := s["$ref"].(string); ok {
		return w.reference(ref, depth)
	}
	for key, value := range s {
		switch key {
		case "title", "description", "minimum", "maximum", "minItems", "maxItems":
			out[key] = value
		case "enum":
			w.enum(out, value)
		case "const":
			w.enum(out, []any{value})
		case "type":
			plainType(out, value)
		case "items":
			out[key] = w.schema(value, depth+1)
		case "properties":
			w.properties(out, value, depth)
		case "required":
			out[key] = value
		}
	}
	w.oneOf(out, s, depth)
	onlyListed(out)
	return out
}

// reference writes what a reference leads to, unless that leads back to it.
func (w *plainer) reference(ref string, depth int) map[string]any {
	v, ok := w.at(ref)
	if !ok || w.open[ref] {
		return map[string]any{}
	}
	w.open[ref] = true
	defer delete(w.open, ref)
	return w.schema(v, depth+1)
}

// at is what a pointer into the schema leads to.
func (w *plainer) at(ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	v := w.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]; !ok {
			return nil, false
		}
	}
	return v, true
}

// enum keeps a list of strings, the only one that all take.
func (w *plainer) enum(out map[string]any, value any) {
	list, _ := value.([]any)
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return
		}
	}
	if len(list) > 0 {
		out["enum"] = list
		out["type"] = "string"
	}
}

// plainType writes one type. Of several, null aside, none can be told.
func plainType(out map[string]any, value any) {
	list, many := value.([]any)
	if !many {
		list = []any{value}
	}
	var types []string
	for _, v := range list {
		switch s, _ := v.(string); s {
		case "null":
			out["nullable"] = true
		case "string", "number", "integer", "boolean", "array", "object":
			types = append(types, s)
		}
	}
	if len(types) == 1 {
		out["type"] = types[0]
	}
}

func (w *plainer) properties(out map[string]any, value any, depth int) {
	list, ok := value.(map[string]any)
	if !ok {
		return
	}
	props := make(map[string]any, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if w.left <= 0 {
			break
		}
		props[name] = w.schema(list[name], depth+1)
	}
	out["properties"] = props
}

// oneOf writes alternatives below the top, where no endpoint takes them, of which
// one is not null as that one.
func (w *plainer) oneOf(out, s map[string]any, depth int) {
	list, ok := s["anyOf"].([]any)
	if !ok {
		list, ok = s["oneOf"].([]any)
	}
	if !ok || depth == 0 {
		return
	}
	var rest []any
	for _, v := range list {
		one := w.schema(v, depth+1)
		if one["nullable"] == true && len(one) == 1 {
			out["nullable"] = true
			continue
		}
		rest = append(rest, one)
	}
	if len(rest) == 1 {
		for key, value := range rest[0].(map[string]any) { //nolint:forcetypeassert // made above
			if _, taken := out[key]; !taken {
				out[key] = value
			}
		}
		return
	}
	if len(rest) > 1 && out["type"] == nil {
		out["anyOf"] = rest
	}
}

// onlyListed leaves out what would be refused beside the rest: names that are
// required and not there, items of what is no list, and a list without any.
func onlyListed(out map[string]any) {
	if out["type"] == "array" && out["items"] == nil {
		out["items"] = map[string]any{}
	}
	list, ok := out["required"].([]any)
	if !ok {
		delete(out, "required")
		return
	}
	props, _ := out["properties"].(map[string]any)
	var kept []any
	for _, v := range list {
		if name, ok := v.(string); ok && props[name] != nil {
			kept = append(kept, name)
		}
	}
	if delete(out, "required"); len(kept) > 0 {
		out["required"] = kept
	}
}
