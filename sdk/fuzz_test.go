package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// FuzzDecode holds the decoder to its laws, whatever a model sends: it does not
// panic, a refusal is short and of kind input, and what it takes obeys the tags.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(required, ``)))
	f.Add([]byte(fmt.Sprintf(required, `,"tags":["a"],"places":{"a":[{"city":""}]},"own":[1],"any":{"a":1e9},"deep":{"":[[true]]},"limit":7`)))
	f.Add([]byte(`{"bool":1,"int":"1","small":-0,"float":1e999,"text":"","level":3,"order":null,"zzz":{}}`))
	s, err := argumentShape(reflect.TypeFor[everything]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v everything
		if err := decode(data, s, reflect.ValueOf(&v).Elem(), argument); err != nil {
			if e := asError(t, err); e.Message == "" || len(e.Message) > 8000 || !utf8.ValidString(e.Message) {
				t.Fatalf("message of %d bytes: %.100q", len(e.Message), e.Message)
			}
			return
		}
		obeysTags(t, &v)
		agreesWithJSON(t, data, &v)
	})
}

func obeysTags(t *testing.T, v *everything) {
	n := utf8.RuneCountInString(v.Text)
	switch {
	case v.Int < -10, n < 1, n > 4, v.Float > 1e30, v.Limit < 1, v.Limit > 100, len(v.Tags) > 3,
		v.Order != "asc" && v.Order != "desc",
		v.Level != 1 && v.Level != 2 && v.Level != 9007199254740993,
		v.Page != nil && *v.Page < 1,
		slices.ContainsFunc(v.Tags, func(s string) bool { return s != "a" && s != "b" }):
		t.Fatalf("taken in spite of its tags: %+v", v)
	}
}

// agreesWithJSON compares with encoding/json where it takes the same: it knows
// no defaults and no durations, and merges members that are there twice.
func agreesWithJSON(t *testing.T, data []byte, v *everything) {
	tree, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	members, ok := tree.(map[string]any)
	if !ok {
		t.Fatalf("taken: %s", data)
	}
	delete(members, "wait")
	once, err := marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	want := everything{Order: "asc", Level: 2, paging: paging{Limit: 20}}
	d := json.NewDecoder(bytes.NewReader(once))
	d.DisallowUnknownFields()
	if d.Decode(&want) != nil {
		return // such as 3.0 for a whole number
	}
	got := *v
	got.Wait = 0
	got.Raw, want.Raw = compact(got.Raw), compact(want.Raw)
	if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Fatal(diff)
	}
}

// compact leaves out null, which encoding/json keeps and an optional argument
// does not.
func compact(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// FuzzServe sends a module what no host would: there is always one answer, and
// it is a result or an error.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"v":1,"id":"c","tool":"echo","arguments":{"x":"hi"},"deadline_ms":10,"run":{"id":"r","step":1}}`))
	f.Add([]byte(`{"v":1,"tool":"ecko","arguments":{}}`))
	f.Add([]byte(`{"v":1,"tool":"crash","config":[],"deadline_ms":9223372036854775807}`))
	f.Add([]byte(`{"v":2}`))
	var r registry
	register(&r, "echo", "", func(_ *Call, a with[string]) (with[string], error) { return a, nil }, nil)
	register(&r, "crash", "", func(c *Call, a map[string]any) (any, error) { return nil, c.Config(&a) }, nil)
	f.Fuzz(func(t *testing.T, request []byte) {
		b := r.serve(host{}, request)
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		var res abi.Response
		if err := json.Unmarshal(b, &res); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		_, content := fields["content"]
		if res.V != 1 || content == (res.Error != nil) {
			t.Fatalf("neither a result nor an error: %s", b)
		}
	})
}
