package sdk

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// argumentSchema returns the JSON Schema of arguments. Properties are in the
// order of the struct, so that the same code always gives the same bytes.
func (s *shape) argumentSchema() json.RawMessage {
	if s.kind == raw || s.kind == free {
		return json.RawMessage(`{"type":"object"}`)
	}
	return s.append(nil, tags{})
}

// resultSchema returns the JSON Schema of a result, or nil if it is not always
// an object and so has no structured content to describe.
func (s *shape) resultSchema() json.RawMessage {
	if s.kind != object || s.typ == resultType {
		return nil
	}
	return s.append(nil, tags{})
}

// append adds the schema of a value with these tags to b.
func (s *shape) append(b []byte, t tags) []byte {
	b = append(b, '{')
	start := len(b)
	b = s.appendType(b)
	b = member(b, start, "description", t.doc)
	target := s.target()
	switch target.kind {
	case list:
		b = target.elem.append(key(b, start, "items"), tags{enum: t.enum})
	case dict:
		b = target.elem.append(key(b, start, "additionalProperties"), tags{})
	case object:
		b = target.appendFields(b, start)
	default:
		b = appendEnum(b, start, target.kind, t.enum)
	}
	if names := boundNames(target.kind); names != nil {
		b = appendBound(b, start, names[0], lowest(target, t))
		b = appendBound(b, start, names[1], t.max)
	}
	if t.def != nil {
		b = append(key(b, start, "default"), t.def...)
	}
	return append(b, '}')
}

// typeName is the type in JSON Schema, or "" for any.
func (k kind) typeName() string {
	switch k {
	case boolean:
		return "boolean"
	case integer:
		return "integer"
	case number:
		return "number"
	case text, parsed, moment, span, blob:
		return "string"
	case list:
		return "array"
	case dict, object:
		return "object"
	default:
		return ""
	}
}

func (s *shape) appendType(b []byte) []byte {
	start := len(b)
	target := s.target()
	name := target.kind.typeName()
	switch {
	case name == "":
		return b
	case s.nullable:
		b = append(b, `"type":["`+name+`","null"]`...)
	default:
		b = append(b, `"type":"`+name+`"`...)
	}
	switch target.kind {
	case moment:
		b = member(b, start, "format", "date-time")
	case span:
		b = append(key(b, start, "examples"), `["1m30s"]`...)
	case blob:
		b = member(b, start, "contentEncoding", "base64")
	}
	return b
}

func (s *shape) appendFields(b []byte, start int) []byte {
	b = append(key(b, start, "properties"), '{')
	inner := len(b)
	var required []string
	for _, f := range s.fields {
		b = f.shape.append(key(b, inner, f.name), f.tags)
		if !f.optional {
			required = append(required, f.name)
		}
	}
	b = append(b, '}')
	if required != nil {
		b = append(key(b, start, "required"), '[')
		for i, name := range required {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, quote(name)...)
		}
		b = append(b, ']')
	}
	return append(key(b, start, "additionalProperties"), "false"...)
}

func appendEnum(b []byte, start int, k kind, enum []string) []byte {
	if enum == nil {
		return b
	}
	b = append(key(b, start, "enum"), '[')
	for i, e := range enum {
		if i > 0 {
			b = append(b, ',')
		}
		if k == text {
			e = quote(e)
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

// boundNames are the keywords that min and max stand for; nil if there are none.
func boundNames(k kind) []string {
	switch k {
	case integer, number:
		return []string{"minimum", "maximum"}
	case text:
		return []string{"minLength", "maxLength"}
	case list:
		return []string{"minItems", "maxItems"}
	default:
		return nil
	}
}

// lowest is what min says, or what the type does.
func lowest(s *shape, t tags) *float64 {
	if t.min == nil && s.kind == integer && reflect.Zero(s.typ).CanUint() {
		return new(0.0)
	}
	return t.min
}

func appendBound(b []byte, start int, name string, v *float64) []byte {
	if v == nil {
		return b
	}
	return strconv.AppendFloat(key(b, start, name), *v, 'f', -1, 64)
}

// key adds the name of a member to the object that began at start.
func key(b []byte, start int, name string) []byte {
	if len(b) > start {
		b = append(b, ',')
	}
	return append(append(b, quote(name)...), ':')
}

// member adds a member with a string, if it is not empty.
func member(b []byte, start int, name, value string) []byte {
	if value == "" {
		return b
	}
	return append(key(b, start, name), quote(value)...)
}

// quote is the JSON of a string.
func quote(s string) string {
	b, err := marshal(s)
	if err != nil { // a string always has JSON
		return `""`
	}
	return string(b)
}
