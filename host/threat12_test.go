package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// describing is a module with a tool t, which has the schema and answers done.
func describing(t *testing.T, schema string) string {
	t.Helper()
	return answering(t, schema, `{"v":1,"content":[{"type":"text","text":"done"}]}`)
}

// answering is a module with a tool t, which has the schema and gives the answer.
func answering(t *testing.T, schema, answer string) string {
	t.Helper()
	raw := json.RawMessage(schema)
	description, err := json.Marshal(map[string]any{"tools": []any{map[string]any{"name": "t", "description": "Does nothing.", "inputSchema": raw}}})
	if err != nil {
		t.Fatal(err)
	}
	const answerAt, descriptionAt, free = 64, 1024, 8 << 16
	packed := func(at, n int) string { return fmt.Sprint("i64.const ", uint64(at)<<32|uint64(n)) }
	body := func(code string) string { return testkit.Sized("\x00" + testkit.Code(code) + "\x0b") }
	export := func(name string, n uint64) string { return testkit.Sized(name) + "\x00" + testkit.Uint(n) }
	data := func(at int, s string) string {
		return "\x00" + testkit.Code(fmt.Sprint("i32.const ", at)) + "\x0b" + testkit.Sized(s)
	}
	wasm := testkit.Module(
		testkit.Section(1, testkit.Vec("\x60\x00\x01\x7f", "\x60\x01\x7f\x01\x7f", "\x60\x00\x01\x7e", "\x60\x02\x7f\x7f\x01\x7e")),
		testkit.Section(3, testkit.Vec("\x00", "\x01", "\x02", "\x03")),
		testkit.Section(5, testkit.Vec("\x00"+testkit.Uint(64))),
		testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", export("wagent_abi", 0), export("wagent_alloc", 1), export("wagent_describe", 2), export("wagent_call", 3))),
		testkit.Section(10, testkit.Vec(body("i32.const 1"), body(fmt.Sprint("i32.const ", free)), body(packed(descriptionAt, len(description))), body(packed(answerAt, len(answer))))),
		testkit.Section(11, testkit.Vec(data(answerAt, answer), data(descriptionAt, string(description)))),
	)
	path := filepath.Join(t.TempDir(), "describing.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hang is how long a check may take on a busy machine that without a bound takes
// hours; it is some tens of milliseconds.
const hang = 60 * time.Second

// Attack: a module's schema reads a file, asks a server, or takes hours to be read.
// It is not loaded, and the line that says so has nothing of either.
func TestThreat12AHostileSchemaIsNotLoaded(t *testing.T) {
	asked := 0
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer site.Close()
	canary := filepath.Join(t.TempDir(), "canary.json")
	if err := os.WriteFile(canary, []byte(`{"const": "tweet"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	doubled := strings.Builder{}
	for i := range 30 {
		fmt.Fprintf(&doubled, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	for what, schema := range map[string]string{
		"a file":         `{"properties": {"a": {"$ref": "file://` + canary + `"}}}`,
		"a file nearby":  `{"properties": {"a": {"$ref": "canary.json"}}}`,
		"a server":       `{"properties": {"a": {"$ref": "` + site.URL + `/x"}}}`,
		"its dialect":    `{"$schema": "` + site.URL + `/x"}`,
		"by an unknown":  `{"x": {"$ref": "` + site.URL + `/x"}, "$ref": "#/x"}`,
		"a bomb":         `{"$ref": "#/$defs/d0", "$defs": {` + doubled.String() + `"d30": {}}}`,
		"too large":      `{"description": "` + strings.Repeat("x", 70_000) + `"}`,
		"too deep":       strings.Repeat(`{"properties": {"a": `, 100) + `{}` + strings.Repeat(`}}`, 100),
		"an expression":  `{"properties": {"a": {"pattern": "((((x{30}){30}){30}){30})"}}}`,
		"a large number": `{"properties": {"a": {"multipleOf": 1e-1000000000}}}`,
		"hidden text":    `{"properties": {"\u001b[2J\u202e": {"type": "\u001b[2J\u202e"}}}`,
	} {
		m := &manifest.Manifest{Version: 1, Tools: []manifest.Tool{{Module: describing(t, schema)}}}
		start := time.Now()
		h, err := host.New(t.Context(), m, &host.Options{CacheDir: cache.Dir(t)})
		if took := time.Since(start); took > hang {
			t.Errorf("%s: took %v", what, took)
		}
		if err == nil {
			t.Errorf("%s: it is loaded", what)
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		text := err.Error()
		if !strings.HasPrefix(text, `tool "describing.wasm": `) || len(text) > 1024 ||
			strings.ContainsAny(text, "\n\x1b\u202e") || strings.Contains(text, "tweet") || strings.Contains(text, "no such file") {
			t.Errorf("%s: %.600q", what, text)
		}
	}
	if asked > 0 {
		t.Errorf("the server was asked %d times", asked)
	}
}

// Attack: a schema that is harmless until a model's arguments come. The check ends,
// the guest is not called, and the next call is.
func TestThreat12ACheckHasABudget(t *testing.T) {
	const schema = `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}}}`
	deep := strings.Repeat(`{"x":`, 60) + `{}` + strings.Repeat(`}`, 60)
	script := modeltest.New(modeltest.Calls(modeltest.Call("t", deep)), modeltest.Calls(modeltest.Call("t", `{"x":{}}`)), modeltest.Text("ok"))
	m := &manifest.Manifest{Version: 1, Tools: []manifest.Tool{{Module: describing(t, schema)}}}
	h, err := host.New(t.Context(), m, &host.Options{Model: script, CacheDir: cache.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	start := time.Now()
	got, err := h.Ask(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > hang {
		t.Errorf("took %v", took)
	}
	steps := got.Result.Steps
	if len(steps) != 2 || steps[0].ErrorKind != run.KindInvalidArgs || !strings.Contains(steps[0].Observation, "takes too much work") || got.Result.ToolCallCounts["t"] != 1 {
		t.Fatalf("%+v", got.Result)
	}
	if steps[1].ErrorKind != "" || steps[1].Observation != "done" {
		t.Errorf("the next call is %+v", steps[1])
	}
	out, err := h.Call(t.Context(), "t", json.RawMessage(deep))
	if err != nil || out.Kind != run.KindInvalidArgs {
		t.Errorf("%v %+v", err, out)
	}
}
