package sandbox

import (
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// A module for hooks is told its role, its configuration and what the role is about, and
// has no tool; wherever its guests run.
func TestAHookIsCalledForItsRole(t *testing.T) {
	e := newEngine(t)
	inRole := func(s *Source) {
		s.Role, s.Tool = "parse_error", &abi.Tool{Name: "parse_error"}
		s.Config = json.RawMessage(`{"k":1}`)
	}
	away := func(s *Source) { s.Isolated = runtime.GOOS == "linux" }
	for name, m := range map[string]*Module{"here": load(t, e, source(t, "hook"), inRole), "away": load(t, e, source(t, "hook"), inRole, away)} {
		for range 2 {
			out := m.Call(t.Context(), Call{ID: "1", Tool: m.Role(), Arguments: json.RawMessage(`{"error":"no \"x\"","role":"mine","config":0}`)})
			want := `{"text":"{'config':{'k':1},'error':'no /'x/'','role':'parse_error'}"}`
			if out.Fault != "" || len(out.Result.Content) != 1 || out.Result.Content[0].Text != want {
				t.Errorf("%s: %s %v", name, out.Fault, out.Result.Content)
			}
		}
	}
	plugin := load(t, e, source(t, "extism-hook"), inRole, func(s *Source) { s.Export = "parse_error" })
	if out := plugin.Call(t.Context(), Call{Tool: plugin.Role()}); out.Fault != "" || out.Result.Content[0].Text != `{"text":"As I said."}` {
		t.Errorf("%s %v", out.Fault, out.Result.Content)
	}
}

// A tool is no hook, and a hook is no tool.
func TestAModuleIsLoadedForWhatItIs(t *testing.T) {
	e := newEngine(t)
	src := source(t, "trap")
	src.Role = "parse_error"
	for name, src := range map[string]Source{"a tool as a hook": src, "a hook as a tool": source(t, "hook")} {
		_, err := e.Load(t.Context(), src)
		if _, ok := errors.AsType[*LoadError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
