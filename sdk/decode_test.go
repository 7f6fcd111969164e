package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// everything has a field of each kind.
type everything struct {
	Bool   bool                 `json:"bool"`
	Int    int64                `json:"int" min:"-10"`
	Small  uint8                `json:"small"`
	Float  float32              `json:"float" max:"1e30"`
	Exact  json.Number          `json:"exact"`
	Text   string               `json:"text" min:"1" max:"4"`
	Order  color                `json:"order" enum:"asc,desc" default:"asc"`
	Level  int                  `json:"level" enum:"1,2,9007199254740993" default:"2"`
	At     time.Time            `json:"at"`
	Wait   time.Duration        `json:"wait" default:"1m30s"`
	Data   []byte               `json:"data"`
	Tags   []string             `json:"tags,omitempty" max:"3" enum:"a,b"`
	Places map[color][]place    `json:"places,omitempty"`
	Page   *int                 `json:"page" min:"1"`
	Addr   netip.Addr           `json:"addr,omitzero"`
	Own    *anyJSON             `json:"own"`
	Raw    json.RawMessage      `json:"raw,omitempty"`
	Any    any                  `json:"any,omitempty"`
	Deep   map[string][][]*bool `json:"deep,omitempty"`
	paging
}

// required is the least that everything takes; %s goes before the end.
const required = `{"bool":true,"int":1,"small":2,"float":0.5,"exact":1e2,"text":"é","at":"2026-01-31T15:04:05Z","data":"AQI=","page":null%s}`

func decodeInto[T any](args string) (v T, err error) {
	s, err := argumentShape(reflect.TypeFor[T]())
	if err != nil {
		return v, err
	}
	return v, decode(json.RawMessage(args), s, reflect.ValueOf(&v).Elem(), argument)
}

func TestDecodesWhatTheSchemaSays(t *testing.T) {
	least := everything{
		Bool: true, Int: 1, Small: 2, Float: 0.5, Exact: "1e2", Text: "é", Order: "asc", Level: 2,
		At: time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC), Wait: 90 * time.Second, Data: []byte{1, 2},
		paging: paging{Limit: 20, Page: 0},
	}
	type outer struct {
		everything
	}
	tests := map[string]struct {
		more   string
		change func(*everything)
	}{
		"defaults":    {``, func(*everything) {}},
		"null is one": {`,"order":null,"wait":null,"tags":null,"addr":null,"raw":null,"any":null,"limit":null`, func(*everything) {}},
		"whole":       {`,"level":1.0,"limit":1e1`, func(e *everything) { e.Level, e.Limit = 1, 10 }},
		"large enum":  {`,"level":9007199254740993`, func(e *everything) { e.Level = 9007199254740993 }},
		"named":       {`,"order":"desc","tags":["a","b","a"]`, func(e *everything) { e.Order, e.Tags = "desc", []string{"a", "b", "a"} }},
		"nested":      {`,"places":{"red":[{"city":"Oslo"}],"":[]}`, func(e *everything) { e.Places = map[color][]place{"red": {{City: "Oslo"}}, "": {}} }},
		"themselves":  {`,"addr":"::1","own":{"b":1,"a":[1e400]}`, func(e *everything) { e.Addr, e.Own = netip.IPv6Loopback(), &anyJSON{`{"a":[1e400],"b":1}`} }},
		"raw":         {`,"raw":{"<":[1.50,null]}`, func(e *everything) { e.Raw = json.RawMessage(`{"<":[1.50,null]}`) }},
		"any":         {`,"any":{"a":[1,"x",null,true]}`, func(e *everything) { e.Any = map[string]any{"a": []any{1.0, "x", nil, true}} }},
		"deep":        {`,"deep":{"a":[[true,null],[]]}`, func(e *everything) { e.Deep = map[string][][]*bool{"a": {{new(true), nil}, {}}} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The embedded struct has a page too, which is not that of the outer one.
			got, err := decodeInto[outer](fmt.Sprintf(required, test.more))
			if err != nil {
				t.Fatal(err)
			}
			want := least
			test.change(&want)
			if diff := cmp.Diff(want, got.everything, cmp.AllowUnexported(everything{}, anyJSON{}), cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongArgumentsAreNamedWithTheirPath(t *testing.T) {
	tests := map[string]struct{ more, want string }{
		"string for bool":  {`"bool":"yes"`, `argument "bool": want true or false, not the string "yes"`},
		"string for int":   {`"int":"7"`, `argument "int": want a whole number, not the string "7"`},
		"fraction":         {`"int":1.5`, `argument "int": want a whole number that fits int64, not 1.5`},
		"too low":          {`"int":-11`, `argument "int": want at least -10, not -11`},
		"too large":        {`"small":256`, `argument "small": want a whole number that fits uint8, not 256`},
		"negative":         {`"small":-1`, `argument "small": want a whole number that fits uint8, not -1`},
		"beyond int64":     {`"int":9223372036854775808`, `argument "int": want a whole number that fits int64, not 9223372036854775808`},
		"not exact":        {`"int":9.007199254740994e15`, `argument "int": want a whole number that fits int64, not 9.007199254740994e15`},
		"beyond float32":   {`"float":1e39`, `argument "float": 1e39 is out of range`},
		"beyond float64":   {`"exact":1e400`, `argument "exact": 1e400 is out of range`},
		"list for number":  {`"float":[1]`, `argument "float": want a number, not a list`},
		"empty":            {`"text":""`, `argument "text": want at least 1 characters, not 0`},
		"too long":         {`"text":"ééééé"`, `argument "text": want at most 4 characters, not 5`},
		"number for text":  {`"text":5`, `argument "text": want a string, not the number 5`},
		"null for text":    {`"text":null`, `argument "text": want a string, not null`},
		"object for text":  {`"text":{}`, `argument "text": want a string, not an object`},
		"not in enum":      {`"order":"up"`, `argument "order": want one of asc, desc, not "up"`},
		"number, not enum": {`"level":3`, `argument "level": want one of 1, 2, 9007199254740993, not "3"`},
		"near in float64":  {`"level":9007199254740992`, `argument "level": want one of 1, 2, 9007199254740993, not "9007199254740992"`},
		"item, not enum":   {`"tags":["a","c"]`, `argument "tags[1]": want one of a, b, not "c"`},
		"too many":         {`"tags":["c","c","c","c"]`, `argument "tags": want at most 3 items, not 4`},
		"no list":          {`"tags":"a"`, `argument "tags": want a list, not the string "a"`},
		"time":             {`"at":"31 January"`, `argument "at": want a time like 2026-01-31T15:04:05Z, not the string "31 January"`},
		"duration":         {`"wait":"90"`, `argument "wait": want a duration like 1m30s, not the string "90"`},
		"base64":           {`"data":"?"`, `argument "data": want base64: illegal base64 data at input byte 0`},
		"nested missing":   {`"places":{"red":[{}]}`, `argument "places.red[0].city": is missing`},
		"nested unknown":   {`"places":{"red":[{"city":"a","zipp":""}]}`, `argument "places.red[0].zipp": there is no such argument: did you mean "zip"?`},
		"no object":        {`"places":[]`, `argument "places": want an object, not a list`},
		"null in a list":   {`"places":{"red":null}`, `argument "places.red": want a list, not null`},
		"through pointer":  {`"page":0`, `argument "page": want at least 1, not 0`},
		"own words":        {`"addr":"x"`, `argument "addr": ParseAddr("x"): unable to parse IP`},
		"any":              {`"any":{"a":[1e400]}`, `argument "any": a number in it is out of range`},
		"embedded":         {`"limit":0`, `argument "limit": want at least 1, not 0`},
		"deep":             {`"deep":{"a":[[1]]}`, `argument "deep.a[0][0]": want true or false, not the number 1`},
		"case":             {`"Bool":true`, `argument "Bool": there is no such argument: did you mean "bool"?`},
		"unknown":          {`"something":1`, `argument "something": there is no such argument: known are bool, int, small, float, exact, text, order, level, at, wait, data, tags, places, page, addr, own, raw, any, deep, limit`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// Of two members of one name the last counts.
			_, err := decodeInto[everything](fmt.Sprintf(required, ","+test.more))
			want := &abi.Error{Kind: abi.Input, Message: test.want}
			if diff := cmp.Diff(want, asError(t, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// grade has words of its own, which are not what the tags are about.
type grade uint8

func (grade) String() string { return "a grade" }

func TestAnEnumIsOfNumbersWhateverTheirTypePrints(t *testing.T) {
	type args struct {
		Grade grade `json:"grade" enum:"1,2"`
	}
	if got, err := decodeInto[args](`{"grade":2}`); err != nil || got.Grade != 2 {
		t.Errorf("%d, %v", got.Grade, err)
	}
	_, err := decodeInto[args](`{"grade":3}`)
	want := &abi.Error{Kind: abi.Input, Message: `argument "grade": want one of 1, 2, not "3"`}
	if diff := cmp.Diff(want, asError(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestArgumentsAreOneObject(t *testing.T) {
	type none struct{}
	tests := map[string]string{
		``: ``, ` `: ``, `null`: ``, `{}`: ``,
		`[]`:      `arguments: want an object, not a list`,
		`"{}"`:    `arguments: want an object, not the string "{}"`,
		`1`:       `arguments: want an object, not the number 1`,
		`{`:       `arguments: not valid JSON: unexpected EOF`,
		`{}{}`:    `arguments: not valid JSON: there is more after the value`,
		`{} x`:    `arguments: not valid JSON: there is more after the value`,
		`{"a":1}`: `argument "a": there is no such argument: there is none here`,
	}
	for args, want := range tests {
		_, err := decodeInto[none](args)
		if got := fmt.Sprint(err); got != want && (want != "" || err != nil) {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

func TestLooseArgumentsTakeAnyObject(t *testing.T) {
	const args = `{"a":[1,{"b":null}]}`
	if got, err := decodeInto[json.RawMessage](args); err != nil || string(got) != args {
		t.Errorf("raw: %s, %v", got, err)
	}
	if got, err := decodeInto[any](args); err != nil || !cmp.Equal(got, any(map[string]any{"a": []any{1.0, map[string]any{"b": nil}}})) {
		t.Errorf("any: %v, %v", got, err)
	}
	if got, err := decodeInto[map[string]json.RawMessage](args); err != nil || string(got["a"]) != `[1,{"b":null}]` {
		t.Errorf("map: %v, %v", got, err)
	}
	if _, err := decodeInto[map[string]int](`{"a":1,"b":"2"}`); err == nil || err.Error() != `argument "b": want a whole number, not the string "2"` {
		t.Errorf("map of int: %v", err)
	}
}

// What is wrong comes from a model, and so does how much of it there is.
func TestErrorsAreShortWhateverIsSent(t *testing.T) {
	const limit = 4000
	long := strings.Repeat("x", 1<<20)
	tests := map[string]string{
		"many unknown":   `{` + keys(100_000) + `}`,
		"long name":      `{"` + long + `":1}`,
		"long text":      `{"bool":"` + long + `"}`,
		"long number":    `{"int":1` + strings.Repeat("0", 1<<20) + `}`,
		"long fraction":  `{"int":0.` + strings.Repeat("1", 1<<20) + `}`,
		"long enum":      `{"order":"` + long + `"}`,
		"long map key":   `{"places":{"` + long + `":1}}`,
		"many items":     `{"places":{"a":[` + strings.Repeat(`1,`, 100_000) + `1]}}`,
		"their own text": `{"addr":"` + long + `"}`,
		"deep":           `{"any":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := decodeInto[everything](args)
			if e := asError(t, err); len(e.Message) > limit {
				t.Errorf("%d bytes: %.200s…", len(e.Message), e.Message)
			}
		})
	}
	_, err := decodeInto[everything](`{` + keys(100) + `}`)
	if n := strings.Count(err.Error(), ";"); n != maxFaults || !strings.HasSuffix(err.Error(), "; and more") {
		t.Errorf("%d faults are named: %v", n, err)
	}
}

// keys are n members.
func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"unknown%d":1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func asError(t *testing.T, err error) *abi.Error {
	t.Helper()
	var e *abi.Error
	if !errors.As(err, &e) || e.Kind != abi.Input {
		t.Fatalf("want an error of kind input, not %#v", err)
	}
	return e
}

func TestSuggestsOnlyWhatIsNear(t *testing.T) {
	known := []string{"text", "limit", "order_by", "x"}
	tests := map[string]string{
		"txt": "text", "TEXT": "text", "tetx": "text", "limits": "limit", "orderby": "order_by", "orderBy": "order_by", "X": "x",
		"": "", "y": "", "ab": "", "offset": "", "format": "",
		strings.Repeat("t", 1000): "", strings.Repeat("text", 16): "",
	}
	for name, want := range tests {
		if got := Suggest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if got := Suggest("text", []string{strings.Repeat("text", 1000)}); got != "" {
		t.Errorf("got %.20q", got)
	}
}

func TestProgressIsNeverMoreThanAll(t *testing.T) {
	for _, test := range []struct{ done, total, want int }{
		{0, 3, 0},
		{1, 3, 333},
		{3, 3, 1000},
		{5, 3, 1000},
		{-1, 3, 0},
		{1, 0, 0},
		{1, -1, 0},
		{math.MaxInt, math.MaxInt, 1000},
		{math.MaxInt / 2, math.MaxInt, 499},
	} {
		got := -1
		c := &Call{host: recording(func(permille int) { got = permille })}
		c.Progress(test.done, test.total, "")
		if got != test.want {
			t.Errorf("%d of %d: got %d, want %d", test.done, test.total, got, test.want)
		}
	}
}
