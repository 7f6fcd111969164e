package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// searching gives an agent many tools and a search.
func searching(a *agent.Agent) {
	a.SearchOver = 5
	a.Tools = append(a.Tools[:5:5], agent.Tool{Definition: model.Definition{Name: "read_file", Description: "Reads a\nfile " + strings.Repeat("é", 400)}})
	for i := range 20 {
		a.Tools = append(a.Tools, agent.Tool{Definition: model.Definition{Name: fmt.Sprintf("other_%d", i), Description: "Does something else."}})
	}
}

// offers are the names of the tools of each request.
func offers(reqs []*model.Request) [][]string {
	var all [][]string
	for _, r := range reqs {
		names := []string{}
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
		all = append(all, names)
	}
	return all
}

func TestWhatWasFoundIsShownFromTheNextStepOn(t *testing.T) {
	m, reqs := keeping(
		calls(`search_tools {"query":"reading files"}`), calls("read_file", `search_tools {"query":"other 3","limit":1}`),
		calls(`search_tools {"query":"reading files"}`), text("done"),
	)
	events, got := finish(t, t.Context(), newAgent(t, m, searching))
	want := [][]string{{"search_tools"}, {"search_tools", "read_file"}, {"search_tools", "read_file", "other_3"}, {"search_tools", "read_file", "other_3"}}
	if d := cmp.Diff(want, offers(*reqs)); d != "" {
		t.Error(d)
	}
	if got.ExitReason != run.ExitText || got.StepCount != 4 || got.ToolCallCounts["search_tools"] != 3 || got.ToolCallCounts["read_file"] != 1 {
		t.Errorf("result is %+v", got)
	}
	s := got.Steps[0]
	if s.Receipt != nil || s.IsError || !strings.Contains(s.Observation, "\n- read_file: Reads a file éé") || !strings.HasSuffix(s.Observation, "é…") || len(s.Observation) > 500 {
		t.Errorf("the search is answered %q", s.Observation)
	}
	var found [][]string
	for _, e := range events {
		if b, ok := e.Body.(run.Returned); ok && b.Tool == "search_tools" {
			found = append(found, b.Found)
		}
	}
	if d := cmp.Diff([][]string{{"read_file"}, {"other_3"}, {"read_file"}}, found); d != "" {
		t.Error(d)
	}
	// What is shown only grows at its end, and its beginning is the same value.
	for i := 1; i < len(*reqs); i++ {
		before, after := (*reqs)[i-1].Tools, (*reqs)[i].Tools
		if d := cmp.Diff(before, after[:len(before)]); d != "" {
			t.Error(d)
		}
	}
}

func TestASearchThatFindsNothingSaysSo(t *testing.T) {
	for _, query := range []string{"zebra", "", "--"} {
		m, reqs := keeping(calls(fmt.Sprintf(`search_tools {"query":%q}`, query)), text("done"))
		_, got := finish(t, t.Context(), newAgent(t, m, searching))
		if s := got.Steps[0]; s.IsError || !strings.Contains(s.Observation, "None of the 26 tools") || !strings.Contains(s.Observation, "other words") {
			t.Errorf("%q: answered %+v", query, s)
		}
		if d := cmp.Diff([]string{"search_tools"}, offers(*reqs)[1]); d != "" {
			t.Error(d)
		}
	}
	for _, args := range []string{`{}`, `{"query":1}`, `{"query":"a","limit":0}`, `{"query":"a","limit":21}`, `{"query":"a","limit":1.5}`, `{"query":"a","x":1}`} {
		m, _ := keeping(calls("search_tools "+args), text("done"))
		_, got := finish(t, t.Context(), newAgent(t, m, searching))
		if s := got.Steps[0]; s.ErrorKind != run.KindInvalidArgs || got.ToolCallCounts["search_tools"] != 0 {
			t.Errorf("%s: answered %+v", args, s)
		}
	}
	m, _ := keeping(calls(`search_tools {"query":"else","limit":20.0}`), text("done"))
	_, got := finish(t, t.Context(), newAgent(t, m, searching))
	if n := strings.Count(got.Steps[0].Observation, "\n- other_"); n != 20 {
		t.Errorf("%d tools are named", n)
	}
}

func TestFewToolsAreAllShown(t *testing.T) {
	for over, want := range map[int]bool{0: false, 4: true, 5: false, 6: false} {
		m, reqs := keeping(calls(`search_tools {"query":"a"}`), text("done"))
		_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { a.SearchOver = over }))
		if has := slices.Contains(offers(*reqs)[0], "search_tools"); has != want {
			t.Errorf("over %d: %v", over, offers(*reqs)[0])
		}
		if !want && (got.Steps[0].ErrorKind != run.KindUnknownTool || len((*reqs)[0].Tools) != 5) {
			t.Errorf("over %d: %+v", over, got.Steps[0])
		}
	}
}

// A tool that the model was not shown is granted all the same: it is held to its schema,
// and shown from then on.
func TestAToolThatWasNotShownRunsAndIsShownThen(t *testing.T) {
	m, reqs := keeping(calls("a", `n {"n":"x"}`, "nope"), calls(`n {"n":1}`), text("done"))
	_, got := finish(t, t.Context(), newAgent(t, m, searching))
	if got.Steps[0].Observation != "did a" || got.Steps[1].ErrorKind != run.KindInvalidArgs || got.Steps[3].IsError {
		t.Errorf("steps are %+v", got.Steps)
	}
	// What is not there is told with the names of what was shown, and of no other.
	if said := got.Steps[2].Observation; !strings.HasSuffix(said, "The tools are: search_tools. Look for others with search_tools.") {
		t.Errorf("the model is told %q", said)
	}
	if d := cmp.Diff([]string{"search_tools", "a", "n"}, offers(*reqs)[1]); d != "" {
		t.Error(d)
	}
}

// Without the tools that end it a run could not end.
func TestToolsThatEndTheRunAreShownFromTheStart(t *testing.T) {
	m, reqs := keeping(calls("b"))
	_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { searching(a); a.Exit = []string{"b"} }))
	if d := cmp.Diff([]string{"search_tools", "b"}, offers(*reqs)[0]); d != "" || got.ExitReason != "b" {
		t.Errorf("%s %s", d, got.ExitReason)
	}
}

func TestTheSearchIsRenamedWhereItsNameIsTaken(t *testing.T) {
	m, reqs := keeping(calls("search_tools"), calls(`search_tools_2 {"query":"read file"}`), text("done"))
	_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) {
		searching(a)
		a.Tools = append(a.Tools, tool("search_tools"))
	}))
	if d := cmp.Diff([][]string{{"search_tools_2"}, {"search_tools_2", "search_tools"}, {"search_tools_2", "search_tools", "read_file"}}, offers(*reqs)); d != "" {
		t.Error(d)
	}
	if got.Steps[0].Observation != "did search_tools" {
		t.Errorf("steps are %+v", got.Steps)
	}
}

// Models without tool calls are told of the tools in their system prompt.
func TestASearchWorksWithEachPlanner(t *testing.T) {
	for name, c := range map[string]struct {
		planner planner.Planner
		replies []string
	}{
		"react": {planner.React{}, []string{
			"Thought: look\nAction: search_tools\nAction Input: {\"query\": \"read file\"}", "Thought: use\nAction: read_file\nAction Input: {}", "Final Answer: ok",
		}},
		"json": {planner.JSON{}, []string{
			`{"action": "search_tools", "action_input": {"query": "read file"}}`, `{"action": "read_file", "action_input": {}}`, `{"action": "Final Answer", "action_input": "ok"}`,
		}},
	} {
		var prompts []string
		next := writing(t, c.replies...)
		m := modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
			prompts = append(prompts, req.Messages[0].Text())
			return next.Generate(ctx, req, sink)
		})
		_, got := finish(t, t.Context(), newAgent(t, m, func(a *agent.Agent) { searching(a); a.Planner = c.planner }))
		if got.Output != "ok" || len(got.Steps) != 2 || got.Steps[1].Observation != "did read_file" {
			t.Errorf("%s: %+v", name, got)
		}
		if strings.Contains(prompts[0], "read_file") || !strings.Contains(prompts[1], `"read_file"`) || strings.Contains(prompts[2], "other_1") {
			t.Errorf("%s: the prompts are %q", name, prompts)
		}
	}
}

// A search that a crash broke off is made again, since it has no effect, and what was
// found survives: through JSON as well.
func TestRunsWithASearchAndAnOutputAreResumedAfterAnyEvent(t *testing.T) {
	for name, c := range map[string]struct {
		replies []*model.Reply
		edit    func(*agent.Agent)
	}{
		"a search": {[]*model.Reply{calls(`search_tools {"query":"read file"}`, "a"), calls("read_file"), text("done")}, searching},
		"a tool": {[]*model.Reply{
			calls("a", `submit_output {"n":"x"}`), text("It is 4."), calls(`submit_output {"n":4}`, "b"),
		}, asking(t, agent.ByTool)},
		"too many attempts": {[]*model.Reply{text("no"), calls("submit_output"), text(`{"n":1.5}`)}, asking(t, agent.ByTool, searching)},
		"a prompt":          {[]*model.Reply{text("4"), calls("a"), text(`{"n": 4}`)}, asking(t, agent.ByPrompt)},
		"react": {[]*model.Reply{text("Final Answer: 4"), text("What?"), text(`Final Answer: {"n":4}`)}, asking(t, agent.ByPrompt, func(a *agent.Agent) {
			a.Planner = planner.React{}
		})},
		"at a limit": {[]*model.Reply{calls("a"), text(`{"n":4}`)}, asking(t, agent.Native, func(a *agent.Agent) { a.MaxSteps, a.Generate = 1, true })},
	} {
		m := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			n := 0
			for _, m := range req.Messages {
				if m.Role == model.Assistant {
					n++
				}
			}
			return c.replies[n], nil
		})
		events, want := finish(t, t.Context(), newAgent(t, m, c.edit))
		for cut := 1; cut < len(events); cut++ {
			b := newAgent(t, m, c.edit)
			s := refold(t, b.Store, events[:cut])
			if s.Done || s.Seq == 0 {
				continue
			}
			_, got := collect(t, b.Resume(t.Context(), s))
			if got.Output != want.Output || got.ExitReason != want.ExitReason || string(got.Structured) != string(want.Structured) || got.Partial != want.Partial {
				t.Errorf("%s: cut after %d: %s %q %s, want %s %q %s", name, cut, got.ExitReason, got.Output, got.Structured, want.ExitReason, want.Output, want.Structured)
			}
			for i, st := range got.Steps {
				if w := want.Steps[i]; st.Observation != w.Observation && (st.ErrorKind != run.KindCancelled || st.Action.Tool == "search_tools") {
					t.Errorf("%s: cut after %d: step %d: %q, want %q", name, cut, i, st.Observation, w.Observation)
				}
			}
		}
	}
}

// refold stores events and folds what JSON keeps of them.
func refold(t *testing.T, store run.Store, events []run.Event) run.State {
	t.Helper()
	var s run.State
	for _, e := range events {
		if e.Transient() {
			continue
		}
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var back run.Event
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(e.Body, back.Body); d != "" {
			t.Errorf("%T is not what it was: %s", e.Body, d)
		}
		if s, err = run.Apply(s, back); err != nil {
			t.Fatal(err)
		}
		if err := store.Append(t.Context(), "r", e.Seq-1, []run.Event{back}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Whatever a model does, what it is shown begins as before: providers keep what they
// have read of a request.
func TestWhatIsShownOnlyGrowsAtItsEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		replies, edit := script(rt), settings(rt)
		var before []model.Definition
		next := answering(t, replies)
		refused := false
		m := modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
			n := len(before)
			switch {
			case len(req.Tools) == 0: // the last answer
			case refused: // a tool takes the place of the schema, once
				refused, before = false, req.Tools
			case len(req.Tools) < n || n > 0 && cmp.Diff(before, req.Tools[:n]) != "":
				rt.Fatalf("%v follow %v", offers([]*model.Request{req}), before)
			default:
				before = slices.Clone(req.Tools)
			}
			reply, err := next.Generate(ctx, req, sink)
			refused = err != nil
			return reply, err
		})
		finish(t, t.Context(), newAgent(t, m, edit))
	})
}
