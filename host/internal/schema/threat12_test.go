package schema

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// oneShortLine fails unless an error is a line that can be shown, with none of the
// words.
func oneShortLine(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	text := err.Error()
	if len(text) > 512 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%s: %d bytes: %q", what, len(text), text)
	}
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%s: the error says %q: %s", what, w, text)
		}
	}
}

// Attack: a schema that names a file or an address, so that the host reads it, asks
// for it, or tells by its error what is there.
func TestThreat12ASchemaLoadsNothing(t *testing.T) {
	const secret = "root:x:0:0:canary"
	asked := 0
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprint(w, `{"type": "object"}`)
	}))
	defer site.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"there": secret, "there.json": `{"const": "` + secret + `"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	refer := func(to string) []string {
		return []string{
			fmt.Sprintf(`{"$ref": %q}`, to),
			fmt.Sprintf(`{"properties": {"a": {"$ref": %q}}}`, to),
			fmt.Sprintf(`{"properties": {"a": {"$dynamicRef": %q}}}`, to),
			fmt.Sprintf(`{"properties": {"a": {"$recursiveRef": %q}}}`, to),
			fmt.Sprintf(`{"x": {"y": {"$ref": %q}}, "properties": {"a": {"$ref": "#/x/y"}}}`, to),
			fmt.Sprintf(`{"$schema": %q}`, to),
			fmt.Sprintf(`{"properties": {"a": {"$schema": %q}}}`, to),
			fmt.Sprintf(`{"$id": %q, "$ref": "other.json"}`, to),
			fmt.Sprintf(`{"$defs": {"b": {"$id": %q, "type": "string"}}, "properties": {"a": {"$ref": %[1]q}}}`, to),
			fmt.Sprintf(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$vocabulary": {%q: true}, "$ref": %[1]q}`, to),
			fmt.Sprintf(`{"properties": {"a": {"if": {"$ref": %q}, "then": true}}}`, to),
			fmt.Sprintf(`{"dependencies": {"a": {"$ref": %q}}}`, to),
		}
	}
	for _, pair := range [][2]string{
		{"file://" + filepath.Join(dir, "there"), "file://" + filepath.Join(dir, "gone!")},
		{"file://" + filepath.Join(dir, "there.json"), "file://" + filepath.Join(dir, "gone!.json")},
		{filepath.Join(dir, "there.json"), filepath.Join(dir, "gone!.json")},
		{"there.json", "gone!.json"},
		{"./there.json#", "./gone!.json#"},
		{"there.json#/const", "gone!.json#/const"},
		{site.URL + "/there", site.URL + "/gone!"},
		{"//" + strings.TrimPrefix(site.URL, "http://") + "/there", "//" + strings.TrimPrefix(site.URL, "http://") + "/gone!"},
		{"tool:///there", "tool:///gone!"},
	} {
		there, gone := refer(pair[0]), refer(pair[1])
		for i := range there {
			_, err := Compile([]byte(there[i]))
			_, none := Compile([]byte(gone[i]))
			if err == nil || none == nil {
				t.Errorf("%s is accepted (%v, %v)", there[i], err, none)
				continue
			}
			oneShortLine(t, there[i], err, secret, "canary", "no such file", "permission", "refused")
			// What is there and what is not are told apart by nothing but their names.
			if one, other := strings.ReplaceAll(err.Error(), pair[0], ""), strings.ReplaceAll(none.Error(), pair[1], ""); one != other && len(pair[1]) < maxShown {
				t.Errorf("%s: %q, and of what is not there %q", there[i], err, none)
			}
		}
	}
	if asked > 0 {
		t.Errorf("the server was asked %d times", asked)
	}
}

// Attack: a schema whose values are too long for a line, or would clear the screen
// that they are shown on: at most the beginning of each is told, in quotes.
func TestThreat12AnErrorHasLittleOfTheSchema(t *testing.T) {
	long := strings.Repeat("a very long value ", 100)
	hostile := "\\u001b[2J\\n\\u202e" + long
	for what, raw := range map[string]string{
		"a type":        `{"properties": {"a": {"type": "` + hostile + `"}}}`,
		"types":         `{"properties": {"a": {"type": ["` + hostile + `", "` + hostile + `"]}}}`,
		"a reference":   `{"properties": {"a": {"$ref": "` + hostile + `"}}}`,
		"a local one":   `{"properties": {"a": {"$ref": "#/` + hostile + `"}}}`,
		"an anchor":     `{"properties": {"a": {"$ref": "#` + strings.ReplaceAll(long, " ", "") + `"}}}`,
		"a pattern":     `{"properties": {"a": {"pattern": "(` + hostile + `"}}}`,
		"a dialect":     `{"$schema": "` + hostile + `"}`,
		"a keyword":     `{"properties": {"a": {"required": "` + hostile + `"}}}`,
		"a field":       `{"properties": {"` + hostile + `": 1}}`,
		"fields":        `{"properties": {"` + hostile + `": {"properties": {"` + hostile + `": {"properties": {"` + hostile + `": {"minLength": "x"}}}}}}}`,
		"a key twice":   `{"` + hostile + `": 1, "` + hostile + `": 2}`,
		"a number":      `{"properties": {"a": {"minLength": ` + strings.Repeat("9", 1000) + `}}}`,
		"no whole JSON": `{"const": "` + long,
	} {
		if _, err := Compile([]byte(raw)); err == nil {
			t.Errorf("%s is accepted", what)
		} else {
			oneShortLine(t, what, err, strings.Repeat("a very long value ", 5))
		}
	}
	names := `{"properties": {"` + long + `": {"properties": {"` + long + `": {"minLength": "x"}}}}}`
	if _, err := Compile([]byte(names)); err == nil {
		t.Error("names are accepted")
	} else {
		oneShortLine(t, "names", err, strings.Repeat("a very long value ", 15))
	}
	// What a model is told of arguments that do not fit has no more of either.
	for what, c := range map[string][2]string{
		"an enum":      {`{"properties": {"a": {"enum": ["` + hostile + `", "` + strings.ReplaceAll(hostile, "long", "old") + `"]}}}`, `{"a": "` + hostile + `"}x`},
		"a constant":   {`{"properties": {"a": {"const": "` + hostile + `"}}}`, `{"a": 1}`},
		"an object":    {`{"properties": {"a": {"const": {"secret": "canary"}}}}`, `{"a": 1}`},
		"a pattern":    {`{"properties": {"a": {"pattern": "^` + strings.ReplaceAll(long[:900], " ", "") + `$"}}}`, `{"a": "` + long + `"}`},
		"a wrong type": {`{"properties": {"a": {"type": "string"}}}`, `{"a": {"` + hostile + `": "canary"}}`},
		"an unknown":   {`{"properties": {"` + hostile + `": {}}, "additionalProperties": false}`, `{"` + hostile + `x": 1}`},
	} {
		if err := compiled(t, c[0]).Check([]byte(c[1])); err == nil {
			t.Errorf("%s fits", what)
		} else {
			oneShortLine(t, what, err, strings.Repeat("a very long value ", 5), "canary")
		}
	}
}
