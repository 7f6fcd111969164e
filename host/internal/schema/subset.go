package schema

import (
	"encoding/json"
	"slices"
)

// Bounds of what providers hold a model to while it writes.
const (
	subsetDepth      = 10   // objects and arrays inside each other
	subsetProperties = 5000 // of all objects together
	subsetEnum       = 1000 // values of all enums together
)

// subsetWords are the keywords that do not need a look at their value.
var subsetWords = []string{
	"type", "description", "title", "const", "$ref", "pattern", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "minItems", "maxItems", "required", "additionalProperties",
}

var subsetFormats = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// InStrictSubset says that a schema is one that providers can hold a model to while
// it writes: the root is an object, every object names all its fields as required
// and allows no others, and no keyword is used but those that are known to work.
// What [Compile] refuses is never in it.
func InStrictSubset(raw json.RawMessage) bool {
	if _, err := Compile(raw); err != nil {
		return false
	}
	doc, err := decode(raw)
	if err != nil {
		return false
	}
	root, ok := doc.(map[string]any)
	if !ok || root["type"] != "object" || root["anyOf"] != nil {
		return false
	}
	var s subset
	return s.all(root, true, 1)
}

// subset counts what is bounded over a whole schema.
type subset struct{ properties, values int }

func (s *subset) all(v any, root bool, depth int) bool {
	n, ok := v.(map[string]any)
	if !ok || depth > subsetDepth {
		return false
	}
	for keyword, v := range n {
		if !s.keyword(keyword, v, root, depth) {
			return false
		}
	}
	return !isObject(n) || s.closed(n)
}

// isObject says that a schema describes an object, alone or beside other types.
func isObject(n map[string]any) bool {
	list, _ := n["type"].([]any)
	return n["type"] == "object" || slices.Contains(list, any("object")) || n["properties"] != nil
}

// closed says that an object requires each of its fields and allows no other.
func (s *subset) closed(n map[string]any) bool {
	fields, _ := n["properties"].(map[string]any)
	required, _ := n["required"].([]any)
	if s.properties += len(fields); s.properties > subsetProperties || n["additionalProperties"] != false {
		return false
	}
	for name := range fields {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return true
}

func (s *subset) keyword(keyword string, v any, root bool, depth int) bool {
	switch keyword {
	case "properties":
		return s.named(v, depth+1)
	case "$defs", "definitions":
		return root && s.named(v, depth)
	case "items":
		return s.all(v, false, depth+1)
	case "anyOf":
		list, _ := v.([]any)
		return !slices.ContainsFunc(list, func(v any) bool { return !s.all(v, false, depth) })
	case "enum":
		list, _ := v.([]any)
		s.values += len(list)
		return s.values <= subsetEnum
	case "format":
		return slices.Contains(subsetFormats, v)
	case "$schema":
		return root
	}
	return slices.Contains(subsetWords, keyword)
}

func (s *subset) named(v any, depth int) bool {
	object, ok := v.(map[string]any)
	for _, v := range object {
		ok = ok && s.all(v, false, depth)
	}
	return ok
}
