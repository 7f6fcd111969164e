package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// call serves one request as the host sends it.
func call(t *testing.T, args any) response {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	in := `{"v":1,"id":"c1","tool":"json_pick","arguments":` + string(raw) + `,"deadline_ms":5000,"run":{"id":"r1","step":1}}`
	var out strings.Builder
	if err := serveCall([]string{"json_pick.wasm", "json_pick"}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var r response
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if r.V != 1 {
		t.Errorf("the response has version %d", r.V)
	}
	return r
}

const order = `{
  "id": 12345678901234567890, "customer": {"name": "A. Müller", "e.mail": "a@example.com", "": 0},
  "items": [{"name": "lamp", "price": 39.50}, {"name": "desk", "price": 249, "note": null}, {"name": "rug <new>"}],
  "paid": true, "empty": [], "none": {}, "$": "dollar"
}`

func TestValuesArePicked(t *testing.T) {
	for path, want := range map[string]string{
		"customer.name":             "A. Müller",
		"$.customer.name":           "A. Müller",
		"id":                        "12345678901234567890",
		"items[0].price":            "39.50",
		"items[-1].name":            "rug <new>",
		"items[1].note":             "null",
		`customer["e.mail"]`:        "a@example.com",
		`$['customer']['e.mail']`:   "a@example.com",
		`customer[""]`:              "0",
		`["customer"]["\u006eame"]`: "A. Müller",
		"items[*].name":             `["lamp","desk","rug <new>"]`,
		"items[*].price":            `[39.50,249]`,
		"items.*.note":              `[null]`,
		"items[0].*":                `["lamp",39.50]`,
		"empty[*]":                  "[]",
		"none.*":                    "[]",
		"none":                      "{}",
		"items[1]":                  `{"name": "desk", "price": 249, "note": null}`,
		"paid":                      "true",
		"$['$']":                    "dollar",
		"":                          order,
		"$":                         order,
	} {
		r := call(t, map[string]any{"json": order, "path": path})
		if r.Error != nil {
			t.Errorf("%s: %s", path, r.Error)
			continue
		}
		if diff := cmp.Diff([]part{{"text", want}}, r.Content); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestTheLastOfEqualNamesCounts(t *testing.T) {
	if got := call(t, map[string]any{"json": `{"a":1,"a":2}`, "path": "a"}).Content; got[0].Text != "2" {
		t.Errorf("got %v", got)
	}
}

func TestAProgramGetsTheValueAndTheCount(t *testing.T) {
	one := call(t, map[string]any{"json": order, "path": "items[0].name"}).Structured
	if diff := cmp.Diff(&value{Value: json.RawMessage(`"lamp"`)}, one); diff != "" {
		t.Error(diff)
	}
	n := 3
	many := call(t, map[string]any{"json": order, "path": "items[*].name"}).Structured
	if diff := cmp.Diff(&value{Value: json.RawMessage(`["lamp","desk","rug <new>"]`), Count: &n}, many); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsTellWhatToDo(t *testing.T) {
	for _, c := range []struct {
		args string
		want fault
	}{
		{`{"json":"{\"items\":[{\"name\":1,\"price\":2}]}","path":"items[0].nam"}`, fault{"not_found", `at $["items"][0]: there is no "nam"; it is an object of name, price`}},
		{`{"json":"[1,2]","path":"[2]"}`, fault{"not_found", "at $: there is no item 2; it is a list of 2"}},
		{`{"json":"[1,2]","path":"[-3]"}`, fault{"not_found", "at $: there is no item -3; it is a list of 2"}},
		{`{"json":"[1,2]","path":"a"}`, fault{"not_found", `at $: ["a"] leads nowhere: it is a list of 2`}},
		{`{"json":"{\"a\":\"x\"}","path":"a[*]"}`, fault{"not_found", `at $["a"]: [*] leads nowhere: it is a string`}},
		{`{"json":"{}","path":"a"}`, fault{"not_found", `at $: there is no "a"; it is an empty object`}},
		{`{"json":"{\n \"a\": ,\n}","path":"a"}`, fault{"input", "the document is not JSON: line 2, column 7: invalid character ',' looking for beginning of value"}},
		{`{"json":"","path":""}`, fault{"input", "the document is not JSON: line 1, column 1: unexpected end of JSON input"}},
		{`{"json":"[1] 2"}`, fault{"input", "the document is not JSON: line 1, column 5: invalid character '2' after top-level value"}},
		{`{"path":"a"}`, fault{"input", "give the document as json, or a file that holds it"}},
		{`{"json":"1","file":"/data/a.json"}`, fault{"input", "give json or file, not both"}},
		{`{"json":1}`, fault{"input", "arguments: cannot unmarshal number into Go struct field arguments.json of type string"}},
		{`{"jsn":"1"}`, fault{"input", `arguments: unknown field "jsn"`}},
		{`{"json":"{}","path":"a..b"}`, fault{"input", "path: character 3: want a name"}},
		{`{"json":"{}","path":"é["}`, fault{"input", "path: character 3: the bracket is not closed"}},
		{`{"json":"{}","path":"[1]a"}`, fault{"input", "path: character 4: want a dot or a bracket"}},
		{`{"json":"{}","path":"[x]"}`, fault{"input", "path: character 2: want the number of an item, * or a name in quotes in the brackets"}},
		{`{"json":"{}","path":"['a"}`, fault{"input", "path: character 2: the quotes are not closed"}},
		{`{"json":"{}","path":"['a'x"}`, fault{"input", "path: character 5: want ] after the name in quotes"}},
		{`{"json":"{}","path":"[\"\\x\"]"}`, fault{"input", "path: character 2: the name in quotes is not a JSON string"}},
		{`{"json":"{}","path":"` + strings.Repeat("a.", 65) + `a"}`, fault{"input", "the path has more than 64 steps"}},
	} {
		r := call(t, json.RawMessage(c.args))
		if diff := cmp.Diff(&c.want, r.Error); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
}

func TestALongValueIsNotReturnedButDescribed(t *testing.T) {
	doc := `{"all":[` + strings.Repeat(`"0123456789",`, 20_000) + `1]}`
	r := call(t, map[string]any{"json": doc, "path": "all"})
	want := &fault{"input", "the value has 260003 bytes, at most 204800 are returned: pick a part of it; it is a list of 20001"}
	if diff := cmp.Diff(want, r.Error); diff != "" {
		t.Error(diff)
	}
	if r := call(t, map[string]any{"json": doc, "path": "all[-1]"}); r.Error != nil || r.Content[0].Text != "1" {
		t.Errorf("got %+v", r)
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	many := call(t, map[string]any{"json": "[" + strings.Repeat("[1,2],", maxFound/2) + "[1]]", "path": "[*][*]"})
	if diff := cmp.Diff(&fault{"input", "* finds more than 50000 values: pick a part of them"}, many.Error); diff != "" {
		t.Error(diff)
	}
	deep := call(t, map[string]any{"json": strings.Repeat("[", 500) + strings.Repeat("]", 500), "path": "[0]"})
	if diff := cmp.Diff(&fault{"input", "the value is nested 499 deep, at most 64 are returned: pick a part of it"}, deep.Error); diff != "" {
		t.Error(diff)
	}
}

func TestFilesAreRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "order.json")
	if err := os.WriteFile(name, []byte("\ufeff"+order+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := call(t, map[string]any{"file": name, "path": "items[1].name"}); r.Error != nil || r.Content[0].Text != "desk" {
		t.Errorf("got %+v", r)
	}
	r := call(t, map[string]any{"file": name + "x", "path": "a"})
	if r.Error == nil || r.Error.Kind != "not_found" {
		t.Errorf("got %+v", r.Error)
	}
	if err := os.WriteFile(name, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	r = call(t, map[string]any{"file": name})
	if r.Error == nil || !strings.Contains(r.Error.Message, "more than 4194304 bytes") {
		t.Errorf("got %+v", r.Error)
	}
}

func TestTheDescriptionNamesTheArguments(t *testing.T) {
	var out strings.Builder
	if err := serveCall([]string{"json_pick.wasm", "--describe"}, strings.NewReader(""), &out); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Tools) != 1 || d.Tools[0].Name != "json_pick" {
		t.Fatalf("got %+v", d)
	}
	var names []string
	for name := range d.Tools[0].InputSchema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"file", "json", "path"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestABrokenContractIsAnExitWithAReason(t *testing.T) {
	for _, c := range []struct {
		args []string
		in   string
		want string
	}{
		{[]string{"m"}, "", "want one argument"},
		{[]string{"m", "jq"}, "{}", `there is no tool "jq" here`},
		{[]string{"m", "json_pick"}, "", "request: EOF"},
		{[]string{"m", "json_pick"}, `{"v":2}`, "version 2"},
	} {
		if err := serveCall(c.args, strings.NewReader(c.in), new(strings.Builder)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.args, err, c.want)
		}
	}
}

// What a path picks is JSON again, whatever the document and the path are, and a
// step finds what encoding/json does.
func FuzzPick(f *testing.F) {
	f.Add(order, "items[*].name")
	f.Add(`[[1,2],{"a":[]}]`, `[1]["a"][*]`)
	f.Add(`"a"`, "$")
	f.Add(`{"a":{"b":1}}`, "*.b")
	f.Add(`[1]`, `[-1]`)
	f.Add(` [ "]\"," , -1e5 , {"a" : [ ] } ,[ null,true ] ] `, "[*]")
	f.Add(`{`, `["\"`)
	f.Fuzz(func(t *testing.T, doc, path string) {
		args, err := json.Marshal(arguments{JSON: &doc, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		r := serve(args)
		if r.Error == nil && !json.Valid(r.Structured.Value) {
			t.Errorf("%q of %q is %q", path, doc, r.Structured.Value)
		}
		var items []json.RawMessage
		if json.Unmarshal([]byte(doc), &items) == nil && items != nil && len(items) <= maxFound {
			found, _, err := pick([]byte(strings.Trim(doc, " \t\r\n")), []step{{kind: all}})
			if diff := cmp.Diff(items, found, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%q: %v %s", doc, err, diff)
			}
		}
	})
}
