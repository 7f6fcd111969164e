package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// untold says where the assistant has the last word, or speaks twice, in what a run adds
// to the message "go" that it began with, or "".
func untold(msgs []model.Message) string {
	from := max(0, slices.IndexFunc(msgs, func(m model.Message) bool { return m.Text() == "go" }))
	for i := from; i < len(msgs); i++ {
		if msgs[i].Role == model.Assistant && len(msgs[i].ToolCalls) == 0 && (i+1 == len(msgs) || msgs[i+1].Role == model.Assistant) {
			return fmt.Sprintf("nobody speaks behind message %d of %d, which is the assistant's: %q", i, len(msgs), msgs[i].Text())
		}
	}
	return ""
}

// noting says replies and notes what it was sent, a line for each message.
func noting(sent *[][]string, replies ...*model.Reply) model.Model {
	next := says(replies...)
	return modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		var lines []string
		for _, m := range req.Messages {
			line := string(m.Role) + ": " + m.Text()
			for _, c := range m.ToolCalls {
				line += "[" + c.Name + "]"
			}
			lines = append(lines, line)
		}
		*sent = append(*sent, lines)
		return next.Generate(ctx, req, sink)
	})
}

// Behind a text that ended nothing the user speaks in what is sent, and nothing of that
// is stored. What was sent once is sent again: each request is the one before and more.
func TestATextThatEndsNothingIsFollowedByTheUser(t *testing.T) {
	const said = "user: The work is not finished: an answer in text does not end it. Go on with the tools, and end it with the tool b."
	var sent [][]string
	events, got := finish(t, t.Context(), newAgent(t, noting(&sent, text("one"), text("two"), calls("a"), text("three"), calls("b")),
		func(a *agent.Agent) { a.Exit = []string{"b"} }))
	want := []string{
		"user: go", "assistant: one", said, "assistant: two", said, "assistant: [a]", "tool: did a", "assistant: three", said,
	}
	for i, n := range []int{1, 3, 5, 7, 9} {
		if d := cmp.Diff(want[:n], sent[i]); d != "" {
			t.Errorf("request %d: %s", i, d)
		}
	}
	var roles []string
	for _, m := range got.Messages {
		roles = append(roles, string(m.Role))
	}
	if d := cmp.Diff("user assistant assistant assistant tool assistant assistant tool", strings.Join(roles, " ")); d != "" {
		t.Error(d)
	}
	raw, err := json.Marshal(events)
	if err != nil || strings.Contains(string(raw), "not finished") {
		t.Errorf("it is in the events (%v)", err)
	}
}

func TestTheModelIsToldHowTheRunEnds(t *testing.T) {
	direct := func(a *agent.Agent) { a.Tools[0].ReturnDirect = true }
	for name, c := range map[string]struct {
		edit func(*agent.Agent)
		want string
	}{
		"several":       {func(a *agent.Agent) { a.Exit = []string{"b", "fail", "gone"} }, "end it with one of these: b, fail."},
		"directly":      {func(a *agent.Agent) { direct(a); a.Exit = []string{"gone"} }, "end it with the tool a."},
		"by nothing":    {func(a *agent.Agent) { a.Exit = nil }, "Go on with the tools."},
		"an output":     {asking(t, agent.ByTool, func(a *agent.Agent) { a.Exit = nil }), "end it with the tool submit_output."},
		"text by name":  {func(a *agent.Agent) { a.Tools = append(a.Tools, tool("text")); a.Exit = []string{"b"} }, "end it with the tool b."},
		"behind a trim": {func(a *agent.Agent) { a.TrimSteps = 1; a.Exit = []string{"b"} }, "end it with the tool b."},
	} {
		var sent [][]string
		finish(t, t.Context(), newAgent(t, noting(&sent, text("one"), text("two"), text("three")), c.edit))
		if last := sent[len(sent)-1]; !strings.HasPrefix(last[len(last)-1], "user: ") || !strings.HasSuffix(last[len(last)-1], c.want) {
			t.Errorf("%s: %q", name, last)
		}
	}
}

// A model that is asked in text alone would be told to give its final answer once more.
func TestAPlannerOfTextTellsThatTheRunIsNotFinished(t *testing.T) {
	for _, c := range []struct {
		planner planner.Planner
		answer  string
		call    string
	}{
		{planner.React{}, "Final Answer: 4", "Action: b\nAction Input: {}"},
		{planner.JSON{}, `{"action":"Final Answer","action_input":"4"}`, `{"action":"b","action_input":{}}`},
	} {
		var sent [][]string
		_, got := finish(t, t.Context(), newAgent(t, noting(&sent, text(c.answer), text(c.call)), func(a *agent.Agent) { a.Planner, a.Exit = c.planner, []string{"b"} }))
		if last := sent[1][len(sent[1])-1]; got.ExitReason != "b" || !strings.Contains(last, "not finished") || !strings.Contains(last, "the tool b") {
			t.Errorf("%T: %s after %q", c.planner, got.ExitReason, sent[1])
		}
	}
}

// What the caller gives is the caller's, also where it ends with words of the assistant:
// some endpoints go on with these.
func TestWhatTheCallerGaveIsSentAsItIs(t *testing.T) {
	given := []model.Message{model.Text(model.User, "q"), model.Text(model.Assistant, "x"), model.Text(model.Assistant, "y")}
	for _, o := range []agent.Strategy{"", agent.ByPrompt} {
		var sent [][]string
		edit := func(a *agent.Agent) { a.Exit = []string{"b"} }
		if o != "" {
			edit = asking(t, o, edit)
		}
		a := newAgent(t, noting(&sent, text("z"), calls("b")), edit)
		collect(t, a.Run(t.Context(), "r", run.Prompted{Messages: given}))
		first, second := sent[0], sent[1]
		if d := cmp.Diff([]string{"user: q", "assistant: x", "assistant: y"}, first[len(first)-3:]); d != "" {
			t.Error(d)
		}
		if len(second) != len(first)+2 || second[len(first)] != "assistant: z" || !strings.HasPrefix(second[len(first)+1], "user: The work") {
			t.Errorf("%q", second)
		}
	}
}
