package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

func compiled(t testing.TB, raw string) *schema.Schema {
	t.Helper()
	s, err := schema.CompileValue(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keeper notes what it was called with and answers {"note": name of the call's tool and
// what it read}.
type keeper struct {
	mu   sync.Mutex
	seen map[string]string // arguments, by call id
	wait map[string]time.Duration
}

func (k *keeper) Call(_ context.Context, c agent.Call) agent.Result {
	time.Sleep(k.wait[c.Tool])
	k.mu.Lock()
	defer k.mu.Unlock()
	k.seen[c.Tool] += string(c.Arguments)
	return agent.Result{Structured: json.RawMessage(fmt.Sprintf(`{"note":%q,"n":1}`, c.Tool)), Content: model.TextParts("ok")}
}

// stateful is an agent whose tools r read and w write the key notes, and rw both.
func stateful(t testing.TB, m model.Model, box agent.Toolbox, edit func(*agent.Agent)) *agent.Agent {
	return newAgent(t, m, func(a *agent.Agent) {
		reads := []agent.StateRead{{Key: "notes", Argument: "notes"}}
		writes := []agent.StateWrite{{Key: "notes", From: "note"}}
		a.Tools = []agent.Tool{
			{Definition: model.Definition{Name: "r"}, Reads: reads},
			{Definition: model.Definition{Name: "w"}, Writes: writes},
			{Definition: model.Definition{Name: "w2"}, Writes: writes},
			{Definition: model.Definition{Name: "rw"}, Reads: reads, Writes: writes},
			{Definition: model.Definition{Name: "plain"}},
		}
		a.Box = box
		a.State = map[string]agent.StateKey{"notes": {Schema: compiled(t, `{"type":"array","items":{"type":"string"}}`), Merge: run.Append}}
		if edit != nil {
			edit(a)
		}
	})
}

// A call that reads what another writes sees it, wherever the model put it, and the
// state is the same however long each takes.
func TestReadsOfTheStateComeAfterWrites(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string
		seen  map[string]string
		state string
	}{
		"reader first":     {[]string{"r", "w"}, map[string]string{"r": `{"notes":["0","w"]}`}, `["0","w"]`},
		"two writers":      {[]string{"w2", "r", "w"}, map[string]string{"r": `{"notes":["0","w2","w"]}`}, `["0","w2","w"]`},
		"each needs both":  {[]string{"rw", "rw"}, map[string]string{"rw": `{"notes":["0"]}{"notes":["0","rw"]}`}, `["0","rw","rw"]`},
		"beside a stander": {[]string{"plain", "w", "r"}, map[string]string{"plain": `{}`, "r": `{"notes":["0","w"]}`}, `["0","w"]`},
		"a cycle and more": {[]string{"r", "rw", "w"}, map[string]string{"rw": `{"notes":["0","w"]}`, "r": `{"notes":["0","w","rw"]}`}, `["0","w","rw"]`},
	} {
		for _, slow := range []string{"w", "w2", "r", "rw", "none"} {
			synctest.Test(t, func(t *testing.T) {
				box := &keeper{seen: map[string]string{}, wait: map[string]time.Duration{slow: time.Second}}
				a := stateful(t, says(calls(c.calls...), text("done")), box, nil)
				p := prompt()
				p.State = map[string]json.RawMessage{"notes": json.RawMessage(`["0"]`)}
				_, got := collect(t, a.Run(t.Context(), "r", p))
				if string(got.State["notes"]) != c.state {
					t.Errorf("%s, %s slow: the state is %s", name, slow, got.State["notes"])
				}
				for tool, want := range c.seen {
					if box.seen[tool] != want {
						t.Errorf("%s, %s slow: %s saw %s", name, slow, tool, box.seen[tool])
					}
				}
				if p.State["notes"] == nil || string(p.State["notes"]) != `["0"]` {
					t.Errorf("the caller's state was changed: %s", p.State["notes"])
				}
				checkPairs(t, got.Messages)
			})
		}
	}
}

// The model neither sees nor gives what comes from the state.
func TestAnArgumentOfTheStateIsNotTheModelsToGive(t *testing.T) {
	box := &keeper{seen: map[string]string{}}
	_, got := finish(t, t.Context(), stateful(t, says(calls(`r {"notes":["mine"]}`), calls("r"), text("done")), box, nil))
	if box.seen["r"] != `{}` || got.Steps[0].ErrorKind != run.KindInvalidArgs || !strings.Contains(got.Steps[0].Observation, "notes") {
		t.Errorf("it saw %s: %+v", box.seen["r"], got.Steps)
	}
}

// A guest in Go, and many another, takes a name in other capitals for the argument, and
// of two the last.
func TestAnArgumentOfTheStateIsNotGivenUnderAnotherSpelling(t *testing.T) {
	shown := json.RawMessage(`{"type":"object","properties":{"User":{"type":"string"}}}`)
	for args, given := range map[string]bool{
		`{"uſer":"mine"}`: true, `{"USER":"mine"}`: true, `{"\u0075sEr":"mine"}`: true, `{"user":"mine"}`: true,
		`{"User":"mine"}`: false, `{"username":"mine"}`: false,
	} {
		box := &keeper{seen: map[string]string{}}
		_, got := finish(t, t.Context(), stateful(t, says(calls("r "+args), text("done")), box, func(a *agent.Agent) {
			a.Tools[0].Definition.Parameters = shown
			a.Tools[0].Reads = []agent.StateRead{{Key: "notes", Argument: "user"}}
		}))
		if s := got.Steps[0]; s.IsError != given || (box.seen["r"] == "") != given {
			t.Errorf("%s: the tool saw %q: %+v", args, box.seen["r"], s)
		}
	}
}

func TestAWriteThatDoesNotFitIsAnErrorAndWritesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		write agent.StateWrite
		want  string
		fails bool
	}{
		"a field":             {agent.StateWrite{Key: "notes", From: "note"}, `["w"]`, false},
		"a field of no kind":  {agent.StateWrite{Key: "notes", From: "n"}, ``, true},
		"the whole":           {agent.StateWrite{Key: "notes"}, ``, true},
		"no such field":       {agent.StateWrite{Key: "notes", From: "other"}, ``, false},
		"a merge of its own":  {agent.StateWrite{Key: "notes", From: "note", Merge: run.Replace}, ``, true},
		"a key with any type": {agent.StateWrite{Key: "any"}, `{"note":"w","n":1}`, false},
	} {
		edit := func(a *agent.Agent) {
			a.State["any"] = agent.StateKey{Merge: run.Replace}
			a.Tools[1].Writes = []agent.StateWrite{c.write}
		}
		_, got := finish(t, t.Context(), stateful(t, says(calls("w"), text("done")), &keeper{seen: map[string]string{}}, edit))
		if s := got.Steps[0]; s.IsError != c.fails || (c.fails && s.ErrorKind != run.KindInvalidResult) || string(got.State[c.write.Key]) != c.want {
			t.Errorf("%s: %+v, state %s", name, s, got.State[c.write.Key])
		}
		if got.ExitReason != run.ExitText {
			t.Errorf("%s: %s", name, got.ExitReason)
		}
	}
}

// What each of several calls appends may fit, and all of it not.
func TestCallsOfAStepWriteNoMoreThanFitsTogether(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"too many":     {`{"type":"array","maxItems":2}`, `["w","w"]`},
		"the same":     {`{"type":"array","uniqueItems":true}`, `["w"]`},
		"all of them":  {`{"type":"array","maxItems":4}`, `["w","w","w"]`},
		"of no schema": {`{}`, `["w","w","w"]`},
	} {
		a := stateful(t, says(calls("w", "w", "w"), text("done")), &keeper{seen: map[string]string{}}, func(a *agent.Agent) {
			a.State["notes"] = agent.StateKey{Schema: compiled(t, c.schema), Merge: run.Append}
		})
		if _, got := finish(t, t.Context(), a); string(got.State["notes"]) != c.want {
			t.Errorf("%s: %s", name, got.State["notes"])
		}
	}
}

// A tool that appends with each call does not fill the memory.
func TestAKeyWithoutASchemaHasAnEnd(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)
	edit := func(a *agent.Agent) {
		a.State["any"] = agent.StateKey{Merge: run.Append}
		a.Tools[1].Writes = []agent.StateWrite{{Key: "any"}}
		a.Box = boxFunc(func(context.Context, agent.Call) agent.Result { return agent.Result{Structured: big} })
	}
	_, got := finish(t, t.Context(), stateful(t, says(calls("w", "w"), calls("w", "w"), calls("w"), text("done")), nil, edit))
	if n := len(got.State["any"]); n > 4<<20 || n < 3<<20 {
		t.Errorf("%d bytes", n)
	}
	if s := got.Steps[4]; s.ErrorKind != run.KindInvalidResult || !strings.Contains(s.Observation, "4 MiB") {
		t.Errorf("%+v", s)
	}
}

// encoding/json reads lists nested ten thousand deep, and writes none with anything
// around it: a tool's text must not make a state that cannot be stored.
func TestATextThatIsNestedTooDeepIsWrittenAsAString(t *testing.T) {
	deep := strings.Repeat("[", 9999) + strings.Repeat("]", 9999)
	edit := func(a *agent.Agent) {
		a.State["any"] = agent.StateKey{Merge: run.Replace}
		a.Tools[1].Writes = []agent.StateWrite{{Key: "any"}}
		a.Box = boxFunc(func(context.Context, agent.Call) agent.Result { return agent.Result{Content: model.TextParts(deep)} })
	}
	events, got := finish(t, t.Context(), stateful(t, says(calls("w"), text("done")), nil, edit))
	if string(got.State["any"]) != `"`+deep+`"` {
		t.Errorf("%.20s", got.State["any"])
	}
	for _, e := range events {
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("%T: %v", e.Body, err)
		}
	}
}

// A result without structure is its text, read as JSON where it is an object or a list.
func TestATextIsWrittenAsWhatItIs(t *testing.T) {
	for said, want := range map[string]string{`hello`: `"hello"`, `["a","b"]`: `["a","b"]`, ` {"a": 1} `: `{"a":1}`, `7`: `"7"`, `{no`: `"{no"`} {
		edit := func(a *agent.Agent) {
			a.State["any"] = agent.StateKey{Merge: run.Replace}
			a.Tools[1].Writes = []agent.StateWrite{{Key: "any"}}
			a.Box = boxFunc(func(context.Context, agent.Call) agent.Result { return agent.Result{Content: model.TextParts(said)} })
		}
		_, got := finish(t, t.Context(), stateful(t, says(calls("w"), text("done")), nil, edit))
		if d := cmp.Diff(want, compact(t, got.State["any"])); d != "" {
			t.Errorf("%q: %s", said, d)
		}
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAFailedCallWritesNothing(t *testing.T) {
	box := boxFunc(func(context.Context, agent.Call) agent.Result {
		return agent.Result{Structured: json.RawMessage(`{"note":"x"}`), Kind: run.KindToolError, Content: model.TextParts("no")}
	})
	_, got := finish(t, t.Context(), stateful(t, says(calls("w"), text("done")), box, nil))
	if got.State != nil {
		t.Errorf("the state is %s", got.State)
	}
}

// A tool sees the keys that it reads and no other, and a state that does not fit its
// schema is told and not run.
func TestAToolSeesItsOwnKeysAlone(t *testing.T) {
	var asked map[string]json.RawMessage
	box := boxFunc(func(_ context.Context, c agent.Call) agent.Result {
		asked = c.State
		return agent.Result{Content: model.TextParts("ok")}
	})
	full, err := schema.Compile(json.RawMessage(`{"properties":{"notes":{"type":"string"}},"required":["notes"]}`))
	if err != nil {
		t.Fatal(err)
	}
	a := stateful(t, says(calls("r"), text("done")), box, func(a *agent.Agent) { a.State["other"] = agent.StateKey{} })
	p := prompt()
	p.State = map[string]json.RawMessage{"notes": json.RawMessage(`["x"]`), "other": json.RawMessage(`1`)}
	collect(t, a.Run(t.Context(), "r", p))
	if len(asked) != 1 || string(asked["notes"]) != `["x"]` {
		t.Errorf("it may ask for %s", asked)
	}
	a = stateful(t, says(calls("r"), text("done")), box, func(a *agent.Agent) { a.Tools[0].Full = full })
	_, got := collect(t, a.Run(t.Context(), "r", p))
	if s := got.Steps[0]; s.ErrorKind != run.KindInvalidArgs || len(got.ToolCallCounts) != 0 {
		t.Errorf("%+v %v", s, got.ToolCallCounts)
	}
}

// However many calls of a reply wait for each other, finding their order takes no time
// that is worth mentioning. The bound is a hundred times what it takes, and a
// thousandth of what it took to compare each with each.
func TestTheOrderOfManyCallsIsFoundSoon(t *testing.T) {
	specs := slices.Repeat([]string{"rw", "r", "w"}, replyCalls/3)
	box := boxFunc(func(context.Context, agent.Call) agent.Result {
		return agent.Result{Structured: json.RawMessage(`{"note":"n"}`)}
	})
	a := stateful(t, says(calls(specs...), text("done")), box, func(a *agent.Agent) {
		for i := range a.Tools {
			a.Tools[i].Turns = "one"
		}
		a.State["notes"] = agent.StateKey{Merge: run.Append}
	})
	begun := time.Now()
	_, got := finish(t, t.Context(), a)
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("%s", took)
	}
	if n := strings.Count(string(got.State["notes"]), "n"); n != replyCalls/3*2 {
		t.Errorf("%d notes", n)
	}
}

func TestTheStateIsBounded(t *testing.T) {
	big := json.RawMessage(`{"note":"` + strings.Repeat("x", 1<<20) + `"}`)
	box := boxFunc(func(context.Context, agent.Call) agent.Result { return agent.Result{Structured: big} })
	_, got := finish(t, t.Context(), stateful(t, forever(saying("w")), box, func(a *agent.Agent) {
		a.MaxSteps, a.State["notes"] = 6, agent.StateKey{Merge: run.Append}
	}))
	if n := len(got.State["notes"]); n > 4<<20 || n < 3<<20 {
		t.Errorf("the state has %d bytes", n)
	}
	if last := got.Steps[5]; last.ErrorKind != run.KindInvalidResult || !strings.Contains(last.Observation, "longer than 4 MiB") {
		t.Errorf("%s: %.200s", last.ErrorKind, last.Observation)
	}
}
