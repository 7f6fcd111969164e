package schema

import (
	"encoding/json"
	"testing"
)

func TestAHiddenPropertyIsInNoPartOfTheSchema(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`, `{"properties":{"b":{}},"required":["b"],"type":"object"}`},
		{`{"properties":{"b":{"maximum":1e400}},"required":["a"]}`, `{"properties":{"b":{"maximum":1e400}}}`},
		{`{"properties": {"b":{}}}`, `{"properties": {"b":{}}}`},
		{`{}`, `{}`},
		{``, ``},
		{`true`, `true`},
	} {
		if got := Without(json.RawMessage(c.raw), []string{"a"}); string(got) != c.want {
			t.Errorf("%s: %s", c.raw, got)
		}
	}
}

func TestAnOpenSchemaDeclaresEveryProperty(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"properties":{"a":{}}}`: true, `{"properties":{"b":{}}}`: false, `{"properties":{}}`: false, `{"type":"object"}`: true, ``: true,
	} {
		if got := Declares(json.RawMessage(raw), "a"); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func TestAValueOfAnyTypeIsChecked(t *testing.T) {
	s, err := CompileValue(json.RawMessage(`{"type":"array","items":{"type":"string"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]bool{`["a"]`: true, `[]`: true, `[1]`: false, `"a"`: false, `{}`: false, `[`: false, ``: false} {
		if err := s.CheckValue(json.RawMessage(raw)); (err == nil) != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if err := s.CheckValue(json.RawMessage(`"a"`)); err == nil || err.Error() != "the value: must be array, got string" {
		t.Errorf("%v", err)
	}
}
