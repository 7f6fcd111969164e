package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// statePlugin loads extism-state, which keeps what it can.
func statePlugin(t testing.TB, change ...func(*Source)) *Module {
	t.Helper()
	return load(t, newEngine(t), source(t, "extism-state"), append(change, plainTool("count"))...)
}

func pluginOf(t testing.TB, m *Module) *extismPlugin {
	t.Helper()
	p, ok := m.speaks.(*extismPlugin)
	if !ok {
		t.Fatalf("the module speaks %T", m.speaks)
	}
	return p
}

// ISO-1 for plugins.
func TestEveryCallFindsThePluginAsItWasInitialised(t *testing.T) {
	m := statePlugin(t)
	for range 200 {
		if r := perform(t, m, "count", nil); r.Out != "11" {
			t.Fatalf("the plugin counts %+v", r)
		}
		if r := perform(t, m, "variable", nil); r.Out != "0" {
			t.Fatalf("the plugin has a variable: %+v", r)
		}
		p := pluginOf(t, m).guests.pool
		if p == nil || len(p.free) != 1 {
			t.Fatalf("the idle plugins are %+v", p)
		}
		in := p.free[0].in
		view, _ := in.mod.Memory().Read(0, in.mod.Memory().Size())
		if !bytes.Equal(view, p.start.memory.Bytes()) {
			t.Fatal("the memory of an idle plugin is not the image")
		}
	}
}

// A plugin that ended in any other way than well, or grew, is not used again,
// and the next call does not notice.
func TestAPluginThatCannotBePutBackIsNotKept(t *testing.T) {
	m := statePlugin(t, within(500*time.Millisecond))
	for function, want := range map[string]Fault{
		"traps": FaultTrap, "exits": FaultExited, "loops": FaultTimeout, "fetches": FaultTrap, "grows": "",
	} {
		perform(t, m, "count", nil)
		if r := perform(t, m, function, nil); r.fault != want || want == "" && r.Out != "1" {
			t.Fatalf("%s: %+v", function, r)
		}
		if n := len(pluginOf(t, m).guests.pool.free); n != 0 {
			t.Errorf("after %s %d plugins are idle", function, n)
		}
		if r := perform(t, m, "count", nil); r.Out != "11" {
			t.Errorf("after %s the plugin counts %+v", function, r)
		}
	}
	// One that reported an error itself, or answered too much, is put back.
	for _, function := range []string{"fails", "floods"} {
		perform(t, m, function, nil)
		if n := len(pluginOf(t, m).guests.pool.free); n != 1 {
			t.Errorf("after %s %d plugins are idle", function, n)
		}
		if r := perform(t, m, "count", nil); r.Out != "11" {
			t.Errorf("after %s the plugin counts %+v", function, r)
		}
	}
}

func TestFoldersWorkInPluginsFromAnImage(t *testing.T) {
	dir := t.TempDir()
	m := statePlugin(t, func(s *Source) { s.Policy.Grants.Read = []policy.Mount{{Host: dir, Guest: "/d"}} })
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(dir, "a"), fmt.Append(nil, "tea ", i), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := perform(t, m, "reads", nil); r.Out != fmt.Sprint("tea ", i) {
			t.Errorf("read %+v, want %d", r, i)
		}
	}
	if pluginOf(t, m).guests.pool == nil {
		t.Error("the plugin is not served from an image")
	}
}

// ISO-5 for plugins: those that take random bytes when they are initialised, and
// those that do when they are called.
func TestRandomThingsOfPluginsDifferInEachCall(t *testing.T) {
	e := newEngine(t)
	for name, pooled := range map[string]bool{"extism-state": true, "extism-random": false} {
		m := load(t, e, source(t, name), plainTool("random"))
		seen := map[string]bool{}
		for range 20 {
			r := perform(t, m, "random", nil)
			if r.fault != "" || len(r.Out) != 8 {
				t.Fatalf("%s: %+v", name, r)
			}
			seen[r.Out] = true
		}
		if len(seen) != 20 {
			t.Errorf("%s: %d different answers in 20 calls", name, len(seen))
		}
		if got := pluginOf(t, m).guests.pool != nil; got != pooled {
			t.Errorf("%s is served from an image: %v", name, got)
		}
	}
}

// What a plugin asks of the host when it is initialised is its call's: the input,
// its configuration, its variables and its log.
func TestAPluginThatCallsTheHostAtItsStartIsInitialisedInEachCall(t *testing.T) {
	e := newEngine(t)
	setup := load(t, e, source(t, "extism-setup"), plainTool("value"), func(s *Source) { s.Config = json.RawMessage(`{"k":"v"}`) })
	init := load(t, e, source(t, "extism-init"), plainTool("marks"))
	for i := range 3 {
		if r := perform(t, setup, "value", nil); r.Out != "v" || len(r.Logs) != 1 {
			t.Errorf("%+v", r)
		}
		if r := perform(t, init, "marks", make([]byte, i)); r.Out != fmt.Sprintf("si%dh", i) {
			t.Errorf("%+v", r)
		}
	}
	for _, m := range []*Module{setup, init} {
		if pluginOf(t, m).guests.pool != nil {
			t.Errorf("%s is served from an image", m.src.Name)
		}
	}
}

// A command is started anew in each call, from the first image.
func TestAPluginThatIsACommandStartsAnewInEachCall(t *testing.T) {
	m := load(t, newEngine(t), Source{Name: "count_vowels_std", Wasm: pdkPlugin(t, "count_vowels_std"), Policy: policy.Default()}, plainTool("_start"))
	first := perform(t, m, "_start", []byte("a cup of tea"))
	for range 20 {
		if r := perform(t, m, "_start", []byte("a cup of tea")); r.Out == "" || r.Out != first.Out {
			t.Fatalf("%+v, and %+v at first", r, first)
		}
	}
}

// The languages of all kits begin the same in each call.
func TestPluginsOfTheKitsAreServedFromAnImage(t *testing.T) {
	e := newEngine(t)
	for name, function := range map[string]string{
		"count_vowels": "count_vowels", "hello": "run_test", "hello_haskell": "testing", "var": "run_test",
	} {
		m := load(t, e, Source{Name: name, Wasm: pdkPlugin(t, name), Policy: policy.Default()}, plainTool(function))
		perform(t, m, function, []byte("tea"))
		if pluginOf(t, m).guests.pool == nil {
			t.Errorf("%s is not", name)
		}
	}
}

func TestBothFormsOfPluginsAreServedFromAnImage(t *testing.T) {
	e := newEngine(t)
	for _, form := range []string{"extism-v1", "extism-v2"} {
		m := load(t, e, Source{Name: form, Wasm: testkit.Wasm(t, form), Policy: policy.Default()})
		for range 3 {
			if _, err := m.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
			if out := m.Call(t.Context(), Call{}); out.Fault != "" {
				t.Fatal(out.Detail)
			}
		}
		if p := pluginOf(t, m).guests.pool; p == nil || len(p.free) != 1 {
			t.Errorf("%s: the idle plugins are %+v", form, p)
		}
	}
}
