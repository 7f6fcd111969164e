package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
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

// anySchema draws a schema of a few levels.
func anySchema(t *rapid.T, depth int) map[string]any {
	s := map[string]any{}
	child := func() map[string]any {
		if depth == 0 {
			return map[string]any{"type": "string"}
		}
		return anySchema(t, depth-1)
	}
	pick := func(words ...string) string { return rapid.SampledFrom(words).Draw(t, "word") }
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		switch pick("type", "types", "enum", "const", "items", "properties", "anyOf", "oneOf", "allOf", "minimum", "maxItems", "$ref", "not", "exclusiveMaximum") {
		case "type":
			s["type"] = pick("string", "number", "integer", "boolean", "array", "object", "null")
		case "types":
			s["type"] = []any{pick("string", "object"), "null", pick("integer", "array")}
		case "enum":
			s["enum"] = rapid.SampledFrom([][]any{{"a", "b"}, {"a", nil}, {1.0, "a"}}).Draw(t, "enum")
		case "const":
			s["const"] = rapid.SampledFrom([]any{"a", 1.0, nil}).Draw(t, "const")
		case "items":
			s["items"] = child()
		case "properties":
			s["properties"] = map[string]any{"a": child(), "b": child()}
			s["required"] = []any{pick("a", "c")}
			s["additionalProperties"] = rapid.Bool().Draw(t, "more")
		case "anyOf", "oneOf", "allOf":
			s[pick("anyOf", "oneOf", "allOf")] = []any{child(), child()}
		case "minimum":
			s["minimum"] = 1.0
		case "maxItems":
			s["maxItems"] = 1.0
		case "$ref":
			s["$ref"] = pick("#/$defs/x", "#/$defs/y")
		case "not":
			s["not"] = child()
		case "exclusiveMaximum":
			s["exclusiveMaximum"] = 2.0
		}
	}
	return s
}

func anyValue(t *rapid.T, depth int) any {
	n := rapid.IntRange(0, 7).Draw(t, "value")
	if depth == 0 {
		n %= 6
	}
	switch n {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return float64(rapid.IntRange(0, 2).Draw(t, "number"))
	case 4, 5:
		return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "text")
	case 6:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return anyValue(t, depth-1) }), 0, 2).Draw(t, "list")
	}
	object := map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, name) {
			object[name] = anyValue(t, depth-1)
		}
	}
	return object
}

// withNull writes nullable in the words of JSON Schema.
func withNull(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = withNull(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withNull(v[key])
		}
		if v["nullable"] == true {
			delete(v, "nullable")
			return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
		}
	}
	return v
}

func TestLawAPlainSchemaTakesWhatTheFullOneDoes(t *testing.T) {
	compile := func(t *rapid.T, doc any) *jsonschema.Schema {
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mem:s", doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("mem:s")
		if err != nil {
			t.Fatalf("%v: %v", doc, err)
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		full := anySchema(t, 3)
		full["type"] = "object"
		full["$defs"] = map[string]any{"x": anySchema(t, 1), "y": map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/x"}}}}
		if x, _ := full["$defs"].(map[string]any)["x"].(map[string]any); x["$ref"] == "#/$defs/x" {
			delete(x, "$ref") // means nothing
		}
		raw, err := json.Marshal(full)
		if err != nil {
			t.Fatal(err)
		}
		out, err := plainSchema(raw)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(out, &plain); err != nil {
			t.Fatal(err)
		}
		value, _ := anyValue(t, 3).(map[string]any)
		if value == nil {
			value = map[string]any{}
		}
		if compile(t, full).Validate(value) == nil {
			if err := compile(t, withNull(plain)).Validate(value); err != nil {
				t.Fatalf("%v\nfits   %s\nbut not %s\n%v", value, raw, out, err)
			}
		}
	})
}
