package sdk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// sections lists what a module asks of its host, by import module, and what it
// offers.
func sections(t *testing.T, wasm []byte) (imports map[string][]string, exports []string) {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(t.Context())
	m, err := r.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	imports = make(map[string][]string)
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		imports[module] = append(imports[module], name)
	}
	for name := range m.ExportedFunctions() {
		exports = append(exports, name)
	}
	for name := range m.ExportedMemories() {
		exports = append(exports, name)
	}
	slices.Sort(imports[abi.Module])
	slices.Sort(exports)
	return imports, exports
}

func TestAModuleImportsOnlyWhatItUses(t *testing.T) {
	tests := map[string][]string{
		"../examples/wasm-tools/word_count": {"log"},
		"../examples/wasm-tools/fetch":      {"http", "log", "read"},
		"testdata/vectors":                  {"log"},
		"testdata/fetch": {
			"http", "kv_delete", "kv_get", "kv_list", "kv_set", "log", "progress", "read", "secret_exists", "state_get",
		},
	}
	for dir, want := range tests {
		t.Run(dir, func(t *testing.T) {
			imports, exports := sections(t, build(t, dir))
			if diff := cmp.Diff(want, imports[abi.Module]); diff != "" {
				t.Errorf("imports: %s", diff)
			}
			delete(imports, abi.Module)
			delete(imports, "wasi_snapshot_preview1")
			if len(imports) > 0 {
				t.Errorf("imports of neither WASI nor wagent: %v", imports)
			}
			contract := []string{"_initialize", "memory", "wagent_abi", "wagent_alloc", "wagent_call", "wagent_describe"}
			if diff := cmp.Diff(contract, exports); diff != "" {
				t.Errorf("exports: %s", diff)
			}
		})
	}
}

// vector is one of testdata/abi/calls.json.
type vector struct {
	Name       string          `json:"name"`
	Request    json.RawMessage `json:"request"`
	Response   json.RawMessage `json:"response"`
	ErrorKind  abi.ErrorKind   `json:"error_kind"`
	ErrorNames []string        `json:"error_names"`
}

func TestAModulePassesTheVectors(t *testing.T) {
	b, err := os.ReadFile("../testdata/abi/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	g := start(t, build(t, "testdata/vectors"))
	if v := g.invoke(abi.ExportVersion); v != abi.Version {
		t.Errorf("version %d", v)
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) { v.check(t, g.call(string(v.Request))) })
	}
	if len(g.logged) != 1 || !strings.HasPrefix(g.logged[0], "panic: out of cheese\n") {
		t.Errorf("logged: %.300q", g.logged)
	}
}

func (v vector) check(t *testing.T, got string) {
	if v.Response != nil {
		var want bytes.Buffer
		if err := json.Compact(&want, v.Response); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got); diff != "" {
			t.Error(diff)
		}
		return
	}
	var res abi.Response
	if err := json.Unmarshal([]byte(got), &res); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if res.Error == nil || res.Error.Kind != v.ErrorKind {
		t.Fatalf("want an error of kind %s: %s", v.ErrorKind, got)
	}
	for _, name := range v.ErrorNames {
		if !strings.Contains(res.Error.Message, name) {
			t.Errorf("%q is not in %s", name, res.Error.Message)
		}
	}
}

func TestAModuleDescribesItself(t *testing.T) {
	g := start(t, build(t, "testdata/vectors"))
	var d abi.Description
	if err := json.Unmarshal([]byte(g.answer(g.invoke(abi.ExportDescribe))), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Tools) != 5 {
		t.Fatalf("tools: %+v", d.Tools)
	}
	want := abi.Tool{
		Name: "echo", Title: "Echo", Description: "Says a text again.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","description":"what to say"},` +
			`"times":{"type":"integer","description":"how often","minimum":1,"maximum":3,"default":1}},"required":["text"],"additionalProperties":false}`),
		Annotations: &abi.Annotations{ReadOnlyHint: new(true)},
	}
	if diff := cmp.Diff(want, d.Tools[0]); diff != "" {
		t.Error(diff)
	}
}

// The garbage collector knows nothing of addresses that only the host has.
func TestBuffersStayAliveUntilTheCall(t *testing.T) {
	g := startOn(t, wazero.NewRuntimeConfig(), build(t, "testdata/vectors"))
	waiting := make(map[int]uint64)
	request := func(i int) []byte {
		return fmt.Appendf(nil, `{"v":1,"tool":"echo","arguments":{"text":"%s%d"}}`, strings.Repeat("x", 10_000), i)
	}
	for i := range 20 {
		waiting[i] = g.put(request(i))
	}
	garbage := `{"v":1,"tool":"echo","arguments":{"text":"` + strings.Repeat("y", 1<<20) + `","times":3}}`
	for range 20 {
		g.call(garbage)
	}
	for i, p := range waiting {
		n := uint64(len(request(i)))
		want := fmt.Sprintf(`{"v":1,"content":[{"type":"text","text":"%s%d"}]}`, strings.Repeat("x", 10_000), i)
		if got := g.answer(g.invoke(abi.ExportCall, p, n)); got != want {
			t.Fatalf("%d: got %.100s", i, got)
		}
	}
}

func TestBuffersAreBounded(t *testing.T) {
	const bound = 256 << 20
	g := start(t, build(t, "testdata/vectors"))
	for _, n := range []uint64{bound + 1, 1 << 31, 1<<32 - 1} {
		if p := g.invoke(abi.ExportAlloc, n); p != 0 {
			t.Errorf("%d bytes: got %d", n, p)
		}
	}
	p := g.invoke(abi.ExportAlloc, bound-10)
	if p == 0 {
		t.Fatal("no buffer within the bound")
	}
	if g.invoke(abi.ExportAlloc, 11) != 0 {
		t.Error("one buffer more than the bound allows")
	}
	if g.invoke(abi.ExportAlloc, 10) == 0 {
		t.Error("the bound is not reached yet")
	}
	g.invoke(abi.ExportCall, p, 0)
	if g.invoke(abi.ExportAlloc, 1000) == 0 {
		t.Error("a call did not give its buffer back")
	}
}

func TestARequestElsewhereIsAnError(t *testing.T) {
	g := start(t, build(t, "testdata/vectors"))
	p := g.put([]byte(`{"v":1}`))
	const want = `{"v":1,"error":{"kind":"internal","message":"the host's request is not where wagent_alloc put it"}}`
	for name, args := range map[string][2]uint64{
		"never given": {p + 1, 1}, "zero": {0, 0}, "beyond": {1<<32 - 1, 1<<32 - 1}, "too long": {p, 8},
	} {
		if got := g.answer(g.invoke(abi.ExportCall, args[0], args[1])); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := g.answer(g.invoke(abi.ExportCall, p, 7)); got != want {
		t.Errorf("a buffer was read twice: %s", got)
	}
}

func TestHostFunctionsCarryWhatTheyShould(t *testing.T) {
	g := start(t, build(t, "testdata/fetch"))
	const fetch = `{"v":1,"tool":"fetch","arguments":{"url":"https://example.com/<a>"}}`
	answer := func(s string) (int64, []byte) { return 7<<32 | int64(len(s)), []byte(s) }
	var sent string
	g.http = func(request []byte) (int64, []byte) {
		sent = string(request)
		return answer(`{"status":200,"url":"https://example.com/","body":"aGVsbG8="}`)
	}
	if got, want := g.call(fetch), `{"v":1,"content":[{"type":"text","text":"hello"}]}`; got != want {
		t.Errorf("got %s", got)
	}
	if want := `{"method":"GET","url":"https://example.com/<a>"}`; sent != want {
		t.Errorf("sent %s", sent)
	}
	if len(g.logged) != 1 || g.logged[0] != "getting https://example.com/<a>" {
		t.Errorf("logged %q", g.logged)
	}
	const line = "add to its tool: allow: {http: [{host: example.com, methods: [GET]}]}"
	g.http = func([]byte) (int64, []byte) {
		return answer(`{"status":0,"url":"","error":{"code":"denied","message":"` + line + `"}}`)
	}
	if got, want := g.call(fetch), `{"v":1,"error":{"kind":"auth_required","message":"`+line+`"}}`; got != want {
		t.Errorf("got %s", got)
	}
	g.http = func([]byte) (int64, []byte) { return int64(abi.ErrTooMany), nil }
	if got, want := g.call(fetch), `{"v":1,"error":{"kind":"rate_limited","message":"http request: too many"}}`; got != want {
		t.Errorf("got %s", got)
	}
	const full = `{"v":1,"error":{"kind":"input","message":"kv set seen: too large: the store has no room for it (limits.kv), or the key or the value is too long"}}`
	if got := g.call(`{"v":1,"tool":"probe","arguments":{}}`); got != full {
		t.Errorf("got %s", got)
	}
}
