package sdk

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

//lint:file-ignore SA5008 some tags here are wrong on purpose

type place struct {
	City string `json:"city" doc:"where"`
	Zip  string `json:"zip,omitempty"`
}

type paging struct {
	Limit int `json:"limit" min:"1" max:"100" default:"20"`
	Page  int `json:"page"`
}

type color string

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children"`
}

// upper reads itself from text, through a pointer as most types do.
type upper struct{ s string }

func (u *upper) UnmarshalText(b []byte) error { u.s = strings.ToUpper(string(b)); return nil }
func (u *upper) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// anyJSON reads and writes itself.
type anyJSON struct{ raw string }

func (a *anyJSON) UnmarshalJSON(b []byte) error { a.raw = string(b); return nil }
func (a anyJSON) MarshalJSON() ([]byte, error)  { return []byte(a.raw), nil }

// schemaOf returns the schemas of T as arguments and as a result.
func schemaOf[T any](t *testing.T) (in, out string) {
	t.Helper()
	a, err := argumentShape(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	r, err := resultShape(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return string(a.argumentSchema()), string(r.resultSchema())
}

// fieldSchema returns the schema of a field of type T, as an argument.
func fieldSchema[T any](t *testing.T) string {
	t.Helper()
	in, _ := schemaOf[struct {
		X T `json:"x,omitempty"`
	}](t)
	in = strings.TrimPrefix(in, `{"type":"object","properties":{"x":`)
	return strings.TrimSuffix(in, `},"additionalProperties":false}`)
}

func TestTypesBecomeSchemas(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"bool":        {fieldSchema[bool](t), `{"type":"boolean"}`},
		"int":         {fieldSchema[int](t), `{"type":"integer"}`},
		"uint8":       {fieldSchema[uint8](t), `{"type":"integer","minimum":0}`},
		"float32":     {fieldSchema[float32](t), `{"type":"number"}`},
		"json.Number": {fieldSchema[json.Number](t), `{"type":"number"}`},
		"string":      {fieldSchema[string](t), `{"type":"string"}`},
		"named":       {fieldSchema[color](t), `{"type":"string"}`},
		"bytes":       {fieldSchema[[]byte](t), `{"type":"string","contentEncoding":"base64"}`},
		"time":        {fieldSchema[time.Time](t), `{"type":"string","format":"date-time"}`},
		"duration":    {fieldSchema[time.Duration](t), `{"type":"string","examples":["1m30s"]}`},
		"raw":         {fieldSchema[json.RawMessage](t), `{}`},
		"any":         {fieldSchema[any](t), `{}`},
		"own text":    {fieldSchema[netip.Addr](t), `{"type":"string"}`},
		"own JSON":    {fieldSchema[anyJSON](t), `{}`},
		"pointer":     {fieldSchema[**int](t), `{"type":"integer"}`},
		"slice":       {fieldSchema[[][]string](t), `{"type":"array","items":{"type":"array","items":{"type":"string"}}}`},
		"map":         {fieldSchema[map[color][]int](t), `{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}`},
		"struct": {
			fieldSchema[[]place](t),
			`{"type":"array","items":{"type":"object","properties":{"city":{"type":"string","description":"where"},"zip":{"type":"string"}},"required":["city"],"additionalProperties":false}}`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTagsBecomeSchemas(t *testing.T) {
	in, _ := schemaOf[struct {
		Order  string        `json:"order" doc:"which \"end\" <first>" enum:"asc, desc" default:"asc"`
		Level  int8          `json:"level" enum:"+1,02,3"`
		Tags   []*color      `json:"tags,omitempty" enum:"red,blue" min:"1" max:"2"`
		Name   *string       `json:"name" min:"2" max:"8"`
		Ratio  float64       `json:"ratio" min:"0.5" max:"1e3"`
		Wait   time.Duration `json:"wait" default:"1m"`
		Where  place         `json:"where" default:"{\"city\":\"Oslo\"}"`
		Dash   bool          `json:"-,"`
		Untold int           `doc:"named as in Go"`
		Hidden func()        `json:"-"`
		hidden chan int
	}](t)
	want := `{"type":"object","properties":{` +
		`"order":{"type":"string","description":"which \"end\" <first>","enum":["asc","desc"],"default":"asc"},` +
		`"level":{"type":"integer","enum":[1,2,3]},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["red","blue"]},"minItems":1,"maxItems":2},` +
		`"name":{"type":"string","minLength":2,"maxLength":8},` +
		`"ratio":{"type":"number","minimum":0.5,"maximum":1000},` +
		`"wait":{"type":"string","examples":["1m30s"],"default":"1m"},` +
		`"where":{"type":"object","properties":{"city":{"type":"string","description":"where"},"zip":{"type":"string"}},"required":["city"],"additionalProperties":false,"default":{"city":"Oslo"}},` +
		`"-":{"type":"boolean"},` +
		`"Untold":{"type":"integer","description":"named as in Go"}},` +
		`"required":["level","ratio","-","Untold"],"additionalProperties":false}`
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
}

func TestEmbeddedFieldsBelongToTheOuterStruct(t *testing.T) {
	type inner struct {
		paging
		Page string `json:"page"`
	}
	in, _ := schemaOf[struct {
		Query string `json:"query"`
		inner
		Named place
	}](t)
	want := `{"type":"object","properties":{"query":{"type":"string"},` +
		`"Named":{"type":"object","properties":{"city":{"type":"string","description":"where"},"zip":{"type":"string"}},"required":["city"],"additionalProperties":false},` +
		`"page":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100,"default":20}},` +
		`"required":["query","Named","page"],"additionalProperties":false}`
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
}

func TestResultSchemasAllowWhatGoWrites(t *testing.T) {
	type result struct {
		Rows   []int          `json:"rows"`
		Sum    *float64       `json:"sum"`
		Note   *string        `json:"note,omitempty"`
		Counts map[int]uint   `json:"counts"`
		Data   []byte         `json:"data"`
		Wait   time.Duration  `json:"wait"`
		At     time.Time      `json:"at"`
		Point  [2]float64     `json:"point"`
		Addr   netip.Addr     `json:"addr"`
		Upper  upper          `json:"upper"`
		Err    error          `json:"err"`
		Tree   tree           `json:"tree"`
		Extra  map[string]any `json:"extra"`
	}
	r, err := resultShape(reflect.TypeFor[result]())
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"rows":{"type":["array","null"],"items":{"type":"integer"}},` +
		`"sum":{"type":["number","null"]},"note":{"type":["string","null"]},` +
		`"counts":{"type":["object","null"],"additionalProperties":{"type":"integer","minimum":0}},` +
		`"data":{"type":["string","null"],"contentEncoding":"base64"},` +
		`"wait":{"type":"integer"},"at":{"type":"string","format":"date-time"},` +
		`"point":{"type":"array","items":{"type":"number"}},"addr":{"type":"string"},` +
		// A method on a pointer is not called for a field of a struct that is no
		// pointer, so what comes out is an object.
		`"upper":{},"err":{},` +
		`"tree":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":["array","null"],"items":{}}},"required":["name","children"],"additionalProperties":false},` +
		`"extra":{"type":["object","null"],"additionalProperties":{}}},` +
		`"required":["rows","sum","counts","data","wait","at","point","addr","upper","err","tree","extra"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(r.resultSchema())); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyObjectsHaveAResultSchema(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[[]int](), reflect.TypeFor[any](), reflect.TypeFor[json.RawMessage](),
		reflect.TypeFor[map[string]int](), reflect.TypeFor[*place](), resultType, reflect.PointerTo(resultType),
	} {
		r, err := resultShape(typ)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if s := r.resultSchema(); s != nil {
			t.Errorf("%s: %s", typ, s)
		}
	}
}

func TestLooseArgumentsAreAnyObject(t *testing.T) {
	for name, in := range map[string]func(*testing.T) (string, string){
		"raw": schemaOf[json.RawMessage], "any": schemaOf[any], "own JSON": schemaOf[anyJSON],
	} {
		if got, _ := in(t); got != `{"type":"object"}` {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, _ := schemaOf[map[string]int](t); got != `{"type":"object","additionalProperties":{"type":"integer"}}` {
		t.Error(got)
	}
	if got, _ := schemaOf[struct{}](t); got != `{"type":"object","properties":{},"additionalProperties":false}` {
		t.Error(got)
	}
}
