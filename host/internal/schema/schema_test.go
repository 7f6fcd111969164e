package schema

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const weather = `{
	"type": "object",
	"properties": {
		"city": {"type": "string", "minLength": 1},
		"unit": {"enum": ["celsius", "fahrenheit"]},
		"days": {"type": "integer", "minimum": 1, "maximum": 14},
		"filters": {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
		"when": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/range"}]},
		"zip": {"type": "string", "pattern": "^[0-9]{5}$"}
	},
	"required": ["city"],
	"additionalProperties": false,
	"$defs": {"range": {"type": "object", "properties": {"from": {"type": "string"}}, "required": ["from"]}}
}`

func compiled(t testing.TB, raw string) *Schema {
	t.Helper()
	s, err := Compile([]byte(raw))
	if err != nil {
		t.Fatalf("Compile(%.80s): %v", raw, err)
	}
	return s
}

func TestAViolationNamesTheFieldAndTheReason(t *testing.T) {
	s := compiled(t, weather)
	for args, want := range map[string]string{
		`{"city": "Oslo", "unit": "celsius", "days": 3.0, "filters": [{"name": "a"}], "when": null, "zip": "01234"}`: ``,
		`{"city": "Oslo", "when": {"from": "x"}}`: ``,
		`{}`:                                 `city: is required and missing`,
		`[]`:                                 `the arguments: must be a JSON object, got array`,
		`"x"`:                                `the arguments: must be a JSON object, got string`,
		``:                                   `the arguments: not JSON that can be used: there is no JSON (at byte 0)`,
		`{"city": 3}`:                        `city: must be string, got integer`,
		`{"city": ""}`:                       `city: must have at least 1 characters, has 0`,
		`{"city": "Oslo", "unit": "kelvin"}`: `unit: must be one of "celsius", "fahrenheit"`,
		`{"city": "Oslo", "days": 0}`:        `days: must be at least 1`,
		`{"city": "Oslo", "days": 1.5}`:      `days: must be integer, got number`,
		`{"city": "Oslo", "filters": [{"name": "a"}, {}]}`:       `filters[1].name: is required and missing`,
		`{"city": "Oslo", "filters": [{"name": 1}, 2]}`:          `filters[0].name: must be string, got integer; filters[1]: must be object, got integer`,
		`{"city": "Oslo", "citty": 1}`:                           `citty: is not a known field, did you mean "city"?`,
		`{"city": "Oslo", "colour": 1}`:                          `colour: is not a known field; the fields are "city", "days", "filters", "unit", "when", "zip"`,
		`{"city": "Oslo", "when": {"from": 3}}`:                  `when.from: must be string, got integer`,
		`{"city": "Oslo", "when": 3}`:                            `when: must be null or object, got integer`,
		`{"city": "Oslo", "zip": "1234"}`:                        `zip: must match the pattern "^[0-9]{5}$"`,
		`{"unit": 1, "days": "many"}`:                            `city: is required and missing; days: must be integer, got string; unit: must be one of "celsius", "fahrenheit"`,
		`{"city": "Oslo", "city": "Bergen"}`:                     `the arguments: not JSON that can be used: the key "city" is there twice (at byte 17)`,
		"{\"city\": \"Oslo\", \"\x1b[31m bad\": 1}":              `the arguments: not JSON that can be used: a control character in a string (at byte 18)`,
		`{"city": "Oslo", "\u001b[31m bad": 1}`:                  `["\x1b[31m bad"]: is not a known field; the fields are "city", "days", "filters", "unit", "when", "zip"`,
		`{"city": "Oslo", "` + strings.Repeat("k", 99) + `": 1}`: `["` + strings.Repeat("k", 64) + `…"]: is not a known field; the fields are "city", "days", "filters", "unit", "when", "zip"`,
	} {
		err, got := s.Check([]byte(args)), ""
		if err != nil {
			got = err.Error()
			if v := (*Violation)(nil); !errors.As(err, &v) {
				t.Errorf("%s: %T", args, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
	}
}

func TestNoSchemaAllowsEveryObject(t *testing.T) {
	for _, raw := range []string{"", "null", " \n", "{}", `{"type": "object"}`} {
		s := compiled(t, raw)
		if err := s.Check([]byte(`{"a": [1, {"b": null}]}`)); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
		if err := s.Check([]byte(`[1]`)); err == nil {
			t.Errorf("%q: an array is accepted", raw)
		}
	}
}

func TestABrokenSchemaIsRefusedWithPlaceAndHint(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                   `a tool's schema must be a JSON object, found array; write {"type": "object", "properties": {…}}`,
		`true`:                 `a tool's schema must be a JSON object, found boolean; write {"type": "object", "properties": {…}}`,
		`{`:                    `the schema cannot be read: the JSON ends where a key in double quotes should be (at byte 1)`,
		`{"type": "array"}`:    `at /type: the type of a tool's arguments must be "object", found "array"`,
		`{"type": ["object"]}`: `at /type: the type of a tool's arguments must be "object", found an array of 1`,
		`{"$schema": "http://json-schema.org/draft-04/schema#"}`: `at /$schema: this version of JSON Schema is not supported: "http://json-schema.org/draft-04/schema#"; leave $schema out for 2020-12, or use http://json-schema.org/draft-07/schema#`,
		`{"properties": []}`:                                                                     `at /properties: properties must be an object, found array`,
		`{"properties": {"a": {"type": "strng"}}}`:                                               `at /properties/a/type: there is no type "strng"; did you mean "string"?`,
		`{"properties": {"a": {"type": "int"}}}`:                                                 `at /properties/a/type: there is no type "int"; did you mean "integer"?`,
		`{"properties": {"a": {"type": "any"}}}`:                                                 `at /properties/a/type: there is no type "any"; use one of array, boolean, integer, null, number, object, string`,
		`{"properties": {"a": {"type": ["string", "string"]}}}`:                                  `at /properties/a/type/1: the type "string" is there twice`,
		`{"properties": {"a": "string"}}`:                                                        `at /properties/a: a schema must be an object, found "string"; write {"type": "string"}`,
		`{"properties": {"a": {"type": "string", "required": true}}}`:                            `at /properties/a/required: required must be an array of different strings, found true; required is a list of names, next to properties`,
		`{"properties": {"a/b": {"minLength": -1}}}`:                                             `at /properties/a~1b/minLength: minLength must be a whole number from 0 to 2147483647, found -1`,
		`{"properties": {"a": {"minimum": "1"}}}`:                                                `at /properties/a/minimum: minimum must be a number, found "1"`,
		`{"properties": {"a": {"exclusiveMinimum": true}}}`:                                      `at /properties/a/exclusiveMinimum: exclusiveMinimum must be a number, found true; since draft 06 this is the limit itself`,
		`{"properties": {"a": {"multipleOf": 0}}}`:                                               `at /properties/a/multipleOf: multipleOf must be a number above 0, found 0`,
		`{"properties": {"a": {"pattern": "(?=x)"}}}`:                                            `at /properties/a/pattern: invalid or unsupported Perl syntax "(?=": look-around is not supported, nor are back references; regular expressions are those of RE2`,
		`{"properties": {"a": {"pattern": "((a{100}){100}){10}"}}}`:                              `at /properties/a/pattern: invalid repeat count "{100}"; regular expressions are those of RE2`,
		`{"properties": {"a": {"pattern": "(a{100}){9}(b{1000}){1}(cccccccccc){500}"}}}`:         `at /properties/a/pattern: a regular expression that repeats too much; regular expressions are those of RE2`,
		`{"patternProperties": {"[": {}}}`:                                                       `at /patternProperties/[: missing closing ] "["; regular expressions are those of RE2`,
		`{"properties": {"a": {"$ref": "https://example.com/x.json"}}}`:                          `at /properties/a/$ref: $ref must stay in this schema, found "https://example.com/x.json"; put what it names under $defs and refer to "#/$defs/NAME"`,
		`{"properties": {"a": {"$ref": "file:///etc/passwd"}}}`:                                  `at /properties/a/$ref: $ref must stay in this schema, found "file:///etc/passwd"; put what it names under $defs and refer to "#/$defs/NAME"`,
		`{"properties": {"a": {"$dynamicRef": "other#x"}}}`:                                      `at /properties/a/$dynamicRef: $dynamicRef must stay in this schema, found "other#x"; put what it names under $defs and refer to "#/$defs/NAME"`,
		`{"properties": {"a": {"$id": "http://x/", "$ref": "#/a"}}}`:                             `at /properties/a/$id: $id is not supported inside a tool's schema`,
		`{"properties": {"a": {"$ref": "#/$defs/b"}}}`:                                           `a $ref leads nowhere: "#/$defs/b"; the place it names is not in the schema`,
		`{"properties": {"a": {"$ref": "#b"}}}`:                                                  `a $ref names an $anchor that is not there: "b"`,
		`{"properties": {"a": {"items": [{"type": "string"}]}}}`:                                 `at /properties/a/items: items must be one schema, found an array; use prefixItems for a schema for each position`,
		`{"properties": {"a": {"anyOf": []}}}`:                                                   `at /properties/a/anyOf: anyOf must be an array with at least one schema, found array`,
		`{"properties": {"a": {"enum": "x"}}}`:                                                   `at /properties/a/enum: enum must be an array, found "x"`,
		`{"$ref": "#"}`:                                                                          `the schema refers to itself without going into the value`,
		`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}`: `at /$defs/a: the schema refers to itself without going into the value`,
		`{"dependentRequired": {"a": {}}}`:                                                       `at /dependentRequired/a: must be array, found object`,
		`{"x": {"$ref": "http://x/"}, "$ref": "#/x"}`:                                            `the schema refers to something outside itself; put what it names under $defs`,
		`{"properties": {"a": {"default": 1e999}}}`:                                              `the schema cannot be read: a number is too long, too large or too small (at byte 33)`,
	} {
		_, err := Compile([]byte(raw))
		if err == nil {
			t.Errorf("%s is accepted", raw)
			continue
		}
		if fault := (*Error)(nil); !errors.As(err, &fault) {
			t.Errorf("%s: %T", raw, err)
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

// The library keeps maps, whose order is another in every run.
func TestTheSameSchemaIsRefusedAtTheSamePlace(t *testing.T) {
	raw := []byte(`{"$defs": {
		"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"oneOf": [{"$ref": "#/$defs/c"}]}, "c": {"not": {"$ref": "#/$defs/a"}}
	}, "properties": {"x": {"$ref": "#/$defs/c"}, "y": {"$ref": "#/$defs/b"}, "z": {"$ref": "#/$defs/a"}}}`)
	_, first := Compile(raw)
	if first == nil {
		t.Fatal("a schema without an end is accepted")
	}
	for range 200 {
		if _, err := Compile(raw); err == nil || err.Error() != first.Error() {
			t.Fatalf("got %v, and before %v", err, first)
		}
	}
}

func TestSchemasOfOtherToolkitsAreAccepted(t *testing.T) {
	for name, raw := range map[string]string{
		"pydantic":                    `{"$defs":{"Unit":{"enum":["c","f"],"title":"Unit","type":"string"}},"properties":{"unit":{"$ref":"#/$defs/Unit","default":"c"},"tags":{"anyOf":[{"items":{"type":"string"},"type":"array"},{"type":"null"}],"default":null,"title":"Tags"}},"title":"Args","type":"object"}`,
		"zod":                         `{"type":"object","properties":{"path":{"type":"string","description":"A path"}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		"schemars":                    `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.com/args.json","title":"Args","type":"object","properties":{"n":{"type":"integer","format":"uint32","minimum":0}},"definitions":{"x":{"type":"string"}}}`,
		"definitions without a draft": `{"type":"object","properties":{"n":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}`,
		"a root that is a reference":  `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"next":{"$ref":"#/$defs/A"}}}}}`,
		"unknown keywords":            `{"type":"object","x-order":[{"type":"weird"}],"discriminator":{"propertyName":"kind"},"properties":{"a":{"type":"string","nullable":true,"format":"uri"}}}`,
	} {
		s, err := Compile([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Check([]byte(`{"path": "x"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManyGoroutinesCheckWithOneSchema(t *testing.T) {
	s := compiled(t, weather)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if s.Check([]byte(`{"city": "Oslo", "when": {"from": "x"}}`)) != nil || s.Check([]byte(`{"when": 3}`)) == nil {
					t.Error("wrong answer under concurrency")
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkCheck is what the loop pays for each tool call.
func BenchmarkCheck(b *testing.B) {
	s := compiled(b, weather)
	args := []byte(`{"city": "Oslo", "unit": "celsius", "days": 3, "filters": [{"name": "a"}], "when": {"from": "x"}, "zip": "01234"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Check(args); err != nil {
			b.Fatal(err)
		}
	}
}
