package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wagent-dev/wagent/host/policy"
)

const oneAgent = "version: 1\ntools:\n  - agent: researcher.yaml\n"

func TestAnEntryThatIsAnAgentHasItsOwnFields(t *testing.T) {
	dir := folder(t)
	const (
		only    = "is for modules, and this tool is an agent, which has only: agent, sha256, name, description, limits, allow, outputs_to_state, polling, return_direct"
		timeout = "is for modules, and this tool is an agent, which has only: timeout"
	)
	for src, want := range map[string]string{
		oneAgent: "",
		oneAgent + "    name: a\n    description: Does.\n    limits: {timeout: 48h}\n    allow: {}\n    return_direct: true\n": "",
		oneAgent + "    module: tools/wordcount.wasm\n":                         "4:5: tools[0].module: a tool is a module or an agent, and not both",
		oneAgent + "    abi: auto\n    config: {}\n":                            "4:5: tools[0].abi: " + only + "\n5:5: tools[0].config: " + only,
		oneAgent + "    tools: [a]\n    rename: {a: b}\n":                       "4:5: tools[0].tools: " + only + "\n5:5: tools[0].rename: " + only,
		oneAgent + "    parameters: {}\n    secrets: []\n":                      "4:5: tools[0].parameters: " + only + "\n5:5: tools[0].secrets: " + only,
		oneAgent + "    instances: session\n    isolation: process\n":           "4:5: tools[0].instances: " + only + "\n5:5: tools[0].isolation: " + only,
		oneAgent + "    export: f\n    input: text\n":                           "4:5: tools[0].export: " + only + "\n5:5: tools[0].input: " + only,
		oneAgent + "    limits: {memory: 1MiB, timeout: 1s, files: {}}\n":       "4:14: tools[0].limits.memory: " + timeout + "\n4:41: tools[0].limits.files: " + timeout,
		oneAgent + "    limits: {timeout: 1000h}\n":                             "4:23: tools[0].limits.timeout: must be from 1ms to 720h0m0s",
		oneAgent + "    name: a.b\n":                                            `4:11: tools[0].name: "a.b" is not a name: at most 64 letters, digits, _ and -, and no digit or - first`,
		oneAgent + "    sha256: abc\n":                                          "4:13: tools[0].sha256: must be 64 hexadecimal digits",
		oneAgent + "    allow: {read: {none: /x}}\n":                            `4:26: tools[0].allow.read["none"]: no such folder: "none"`,
		oneAgent + "    allow: {clock: never}\n":                                `4:20: tools[0].allow.clock: a clock is "real", "coarse", or "fixed:" and a time`,
		oneAgent + "    agnt: x\n":                                              `4:5: tools[0]: unknown field "agnt", did you mean "agent"?`,
		"version: 1\ntools:\n  - agent: none.yaml\n":                            `3:12: tools[0].agent: no such file: "none.yaml"`,
		"version: 1\ntools:\n  - agent: docs\n":                                 `3:12: tools[0].agent: not a file: "docs"`,
		"version: 1\ntools:\n  - agent: https://a/b.yaml\n":                     "3:12: tools[0].agent: an agent is a manifest, which is a file",
		"version: 1\ntools:\n  - agent: ${NONE}\n":                              "3:12: tools[0].agent: the environment variable NONE is not set: set it, or write ${NONE:-default}",
		"version: 1\ntools:\n  - agent: \"\"\n":                                 `3:12: tools[0].agent: is empty: write the path of a manifest`,
		"version: 1\ntools:\n  - agent: [a]\n":                                  "3:12: tools[0].agent: must be a string, found a list",
		"version: 1\ndescription: " + strings.Repeat("a", 64<<10+1) + "\n":      "2:14: description: has more than 64 KiB",
		"version: 1\ndescription: 3\n":                                          "2:14: description: must be a string, found a number: put it in quotes",
		"version: 1\ntools:\n  - agent: researcher.yaml\n    abi: \"\"\n":       "4:5: tools[0].abi: " + only,
		"version: 1\ntools:\n  - {agent: researcher.yaml, limits: {fuel: 1}}\n": "3:39: tools[0].limits.fuel: " + timeout,
	} {
		m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), noEnv)
		if err == nil {
			err = m.Check()
		}
		got := strings.ReplaceAll(strings.ReplaceAll(messages(err, dir), "wagent.yaml:", ""), dir, "DIR")
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
	m := &Manifest{Dir: dir, Tools: []Tool{{Agent: "researcher.yaml", ABI: "auto", Limits: Limits{Fuel: 1}}}}
	if want := "tools[0].abi: " + only + "\ntools[0].limits.fuel: " + timeout; m.Check() == nil || m.Check().Error() != want {
		t.Errorf("made in Go: %v", m.Check())
	}
}

func TestWhatAnEntryLetsAnAgentReachIsNothingOrAllThatItSays(t *testing.T) {
	dir := folder(t)
	for src, want := range map[string]*policy.Grants{
		"":                         nil,
		"    allow: {}\n":          {},
		"    allow:\n":             {},
		"    allow: {kv: false}\n": {},
		"    allow: {kv: true}\n":  {KV: true},
		"    allow: {write: {out: /o}, http: [{host: a.example}]}\n": {
			HTTP: []policy.HTTPRule{{Scheme: "https", Host: "a.example", Port: 443}}, Write: []policy.Mount{{Host: filepath.Join(dir, "out"), Guest: "/o"}},
		},
	} {
		m, err := Parse([]byte(oneAgent+src), filepath.Join(dir, "wagent.yaml"), noEnv)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		got, err := m.Tools[0].Ceiling()
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(policy.HTTPRule{})); err != nil || d != "" {
			t.Errorf("%s: %v %s", src, err, d)
		}
	}
	for _, c := range []struct {
		tool Tool
		nils bool
	}{{Tool{}, true}, {Tool{Allow: Allow{Read: map[string]string{}}}, false}} {
		if got, err := c.tool.Ceiling(); err != nil || (got == nil) != c.nils {
			t.Errorf("made in Go: %v, %v", got, err)
		}
	}
}

// An agent that could write what another of the same run is made of could be that one.
func TestNoToolMayWriteWhatAnotherAgentIsMadeOf(t *testing.T) {
	dir := folder(t)
	if err := os.MkdirAll(filepath.Join(dir, "out", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"out/deep/inner.yaml", "out/inner.wasm"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("version: 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	load := func(src, name string) *Manifest {
		m, err := Parse([]byte("version: 1\n"+src), filepath.Join(dir, name), noEnv)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	writer := load("tools: [{module: tools/wordcount.wasm, allow: {write: {out: /o}}}]\n", "wagent.yaml")
	if err := writer.Check(); err != nil {
		t.Fatal(err)
	}
	const place = "wagent.yaml:2:61: tools[0].allow.write[\"out\"]: "
	for src, want := range map[string]string{
		"": "",
		"tools: [{module: ../tools/wordcount.wasm}]\n":              "",
		"tools: [{module: ../out/inner.wasm}]\n":                    "the module \"inner.wasm\"",
		"model: {provider: replay, recording: ../out/inner.wasm}\n": "the recording",
		"tools: [{agent: ../out/deep/inner.yaml}]\n":                "the agent \"inner.yaml\"",
	} {
		if want != "" {
			want = place + "the folder holds " + want + ", which the host reads for another agent" + narrower
		}
		if got := messages(writer.CoversThoseOf(load(src, "docs/other.yaml")), dir); got != want {
			t.Errorf("%s got %q\nwant %q", src, got, want)
		}
	}
	if got := messages(writer.CoversThoseOf(load("", "out/deep/inner.yaml")), dir); !strings.Contains(got, "the folder holds the manifest, which the host reads for another agent") {
		t.Errorf("got %q", got)
	}
	ceiling := load("tools: [{agent: researcher.yaml, allow: {write: {out: /o, .: /all}}}]\n", "wagent.yaml")
	if err := ceiling.Check(); err != nil {
		t.Errorf("a ceiling is no grant: %v", err)
	}
	if err := ceiling.CoversThoseOf(load("", "out/deep/inner.yaml")); err != nil {
		t.Errorf("a ceiling is no grant: %v", err)
	}
	// A manifest that names the agent may not have it written either.
	own := load("tools: [{module: tools/wordcount.wasm, allow: {write: {out: /o}}}, {agent: out/deep/inner.yaml}]\n", "wagent.yaml")
	if got := messages(own.Check(), dir); !strings.Contains(got, "the folder holds the agent \"inner.yaml\", which the host reads") {
		t.Errorf("got %q", got)
	}
}
