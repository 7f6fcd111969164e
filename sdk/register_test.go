package sdk

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

//lint:file-ignore SA5008 some tags here are wrong on purpose

// faultOf registers a tool with arguments A and result R and returns why it
// cannot be served.
func faultOf[A, R any](name string, opts ...Option) string {
	var r registry
	register(&r, name, "", func(*Call, A) (v R, _ error) { return v, nil }, opts)
	if err := r.tools[0].fault; err != nil {
		return err.Error()
	}
	return ""
}

// with is a struct with one field.
type with[T any] struct {
	X T `json:"x"`
}

// fussy panics when it reads its default.
type fussy struct{ n *int }

func (f *fussy) UnmarshalText([]byte) error { *f.n = 1; return nil }

type (
	first  struct{ time.Time }
	second struct{ time.Time }
	alike  struct { // has no method of its own, since both of the same name are as near
		first
		second
	}
	loop      struct{ Next *loop }
	strictKey string
	untagged  struct{ Town string }
	tagged    struct {
		Name string `json:"Town"`
	}
)

func (*strictKey) UnmarshalText([]byte) error { return io.EOF }

func TestUnfitTypesAreRefusedByField(t *testing.T) {
	tests := map[string]struct{ got, want string }{
		"no struct":        {faultOf[string, string]("a"), `arguments: string is not a struct`},
		"pointer":          {faultOf[*place, string]("a"), `arguments: *sdk.place is not a struct`},
		"list":             {faultOf[[]int, string]("a"), `arguments: []int is not a struct`},
		"func":             {faultOf[with[func()], string]("a"), `arguments: field X of sdk.with[func()]: func() has no JSON`},
		"chan":             {faultOf[with[[]chan int], string]("a"), `arguments: field X of sdk.with[[]chan int]: chan int has no JSON`},
		"complex":          {faultOf[struct{}, with[complex128]]("a"), `result: field X of sdk.with[complex128]: complex128 has no JSON`},
		"interface":        {faultOf[with[io.Reader], string]("a"), `arguments: field X of sdk.with[io.Reader]: io.Reader is an interface, which nothing can be decoded into`},
		"array":            {faultOf[with[[3]int], string]("a"), `arguments: field X of sdk.with[[3]int]: [3]int is an array: use a slice`},
		"int keys":         {faultOf[with[map[int]string], string]("a"), `arguments: field X of sdk.with[map[int]string]: map[int]string has keys that are not plain strings`},
		"strict keys":      {faultOf[map[strictKey]int, string]("a"), `arguments: map[sdk.strictKey]int has keys that are not plain strings`},
		"float keys":       {faultOf[struct{}, map[float64]string]("a"), `result: map[float64]string has keys that are not plain strings`},
		"itself":           {faultOf[loop, string]("a"), `arguments: field Next of sdk.loop: sdk.loop contains itself: use json.RawMessage for the inner one`},
		"deep":             {faultOf[with[map[string][]loop], string]("a"), `arguments: field X of sdk.with[map[string][]github.com/wagent-dev/wagent/sdk.loop]: field Next of sdk.loop: sdk.loop contains itself: use json.RawMessage for the inner one`},
		"embedded pointer": {faultOf[struct{ *place }, string]("a"), `arguments: field place of struct { *sdk.place }: it is an embedded pointer: embed the struct itself, or add a json tag with a name`},
		"embedded, named": {faultOf[struct {
			place `json:"place"`
		}, string]("a"), "arguments: field place of struct { sdk.place \"json:\\\"place\\\"\" }: an embedded struct with a name has to be exported"},
		"embedded JSON": {faultOf[alike, string]("a"), `arguments: field first of sdk.alike: an embedded struct with a JSON of its own needs a name: add a json tag`},
		"embedded twice": {faultOf[struct {
			untagged
			tagged
		}, string]("a"), `arguments: struct { sdk.untagged; sdk.tagged } embeds two fields "Town"`},
		"one name": {faultOf[struct {
			A int `json:"B"`
			B int
		}, string]("a"), `arguments: struct { A int "json:\"B\""; B int } has two fields "B"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnfitTagsAreRefused(t *testing.T) {
	tests := []struct{ got, want string }{
		{faultOf[struct {
			X bool `enum:"a,b"`
		}, string]("a"), "enum needs a string or an integer"},
		{faultOf[struct {
			X int `enum:"1,two"`
		}, string]("a"), `enum of an integer has "two"`},
		{faultOf[struct {
			X string `enum:"a, b,a"`
		}, string]("a"), `enum has "a" twice`},
		{faultOf[struct {
			X bool `min:"1"`
		}, string]("a"), "min and max need a number, a string or a list"},
		{faultOf[struct {
			X int `min:"one"`
		}, string]("a"), `min is not a number: "one"`},
		{faultOf[struct {
			X float64 `max:"NaN"`
		}, string]("a"), `max is not a number: "NaN"`},
		{faultOf[struct {
			X int `min:"3" max:"2"`
		}, string]("a"), "min is more than max"},
		{faultOf[struct {
			X string `max:"1.5"`
		}, string]("a"), "min and max have to be whole numbers here, and those of a size not negative"},
		{faultOf[struct {
			X []int `min:"-1"`
		}, string]("a"), "min and max have to be whole numbers here, and those of a size not negative"},
		{faultOf[struct {
			X int `max:"5" default:"6"`
		}, string]("a"), "default: want at most 5, not 6"},
		{faultOf[struct {
			X string `enum:"a,b" default:"c"`
		}, string]("a"), `default: want one of a, b, not "c"`},
		{faultOf[struct {
			X time.Time `default:"soon"`
		}, string]("a"), `default: want a time like 2026-01-31T15:04:05Z, not the string "soon"`},
		{faultOf[struct {
			X place `default:"{}"`
		}, string]("a"), `default "city": is missing`},
		{faultOf[struct {
			X []int `default:"1,2"`
		}, string]("a"), "default: not valid JSON: there is more after the value"},
		{faultOf[struct {
			X int `json:",string"`
		}, string]("a"), "the json option string is not supported"},
		{faultOf[struct{}, struct {
			X int `json:"a'b"`
		}]("a"), `the json name "a'b" has a quote or a backslash`},
		{faultOf[struct {
			X fussy `default:"a"`
		}, string]("a"), "panic: runtime error: invalid memory address or nil pointer dereference"},
	}
	for _, test := range tests {
		if !strings.HasSuffix(test.got, test.want) || !strings.Contains(test.got, "X") && !strings.HasPrefix(test.want, "panic") {
			t.Errorf("got  %s\nwant field X: %s", test.got, test.want)
		}
	}
}

func TestNamesFollowTheRule(t *testing.T) {
	const rule = "the name must be a letter or underscore and then letters, digits, underscores or hyphens, at most 64"
	for _, name := range []string{"", "1a", "-a", "a b", "a.b", "ä", "a\n", strings.Repeat("a", 65)} {
		if got := faultOf[struct{}, string](name); got != rule {
			t.Errorf("%q: %q", name, got)
		}
	}
	for _, name := range []string{"a", "_", "A-1_b", strings.Repeat("a", 64)} {
		if got := faultOf[struct{}, string](name); got != "" {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	const want = "a schema given as an option is not a JSON object"
	for _, o := range []Option{InputSchema([]byte(`[]`)), InputSchema([]byte(``)), OutputSchema([]byte(`{`))} {
		if got := faultOf[struct{}, string]("a", o); got != want {
			t.Error(got)
		}
	}
	var r registry
	register[struct{}, string](&r, "a", "", nil, nil)
	if got := r.tools[0].fault; got == nil || got.Error() != "its function is nil" {
		t.Error(got)
	}
	if got := faultOf[struct{}, string]("a", nil); got != "" {
		t.Error("a nil option:", got)
	}
	crash := optionFunc(func(*abi.Tool) { panic("out of cheese") })
	if got := faultOf[struct{}, string]("a", crash); got != "panic: out of cheese" {
		t.Error(got)
	}
}

func TestOfTwoToolsOfOneNameNeitherIsServed(t *testing.T) {
	ok := func(*Call, struct{}) (string, error) { return "ok", nil }
	bad := func(*Call, int) (string, error) { return "", nil }
	for name, add := range map[string][]func(*registry){
		"two":          {func(r *registry) { register(r, "twin", "", ok, nil) }, func(r *registry) { register(r, "twin", "", ok, nil) }},
		"unfit first":  {func(r *registry) { register(r, "twin", "", bad, nil) }, func(r *registry) { register(r, "twin", "", ok, nil) }},
		"unfit second": {func(r *registry) { register(r, "twin", "", ok, nil) }, func(r *registry) { register(r, "twin", "", bad, nil) }},
		"three": {
			func(r *registry) { register(r, "twin", "", ok, nil) }, func(r *registry) { register(r, "twin", "", ok, nil) },
			func(r *registry) { register(r, "twin", "", ok, nil) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			var r registry
			register(&r, "other", "", ok, nil)
			for _, f := range add {
				f(&r)
			}
			d, faults := describe(t, &r)
			if len(d.Tools) != 1 || d.Tools[0].Name != "other" {
				t.Errorf("described: %+v", d.Tools)
			}
			if len(faults) != 1 || faults[0] != `tool "twin": the name is registered twice` {
				t.Errorf("faults: %q", faults)
			}
			want := &abi.Error{Kind: abi.Internal, Message: `tool "twin" cannot be served: the name is registered twice`}
			if diff := cmp.Diff(want, answer(t, &r, "twin", `{}`).Error); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDescribesWhatWorksAndSaysWhatDoesNot(t *testing.T) {
	var r registry
	fn := func(*Call, with[int]) (with[string], error) { return with[string]{}, nil }
	register(&r, "full", "Does <it>.", fn, []Option{
		Title("Full"), ReadOnly(), Destructive(), Idempotent(), OpenWorld(),
		Requests{HTTP: []string{"example.com"}, Read: []string{"/in"}, Write: []string{"/out"}, Env: []string{"LANG"}, KV: true, Reason: "because"},
	})
	register(&r, "loose", "", fn, []Option{InputSchema([]byte(`{"type":"object"}`)), OutputSchema(nil)})
	register(&r, "b@d", "", fn, nil)
	got, faults := r.describe()
	want := `{"tools":[{"name":"full","title":"Full","description":"Does <it>.",` +
		`"inputSchema":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},` +
		`"outputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true},` +
		`"_meta":{"requests":{"http":["example.com"],"read":["/in"],"write":["/out"],"env":["LANG"],"kv":true,"reason":"because"}}},` +
		`{"name":"loose","inputSchema":{"type":"object"}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), `tool "b@d": the name must be`) {
		t.Errorf("faults: %v", faults)
	}
}

func TestADescriptionThatIsTooLongIsNone(t *testing.T) {
	var r registry
	fn := func(*Call, struct{}) (string, error) { return "", nil }
	register(&r, "a", "", fn, nil)
	b, _ := r.describe()
	r.tools[0].Description = strings.Repeat("x", abi.MaxDescription-len(b)-len(`,"description":""`))
	b, faults := r.describe()
	if len(b) != abi.MaxDescription || faults != nil {
		t.Fatalf("at the limit: %d bytes, %v", len(b), faults)
	}
	r.tools[0].Description += "x"
	b, faults = r.describe()
	want := fmt.Sprintf("[description: %d bytes, but at most %d are allowed: say less, or split the module]", abi.MaxDescription+1, abi.MaxDescription)
	if b != nil || fmt.Sprint(faults) != want {
		t.Errorf("%d bytes, %v", len(b), faults)
	}
}

func describe(t *testing.T, r *registry) (d abi.Description, faults []string) {
	t.Helper()
	b, errs := r.describe()
	for _, err := range errs {
		faults = append(faults, err.Error())
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	return d, faults
}

// answer has a registry serve one request.
func answer(t testing.TB, r *registry, tool, args string) abi.Response {
	t.Helper()
	return answerOn(t, r, host{}, tool, args)
}

func answerOn(t testing.TB, r *registry, h host, tool, args string) abi.Response {
	t.Helper()
	request, err := json.Marshal(abi.Request{V: abi.Version, ID: "call_1", Tool: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	var res abi.Response
	if err := json.Unmarshal(r.serve(h, request), &res); err != nil {
		t.Fatal(err)
	}
	return res
}
