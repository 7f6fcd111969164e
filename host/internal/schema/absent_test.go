package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const search = `{
	"type": "object",
	"properties": {
		"q": {"type": "string"},
		"limit": {"type": "integer"},
		"order": {"enum": ["up", "down"]},
		"since": {"type": ["string", "null"]},
		"page": {"$ref": "#/$defs/page"},
		"filters": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "not": {"type": "boolean"}, "in": {"$ref": "#/$defs/page"}}, "required": ["name"]}},
		"pair": {"type": "array", "prefixItems": [{"$ref": "#/$defs/page"}], "items": {"type": "string"}},
		"tags": {"type": "object", "additionalProperties": {"type": "string"}},
		"any": {},
		"shape": {"oneOf": [
			{"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}, "fill": {"type": "string"}}, "required": ["kind", "r"], "additionalProperties": false},
			{"properties": {"kind": {"const": "box"}, "w": {"type": "number"}, "fill": {"type": "string"}}, "required": ["kind"], "additionalProperties": false}
		]},
		"tree": {"$ref": "#/$defs/tree"}
	},
	"required": ["q"],
	"additionalProperties": false,
	"$defs": {
		"page": {"anyOf": [{"type": "object", "properties": {"size": {"type": "integer"}, "of": {"$ref": "#/$defs/page"}}, "minProperties": 1}, {"type": "string"}]},
		"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}, "n": {"type": "integer"}}}
	}
}`

func TestANullForAFieldThatIsLeftOutIsTakenForThat(t *testing.T) {
	s := compiled(t, search)
	for args, want := range map[string]string{
		// As they came, to the byte, where there is nothing to take out.
		`{"q" : "a", "since":null}`:             `{"q" : "a", "since":null}`,
		`{"q":"a","any":null,"limit":1.0}`:      `{"q":"a","any":null,"limit":1.0}`,
		`{"q":"a","any":{"b":null,"c":[null]}}`: `{"q":"a","any":{"b":null,"c":[null]}}`,
		// Without what is left out.
		`{"q":"a","limit":null}`:                                          `{"q":"a"}`,
		`{"q":"<b>","order":null,"page":null,"since":null}`:               `{"q":"<b>","since":null}`,
		`{"q":"a","limit":null,"any":{"b":null}}`:                         `{"any":{"b":null},"q":"a"}`,
		`{"q":"a","limit":12345678901234567890,"order":null}`:             `{"limit":12345678901234567890,"q":"a"}`,
		`{"q":"a","page":{"size":1,"of":{"size":2,"of":null}}}`:           `{"page":{"of":{"size":2},"size":1},"q":"a"}`,
		`{"q":"a","filters":[{"name":"x","not":null},{"name":"y"}]}`:      `{"filters":[{"name":"x"},{"name":"y"}],"q":"a"}`,
		`{"q":"a","filters":[{"name":"x","in":{"size":1,"of":null}}]}`:    `{"filters":[{"in":{"size":1},"name":"x"}],"q":"a"}`,
		`{"q":"a","pair":[{"size":1,"of":null},"b"]}`:                     `{"pair":[{"size":1},"b"],"q":"a"}`,
		`{"q":"a","shape":{"kind":"circle","r":1,"fill":null}}`:           `{"q":"a","shape":{"kind":"circle","r":1}}`,
		`{"q":"a","tree":{"left":{"left":{"left":null,"n":1},"n":null}}}`: `{"q":"a","tree":{"left":{"left":{"n":1}}}}`,
		// A null that is no field left out.
		`{"q":null}`:                                      `! q: must be string, got null`,
		`{"q":null,"limit":null}`:                         `! q: must be string, got null`,
		`{"q":"a","other":null}`:                          `! other: is not a known field; the fields are "any", "filters", "limit", "order", "page", "pair", "q", "shape", "since", "tags" and 1 more`,
		`{"q":"a","filters":[null]}`:                      `! filters[0]: must be object, got null`,
		`{"q":"a","filters":[{"name":null}]}`:             `! filters[0].name: must be string, got null`,
		`{"q":"a","tags":{"x":null}}`:                     `! tags.x: must be string, got null`,
		`{"q":"a","page":{"size":null}}`:                  `! page: must have at least 1 fields, has 0`,
		`{"q":"a","shape":{"kind":"circle","r":null}}`:    `! shape: fits none of the 2 allowed forms`,
		`{"q":"a","shape":{"kind":"box","w":1,"r":null}}`: `! shape: fits none of the 2 allowed forms`,
		`{"q":"a","limit":"many","order":null}`:           `! limit: must be integer, got string`,
		`null`:                                            `! the arguments: must be a JSON object, got null`,
		`{`:                                               `! the arguments: not JSON that can be used: the JSON ends where a key in double quotes should be (at byte 1)`,
	} {
		fit, err := s.Fit([]byte(args))
		got := string(fit)
		if err != nil {
			if got = "! " + err.Error(); fit != nil {
				t.Errorf("%s: %s and an error", args, fit)
			}
			if v := (*Violation)(nil); !errors.As(err, &v) {
				t.Errorf("%s: %T", args, err)
			}
		} else if err := s.Check(fit); err != nil {
			t.Errorf("%s: the guest gets %s, which does not fit: %v", args, fit, err)
		}
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", args, got, want)
		}
	}
}

func TestNullsAreTakenOutInTimeAndDepth(t *testing.T) {
	s := compiled(t, search)
	deep := func(n int) string {
		return `{"q":"a","tree":` + nested(n, `{"n":null,"left":`, `{}`, `}`) + `}`
	}
	if fit, err := s.Fit([]byte(deep(60))); err != nil || strings.Contains(string(fit), "null") {
		t.Errorf("%s, %v", fit, err)
	}
	if _, err := s.Fit([]byte(deep(64))); err == nil || !strings.Contains(err.Error(), "inside each other") {
		t.Errorf("too deep: %v", err)
	}
	for _, c := range []struct{ name, schema, args string }{
		{"many nulls", search, `{"q":"a","filters":[` + repeated(45_000, `{"name":"x","not":null}`) + `]}`},
		{
			"recursion that doubles", `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"n": {"type": "string"}, "x": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}}}`,
			nested(60, `{"n":null,"x":`, `{}`, `}`),
		},
		{
			"many branches and many nulls", `{"properties": {"a": {"items": ` + strings.Replace(doubling(11, "anyOf"), `{"$ref": "#/$defs/d0", "$defs"`, `{"$ref": "#/$defs/d0"}}}, "$defs"`, 1),
			`{"a":[` + repeated(60_000, `{"b":null}`) + `]}`,
		},
		{
			"many patterns", `{"patternProperties": {` + repeatedKeys(900, `{"type": "object"}`) + `}}`,
			`{` + repeatedKeys(900, `{"n":null}`) + `,"x":null}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := compiled(t, c.schema)
			within(t, func() {
				fit, err := s.Fit([]byte(c.args))
				if err == nil {
					err = s.Check(fit)
					if err != nil {
						t.Errorf("what fits does not: %v", err)
					}
				}
				t.Logf("%d bytes, %.100v", len(fit), err)
			})
		})
	}
}

// FuzzFit: what the guest gets fits the schema as it stands, and is what the
// model wrote but for fields that were null.
func FuzzFit(f *testing.F) {
	for _, s := range []string{`{"q":"a","limit":null}`, `{"q":"a","filters":[{"name":"x","not":null}]}`, `{"q":"a","shape":{"kind":"box","fill":null}}`, `{"q":null}`} {
		f.Add(s)
	}
	s := compiled(f, search)
	f.Fuzz(func(t *testing.T, args string) {
		fit, err := s.Fit([]byte(args))
		if s.Check([]byte(args)) == nil && (err != nil || string(fit) != args) {
			t.Fatalf("%q fits and became %q, %v", args, fit, err)
		}
		if err != nil {
			return
		}
		if err := s.Check(fit); err != nil {
			t.Fatalf("%q became %q, which does not fit: %v", args, fit, err)
		}
		before, after := withoutNulls(t, []byte(args)), withoutNulls(t, fit)
		if before != after {
			t.Fatalf("%q became %q", args, fit)
		}
	})
}

// withoutNulls is the canonical form of a value without fields that are null.
func withoutNulls(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	v, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, field := range v {
				if field == nil {
					delete(v, name)
				}
				strip(field)
			}
		case []any:
			for _, item := range v {
				strip(item)
			}
		}
	}
	strip(v)
	return string(canonical(nil, v))
}
