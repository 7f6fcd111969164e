package schema

import (
	"encoding/json"
	"slices"
)

// Without returns the schema of an object less the properties of these names: what is
// shown to somebody who does not give them. raw is returned as it is when it names
// none of them; it is one that [Compile] took.
func Without(raw json.RawMessage, names []string) json.RawMessage {
	doc, err := decode(raw)
	object, ok := doc.(map[string]any)
	if err != nil || !ok {
		return raw
	}
	properties, _ := object["properties"].(map[string]any)
	gone := false
	for _, name := range names {
		if _, ok := properties[name]; ok {
			delete(properties, name)
			gone = true
		}
	}
	required, _ := object["required"].([]any)
	less := slices.DeleteFunc(slices.Clone(required), func(v any) bool {
		name, ok := v.(string)
		return ok && slices.Contains(names, name)
	})
	if len(less) < len(required) {
		object["required"] = less
		gone = true
	}
	if len(less) == 0 {
		delete(object, "required") // an empty list is none in older drafts
	}
	if !gone {
		return raw
	}
	out, err := encode(object)
	if err != nil {
		return raw
	}
	return out
}

// Declares says that the schema of an object has a property of this name, or does not
// say which it has.
func Declares(raw json.RawMessage, name string) bool {
	doc, err := decode(raw)
	object, ok := doc.(map[string]any)
	if err != nil || !ok {
		return true
	}
	properties, ok := object["properties"].(map[string]any)
	if !ok {
		return true
	}
	_, ok = properties[name]
	return ok
}
