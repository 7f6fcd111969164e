package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

const numbered = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`

// What a model of a drawn script says about outputs and searches.
var (
	outputCalls = []string{
		`submit_output {"n":1}`, `submit_output {"n":2}`, `submit_output {"n":"x"}`, "submit_output",
		`search_tools {"query":"a"}`, `search_tools {"query":"n fail"}`, "search_tools",
	}
	outputTexts = []string{`{"n":3}`, "```json\n{\"n\":4}\n```", `It is {"n":5}.`, `{"n":"x"}`, `{"n":6`}
)

// outputs draws whether and how an agent asks for a value, and searches for tools.
func outputs(rt *rapid.T) func(*agent.Agent) {
	strategy := rapid.SampledFrom([]agent.Strategy{"", "", agent.Native, agent.ByTool, agent.ByPrompt}).Draw(rt, "strategy")
	otherwise := rapid.SampledFrom([]agent.Strategy{agent.ByTool, agent.ByPrompt}).Draw(rt, "otherwise")
	attempts := rapid.IntRange(1, 3).Draw(rt, "attempts")
	strict := rapid.Bool().Draw(rt, "takes schemas")
	over := rapid.SampledFrom([]int{0, 0, 3, 5}).Draw(rt, "search_over")
	return func(a *agent.Agent) {
		a.SearchOver = over
		if strategy == "" {
			return
		}
		s, err := schema.Compile(json.RawMessage(numbered))
		if err != nil {
			rt.Fatal(err)
		}
		a.Output = &agent.Output{
			Schema: s, Strategy: strategy, Otherwise: otherwise, Attempts: attempts,
			Asked: model.OutputSchema{Name: "output", Schema: json.RawMessage(numbered), Strict: strict},
		}
	}
}

// checkOutput fails when the value of a run is not what was asked for.
func checkOutput(rt *rapid.T, a *agent.Agent, got *run.Result, events []run.Event) {
	switch {
	case got.Structured == nil && a.Output != nil && got.ExitReason == run.ExitText:
		rt.Fatalf("the run ended with a text: %q", got.Output)
	case got.Structured == nil:
	case a.Output == nil:
		rt.Fatalf("nobody asked for %s", got.Structured)
	case a.Output.Schema.Check(got.Structured) != nil || string(got.Structured) != got.Output:
		rt.Fatalf("the value is %s, the output %q", got.Structured, got.Output)
	}
	s := run.State{}
	for _, e := range events {
		var err error
		if s, err = run.Apply(s, e); err != nil {
			rt.Fatal(err)
		}
		if a.Output != nil && s.Refused > a.Output.Attempts {
			rt.Fatalf("%d outputs in a row were refused", s.Refused)
		}
	}
	if a.Output != nil && s.Refused == a.Output.Attempts && got.ExitReason == run.ExitText {
		rt.Fatal("the run went on after the last attempt")
	}
}

// asking makes an agent ask for a number.
func asking(t testing.TB, s agent.Strategy, more ...func(*agent.Agent)) func(*agent.Agent) {
	t.Helper()
	fits, err := schema.Compile(json.RawMessage(numbered))
	if err != nil {
		t.Fatal(err)
	}
	return func(a *agent.Agent) {
		a.Output = &agent.Output{
			Schema: fits, Strategy: s, Attempts: 3, Asked: model.OutputSchema{Name: "output", Schema: json.RawMessage(numbered)},
		}
		for _, f := range more {
			f(a)
		}
	}
}

// keeping records requests and answers with replies, in turn.
func keeping(replies ...*model.Reply) (model.Model, *[]*model.Request) {
	var all []*model.Request
	next := says(replies...)
	return modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		all = append(all, req)
		return next.Generate(ctx, req, sink)
	}), &all
}

func noTools(a *agent.Agent) { a.Tools = nil }

func wantValue(t *testing.T, got *run.Result, reason run.ExitReason, value string) {
	t.Helper()
	checkPairs(t, got.Messages)
	if got.ExitReason != reason || string(got.Structured) != value || value != "" && got.Output != value {
		t.Errorf("ended by %s with %s, output %q, want %s with %s", got.ExitReason, got.Structured, got.Output, reason, value)
	}
}

// lastTold is what the model was told last, in request n from 0.
func lastTold(reqs *[]*model.Request, n int) string {
	m := (*reqs)[n].Messages
	return m[len(m)-1].Text()
}

func TestAValueIsGivenByEachStrategy(t *testing.T) {
	value := text("```json\n{\"n\": 4}\n```")
	for name, c := range map[string]struct {
		strategy agent.Strategy
		planner  planner.Planner
		reply    *model.Reply
		edit     func(*agent.Agent)
	}{
		"native":                  {agent.Native, planner.Tools{}, value, nil},
		"native, no tools":        {agent.Native, planner.Tools{}, value, noTools},
		"tool":                    {agent.ByTool, planner.Tools{}, calls(`submit_output {"n": 4}`), nil},
		"tool, no tools":          {agent.ByTool, planner.Tools{}, calls(`submit_output {"n": 4}`), noTools},
		"tool, as text":           {agent.ByTool, planner.Tools{}, value, nil},
		"prompt":                  {agent.ByPrompt, planner.Tools{}, value, nil},
		"prompt, no tools":        {agent.ByPrompt, planner.Tools{}, value, noTools},
		"react":                   {agent.ByPrompt, planner.React{}, text("Thought: so\nFinal Answer: {\"n\": 4}"), nil},
		"react, no tools":         {agent.ByPrompt, planner.React{}, value, noTools},
		"json":                    {agent.ByPrompt, planner.JSON{}, text(`{"action": "Final Answer", "action_input": {"n": 4}}`), nil},
		"json, in a string":       {agent.ByPrompt, planner.JSON{}, text(`{"action": "Final Answer", "action_input": "{\"n\": 4}"}`), nil},
		"json, no tools":          {agent.ByPrompt, planner.JSON{}, value, noTools},
		"a null that may be left": {agent.ByPrompt, planner.Tools{}, text(`{"n": 4}`), nil},
	} {
		m, reqs := keeping(c.reply)
		events, got := finish(t, t.Context(), newAgent(t, m, asking(t, c.strategy, func(a *agent.Agent) {
			a.Planner = c.planner
			if c.edit != nil {
				c.edit(a)
			}
		})))
		t.Run(name, func(t *testing.T) { wantValue(t, got, run.ExitText, `{"n":4}`) })
		req := (*reqs)[0]
		if (req.Output != nil) != (c.strategy == agent.Native) {
			t.Errorf("%s: the schema of the request is %v", name, req.Output)
		}
		if got := strings.Contains(req.Messages[0].Text(), numbered); got != (c.strategy == agent.ByPrompt) {
			t.Errorf("%s: the system prompt has the schema: %v", name, got)
		}
		forced := c.strategy == agent.ByTool && strings.HasSuffix(name, "no tools")
		if (req.ToolChoice == "submit_output") != forced {
			t.Errorf("%s: the tool choice is %q", name, req.ToolChoice)
		}
		for _, e := range events {
			if e.Text() != "" {
				t.Errorf("%s: %q is shown as the answer before it is known to be one", name, e.Text())
			}
		}
	}
}

// A value that does not fit is told with the reason, and the run ends after the
// attempts that there are.
func TestAnOutputThatDoesNotFitIsTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		strategy  agent.Strategy
		bad, good *model.Reply
		told      []string
	}{
		"native": {agent.Native, text(`{"n":"x"}`), text(`{"n":1}`), []string{"n: must be integer, got string", numbered}},
		"tool":   {agent.ByTool, calls(`submit_output {"n":"x"}`), calls(`submit_output {"n":1}`), []string{"n: must be integer, got string"}},
		"text":   {agent.ByTool, text("It is 1."), calls(`submit_output {"n":1}`), []string{"no JSON object", "submit_output"}},
		"prompt": {agent.ByPrompt, text(`{}`), text(`{"n":1}`), []string{"n: "}},
		"prose":  {agent.ByPrompt, text(`It is 1.`), text(`{"n":1}`), []string{"no JSON object"}},
		"two":    {agent.ByPrompt, text(`{"n":1} {"n":2}`), text(`{"n":1}`), []string{"more than one"}},
		"half":   {agent.ByPrompt, text(`{"n":1`), text(`{"n":1}`), []string{"ends before"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, reqs := keeping(c.bad, c.bad, c.good)
			_, got := finish(t, t.Context(), newAgent(t, m, asking(t, c.strategy)))
			wantValue(t, got, run.ExitText, `{"n":1}`)
			for _, want := range c.told {
				if told := lastTold(reqs, 1); !strings.Contains(told, want) {
					t.Errorf("the model is told %q, not %q", told, want)
				}
			}
			if forced := (*reqs)[2].ToolChoice; (forced != "") != (c.strategy == agent.ByTool) || (*reqs)[1].ToolChoice != "" {
				t.Errorf("at the last attempt the tool choice is %q", forced)
			}

			m, reqs = keeping(c.bad, c.bad, c.bad, c.good)
			_, got = finish(t, t.Context(), newAgent(t, m, asking(t, c.strategy)))
			wantValue(t, got, run.ExitParseErrors, "")
			last := c.bad.Message.Text()
			if last == "" {
				last = `{"n":"x"}`
			}
			if len(*reqs) != 3 || got.Partial != last || got.Output == "" {
				t.Errorf("%d requests, %+v", len(*reqs), got)
			}
		})
	}
}

// Case 34 of the field reports, and 85 of LangChain's: whatever stands beside an
// output is answered first, and one output alone is taken.
func TestFieldL34OutputsBesideOtherCalls(t *testing.T) {
	for name, c := range map[string]struct {
		calls []string
		value string // of the first step; empty: the run goes on
		said  []string
	}{
		"a call before it":     {[]string{"a", `submit_output {"n":1}`}, `{"n":1}`, []string{"did a", "The output was taken."}},
		"a call behind it":     {[]string{`submit_output {"n":1}`, "b"}, `{"n":1}`, []string{"The output was taken.", "did b"}},
		"a call that fails":    {[]string{"fail", `submit_output {"n":1}`}, `{"n":1}`, []string{"it failed", "The output was taken."}},
		"an unknown tool":      {[]string{"nope", `submit_output {"n":1}`}, `{"n":1}`, []string{"There is no tool", "The output was taken."}},
		"one that is invalid":  {[]string{`submit_output {"n":"x"}`, "a"}, "", []string{"must be integer", "did a"}},
		"two that fit":         {[]string{`submit_output {"n":1}`, `submit_output {"n":2}`}, "", []string{"2 outputs that fit", "2 outputs that fit"}},
		"two, one of them fit": {[]string{`submit_output {"n":"x"}`, `submit_output {"n":2}`}, `{"n":2}`, []string{"must be integer", "The output was taken."}},
		"two, none of them":    {[]string{`submit_output {}`, `submit_output {"n":"x"}`}, "", []string{"n", "must be integer"}},
	} {
		m, _ := keeping(calls(c.calls...), calls(`submit_output {"n":9}`))
		events, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByTool)))
		want := c.value
		if want == "" {
			want = `{"n":9}`
		}
		t.Run(name, func(t *testing.T) { wantValue(t, got, run.ExitText, want) })
		for i, said := range c.said {
			if !strings.Contains(got.Steps[i].Observation, said) {
				t.Errorf("%s: call %d is answered %q, not %q", name, i, got.Steps[i].Observation, said)
			}
		}
		if n := got.ToolCallCounts["submit_output"]; n != 0 {
			t.Errorf("%s: the output counts as %d calls of a tool", name, n)
		}
		ran, submitted := -1, -1
		for i, e := range events {
			switch b := e.Body.(type) {
			case run.Returned:
				if b.Step == 1 && b.Tool == "submit_output" && submitted < 0 {
					submitted = i
				}
				if b.Step == 1 && b.Tool != "submit_output" {
					ran = i
				}
			}
		}
		if ran > submitted {
			t.Errorf("%s: the output was judged before the call had its result", name)
		}
	}
}

// A value of an earlier step, or of a run that the conversation had before, is none.
func TestAStaleValueIsNeverReturned(t *testing.T) {
	m, _ := keeping(calls(`submit_output {"n":1}`))
	_, first := finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByTool)))
	wantValue(t, first, run.ExitText, `{"n":1}`)

	again := append(first.Messages[:len(first.Messages):len(first.Messages)], model.Text(model.User, "and now?"))
	m, _ = keeping(text("4"), text("4"), text("4"))
	_, got := collect(t, newAgent(t, m, asking(t, agent.ByTool)).Run(t.Context(), "r2", run.Prompted{Messages: again}))
	wantValue(t, got, run.ExitParseErrors, "")

	m, _ = keeping(calls(`submit_output {"n":1}`, `submit_output {"n":2}`), text("4"), text("4"))
	_, got = finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByTool)))
	wantValue(t, got, run.ExitParseErrors, "")
}

// A run that ended without an output, or with one, gives another when it goes on.
func TestAnEndedRunGivesAnOutputOfItsOwn(t *testing.T) {
	bad := calls("submit_output")
	for name, replies := range map[string][]*model.Reply{
		"after attempts": {bad, bad, bad, bad, calls(`submit_output {"n":2}`)},
		"after a value":  {calls(`submit_output {"n":1}`), text(`{"n":2}`)},
	} {
		a := newAgent(t, says(replies...), asking(t, agent.ByTool))
		_, first := finish(t, t.Context(), a)
		_, got := again(t, a)
		if string(first.Structured) == `{"n":2}` {
			t.Errorf("%s: the first is %s", name, first.Structured)
		}
		wantValue(t, got, run.ExitText, `{"n":2}`)
	}
	a := newAgent(t, says(calls(`submit_output {"n":1}`), bad, bad, bad), asking(t, agent.ByTool))
	finish(t, t.Context(), a)
	_, got := again(t, a)
	wantValue(t, got, run.ExitParseErrors, "")
}

// Only refusals in a row count, and a reply with other calls begins the count anew.
func TestAttemptsAreThoseInARow(t *testing.T) {
	bad := calls(`submit_output {}`)
	m, _ := keeping(bad, bad, calls("a"), bad, bad, calls(`submit_output {"n":1}`))
	_, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByTool)))
	wantValue(t, got, run.ExitText, `{"n":1}`)
	m, reqs := keeping(bad)
	_, got = finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByTool, func(a *agent.Agent) { a.Output.Attempts = 1 })))
	wantValue(t, got, run.ExitParseErrors, "")
	if (*reqs)[0].ToolChoice != "" {
		t.Error("the one attempt leaves no choice, so no tool could ever be called")
	}
}

// A reply that was cut off ends the run for that reason, whatever it holds.
func TestACutReplyIsNoOutput(t *testing.T) {
	for _, r := range []*model.Reply{text(`{"n":1}`), calls(`submit_output {"n":1}`)} {
		r.Finish = model.FinishLength
		_, got := finish(t, t.Context(), newAgent(t, says(r), asking(t, agent.ByTool)))
		wantValue(t, got, run.ExitLength, "")
	}
}

func TestToolsThatEndARunKeepTheirResults(t *testing.T) {
	structured := boxFunc(func(_ context.Context, c agent.Call) agent.Result {
		switch c.Tool {
		case "a":
			return agent.Result{Content: model.TextParts("one"), Structured: json.RawMessage(`{"n": 1}`)}
		case "b":
			return agent.Result{Content: model.TextParts(` {"n": 2}`)}
		default:
			return agent.Result{Content: model.TextParts("three"), Structured: json.RawMessage(`{"n":"x"}`)}
		}
	})
	for tool, want := range map[string]string{"a": `{"n":1}`, "b": `{"n":2}`, "fail": ""} {
		for _, direct := range []bool{false, true} {
			reason := run.ExitReason(tool)
			if direct {
				reason = run.ExitReturnDirect
			}
			_, got := finish(t, t.Context(), newAgent(t, says(calls(tool)), asking(t, agent.ByTool, func(a *agent.Agent) {
				a.Box, a.Exit = structured, []string{"text", "a", "b", "fail"}
				for i := range a.Tools {
					a.Tools[i].ReturnDirect = direct
				}
			})))
			wantValue(t, got, reason, want)
			if want == "" && got.Output != "three" {
				t.Errorf("output is %q", got.Output)
			}
		}
	}
	// Beside an exit tool, the output that was asked for is the run's.
	_, got := finish(t, t.Context(), newAgent(t, says(calls("b", `submit_output {"n":5}`)), asking(t, agent.ByTool, func(a *agent.Agent) {
		a.Box, a.Exit = structured, []string{"text", "b"}
	})))
	wantValue(t, got, run.ExitText, `{"n":5}`)
	// A call that fails ends the run first, where it is to.
	_, got = finish(t, t.Context(), newAgent(t, says(calls("fail", `submit_output {"n":5}`)), asking(t, agent.ByTool, func(a *agent.Agent) { a.FailOnError = true })))
	wantValue(t, got, run.ExitError, "")
}

func TestTheLastAnswerAtALimitFitsTheSchemaToo(t *testing.T) {
	for _, s := range []agent.Strategy{agent.Native, agent.ByTool, agent.ByPrompt} {
		for last, want := range map[string]string{`So: {"n":7}`: `{"n":7}`, "seven": "", `{"n":"7"}`: ""} {
			m, reqs := keeping(calls("a"), text(last))
			_, got := finish(t, t.Context(), newAgent(t, m, asking(t, s, func(a *agent.Agent) { a.MaxSteps, a.Generate = 1, true })))
			wantValue(t, got, run.ExitMaxSteps, want)
			if want == "" && got.Output != "The agent stopped at its limit of steps." {
				t.Errorf("%s: output is %q", s, got.Output)
			}
			req := (*reqs)[1]
			if len(req.Tools) > 0 || req.ToolChoice != "" || (req.Output != nil) != (s == agent.Native) {
				t.Errorf("%s: the last request is %+v", s, req)
			}
			if seen := lastTold(reqs, 1) + req.Messages[0].Text(); strings.Count(seen, numbered) != 1 {
				t.Errorf("%s: the model is told %s", s, seen)
			}
		}
	}
}

func TestTheLastAnswerOfATextPlannerFitsTheSchemaToo(t *testing.T) {
	for _, c := range []struct {
		planner     planner.Planner
		first, last string
		want        string
	}{
		{planner.React{}, "Action: a\nAction Input: {}", "Thought: so\nFinal Answer: {\"n\":7}", `{"n":7}`},
		{planner.React{}, "Action: a\nAction Input: {}", `{"n":7}`, `{"n":7}`},
		{planner.React{}, "Action: a\nAction Input: {}", "Final Answer: seven", ""},
		{planner.JSON{}, `{"action":"a","action_input":{}}`, `{"action":"Final Answer","action_input":{"n":7}}`, `{"n":7}`},
		{planner.JSON{}, `{"action":"a","action_input":{}}`, `{"action":"Final Answer","action_input":"{\"n\":7}"}`, `{"n":7}`},
		{planner.JSON{}, `{"action":"a","action_input":{}}`, `{"n":7}`, `{"n":7}`},
		{planner.JSON{}, `{"action":"a","action_input":{}}`, `{"n":"x"}`, ""},
		{planner.JSON{}, `{"action":"a","action_input":{}}`, `{"action":"a","action_input":{"n":7}}`, ""},
	} {
		m, _ := keeping(text(c.first), text(c.last))
		_, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByPrompt, func(a *agent.Agent) {
			a.Planner, a.MaxSteps, a.Generate = c.planner, 1, true
		})))
		if got.ExitReason != run.ExitMaxSteps || string(got.Structured) != c.want || c.want == "" && got.Output != "The agent stopped at its limit of steps." {
			t.Errorf("%T, %s: %s, output %q", c.planner, c.last, got.Structured, got.Output)
		}
	}
	// An action is none, also where the schema takes any object.
	for last, want := range map[string]string{`{"action":"a","action_input":{}}`: "", `{"b":1}`: `{"b":1}`} {
		_, got := finish(t, t.Context(), newAgent(t, says(text(`{"action":"a","action_input":{}}`), text(last)), func(a *agent.Agent) {
			a.Planner, a.MaxSteps, a.Generate = planner.JSON{}, 1, true
			a.Output = &agent.Output{Schema: compiled(t, `{"type":"object"}`), Strategy: agent.ByPrompt, Attempts: 1}
		}))
		if string(got.Structured) != want {
			t.Errorf("%s: %s, output %q", last, got.Structured, got.Output)
		}
	}
}

// A model that was shown the tool for the output uses it in its last answer too, where
// none is offered. What fits is the run's output, and the conversation can be sent again.
func TestAnOutputThatIsHandedInLastCounts(t *testing.T) {
	saying := func(r *model.Reply, s string, finish model.FinishReason) *model.Reply {
		r.Message.Content, r.Finish = model.TextParts(s), finish
		return r
	}
	const stop, length = model.FinishToolCalls, model.FinishLength
	invalid := calls("submit_output")
	invalid.Message.ToolCalls[0].Invalid = &model.InvalidArgs{Raw: "{", Problem: "not JSON"}
	for name, c := range map[string]struct {
		last    *model.Reply
		want    string
		dropped int
	}{
		"alone":                      {calls(`submit_output {"n": 7}`), `{"n":7}`, 0},
		"with words":                 {saying(calls(`submit_output {"n":7}`), "Here it is.", stop), `{"n":7}`, 0},
		"with another value in text": {saying(calls(`submit_output {"n":7}`), `{"n":8}`, stop), `{"n":7}`, 0},
		"beside a call of a tool":    {calls("a", `submit_output {"n":7}`), `{"n":7}`, 1},
		"beside one that is wrong":   {calls(`submit_output {"n":"x"}`, `submit_output {"n":7}`), `{"n":7}`, 1},
		"one of two that fit":        {calls(`submit_output {"n":6}`, `submit_output {"n":7}`), "", 2},
		"wrong":                      {calls(`submit_output {"n":"x"}`), "", 1},
		"wrong, with a right text":   {saying(calls(`submit_output {"n":"x"}`), `{"n":8}`, stop), `{"n":8}`, 1},
		"unreadable":                 {invalid, "", 1},
		"no object":                  {calls(`submit_output [7]`), "", 1},
		"cut off":                    {saying(calls(`submit_output {"n":7}`), "", length), "", 1},
		"a tool of another name":     {calls(`hand_in {"n":7}`), "", 1},
	} {
		m, reqs := keeping(calls("a"), c.last)
		a := newAgent(t, m, asking(t, agent.ByTool, func(a *agent.Agent) { a.MaxSteps, a.Generate = 1, true }))
		events, got := finish(t, t.Context(), a)
		t.Run(name, func(t *testing.T) { wantValue(t, got, run.ExitMaxSteps, c.want) })
		if c.want == "" && got.Output != "The agent stopped at its limit of steps." {
			t.Errorf("%s: output is %q", name, got.Output)
		}
		if c.want != "" && got.LastMessage.Text() != c.want {
			t.Errorf("%s: the last message is %+v", name, got.LastMessage)
		}
		for _, e := range events {
			if r, ok := e.Body.(run.Replied); ok && r.Step == 0 && r.Dropped != c.dropped {
				t.Errorf("%s: %d calls were dropped, want %d", name, r.Dropped, c.dropped)
			}
		}
		if len((*reqs)[1].Tools) > 0 {
			t.Errorf("%s: tools are offered: %+v", name, (*reqs)[1].Tools)
		}
	}
}

// An endpoint that refuses the schema is asked in another way within the same step;
// where there is none the run fails with its words.
func TestARefusedSchemaIsAskedForOtherwise(t *testing.T) {
	refusing := func(next model.Model) (model.Model, *int) {
		refused := 0
		return modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
			if req.Output != nil {
				refused++
				return nil, &model.Error{Kind: model.Rejected, Message: "no response_format here", Err: model.ErrOutputSchema}
			}
			return next.Generate(ctx, req, sink)
		}), &refused
	}
	for otherwise, replies := range map[agent.Strategy][]*model.Reply{
		agent.ByTool:   {calls("a"), calls(`submit_output {"n":1}`)},
		agent.ByPrompt: {calls("a"), text(`{"n":1}`)},
	} {
		m, refused := refusing(says(replies...))
		events, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.Native, func(a *agent.Agent) { a.Output.Otherwise = otherwise })))
		wantValue(t, got, run.ExitText, `{"n":1}`)
		if *refused != 1 || got.StepCount != 2 {
			t.Errorf("%s: refused %d times in %d steps", otherwise, *refused, got.StepCount)
		}
		if d := cmp.Diff("retry", types(t, events)[2]); d != "" {
			t.Error(d)
		}
	}
	m, _ := refusing(says())
	_, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.Native)))
	if got.ExitReason != run.ExitError || got.Error.Kind != string(model.Rejected) || !strings.Contains(got.Error.Message, "no response_format here") {
		t.Errorf("result is %+v", got.Error)
	}
}

// The tool that takes the output has no name that a real one has.
func TestTheOutputToolIsRenamedWhereItsNameIsTaken(t *testing.T) {
	m, reqs := keeping(calls("submit_output"), calls(`submit_output_2 {"n":1}`))
	_, got := finish(t, t.Context(), newAgent(t, m, asking(t, agent.ByTool, func(a *agent.Agent) { a.Tools = []agent.Tool{tool("submit_output")} })))
	wantValue(t, got, run.ExitText, `{"n":1}`)
	if got.ToolCallCounts["submit_output"] != 1 || len((*reqs)[0].Tools) != 2 {
		t.Errorf("result is %+v", got)
	}
}

// The system prompt is joined with what is said of the schema, and stays one value, so
// that it is encoded once.
func TestThePromptIsOneMessageAndOneValue(t *testing.T) {
	m, reqs := keeping(calls("a"), text(`{"n":1}`))
	a := newAgent(t, m, asking(t, agent.ByPrompt))
	given := []model.Message{model.Text(model.System, "Be brief."), model.Text(model.User, "go")}
	collect(t, a.Run(t.Context(), "r", run.Prompted{Messages: given}))
	first, second := (*reqs)[0].Messages, (*reqs)[1].Messages
	if !strings.HasPrefix(first[0].Text(), "Be brief.\n\n") || first[1].Role != model.User || &first[0].Content[0] != &second[0].Content[0] {
		t.Errorf("messages are %+v and %+v", first, second)
	}
	if given[0].Text() != "Be brief." {
		t.Error("the caller's message was changed")
	}
}

// Numbers that no float holds stay as they were written.
func TestNumbersStayAsTheyWereWritten(t *testing.T) {
	const big = `{"n":12345678901234567890}`
	for _, c := range []struct {
		p     planner.Planner
		s     agent.Strategy
		reply *model.Reply
	}{
		{planner.Tools{}, agent.ByTool, calls("submit_output " + big)},
		{planner.Tools{}, agent.ByPrompt, text(big)},
		{planner.JSON{}, agent.ByPrompt, text(`{"action":"Final Answer","action_input":` + big + `}`)},
	} {
		_, got := finish(t, t.Context(), newAgent(t, says(c.reply), asking(t, c.s, func(a *agent.Agent) { a.Planner = c.p })))
		wantValue(t, got, run.ExitText, big)
	}
}
