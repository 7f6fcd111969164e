// Package schema checks tool arguments against the JSON Schema of the tool.
//
// It must survive two authors: the schema comes with a module that nobody
// trusts, and the arguments come from a model. A schema names no file and no
// address, is small, and is refused when checking one value can take more work
// than a bound; a check has a budget, and what it says is short and shows
// little of either text.
//
// The library santhosh-tekuri/jsonschema reads and resolves the schema. Checking
// is done here, over what it compiled, since its validator bounds neither work
// nor errors and does arithmetic on numbers of any size.
//
//	s, err := schema.Compile(definition.Parameters)
//	if err := s.Check(call.Arguments); err != nil { /* tell the model */ }
//
// Drafts 2020-12 and 07 are known; "format" and "content…" say something to the
// reader and are not checked.
package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
)

// MaxBytes is the size that a schema may have.
const MaxBytes = 64 << 10

const (
	maxSchemaDepth  = 64
	maxSchemaValues = 20_000
	maxSubschemas   = 1000
)

// Schema is a compiled schema of an object. It is never written after
// [Compile], so any number of goroutines may check with it at once.
type Schema struct {
	root   *node
	tracks bool // some part looks at what other parts have left over
}

// Compile reads the schema of a tool's arguments. No schema, and null, allow
// every object. The error is an [*Error]; it says what is wrong and where, but
// not whose schema it is.
func Compile(raw json.RawMessage) (*Schema, error) { return compileText(raw, true) }

// CompileValue is [Compile] for a value of any type, which [Schema.CheckValue] checks.
func CompileValue(raw json.RawMessage) (*Schema, error) { return compileText(raw, false) }

func compileText(raw json.RawMessage, arguments bool) (*Schema, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return &Schema{root: &node{}}, nil
	}
	if err := Strict(raw, Limits{MaxBytes, maxSchemaDepth, maxSchemaValues}); err != nil {
		return nil, &Error{Problem: "the schema cannot be read: " + err.Error()}
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, &Error{Problem: "the schema cannot be read"}
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return nil, &Error{Problem: "a tool's schema must be a JSON object, found " + kindOf(doc).String(), Hint: `write {"type": "object", "properties": {…}}`}
	}
	if err := inspect(object); err != nil {
		return nil, err
	}
	if t, ok := object["type"]; arguments && ok && t != "object" {
		return nil, &Error{Pointer: "/type", Problem: `the type of a tool's arguments must be "object", found ` + showValue(t)}
	}
	delete(object, "$id") // nothing is loaded by name, so it has none
	return compile(object)
}

func decode(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// Check reports whether args fit the schema as they stand. The error is a
// [*Violation] in words for the model. It returns in well under a second whatever
// the schema and the arguments are.
func (s *Schema) Check(args json.RawMessage) error {
	v, err := read(args)
	if err != nil {
		return err
	}
	c := checker{tracks: s.tracks, budget: maxWork}
	return c.check(s.root, v)
}

// CheckValue is [Schema.Check] for a value of any type.
func (s *Schema) CheckValue(value json.RawMessage) error {
	v, err := readValue(value)
	if err == nil {
		c := checker{tracks: s.tracks, budget: maxWork}
		err = c.check(s.root, v)
	}
	if violation, ok := errors.AsType[*Violation](err); ok {
		for i := range violation.Problems {
			violation.Problems[i].Field = cmp.Or(violation.Problems[i].Field, "the value")
		}
	}
	return err
}

// read decodes arguments that are an object.
func read(args json.RawMessage) (any, error) {
	v, err := readValue(args)
	if err != nil {
		return nil, err
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, &Violation{Problems: []Problem{{Why: "must be a JSON object, got " + kindOf(v).String()}}}
	}
	return v, nil
}

func readValue(args json.RawMessage) (any, error) {
	v, err := strictValue(args, Limits{})
	if err != nil {
		return nil, &Violation{Problems: []Problem{{Why: "not JSON that can be used: " + err.Error()}}}
	}
	return v, nil
}
