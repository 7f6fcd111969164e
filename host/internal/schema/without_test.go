package schema

import (
	"encoding/json"
	"reflect"
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

// What is read in one pass is what encoding/json reads.
func FuzzAValueIsReadAsTheStandardLibraryDoes(f *testing.F) {
	for _, raw := range []string{
		`{"a":[1,-2.50e3,"x\né😀",true,false,null,{}],"b":{"":[]}}`, `0`, `"\""`, `[[[]]]`, ` { "a" : 1 } `, `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, `1e999`, ``,
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := strictValue(raw, Limits{})
		if (err == nil) != (Strict(raw, Limits{}) == nil) {
			t.Fatalf("one pass says %v", err)
		}
		if err != nil {
			return
		}
		want, err := decode(raw)
		if err != nil {
			t.Fatalf("encoding/json refuses what is taken: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%#v, and encoding/json has %#v", got, want)
		}
	})
}
