package planner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// input is what the model wrote for a tool.
type input struct {
	text   string          // all of it
	object json.RawMessage // the object that it begins with, or nil
	rest   string          // what follows the object
	fault  error           // why there is no object
}

// wants is what a tool takes.
type wants uint8

const (
	wantsObject  wants = iota // an object with members of which none is plain enough
	wantsText                 // an object with one member that matters, a string
	wantsValue                // the same, with something else than a string
	wantsNothing              // an object without members
	wantsString               // a string that is in no object
)

// shape is how a tool's input is written.
type shape struct {
	wants
	field  string   // of wantsText and wantsValue
	fields []string // all of them, sorted
}

// property is the part of a schema that tells text from other values.
type property struct {
	Type  json.RawMessage `json:"type"`
	AnyOf []property      `json:"anyOf"`
	OneOf []property      `json:"oneOf"`
	Enum  []any           `json:"enum"`
}

// shapeOf reads the schema of a tool. One that it cannot make out wants an
// object.
func shapeOf(def *model.Definition) shape {
	if len(def.Parameters) == 0 || string(def.Parameters) == "null" {
		return shape{wants: wantsNothing}
	}
	var s struct {
		Type       json.RawMessage            `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
		Patterns   json.RawMessage            `json:"patternProperties"`
		Ref        string                     `json:"$ref"`
		AllOf      json.RawMessage            `json:"allOf"`
		AnyOf      json.RawMessage            `json:"anyOf"`
		OneOf      json.RawMessage            `json:"oneOf"`
	}
	if err := json.Unmarshal(def.Parameters, &s); err != nil {
		return shape{}
	}
	if string(s.Type) == `"string"` {
		return shape{wants: wantsString}
	}
	out := shape{}
	for name := range s.Properties {
		out.fields = append(out.fields, name)
	}
	slices.Sort(out.fields)
	open := s.Ref != "" || s.AllOf != nil || s.AnyOf != nil || s.OneOf != nil || s.Patterns != nil
	switch {
	case open:
		return out
	case len(out.fields) == 0:
		if len(s.Additional) == 0 || string(s.Additional) == "false" {
			out.wants = wantsNothing
		}
		return out
	case len(s.Required) == 1:
		out.field = s.Required[0]
	case len(s.Required) == 0 && len(out.fields) == 1:
		out.field = out.fields[0]
	default:
		return out
	}
	var p property
	raw, declared := s.Properties[out.field]
	if !declared || json.Unmarshal(raw, &p) != nil {
		return shape{fields: out.fields}
	}
	out.wants = wantsValue
	if p.takesText(0) {
		out.wants = wantsText
	}
	return out
}

// takesText says that a member can be a string.
func (p *property) takesText(depth int) bool {
	if bytes.Contains(p.Type, []byte(`"string"`)) {
		return true
	}
	for _, e := range p.Enum {
		if _, ok := e.(string); ok && len(p.Type) == 0 {
			return true
		}
	}
	takes := func(q property) bool { return depth < 8 && q.takesText(depth+1) }
	return slices.ContainsFunc(p.AnyOf, takes) || slices.ContainsFunc(p.OneOf, takes)
}

// arguments makes the tool's input of what the model wrote. The tool is nil when
// there is none of that name. What is wrong is told in words for the model.
func arguments(def *model.Definition, in input) (args json.RawMessage, problem string) {
	whole := in.object != nil && isBlank(in.rest)
	if def == nil {
		if whole {
			return in.object, ""
		}
		return quote(in.text), ""
	}
	s := shapeOf(def)
	if s.holds(in.object) && !more(in.rest) {
		return in.object, "" // words behind an object are no part of it
	}
	switch s.wants {
	case wantsString:
		return quote(in.text), ""
	case wantsText:
		return wrap(s.field, quote(in.text)), ""
	case wantsValue:
		if v := strings.TrimSpace(in.text); json.Valid([]byte(v)) && !strings.HasPrefix(v, "{") && !TooDeep([]byte(v)) {
			return wrap(s.field, json.RawMessage(v)), ""
		}
	}
	if saysNothing(in.text) {
		return json.RawMessage("{}"), ""
	}
	return nil, s.refuse(def.Name, in)
}

// holds says that an object is meant for the tool's members. Where the tool
// takes a text, an object of other members is that text.
func (s *shape) holds(object json.RawMessage) bool {
	if object == nil || s.wants == wantsString {
		return false
	}
	if s.wants != wantsText {
		return true
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return false
	}
	for name := range m {
		if !slices.Contains(s.fields, name) {
			return false
		}
	}
	return true
}

// more says that what follows an object is not words: a second value, whose
// meaning nobody knows.
func more(rest string) bool {
	rest = strings.TrimLeftFunc(rest, isSpace)
	return rest != "" && strings.IndexByte("{[,", rest[0]) >= 0
}

// saysNothing says that a text stands for no input.
func saysNothing(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "null", "none", "n/a":
		return true
	}
	return false
}

func wrap(field string, value json.RawMessage) json.RawMessage {
	return encode(map[string]json.RawMessage{field: value})
}

// maxFields bounds the members that an error names.
const maxFields = 20

func (s *shape) refuse(tool string, in input) string {
	if s.wants == wantsNothing {
		return fmt.Sprintf("The tool %s takes no input; the input must be {}.", shown(tool))
	}
	said := fmt.Sprintf("The input of the tool %s must be one JSON object", shown(tool))
	var names []string
	for i, f := range s.fields {
		if i == maxFields {
			names = append(names, fmt.Sprintf("and %d more", len(s.fields)-i))
			break
		}
		names = append(names, shown(f))
	}
	if len(names) > 0 {
		said += " with these fields: " + strings.Join(names, ", ")
	}
	switch {
	case in.object != nil:
		return said + ". There is more than one value in it."
	case in.fault != nil:
		return said + ". What was written is not: " + in.fault.Error() + "."
	}
	return said + "."
}
