package openai

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPlainSchemaAllowsMoreAndNeverLess(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`: `{"properties":{},"type":"object"}`,
		`{"$schema":"x","type":"object","properties":{"a":{"type":["string","null"],"format":"date","default":"x","minLength":1}},"required":["a","gone"],"additionalProperties":false}`: `{"properties":{"a":{"nullable":true,"type":"string"}},"required":["a"],"type":"object"}`,
		`{"type":"object","properties":{"a":{"const":"x"},"b":{"enum":[1,2],"type":"integer"},"c":{"enum":["x",null]}}}`:                                                                 `{"properties":{"a":{"enum":["x"],"type":"string"},"b":{"type":"integer"},"c":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"number","minimum":1},"maxItems":3}}}`:                                                  `{"properties":{"a":{"items":{},"type":"array"},"b":{"items":{"minimum":1,"type":"number"},"maxItems":3,"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"oneOf":[{"type":"string"},{"type":"integer"}]},"c":true}}`:                               `{"properties":{"a":{"nullable":true,"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]},"c":{}},"type":"object"}`,
		`{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a":{"allOf":[{"minLength":1}]}}}`:                                                                                  `{"properties":{"a":{}},"type":"object"}`,
		`{"$ref":"#/$defs/node","$defs":{"node":{"properties":{"next":{"$ref":"#/$defs/node"},"x~/y":{"$ref":"#/$defs/a~1b"}}},"a/b":{"type":"boolean"}}}`:                               `{"properties":{"next":{},"x~/y":{"type":"boolean"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.com"},"b":{"$ref":"#/nowhere"},"c":{"$ref":"#"}}}`:                                                                  `{"properties":{"a":{},"b":{},"c":{"properties":{"a":{},"b":{},"c":{}},"type":"object"}},"type":"object"}`,
	} {
		got, err := plainSchema(json.RawMessage(schema))
		if err != nil || string(got) != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", schema, got, err, want)
		}
	}
	if _, err := plainSchema(json.RawMessage(`{`)); err == nil {
		t.Error("no error")
	}
}

func TestPlainSchemaIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 2000) + "{}" + strings.Repeat("}}", 2000)
	var wide strings.Builder
	wide.WriteString(`{"type":"object","$defs":{`)
	for i := range 30 { // each level has the next one ten times
		if i > 0 {
			wide.WriteByte(',')
		}
		wide.WriteString(`"` + strings.Repeat("x", i) + `":{"properties":{`)
		for j := range 10 {
			if j > 0 {
				wide.WriteByte(',')
			}
			wide.WriteString(`"p` + strings.Repeat("x", j) + `":{"$ref":"#/$defs/` + strings.Repeat("x", i+1) + `"}`)
		}
		wide.WriteString("}}")
	}
	wide.WriteString(`},"$ref":"#/$defs/x"}`)
	for _, schema := range []string{deep, wide.String()} {
		got, err := plainSchema(json.RawMessage(schema))
		if err != nil || len(got) > 200_000 || !json.Valid(got) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
}
