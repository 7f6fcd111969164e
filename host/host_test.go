package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/run"
)

var cache testkit.Cache

func TestMain(m *testing.M) {
	embedder()
	host.Worker()
	cache.Main(m)
}

var builds testkit.Builds

func wordCount(t *testing.T) []byte {
	t.Helper()
	return builds.Tool(t, filepath.Join(testkit.Root(t), "examples", "wasm-tools", "word_count"))
}

// write makes a folder with a manifest and the word_count tool beside it, and
// returns the manifest's path.
func write(t *testing.T, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	wasm := wordCount(t)
	for name, data := range map[string][]byte{"wagent.yaml": []byte(yaml), "word_count.wasm": wasm} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "wagent.yaml")
}

// writeSmall is write with a module that compiles at once.
func writeSmall(t *testing.T, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"wagent.yaml": []byte(yaml), "trap.wasm": testkit.Wasm(t, "trap")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "wagent.yaml")
}

const counting = `version: 1
name: counter
model: {provider: openai, name: scripted, base_url: "${BASE_URL}", retry: {attempts: 1}}
agent: {system_prompt: You count.}
tools:
  - module: ./word_count.wasm
`

func open(t *testing.T, yaml string, opts host.Options) *host.Host {
	t.Helper()
	if opts.CacheDir == "" {
		opts.CacheDir = cache.Dir(t)
	}
	h, err := host.Open(t.Context(), write(t, yaml), &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// The whole path: a manifest, a module, the loop, and a model behind HTTP.
func TestAnAgentUsesASandboxedTool(t *testing.T) {
	end := modeltest.Server(t,
		modeltest.Calls(modeltest.Call("word_count", `{"text":"one two three"}`)),
		modeltest.Text("Three words."))
	h := open(t, counting, host.Options{Getenv: env("BASE_URL", end.URL)})

	var said strings.Builder
	var result *run.Result
	for ev, err := range h.Run(t.Context(), host.Text("How many words are in: one two three?")) {
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString(ev.Text())
		switch b := ev.Body.(type) {
		case run.Finished:
			result = b.Result
		case run.Failed:
			t.Fatalf("the run failed: %+v", b.Err)
		}
	}
	if said.String() != "Three words." || result.Output != "Three words." || result.ExitReason != run.ExitText {
		t.Errorf("said %q, result %+v", said.String(), result)
	}
	step := result.Steps[0]
	if step.IsError || !strings.Contains(step.Observation, "3") {
		t.Errorf("step is %+v", step)
	}
	r := step.Receipt
	if !strings.HasPrefix(r.Module, "sha256:") || r.WallMS <= 0 || r.PeakMemoryBytes <= 0 || r.InputBytes <= 0 || r.OutputBytes <= 0 || r.Hosts == nil {
		t.Errorf("receipt is %+v", r)
	}
	second, err := end.Exchanges()[1].JSON()
	if err != nil {
		t.Fatal(err)
	}
	if msgs, _ := second["messages"].([]any); len(msgs) != 4 {
		t.Errorf("the model was sent %d messages, want system, user, call and result", len(msgs))
	}
}

func TestAskReturnsTheEnd(t *testing.T) {
	h := open(t, counting, host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Model: modeltest.New(modeltest.Text("Hello."))})
	got, err := h.Ask(t.Context(), "hi")
	if err != nil || got.Output != "Hello." {
		t.Errorf("%+v, %v", got, err)
	}
	h = open(t, counting, host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1")})
	_, err = h.Ask(t.Context(), "hi")
	failed, ok := errors.AsType[*host.RunError](err)
	if !ok || failed.Failure.Kind != string(model.Unreachable) || len(failed.Result.Messages) != 2 {
		t.Errorf("error is %v", err)
	}
}

func TestAToolCanBeCalledWithoutAModel(t *testing.T) {
	h := open(t, counting, host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1")})
	out, err := h.Call(t.Context(), "word_count", json.RawMessage(`{"text":"a b"}`))
	if err != nil || out.Kind != "" || !strings.Contains(out.Result.Content[0].Text, "2") {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = h.Call(t.Context(), "word_count", json.RawMessage(`{"text":7}`))
	if err != nil || out.Kind != run.KindInvalidArgs || !strings.Contains(out.Result.Content[0].Text, "text") {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := h.Call(t.Context(), "nope", nil); err == nil || !strings.Contains(err.Error(), "word_count") {
		t.Errorf("error is %v", err)
	}
}

func TestToolsSayWhatStandsBehindThem(t *testing.T) {
	ceiling := policy.Default()
	ceiling.Limits.Timeout = 3 * time.Second
	h := open(t, strings.Replace(counting, "wasm\n", "wasm\n    rename: {word_count: count}\n    description: Ours.\n    limits: {memory: 32MiB}\n", 1),
		host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Ceiling: &ceiling})
	got := h.Tools()[0]
	if got.Name != "count" || got.ModuleTool != "word_count" || got.Description != "Ours." || got.ABI != "wagent" || got.Policy.Limits.Memory != 32*policy.MiB {
		t.Errorf("tool is %+v", got)
	}
	if got.Policy.Limits.Timeout != 3*time.Second {
		t.Errorf("the ceiling does not hold: %+v", got.Policy.Limits)
	}
}

func TestFaultsOfModulesAreAllToldWithTheirPlace(t *testing.T) {
	path := write(t, `version: 1
model: {name: m}
agent: {exit_conditions: [text, nope]}
tools:
  - module: ./word_count.wasm
  - module: ./word_count.wasm
  - module: ./word_count.wasm
    sha256: "0000000000000000000000000000000000000000000000000000000000000000"
  - module: ./word_count.wasm
    tools: [other]
  - module: ./wagent.yaml
`)
	_, err := host.Open(t.Context(), path, &host.Options{CacheDir: cache.Dir(t)})
	if err == nil {
		t.Fatal("the manifest was taken")
	}
	for _, want := range []string{
		"wagent.yaml:6:", `"word_count" is already the name of a tool`,
		"wagent.yaml:7:", "and the manifest wants sha256:0000",
		"wagent.yaml:9:", "no tool named other",
		"wagent.yaml:11:",
		`exit condition: there is no tool "nope"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if _, ok := errors.AsType[*manifest.Error](err); !ok {
		t.Errorf("%T holds no *manifest.Error", err)
	}
}

func TestAnExitToolIsNotNamedLikeAReasonOfTheHost(t *testing.T) {
	reasons := []run.ExitReason{
		run.ExitReturnDirect, run.ExitMaxSteps, run.ExitMaxDuration, run.ExitLength, run.ExitContentFilter, run.ExitInterrupted, run.ExitError,
	}
	for _, reason := range reasons {
		path := writeSmall(t, fmt.Sprintf(`version: 1
agent: {exit_conditions: [text, %s]}
tools:
  - module: ./trap.wasm
    rename: {trap: %s}
`, reason, reason))
		want := fmt.Sprintf(`%s:2:33: agent.exit_conditions[1]: exit condition: "%s" is a reason of the host: use rename`, path, reason)
		if _, err := host.Open(t.Context(), path, &host.Options{CacheDir: cache.Dir(t)}); err == nil || err.Error() != want {
			t.Errorf("error is %v\nwant %s", err, want)
		}
	}
}

// A missing file hides no fault of the other modules, nor a wrong grant.
func TestFaultsOfFilesAndOfModulesAreToldAtOnce(t *testing.T) {
	path := writeSmall(t, `version: 1
model: {provider: replay, recording: none.jsonl}
agent: {exit_conditions: [nope]}
tools:
  - module: ./none.wasm
  - module: ./wagent.yaml
  - module: ./trap.wasm
    allow: {write: {.: /all}}
  - module: ./trap.wasm
  - module: ./trap.wasm
  - module: ./trap.wasm
    tools: [other]
    allow: {read: {docs: /docs}}
`)
	_, err := host.Open(t.Context(), path, &host.Options{CacheDir: cache.Dir(t)})
	var got []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		got = append(got, strings.TrimPrefix(strings.TrimSpace(line), path+":"))
	}
	want := []string{
		`2:38: model.recording: no such file: "none.jsonl"`,
		`5:13: tools[0].module: no such file: "none.wasm"`,
		`8:24: tools[2].allow.write["` + filepath.Dir(path) + `"]: the folder holds the manifest, which the host reads: grant a folder that holds nothing but what the tool may change, such as one below it`,
		`13:26: tools[5].allow.read["` + filepath.Join(filepath.Dir(path), "docs") + `"]: no such folder: "docs"`,
		`6:13: tools[1]: this is not a WebAssembly module`,
		`10:13: tools[4]: tool "trap" is already the name of a tool of ` + filepath.Join(filepath.Dir(path), "trap.wasm") + `: use rename`,
		`3:27: agent.exit_conditions[0]: exit condition: there is no tool "nope"; the tools are: trap`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Attack: a tool writes into the cache, whose code the next host jumps into.
func TestNoToolMayWriteTheCompiledCode(t *testing.T) {
	top := t.TempDir()
	cache, alias := filepath.Join(top, "a", "code"), filepath.Join(top, "alias")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "a"), alias); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{top, filepath.Join(top, "a"), alias, cache, filepath.Join(alias, "code")} {
		path := writeSmall(t, "version: 1\ntools:\n  - module: trap.wasm\n  - module: trap.wasm\n    rename: {trap: b}\n    allow:\n      write: {'"+folder+"': /all}\n")
		want := fmt.Sprintf("%s:7:%d: tools[1].allow.write[%q]: the folder holds the host's compiled code, which the host reads: "+
			"grant a folder that holds nothing but what the tool may change, such as one below it", path, 19+len(folder), folder)
		for _, dir := range []string{cache, filepath.Join(alias, "code")} {
			if _, err := host.Open(t.Context(), path, &host.Options{CacheDir: dir}); err == nil || err.Error() != want {
				t.Errorf("error is %v\nwant %s", err, want)
			}
		}
	}
}

func TestARunWithoutAModelSaysWhereToNameOne(t *testing.T) {
	path := writeSmall(t, "version: 1\nmodel: {stream: true}\n")
	h, err := host.Open(t.Context(), path, &host.Options{CacheDir: cache.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	want := path + ":2:8: model.name: the manifest names no model: write the field, or give --model"
	if _, err := h.Ask(t.Context(), "hi"); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}

// A module says why it leaves a tool out, and whoever looks for the tool is told.
func TestAToolThatItsModuleLeavesOutIsMissedWithTheReason(t *testing.T) {
	leftout := builds.Tool(t, filepath.Join(testkit.Root(t), "cmd", "wagent", "testdata", "leftout"))
	const why = `tool "broken": arguments: field Done of main.Broken: func() has no JSON`
	at := func(yaml string) string {
		path := writeSmall(t, yaml)
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), "leftout.wasm"), leftout, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var log bytes.Buffer
	opts := &host.Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Model: modeltest.New(), CacheDir: filepath.Join(t.TempDir(), "code")}
	h, err := host.Open(t.Context(), at("version: 1\nagent: {system_prompt: hi}\ntools:\n  - module: trap.wasm\n  - module: leftout.wasm\n"), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "module=leftout.wasm") || !strings.Contains(got, strconv.Quote(why)) {
		t.Errorf("the log is %s", got)
	}
	want := `there is no tool "broken"; the module says: ` + why
	if _, err := h.Call(t.Context(), "broken", nil); err == nil || err.Error() != want {
		t.Errorf("a call: %v", err)
	}
	for _, err := range h.Run(t.Context(), host.Input{Tools: []string{"broken"}}) {
		if err == nil || err.Error() != want {
			t.Errorf("a run: %v", err)
		}
	}
	if _, err := h.Call(t.Context(), "brok", nil); err == nil || strings.Contains(err.Error(), "says") {
		t.Errorf("another name: %v", err)
	}

	for yaml, want := range map[string]string{
		"agent: {exit_conditions: [broken]}\ntools:\n  - module: leftout.wasm\n": `2:27: agent.exit_conditions[0]: exit condition: ` + want,
		"tools:\n  - module: leftout.wasm\n    tools: [works, broken]\n":         `3:13: tools[0]: the module has no tool named broken; it has: works; the module says: ` + why,
	} {
		path := at("version: 1\n" + yaml)
		if _, err := host.Open(t.Context(), path, opts); err == nil || err.Error() != path+":"+want {
			t.Errorf("%s%v", yaml, err)
		}
	}
}

func TestANullForAnOptionalArgumentIsTakenAsLeftOut(t *testing.T) {
	yaml := strings.Replace(counting, "wasm\n", "wasm\n    parameters: {type: object, properties: {text: {type: string}, lang: {type: string}}, required: [text], additionalProperties: false}\n", 1)
	h := open(t, yaml, host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1")})
	out, err := h.Call(t.Context(), "word_count", json.RawMessage(`{"text":"a b","lang":null}`))
	if err != nil || out.Kind != "" || !strings.Contains(out.Result.Content[0].Text, "2") {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = h.Call(t.Context(), "word_count", json.RawMessage(`{"text":null}`))
	if err != nil || out.Kind != run.KindInvalidArgs {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestOnlyTheToolsInForceAreOffered(t *testing.T) {
	script := modeltest.New(modeltest.Text("a"), modeltest.Text("b"))
	h := open(t, counting, host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Model: script})
	for _, names := range [][]string{nil, {}} {
		in := host.Text("hi")
		in.Tools = names
		for _, err := range h.Run(t.Context(), in) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	offered := []int{len(script.Requests()[0].Tools), len(script.Requests()[1].Tools)}
	if d := cmp.Diff([]int{1, 0}, offered); d != "" {
		t.Error(d)
	}
	in := host.Text("hi")
	in.Tools = []string{"nope"}
	for _, err := range h.Run(t.Context(), in) {
		if err == nil || !strings.Contains(err.Error(), "the tools are: word_count") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestARunNeedsSomethingToAnswer(t *testing.T) {
	h := open(t, strings.Replace(counting, "agent: {system_prompt: You count.}\n", "", 1), host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Model: modeltest.New()})
	for _, err := range h.Run(t.Context(), host.Input{}) {
		if err == nil || !strings.Contains(err.Error(), "agent.system_prompt") {
			t.Errorf("error is %v", err)
		}
	}
}

func TestAnInterruptedConversationIsRepairedBeforeItIsSent(t *testing.T) {
	script := modeltest.New(modeltest.Text("ok"))
	h := open(t, counting, host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Model: script})
	in := host.Input{Messages: []model.Message{
		model.Text(model.User, "count"),
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: "word_count", Arguments: []byte("{}")}}},
		model.Text(model.User, "never mind"),
	}}
	for _, err := range h.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
	}
	sent := script.Requests()[0].Messages
	if len(sent) != 5 || sent[3].Role != model.Tool || sent[3].CallID != "c1" || !sent[3].IsError {
		t.Errorf("sent %+v", sent)
	}
}

func TestClosingEndsWhatRuns(t *testing.T) {
	h, err := host.Open(t.Context(), write(t, counting), &host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Model: modeltest.New(modeltest.Hang()), CacheDir: cache.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	began, ended := make(chan struct{}), make(chan run.ExitReason, 1)
	go func() {
		for ev, err := range h.Run(t.Context(), host.Text("hi")) {
			if err != nil {
				t.Error(err)
			}
			switch b := ev.Body.(type) {
			case run.Began:
				close(began)
			case run.Finished:
				ended <- b.ExitReason
			}
		}
	}()
	<-began
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := <-ended; got != run.ExitInterrupted {
		t.Errorf("the run ended by %s", got)
	}
	if _, err := h.Call(t.Context(), "word_count", nil); !errors.Is(err, host.ErrClosed) {
		t.Errorf("a closed host was used: %v", err)
	}
}

func TestInspectRunsNothingButDescribe(t *testing.T) {
	info, err := host.Inspect(t.Context(), wordCount(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.ABI != "wagent" || len(info.Tools) != 1 || info.Tools[0].Name != "word_count" || info.Why == "" || len(info.Imports) == 0 || info.MemoryMin == 0 {
		t.Errorf("info is %+v", info)
	}
	if _, err := host.Inspect(t.Context(), []byte("not wasm")); err == nil {
		t.Error("text was taken for a module")
	}
}

// What inspecting a module has compiled is found by the host that calls its tools,
// and the other way round.
func TestInspectSharesTheCompiledCode(t *testing.T) {
	wasm := wordCount(t)
	path := filepath.Join(t.TempDir(), "word_count.wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	inspect := func(dir string) {
		if _, err := host.InspectWith(t.Context(), wasm, &host.InspectOptions{Name: "word_count.wasm", CacheDir: dir, Logger: logger}); err != nil {
			t.Fatal(err)
		}
	}
	open := func(dir string) {
		m := &manifest.Manifest{Version: 1, Tools: []manifest.Tool{{Module: path}}}
		h, err := host.New(t.Context(), m, &host.Options{Model: modeltest.New(), CacheDir: dir, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for name, steps := range map[string][]func(string){
		"inspected first": {inspect, inspect, open},
		"opened first":    {open, inspect},
	} {
		dir := t.TempDir()
		log.Reset()
		for _, step := range steps {
			step(dir)
			if got := log.String(); strings.Count(got, "msg=compiled module=word_count.wasm") != 1 || strings.Count(got, "\n") != 1 {
				t.Errorf("%s: the log is %q", name, got)
			}
		}
	}
}
