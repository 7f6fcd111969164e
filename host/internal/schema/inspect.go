package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// inspector walks a schema before the library sees it: it finds what must not
// be in it, and says what is wrong in the words of its author.
type inspector struct {
	subschemas int
	draft07    bool
}

func inspect(root map[string]any) error {
	i := &inspector{}
	if err := i.dialect(root["$schema"]); err != nil {
		return err
	}
	if id, ok := root["$id"]; ok {
		if _, ok := id.(string); !ok {
			return &Error{Pointer: "/$id", Problem: "$id must be a string"}
		}
	}
	if err := i.schema(root, ""); err != nil {
		return err
	}
	return nil
}

func (i *inspector) dialect(v any) error {
	name, ok := v.(string)
	if v == nil {
		return nil
	}
	_, name, _ = strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch name {
	case "json-schema.org/draft/2020-12/schema":
		return nil
	case "json-schema.org/draft-07/schema":
		i.draft07 = true
		return nil
	}
	if !ok {
		return &Error{Pointer: "/$schema", Problem: "$schema must be a string, found " + kindOf(v).String()}
	}
	return &Error{
		Pointer: "/$schema", Problem: "this version of JSON Schema is not supported: " + showValue(v),
		Hint: "leave $schema out for 2020-12, or use http://json-schema.org/draft-07/schema#",
	}
}

func (i *inspector) schema(v any, at string) *Error {
	if i.subschemas++; i.subschemas > maxSubschemas {
		return &Error{Pointer: at, Problem: fmt.Sprintf("more than %d schemas inside each other", maxSubschemas)}
	}
	object, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return nil
		}
		return &Error{Pointer: at, Problem: "a schema must be an object, found " + showKind(v), Hint: typeHint(v)}
	}
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		if at == "" && (keyword == "$schema" || keyword == "$id") {
			continue
		}
		if err := i.keyword(keyword, object[keyword], at+"/"+escape(keyword)); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspector) keyword(keyword string, v any, at string) *Error {
	shape := keywordShape(keyword)
	switch shape {
	case anything:
		return i.unknown(v, at)
	case aSchema:
		return i.schema(v, at)
	case schemas:
		return i.array(keyword, v, at)
	case tuple:
		if _, ok := v.([]any); !ok {
			return i.schema(v, at)
		}
		if !i.draft07 {
			return &Error{Pointer: at, Problem: "items must be one schema, found an array", Hint: "use prefixItems for a schema for each position"}
		}
		return i.array(keyword, v, at)
	case named, choices:
		return i.named(keyword, v, at)
	case refused:
		return &Error{Pointer: at, Problem: cut(keyword, maxShown) + " is not supported inside a tool's schema"}
	case local:
		return reference(keyword, v, at)
	case regex:
		return expression(v, at)
	case types:
		return typeNames(v, at)
	}
	if want := misshapen(shape, v); want != "" {
		return &Error{Pointer: at, Problem: fmt.Sprintf("%s must be %s, found %s", keyword, want, showKind(v)), Hint: shapeHint(shape, v)}
	}
	return nil
}

// unknown counts what is below a keyword that is not known here, since a
// reference can lead into it. Whether that is a schema the library finds out.
func (i *inspector) unknown(v any, at string) *Error {
	switch v := v.(type) {
	case map[string]any:
		if i.subschemas++; i.subschemas > maxSubschemas {
			return &Error{Pointer: at, Problem: fmt.Sprintf("more than %d objects under keywords that are not known", maxSubschemas)}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := i.unknown(v[name], at); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := i.unknown(item, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i *inspector) array(keyword string, v any, at string) *Error {
	items, ok := v.([]any)
	if !ok || (len(items) == 0 && keyword != "items") {
		return &Error{Pointer: at, Problem: keyword + " must be an array with at least one schema, found " + showKind(v)}
	}
	for n, item := range items {
		if err := i.schema(item, at+"/"+strconv.Itoa(n)); err != nil {
			return err
		}
	}
	return nil
}

func (i *inspector) named(keyword string, v any, at string) *Error {
	object, ok := v.(map[string]any)
	if !ok {
		return &Error{Pointer: at, Problem: keyword + " must be an object, found " + showKind(v)}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + "/" + escape(name)
		if keyword == "patternProperties" {
			if err := expression(name, below); err != nil {
				return err
			}
		}
		if keywordShape(keyword) == choices && misshapen(names, object[name]) == "" {
			continue
		}
		if err := i.schema(object[name], below); err != nil {
			return err
		}
	}
	return nil
}

func escape(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1")
}
