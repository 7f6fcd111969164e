package manifest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wagent-dev/wagent/host/policy"
)

// folder makes a place where the files and folders that the manifests of these
// tests name are.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"tools", "docs", "out"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"tools/wordcount.wasm", "run.jsonl", "researcher.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func noEnv(string) (string, bool) { return "", false }

func env(kv map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := kv[name]
		return v, ok
	}
}

func example(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "manifests", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// messages are the faults of err, one a line, without the folder of the test.
func messages(err error, dir string) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")
}

func TestEveryFieldIsRead(t *testing.T) {
	dir := folder(t)
	m, err := Parse(example(t, "full.yaml"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := &Manifest{
		Version: 1, Name: "repo-helper", Description: "Helps with a repository.", Path: filepath.Join(dir, "wagent.yaml"), Dir: dir, Digest: m.Digest,
		Model: Model{
			Provider: "openai", Recording: filepath.Join(dir, "run.jsonl"), Name: "gpt-5-mini", BaseURL: "https://api.openai.com/v1",
			ContextWindow: 128000, Temperature: new(0.0), MaxOutputTokens: 4096, Stream: new(true), Timeout: Duration(2 * time.Minute),
			Retry:  Retry{4, Duration(500 * time.Millisecond), Duration(30 * time.Second)},
			Prices: Prices{Input: 1.25, Cached: 0.125, Output: 10},
			Extra:  map[string]any{"reasoning": map[string]any{"effort": "low"}, "stop": []any{"a", "${NOT_EXPANDED}"}, "seed": int64(7), "top_p": 0.5, "user": nil},
			Fallback: []Fallback{{
				Name: "gpt-5-nano", BaseURL: "http://localhost:11434/v1", ContextWindow: 8000, Temperature: new(0.5), MaxOutputTokens: 100,
				Stream: new(false), Timeout: Duration(10 * time.Second), Retry: Retry{2, Duration(time.Second), Duration(2 * time.Second)},
				Prices: Prices{Input: 2}, Extra: map[string]any{"seed": int64(1)}, Compat: Compat{Order: "alternate"},
			}},
			Compat: Compat{
				Reasoning: "never", CallIDs: "short", SystemRole: "developer", MaxTokens: "max_tokens", Order: "any", Schemas: "plain",
				Images: new(false), Files: new(true), Omit: []string{"temperature"},
			},
		},
		Agent: Agent{
			SystemPrompt: "You are a helper. ${NOT_EXPANDED} stays as it is.\n", Planner: "tools", MaxSteps: new(0), MaxDuration: Duration(5 * time.Minute),
			EarlyStopping: "force", TrimSteps: new(0), ExitConditions: []string{"text", "done"}, ParallelToolCalls: 4, OnToolError: "feedback",
			MaxTotalTokens: 100000, MaxCost: 0.5, MaxToolCalls: 50, MaxCallsPerTool: map[string]int{"word_count": 10}, MaxRepeatedCalls: new(3),
			OnParseError: OnParseError{Word: "feedback"}, ReturnSteps: new(true),
			State:          map[string]StateKey{"notes": {Schema: map[string]any{"type": "array", "items": map[string]any{"type": "string"}}, Merge: "append"}},
			ToolSearchOver: new(20),
			Output: &Output{
				Schema: map[string]any{"type": "object", "required": []any{"answer"}, "properties": map[string]any{
					"why": map[string]any{"type": "string"}, "answer": map[string]any{"type": "integer"},
				}},
				Strategy: "tool", Attempts: 2,
			},
		},
		Tools: []Tool{{
			Module: filepath.Join(dir, "tools/wordcount.wasm"), SHA256: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			ABI: "auto", Export: "count_vowels", Input: "json", Name: "word_count", Tools: []string{"word_count"},
			Rename: map[string]string{"word_count": "count_words"}, Description: "Counts words.",
			Parameters: map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}, "required": []any{"text"}},
			Config:     map[string]any{"lang": "en", "deep": []any{map[string]any{"price": "${5}"}}, "n": int64(1), "on": true},
			Limits: Limits{
				Memory: 64 << 20, Timeout: Duration(5 * time.Second), Fuel: 5e9, Output: 1 << 20, Logs: 8000, HTTPResponse: 4 << 20, HTTPRequests: 20,
				KV: 512 << 10, Files: FileLimits{64 << 20, 1000, 64},
			},
			Allow: Allow{
				HTTP: []HTTPRule{{Host: "api.github.com", Methods: []string{"GET"}, Paths: []string{"/repos/**"}}, {Host: "http://localhost:8080"}},
				Read: map[string]string{filepath.Join(dir, "docs"): "/docs"}, Write: map[string]string{filepath.Join(dir, "out"): "/out"},
				Env: map[string]string{"LANG": "C.UTF-8"}, PrivateNetworks: true, KV: true, Clock: "fixed:2026-01-01T00:00:00Z", Random: "seed:42",
			},
			Secrets:         []Secret{{Env: "GITHUB_TOKEN", Host: "api.github.com", Header: "Authorization", Format: "Bearer {}"}},
			InputsFromState: map[string]string{"notes": "existing"}, OutputsToState: map[string]StateOutput{"notes": {From: "note", Merge: "replace"}},
			Polling: true, Instances: "pristine", Isolation: "inprocess",
		}, {
			Agent: filepath.Join(dir, "researcher.yaml"), Name: "research", Description: "Looks things up.",
			Limits: Limits{Timeout: Duration(2 * time.Hour)}, Allow: Allow{KV: true},
		}},
		Receipts: Receipts{Fuel: true},
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreUnexported(Manifest{}, Tool{})); diff != "" {
		t.Error(diff)
	}
	at := func(text string) string { return m.Path + ":" + strconv.Itoa(lineOf(t, "full.yaml", text)) }
	if got := m.At("tools[0].limits.memory"); got != at("      memory: ")+":15" {
		t.Errorf("At: %s", got)
	}
	if got := m.At("tools[0].limits.nothing"); got != at("      memory: ")+":7" {
		t.Errorf("At: %s", got)
	}
	if got := (&Manifest{}).At("tools[0].limits"); got != "tools[0].limits" {
		t.Errorf("At: %s", got)
	}
	if got := m.Tools[0].Pos(); got != at("  - module: ")+":5" {
		t.Errorf("Pos: %s", got)
	}
	var asJSON string
	if raw := m.Tools[0].ParametersJSON(); raw != nil {
		asJSON = string(raw)
	}
	if want := `{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}`; asJSON != want {
		t.Errorf("ParametersJSON: %s", asJSON)
	}
}

// lineOf is the number of the first line of an example that begins with text.
func lineOf(t *testing.T, name, text string) int {
	t.Helper()
	for i, line := range strings.Split(string(example(t, name)), "\n") {
		if strings.HasPrefix(line, text) {
			return i + 1
		}
	}
	t.Fatalf("%s has no line that begins with %q", name, text)
	return 0
}

func TestThePolicyIsTheDefaultsWithWhatTheEntrySays(t *testing.T) {
	dir := folder(t)
	m, err := Parse(example(t, "full.yaml"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	m.Tools[0].Limits.Output, m.Tools[0].Limits.Files.Open = 0, 0
	got, err := m.Tools[0].Policy()
	if err != nil {
		t.Fatal(err)
	}
	want := policy.Default()
	want.Limits.Logs, want.Limits.Fuel, want.Limits.KV = 8000, 5e9, 512<<10
	want.Grants = policy.Grants{
		HTTP: []policy.HTTPRule{
			{Scheme: "https", Host: "api.github.com", Port: 443, Methods: []string{"GET"}, Paths: []string{"/repos/**"}},
			{Scheme: "http", Host: "localhost", Port: 8080},
		},
		PrivateNetworks: true, KV: true, State: []string{"notes"},
		Read:    []policy.Mount{{Host: filepath.Join(dir, "docs"), Guest: "/docs"}},
		Write:   []policy.Mount{{Host: filepath.Join(dir, "out"), Guest: "/out"}},
		Env:     map[string]string{"LANG": "C.UTF-8"},
		Clock:   policy.Clock{Fixed: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		Random:  policy.Random{Seeded: true, Seed: 42},
		Secrets: []policy.Secret{{Name: "GITHUB_TOKEN", Scheme: "https", Host: "api.github.com", Port: 443, Header: "Authorization", Format: "Bearer {}"}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(policy.HTTPRule{})); diff != "" {
		t.Error(diff)
	}
}

func TestAnEntryWithoutGrantsOpensNothing(t *testing.T) {
	got, err := (&Tool{}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(policy.Default(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsAreThoseOfTheFormat(t *testing.T) {
	dir := folder(t)
	m, err := Parse(example(t, "small.yaml"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	d := m.WithDefaults()
	want := Model{
		Provider: "openai", BaseURL: "https://api.openai.com/v1", Stream: new(true), Timeout: Duration(2 * time.Minute),
		Retry: Retry{4, Duration(500 * time.Millisecond), Duration(30 * time.Second)},
	}
	if diff := cmp.Diff(want, d.Model); diff != "" {
		t.Error(diff)
	}
	wantAgent := Agent{
		Planner: "tools", MaxSteps: new(15), EarlyStopping: "force", TrimSteps: new(0), ExitConditions: []string{"text"}, ParallelToolCalls: 4, OnToolError: "feedback",
		MaxRepeatedCalls: new(0), ToolSearchOver: new(0), OnParseError: OnParseError{Word: "feedback"}, ReturnSteps: new(true),
	}
	if diff := cmp.Diff(wantAgent, d.Agent); diff != "" {
		t.Error(diff)
	}
	if m.Agent.MaxSteps != nil || m.Model.Provider != "" {
		t.Error("the manifest itself was changed")
	}
	m.Agent.MaxSteps = new(0)
	if got := *m.WithDefaults().Agent.MaxSteps; got != 0 {
		t.Errorf("no steps became %d", got)
	}
}

func TestAnAliasIsReadWhereItStands(t *testing.T) {
	dir := folder(t)
	m, err := Parse(example(t, "shared.yaml"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.Tools[0].Limits, m.Tools[1].Limits); diff != "" {
		t.Error(diff)
	}
	if got := m.At("tools[1].limits"); got != m.Path+":10:13" {
		t.Errorf("At: %s", got)
	}
}

func TestVariablesGoOnlyWhereTheyBelong(t *testing.T) {
	dir := folder(t)
	src := `version: 1
model: {base_url: "http://${HOST}:${PORT:-80}/v1", api_key: "$KEY-${KEY}", name: "${KEY}"}
agent: {system_prompt: "${KEY}"}
tools:
  - module: ${TOOLS}/wordcount.wasm
    description: ${KEY}
    config: {a: ["${KEY}", "$${KEY}", "${EMPTY:-none}", "${EMPTY}"], "${KEY}": 1}
    allow: {read: {"${DOCS}": "/${KEY}"}, env: {A: "${KEY}"}}
`
	m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), env(map[string]string{
		"HOST": "h", "KEY": "k", "TOOLS": "tools", "DOCS": filepath.Join(dir, "docs"), "EMPTY": "",
	}))
	if err != nil {
		t.Fatal(err)
	}
	tool := m.Tools[0]
	got := []any{m.Model.BaseURL, string(m.Model.APIKey), m.Model.Name, m.Agent.SystemPrompt, tool.Module, tool.Description, tool.Config, tool.Allow.Read, tool.Allow.Env}
	want := []any{
		"http://h:80/v1", "$KEY-k", "${KEY}", "${KEY}", filepath.Join(dir, "tools/wordcount.wasm"), "${KEY}",
		map[string]any{"a": []any{"k", "${KEY}", "none", ""}, "${KEY}": int64(1)},
		map[string]string{filepath.Join(dir, "docs"): "/${KEY}"},
		map[string]string{"A": "${KEY}"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAKeyInTheFileIsWarnedOfAndNotPrinted(t *testing.T) {
	dir := folder(t)
	const key = "sk-abcdefghijklmnopqrstuvwxyz"
	src := "version: 1\nmodel:\n  name: m\n  api_key: " + key + "\ntools:\n  - module: tools/wordcount.wasm\n    config: {token: " + key + "}\n"
	want := []string{
		"wagent.yaml:4:12: model.api_key: a key is written in the manifest: use ${NAME} and set the variable, so that the key is not shared with the file",
		`wagent.yaml:7:21: tools[0].config["token"]: this looks like a key, and a guest or the model can read it: whoever has the file has the key too`,
	}
	if diff := cmp.Diff(want, warnings(t, dir, src, nil)); diff != "" {
		t.Error(diff)
	}
	for _, short := range []string{"x", "abc123", "0123456789abcdef"} {
		src := "version: 1\nmodel: {name: m, api_key: \"" + short + "\"}\n"
		if got := warnings(t, dir, src, nil); len(got) != 1 || !strings.HasPrefix(got[0], "wagent.yaml:2:27: model.api_key: a key is written in the manifest") {
			t.Errorf("%s: %q", src, got)
		}
	}
	for _, none := range []string{"${KEY}", "${NONE:-}", "${NONE:-none}", ""} {
		src := "version: 1\nmodel: {name: m, api_key: \"" + none + "\"}\n"
		if got := warnings(t, dir, src, map[string]string{"KEY": key}); len(got) != 0 {
			t.Errorf("%s: %q", src, got)
		}
	}
}

// warnings are those of a manifest in dir, which has no fault. None holds a key.
func warnings(t *testing.T, dir, src string, vars map[string]string) []string {
	t.Helper()
	m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), env(vars))
	if err == nil {
		err = m.Check()
	}
	if err != nil {
		t.Fatalf("%s%v", src, err)
	}
	var got []string
	for _, w := range m.Warnings() {
		if strings.Contains(w.String(), "abcdef") {
			t.Errorf("the key is printed: %s", w)
		}
		got = append(got, strings.TrimPrefix(w.String(), dir+string(filepath.Separator)))
	}
	return got
}

func TestAModelWithoutANameIsWarnedOf(t *testing.T) {
	dir := folder(t)
	const said = ": model.name: the manifest names no model, so a run has to be told one: write the field, or give --model"
	for src, place := range map[string]string{
		"version: 1\n":                                                  "1:1",
		"version: 1\nmodel:\n  stream: true\n":                          "3:3",
		"version: 1\nmodel: {stream: true}\n":                           "2:8",
		"version: 1\nmodel: {name: \"\"}\n":                             "2:15",
		"version: 1\nmodel: {name: m}\n":                                "",
		"version: 1\nmodel: {provider: replay, recording: run.jsonl}\n": "",
	} {
		var want []string
		if place != "" {
			want = []string{"wagent.yaml:" + place + said}
		}
		if diff := cmp.Diff(want, warnings(t, dir, src, nil)); diff != "" {
			t.Errorf("%s%s", src, diff)
		}
	}
	m, err := Parse([]byte("version: 1\n"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	if m.Model.Name = "given"; len(m.Warnings()) != 0 || len((&Manifest{}).Warnings()) != 0 {
		t.Errorf("%v", m.Warnings())
	}
}

func TestAManifestMadeInGoHasTheSameRules(t *testing.T) {
	dir := folder(t)
	m := &Manifest{Dir: dir, Model: Model{Provider: "replay", Recording: "run.jsonl"}, Tools: []Tool{{Module: "tools/wordcount.wasm"}}}
	if err := m.Check(); err != nil {
		t.Error(err)
	}
	m = &Manifest{Dir: dir, Agent: Agent{Planner: "reakt", ParallelToolCalls: -1}, Tools: []Tool{{Module: "tools/none.wasm", Limits: Limits{Memory: -5}}, {}}}
	want := `agent.planner: unknown value "reakt", did you mean "react"?
agent.parallel_tool_calls: must be from 1 to 256
tools[0].module: no such file: "tools/none.wasm"
tools[0].limits.memory: must be from 64KiB to 4GiB
tools[1]: the field "module" is missing`
	if diff := cmp.Diff(want, messages(m.Check(), dir)); diff != "" {
		t.Error(diff)
	}
}

func TestAFaultOfAModuleHasThePlaceOfItsEntry(t *testing.T) {
	dir := folder(t)
	m, err := Parse(example(t, "full.yaml"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the module has no exports\nand more")
	at := func(text string) string { return "wagent.yaml:" + strconv.Itoa(lineOf(t, "full.yaml", text)) }
	got := m.Tools[0].Fault(cause)
	if want := at("  - module: ") + ":13: tools[0]: the module has no exports and more"; messages(got, dir) != want || !errors.Is(got, cause) {
		t.Errorf("got %v", got)
	}
	if again := m.Tools[0].Fault(got); again != got || m.Tools[0].Fault(nil) != nil {
		t.Error("a fault that has its place is wrapped again")
	}
	made := (&Tool{Module: "x/y.wasm"}).Fault(cause)
	if want := `tool "y.wasm": the module has no exports and more`; made.Error() != want {
		t.Errorf("got %v", made)
	}
}

func TestAFaultHasThePlaceOfItsFieldOrGrant(t *testing.T) {
	dir := folder(t)
	m, err := Parse(example(t, "full.yaml"), filepath.Join(dir, "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("is not good")
	at := func(text string) string { return "wagent.yaml:" + strconv.Itoa(lineOf(t, "full.yaml", text)) }
	for want, got := range map[string]error{
		at("  exit_conditions: ") + ":27: agent.exit_conditions[1]: is not good": m.Fault("agent.exit_conditions[1]", cause),
		at("      read: ") + `:22: tools[0].allow.read["docs"]: is not good`:     m.Tools[0].FolderFault("/docs", cause),
		at("      write: ") + `:32: tools[0].allow.write["out"]: is not good`:    m.Tools[0].FolderFault("/out", cause),
		at("  - module: ") + ":13: tools[0]: is not good":                        m.Tools[0].FolderFault("/other", cause),
		`allow.write["o"]: is not good`:                                          (&Tool{Allow: Allow{Write: map[string]string{"o": "/o/"}}}).FolderFault("/o", cause),
	} {
		if messages(got, dir) != want || !errors.Is(got, cause) {
			t.Errorf("got %q, want %q", messages(got, dir), want)
		}
		if m.Fault("name", got) != got || m.Tools[0].FolderFault("/out", got) != got {
			t.Error("a fault that has its place is wrapped again")
		}
	}
	if m.Fault("name", nil) != nil || m.Tools[0].FolderFault("/out", nil) != nil {
		t.Error("nothing wrong is a fault")
	}
}

func TestLoadSaysWhatIsWrongWithTheFile(t *testing.T) {
	dir := folder(t)
	for path, want := range map[string]string{
		"none.yaml": "none.yaml: no such file or directory", "docs": "docs: not a file",
	} {
		_, err := Load(filepath.Join(dir, path), noEnv)
		if got := messages(err, dir); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	path := filepath.Join(dir, "wagent.yaml")
	if err := os.WriteFile(path, []byte("version: 1\nname: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path, nil)
	if err != nil || m.Name != "a" || m.Digest != fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("version: 1\nname: a\n"))) {
		t.Errorf("%v %v", m, err)
	}
}
