//go:build unix

package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/run"
)

// refused opens wagent.yaml in dir and returns its faults, one a line, without the
// folder's name.
func refused(t *testing.T, dir string, opts host.Options) string {
	t.Helper()
	opts.CacheDir = cache.Dir(t)
	h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &opts)
	if err == nil {
		t.Error(h.Close(t.Context()))
		return ""
	}
	return strings.ReplaceAll(err.Error(), dir+"/", "")
}

const m1 = "version: 1\nmodel: {name: m}\n"

func agents(paths ...string) string {
	text := m1 + "tools:\n"
	for i, p := range paths {
		text += fmt.Sprintf("  - {agent: %s, name: a%d}\n", p, i)
	}
	return text
}

func TestAgentsThatCannotBeOpenedAreToldWithBothPlaces(t *testing.T) {
	const cannot = "the agent b.yaml cannot be used: its own faults say why"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"it calls itself": {
			map[string]string{"wagent.yaml": agents("wagent.yaml")},
			"wagent.yaml:4:13: tools[0].agent: agents call each other in a circle: wagent.yaml → wagent.yaml",
		},
		"a circle of three": {
			map[string]string{"wagent.yaml": agents("a.yaml"), "a.yaml": agents("b.yaml"), "b.yaml": agents("./x/../wagent.yaml")},
			"wagent.yaml:4:13: tools[0].agent: the agent a.yaml cannot be used: its own faults say why\n" +
				"a.yaml:4:13: tools[0].agent: " + cannot + "\n" +
				"b.yaml:4:13: tools[0].agent: agents call each other in a circle: wagent.yaml → a.yaml → b.yaml → wagent.yaml",
		},
		"a circle below": {
			map[string]string{"wagent.yaml": agents("b.yaml", "a.yaml"), "a.yaml": agents("b.yaml"), "b.yaml": agents("a.yaml")},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\n" +
				"wagent.yaml:5:13: tools[1].agent: the agent a.yaml cannot be used: its own faults say why\n" +
				"b.yaml:4:13: tools[0].agent: the agent a.yaml cannot be used: its own faults say why\n" +
				"a.yaml:4:13: tools[0].agent: agents call each other in a circle: wagent.yaml → b.yaml → a.yaml → b.yaml",
		},
		"its text has faults, and two entries name it": {
			map[string]string{"wagent.yaml": agents("b.yaml", "b.yaml"), "b.yaml": m1 + "colour: red\nagent: {planner: tols}\n"},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\nwagent.yaml:5:13: tools[1].agent: " + cannot + "\n" +
				"b.yaml:3:1: unknown field \"colour\"; there are version, name, description, model, agent, tools, receipts\n" +
				"b.yaml:4:18: agent.planner: unknown value \"tols\", did you mean \"tools\"?",
		},
		"its module is missing": {
			map[string]string{"wagent.yaml": agents("sub/b.yaml"), "sub/b.yaml": m1 + "tools: [{module: none.wasm}]\n"},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\n" + `sub/b.yaml:3:18: tools[0].module: no such file: "none.wasm"`,
		},
		"it has no model": {
			map[string]string{"wagent.yaml": agents("b.yaml"), "b.yaml": "version: 1\n"},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\nb.yaml:1:1: model.name: the manifest names no model, and an agent that is a tool is told none: write the field",
		},
		"it has a variable that is not set": {
			map[string]string{"wagent.yaml": agents("b.yaml"), "b.yaml": "version: 1\nmodel: {name: m, api_key: \"${NO_KEY}\"}\n"},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\nb.yaml:2:27: model.api_key: the environment variable NO_KEY is not set: set it, or write ${NO_KEY:-default}",
		},
		"a secret of it is not set": {
			map[string]string{
				"wagent.yaml": agents("b.yaml"),
				"b.yaml":      m1 + "tools:\n  - module: counter.wasm\n    allow: {http: [{host: a.example}]}\n    secrets: [{env: NO_TOKEN, host: a.example, header: X}]\n",
			},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\nb.yaml:6:21: tools[0].secrets[0].env: the environment variable NO_TOKEN cannot be used: it is not set",
		},
		"it is another file than it should be": {
			map[string]string{"wagent.yaml": m1 + "tools: [{agent: b.yaml, sha256: " + strings.Repeat("0a", 32) + "}]\n", "b.yaml": m1},
			"wagent.yaml:3:17: tools[0].agent: the agent is sha256:2bd9a9f1b2dc7b0ed2cf4ea2d1d3e1f26a55ce2d0b5e7e0d1c8a1d0e6b8f3c9d, and the manifest wants sha256:" + strings.Repeat("0a", 32),
		},
		"two tools of one name": {
			map[string]string{"wagent.yaml": m1 + "tools:\n  - agent: b.yaml\n  - {agent: c.yaml, name: b}\n", "b.yaml": m1, "c.yaml": m1},
			"wagent.yaml:5:13: tools[1]: tool \"b\" is already the name of the agent b.yaml: use name",
		},
		"an exit condition that is no tool of it": {
			map[string]string{"wagent.yaml": agents("b.yaml"), "b.yaml": m1 + "agent: {exit_conditions: [a0]}\n"},
			"wagent.yaml:4:13: tools[0].agent: " + cannot + "\nb.yaml:3:27: agent.exit_conditions[0]: exit condition: there is no tool \"a0\": the manifest has none",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := manifests(t, c.files)
			if name == "it is another file than it should be" {
				m, err := manifest.Load(filepath.Join(dir, "b.yaml"), nil)
				if err != nil {
					t.Fatal(err)
				}
				c.want = c.want[:strings.Index(c.want, "sha256:")] + m.Digest + c.want[strings.Index(c.want, ", and"):]
			}
			if err := os.MkdirAll(filepath.Join(dir, "x"), 0o700); err != nil {
				t.Fatal(err)
			}
			if got := refused(t, dir, host.Options{}); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestWhatIsNoFileIsNoAgent(t *testing.T) {
	dir := manifests(t, map[string]string{"wagent.yaml": agents("fifo", "folder", "none", "loop", "/dev/zero", "big.yaml")})
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "big.yaml"), []byte("version: 1\n"+strings.Repeat("# \n", 1<<20)))
	want := `wagent.yaml:4:13: tools[0].agent: not a file: "fifo"
wagent.yaml:5:13: tools[1].agent: not a file: "folder"
wagent.yaml:6:13: tools[2].agent: no such file: "none"
wagent.yaml:7:13: tools[3].agent: no such file: "loop"
wagent.yaml:8:13: tools[4].agent: not a file: "/dev/zero"
wagent.yaml:9:13: tools[5].agent: the agent big.yaml cannot be used: its own faults say why
big.yaml: a manifest has at most 1024 KiB`
	if got := refused(t, dir, host.Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Attack: a chain of a thousand manifests. No more of it is read than may be called.
func TestAgentsAreNestedFiveLevelsDeepAndNotMore(t *testing.T) {
	chain := func(n int) map[string]string {
		files := map[string]string{"wagent.yaml": agents("f2.yaml")}
		for i := 2; i <= n; i++ {
			files[fmt.Sprintf("f%d.yaml", i)] = agents(fmt.Sprintf("f%d.yaml", i+1))
		}
		files[fmt.Sprintf("f%d.yaml", n)] = m1
		return files
	}
	h := family(t, chain(5), host.Options{Model: modeltest.New(
		modeltest.Calls(modeltest.Call("a0", `{"prompt":"2"}`)), modeltest.Calls(modeltest.Call("a0", `{"prompt":"3"}`)),
		modeltest.Calls(modeltest.Call("a0", `{"prompt":"4"}`)), modeltest.Calls(modeltest.Call("a0", `{"prompt":"5"}`)),
		modeltest.Text("deepest"), modeltest.Text("4"), modeltest.Text("3"), modeltest.Text("2"), modeltest.Text("1"),
	)})
	events, got := ended(t, h, host.Text("go"))
	if got.Output != "1" || got.TokenUsage.TotalTokens != 9*15 {
		t.Errorf("result is %+v", got)
	}
	deepest := 0
	for _, e := range events {
		depth := 0
		for n, ok := e.Body.(run.Nested); ok; n, ok = n.Event.Body.(run.Nested) {
			depth++
		}
		deepest = max(deepest, depth)
		if data, err := json.Marshal(e); err != nil || json.Unmarshal(data, &e) != nil {
			t.Errorf("%T cannot be written and read: %v", e.Body, err)
		}
	}
	if deepest != 4 {
		t.Errorf("events are nested %d deep", deepest)
	}

	const deep = "agents call each other more than 5 levels deep: wagent.yaml → f2.yaml → f3.yaml → f4.yaml → f5.yaml → f6.yaml"
	files := chain(1000)
	files["f7.yaml"] = "what is this" // it is never read
	want := "wagent.yaml:4:13: tools[0].agent: the agent f2.yaml cannot be used: its own faults say why\n"
	for i := 2; i < 5; i++ {
		want += fmt.Sprintf("f%d.yaml:4:13: tools[0].agent: the agent f%d.yaml cannot be used: its own faults say why\n", i, i+1)
	}
	want += "f5.yaml:4:13: tools[0].agent: " + deep
	if got := refused(t, manifests(t, files), host.Options{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	// One that was opened at a place where it is not too deep is too deep at another.
	files = chain(5)
	files["wagent.yaml"] = agents("f2.yaml", "side.yaml")
	files["side.yaml"] = agents("f2.yaml")
	got2 := refused(t, manifests(t, files), host.Options{})
	if !strings.Contains(got2, "side.yaml:4:13: tools[0].agent: agents call each other more than 5 levels deep: wagent.yaml → side.yaml → f2.yaml") || strings.Count(got2, "\n") != 1 {
		t.Errorf("got\n%s", got2)
	}
}

// Attack: few files that name each other so often that together they are too many.
func TestAgentsAreNotMultipliedWithoutEnd(t *testing.T) {
	var many, narrowed []string
	for range 30 {
		many = append(many, "b.yaml")
	}
	files := map[string]string{"wagent.yaml": agents(many...), "b.yaml": strings.ReplaceAll(agents(many...), "b.yaml", "c.yaml"), "c.yaml": strings.ReplaceAll(agents(many...), "b.yaml", "d.yaml"), "d.yaml": m1}
	if got := refused(t, manifests(t, files), host.Options{}); !strings.Contains(got, "more than 1000 tools, with those of the agents counted for each entry that names one") {
		t.Errorf("got %.2000s", got)
	}
	for i := range 101 {
		narrowed = append(narrowed, fmt.Sprintf("  - {agent: b.yaml, name: a%d, allow: {}}\n", i))
	}
	files = map[string]string{"wagent.yaml": m1 + "tools:\n" + strings.Join(narrowed, ""), "b.yaml": m1}
	if got, want := refused(t, manifests(t, files), host.Options{}), "wagent.yaml:104:13: tools[100].agent: more than 100 agents in all"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	files["wagent.yaml"] = m1 + "tools:\n" + strings.Join(narrowed[:100], "")
	family(t, files, host.Options{})
}

// An agent may do nothing that whoever calls it does not allow.
func TestTheCallersBoundsNarrowTheAgent(t *testing.T) {
	files := func(entry string) map[string]string {
		return map[string]string{
			"wagent.yaml": m1 + "tools:\n  - agent: b.yaml\n" + entry,
			"b.yaml":      m1 + "tools:\n  - agent: c.yaml\n",
			"c.yaml": m1 + "tools:\n  - module: counter.wasm\n    allow: {kv: true, read: {docs: /docs}, write: {out: /out}, env: {A: b}, http: [{host: a.example}, {host: b.example}]}\n" +
				"    secrets: [{env: TOKEN, host: a.example, header: X}, {env: OTHER, host: b.example, header: X}]\n",
		}
	}
	open := func(entry string, opts host.Options) policy.Grants {
		dir := manifests(t, files(entry))
		for _, d := range []string{"docs/deep", "out"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		opts.CacheDir, opts.Getenv = cache.Dir(t), env("TOKEN", "0123456789", "OTHER", "9876543210")
		h, err := host.Open(t.Context(), filepath.Join(dir, "wagent.yaml"), &opts)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(t.Context())
		return h.Tools()[0].Agent.Tools[0].Agent.Tools[0].Policy.Grants
	}
	said := func(g policy.Grants) string {
		var parts []string
		for _, r := range g.HTTP {
			parts = append(parts, r.Host)
		}
		for _, m := range g.Read {
			parts = append(parts, "r"+m.Guest)
		}
		for _, m := range g.Write {
			parts = append(parts, "w"+m.Guest)
		}
		for _, s := range g.Secrets {
			parts = append(parts, s.Name)
		}
		for k := range g.Env {
			parts = append(parts, k)
		}
		if g.KV {
			parts = append(parts, "kv")
		}
		return strings.Join(parts, " ")
	}
	ceiling := policy.Default()
	ceiling.Grants.KV = true
	for _, c := range []struct {
		entry string
		opts  host.Options
		want  string
	}{
		{"", host.Options{}, "a.example b.example r/docs w/out TOKEN OTHER A kv"},
		{"    allow: {}\n", host.Options{}, ""},
		{"    allow: {kv: true, env: {A: b}, private_networks: true}\n", host.Options{}, "A kv"},
		{"    allow: {kv: false, env: {A: c}}\n", host.Options{}, ""},
		{"    allow: {http: [{host: a.example}, {host: c.example}]}\n", host.Options{}, "a.example TOKEN"},
		{"    allow: {read: {docs/deep: /x, out: /y}}\n", host.Options{}, "r/docs/deep r/out"},
		{"    allow: {write: {out: /y, docs: /z}}\n", host.Options{}, "r/docs w/out"},
		{"", host.Options{Ceiling: &ceiling}, "kv"},
		{"    allow: {http: [{host: a.example}]}\n", host.Options{Ceiling: &ceiling}, ""},
	} {
		if got := said(open(c.entry, c.opts)); got != c.want {
			t.Errorf("%q: granted %q, want %q", c.entry, got, c.want)
		}
	}
}

// A module that needs what the caller does not let it have is told at its own place.
func TestAModuleThatIsLeftWithoutItsGrantIsNotLoaded(t *testing.T) {
	files := map[string]string{
		"wagent.yaml": m1 + "tools:\n  - agent: b.yaml\n    allow: {}\n",
		"b.yaml":      m1 + "tools:\n  - module: needkv.wasm\n    allow: {kv: true}\n",
	}
	got := refused(t, manifests(t, files), host.Options{})
	if !strings.HasPrefix(got, "wagent.yaml:4:12: tools[0].agent: the agent b.yaml cannot be used: its own faults say why\nb.yaml:4:13: tools[0]: ") || !strings.Contains(got, "kv") {
		t.Errorf("got %s", got)
	}
	files["wagent.yaml"] = m1 + "tools:\n  - agent: b.yaml\n"
	family(t, files, host.Options{})
}

// Attack: a tool of one agent writes what another is made of.
func TestNoToolOfAFamilyMayWriteWhatAnotherIsMadeOf(t *testing.T) {
	const writes = "tools:\n  - module: counter.wasm\n    allow: {write: {"
	for name, files := range map[string]map[string]string{
		"the caller's manifest": {"wagent.yaml": agents("sub/b.yaml"), "sub/b.yaml": m1 + writes + "..: /w}}\n"},
		"the agent's module":    {"wagent.yaml": m1 + writes + "lib: /w}}\n  - agent: sub/b.yaml\n", "sub/b.yaml": m1 + "tools: [{module: ../lib/loop.wasm}]\n"},
		"a module of another":   {"wagent.yaml": agents("one/b.yaml", "two/c.yaml"), "one/b.yaml": m1 + writes + "../lib: /w}}\n", "two/c.yaml": m1 + "tools: [{module: ../lib/loop.wasm}]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := manifests(t, files)
			if got := refused(t, dir, host.Options{}); strings.Count(got, "which the host reads for another agent") != 1 {
				t.Errorf("got %s", got)
			}
		})
	}
}

// A value that any module of a family may send is said by none of them.
func TestNoModuleOfAFamilySaysASecretOfAnother(t *testing.T) {
	const token = "done-is-the-secret"
	files := map[string]string{
		"wagent.yaml": m1 + "agent: {system_prompt: boss}\ntools:\n  - {agent: b.yaml, name: researcher}\n  - module: counter.wasm\n    allow: {http: [{host: a.example}]}\n    secrets: [{env: TOKEN, host: a.example, header: X}]\n",
		"b.yaml":      m1 + "agent: {system_prompt: research}\ntools:\n  - {module: extism-plain.wasm, name: echo, export: echo, input: text, parameters: {type: object, properties: {text: {type: string}}}}\n",
	}
	h := family(t, files, host.Options{Getenv: env("TOKEN", token), Model: roles(map[string][]modeltest.Turn{
		"boss":     {ask("x"), modeltest.Text("ok")},
		"research": {modeltest.Calls(modeltest.Call("echo", `{"text":"`+token+`"}`)), modeltest.Text("One.")},
	})})
	if d := cmp.Diff(0, len(h.Tools()[0].Agent.Tools[0].Policy.Grants.Secrets)); d != "" {
		t.Error(d)
	}
	events, _ := ended(t, h, host.Text("go"))
	said := ""
	for _, e := range events {
		if n, ok := e.Body.(run.Nested); ok {
			if r, ok := n.Event.Body.(run.Returned); ok {
				said += fmt.Sprint(r.Content)
			}
		}
	}
	if !strings.Contains(said, "[redacted]") || strings.Contains(said, token) {
		t.Errorf("the module says %q", said)
	}
}
