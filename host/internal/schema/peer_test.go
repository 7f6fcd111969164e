package schema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// peer is what the library's own validator says, which passes the official
// suite: checking here must give the same answer.
func peer(t *testing.T, schema, args string) bool {
	t.Helper()
	doc, err := decode([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	delete(doc.(map[string]any), "$id")
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	c.RegisterFormat(&jsonschema.Format{Name: "email", Validate: func(any) error { return nil }})
	if err := c.AddResource(location, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(location)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	v, err := decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v) == nil
}

// values go into the field a of the arguments.
var peerValues = []string{
	`null`, `true`, `0`, `1`, `1.0`, `-0`, `1e2`, `2.5`, `100`, `-3`, `12345678901234567890`, `""`, `"a"`, `"ab"`, `"abc1"`, `"ä€"`,
	`[]`, `[1]`, `[1,1.0]`, `[1,"1"]`, `["a","b","c"]`, `[[],[]]`, `[{"x":1,"y":2},{"y":2,"x":1}]`, `[1,2,3,"x"]`, `[null,null]`,
	`{}`, `{"x":1}`, `{"x":"s"}`, `{"x":1,"y":2}`, `{"y":{"x":1}}`, `{"xx":1,"z":true}`, `{"x":{"x":{"x":1}}}`, `{"kind":"a","n":1}`, `{"kind":"b","n":1}`,
}

var peerSchemas = []string{
	`{}`, `true`, `false`, `{"type":"integer"}`, `{"type":["null","number"]}`, `{"const":1}`, `{"const":{"x":1}}`, `{"enum":[1,"a",[],{"x":1,"y":2},100]}`,
	`{"minimum":1,"exclusiveMaximum":100}`, `{"exclusiveMinimum":0,"maximum":2.5}`, `{"multipleOf":0.5}`, `{"multipleOf":3}`,
	`{"minLength":1,"maxLength":2}`, `{"pattern":"^[a-c]+[0-9]$"}`, `{"format":"email"}`,
	`{"minItems":1,"maxItems":2}`, `{"uniqueItems":true}`, `{"items":{"type":"integer"}}`, `{"prefixItems":[{"type":"integer"},{"type":"integer"}]}`,
	`{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}`, `{"prefixItems":[true],"items":false}`,
	`{"contains":{"type":"string"}}`, `{"contains":{"type":"integer"},"minContains":2,"maxContains":2}`, `{"contains":{"const":9},"minContains":0}`,
	`{"required":["x"]}`, `{"minProperties":1,"maxProperties":1}`, `{"properties":{"x":{"type":"integer"}}}`, `{"properties":{"x":true},"additionalProperties":false}`,
	`{"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"boolean"}}`, `{"propertyNames":{"maxLength":1}}`,
	`{"dependentRequired":{"x":["y"]}}`, `{"dependentSchemas":{"x":{"required":["y"]}}}`, `{"dependencies":{"x":["y"],"z":{"required":["w"]}}}`,
	`{"allOf":[{"type":"object"},{"required":["x"]}]}`, `{"anyOf":[{"type":"string"},{"minimum":2}]}`, `{"oneOf":[{"type":"number"},{"minimum":2}]}`,
	`{"not":{"type":"object"}}`, `{"not":{}}`, `{"if":{"type":"object"},"then":{"required":["x"]},"else":{"type":"array"}}`, `{"if":{"required":["x"]},"else":{"maxProperties":0}}`,
	`{"$ref":"#/$defs/tree"}`, `{"$ref":"#/$defs/tree","maxProperties":1}`, `{"$ref":"#named"}`, `{"$dynamicRef":"#dyn"}`,
	`{"unevaluatedProperties":false}`, `{"properties":{"x":true},"unevaluatedProperties":false}`, `{"allOf":[{"properties":{"x":true}}],"unevaluatedProperties":{"type":"boolean"}}`,
	`{"anyOf":[{"properties":{"x":{"type":"integer"}}},{"properties":{"y":true}}],"unevaluatedProperties":false}`,
	`{"oneOf":[{"properties":{"kind":{"const":"a"},"n":true},"required":["kind"]},{"properties":{"kind":{"const":"b"}},"required":["kind"]}],"unevaluatedProperties":false}`,
	`{"if":{"properties":{"x":{"type":"integer"}},"required":["x"]},"then":{"properties":{"y":true}},"unevaluatedProperties":false}`,
	`{"not":{"not":{"properties":{"x":true}}},"unevaluatedProperties":false}`, `{"$ref":"#/$defs/tree","unevaluatedProperties":false}`,
	`{"dependentSchemas":{"x":{"properties":{"y":true}}},"properties":{"x":true},"unevaluatedProperties":false}`,
	`{"properties":{"x":{"properties":{"x":true},"unevaluatedProperties":false}},"unevaluatedProperties":false}`,
	`{"allOf":[{"unevaluatedProperties":true}],"unevaluatedProperties":false}`, `{"patternProperties":{"^x":true},"unevaluatedProperties":false}`,
	`{"prefixItems":[true],"unevaluatedItems":false}`, `{"items":{"type":"integer"},"unevaluatedItems":false}`, `{"contains":{"type":"string"},"unevaluatedItems":{"type":"integer"}}`,
	`{"allOf":[{"prefixItems":[true,true]}],"unevaluatedItems":false}`, `{"anyOf":[{"prefixItems":[{"type":"string"}]},{"prefixItems":[true,{"type":"integer"}]}],"unevaluatedItems":false}`,
	`{"allOf":[{"unevaluatedItems":true}],"unevaluatedItems":false}`, `{"contains":{"type":"string"},"minContains":0,"unevaluatedItems":false}`,
}

const peerDefs = `"$defs":{"tree":{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"integer"}]}}},"n":{"$anchor":"named","type":"number"},"d":{"$dynamicAnchor":"dyn","type":"string"}}`

func TestAnswersAreThoseOfTheLibrary(t *testing.T) {
	for _, field := range peerSchemas {
		compare(t, `{"properties":{"a":`+field+`},`+peerDefs+`}`)
	}
	for _, field := range []string{
		`{"items":[{"type":"integer"},{"type":"integer"}]}`, `{"items":[true],"additionalItems":false}`, `{"items":[true],"additionalItems":{"type":"string"}}`,
		`{"items":{"type":"integer"},"additionalItems":false}`, `{"$ref":"#/definitions/n","maximum":1}`, `{"contains":{"type":"integer"},"minContains":5}`,
		`{"if":{"type":"number"},"then":{"minimum":1}}`, `{"dependencies":{"x":["y"],"z":{"required":["w"]}}}`, `{"dependentRequired":{"x":["y"]}}`, `{"prefixItems":[false]}`,
	} {
		compare(t, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":`+field+`},"definitions":{"n":{"type":"number"}}}`)
	}
}

func compare(t *testing.T, schema string) {
	t.Helper()
	s := compiled(t, schema)
	for _, v := range peerValues {
		args := `{"a":` + v + `}`
		err := s.Check([]byte(args))
		if want := peer(t, schema, args); want != (err == nil) {
			t.Errorf("%s on %s: library %v, here %v", schema, args, want, err)
		}
	}
}

// FuzzCheck gives the same bytes to reading a schema and to checking with it:
// neither panics, and what they say is one short line.
func FuzzCheck(f *testing.F) {
	for _, field := range peerSchemas {
		for _, v := range []string{`[1,"1"]`, `{"x":1,"y":2}`} {
			f.Add([]byte(`{"properties":{"a":`+field+`},`+peerDefs+`}`), []byte(`{"a":`+v+`}`))
		}
	}
	f.Add([]byte(weather), []byte(`{"city":"Oslo","filters":[{"name":1}]}`))
	f.Add([]byte(doubling(30, "allOf")), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		before := bytes.Clone(schema)
		s, err := Compile(schema)
		if !bytes.Equal(before, schema) {
			t.Fatal("the schema was written to")
		}
		if err != nil {
			if said := err.Error(); len(said) > 1024 || strings.ContainsAny(said, "\n\x1b") {
				t.Fatalf("%q", said)
			}
			return
		}
		err = s.Check(args)
		if err == nil && !json.Valid(args) {
			t.Fatal("arguments fit that are not JSON")
		}
		if err != nil {
			if said := err.Error(); len(said) > 8192 || strings.ContainsAny(said, "\n\x1b") {
				t.Fatalf("%q", said)
			}
		}
	})
}
