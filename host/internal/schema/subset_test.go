package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTheStrictSubset(t *testing.T) {
	const closed = `"required":["a"],"additionalProperties":false}`
	in := []string{
		`{"type":"object","properties":{},"additionalProperties":false}`,
		`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"description":"d"}},` + closed,
		`{"type":"object","properties":{"a":{"type":["integer","null"],"minimum":0}},` + closed,
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/b"},"maxItems":3}},"$defs":{"b":{"type":"string","format":"date"}},` + closed,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"null"}},` + closed + `]}},` + closed,
	}
	out := []string{
		``, `null`, `[]`, `{}`,
		`{"type":"object"}`, // allows other fields
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, // does not require it
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{"type":"string"}}`,
		`{"type":"object","properties":{"a":{"type":"object"}},` + closed,
		`{"type":"object","properties":{"a":{"properties":{"b":{"type":"string"}}}},` + closed,
		`{"type":"object","properties":{"a":{"type":["object","null"]}},` + closed,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},` + closed,
		`{"type":"object","properties":{"a":{"type":"string","format":"color"}},` + closed,
		`{"type":"object","properties":{"a":{"type":"string","maxLength":3}},` + closed,
		`{"type":"object","properties":{"a":true},` + closed,
		`{"type":"object","anyOf":[{"type":"object"}],"properties":{"a":{"type":"string"}},` + closed,
		`{"type":"object","properties":{"a":{"type":"strin"}},` + closed, // no schema at all
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 10) + `{"type":"string"}` + strings.Repeat("}", 10) + `},` + closed,
	}
	for _, raw := range in {
		if !InStrictSubset(json.RawMessage(raw)) {
			t.Errorf("is not in the subset: %s", raw)
		}
	}
	for _, raw := range out {
		if InStrictSubset(json.RawMessage(raw)) {
			t.Errorf("is in the subset: %s", raw)
		}
	}
}
