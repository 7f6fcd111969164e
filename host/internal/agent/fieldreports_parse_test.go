package agent_test

import (
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

func reacting(a *agent.Agent) { a.Planner = planner.React{} }

// A model that left out a label was told the same until the limit of steps.
func TestFieldL1RepliesThatCannotBeReadAreBounded(t *testing.T) {
	const bad = "Thought: I need a.\nAction Input: {}"
	_, got := finish(t, t.Context(), newAgent(t, writing(t, bad, bad, bad, "Final Answer: none"), reacting))
	if got.ExitReason != run.ExitParseErrors || got.StepCount != 3 || len(got.Steps) != 3 {
		t.Errorf("%+v", got)
	}
	for _, s := range got.Steps {
		if s.ErrorKind != run.KindParseError || s.Observation == "" {
			t.Errorf("%+v", s)
		}
	}
	if got.Steps[0].Observation == got.Steps[2].Observation {
		t.Error("the model is told the same each time")
	}
}

// The same with models that answer in words: their answer is taken in the end, and
// what they wrote is attached.
func TestFieldL2APlainAnswerIsTakenInTheEnd(t *testing.T) {
	const words = "The result is 4, I am sure."
	_, got := finish(t, t.Context(), newAgent(t, writing(t, words, words, words, words), reacting))
	if got.ExitReason != run.ExitParseErrors || got.Output != words || got.Partial != words {
		t.Errorf("%+v", got)
	}
}

// An input of several lines was cut at the first.
func TestFieldL4AnInputMayHaveSeveralLines(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, writing(t, "Action: a\nAction Input: {\"code\": \"one\\ntwo\",\n  \"n\": [1,\n2]}", "Final Answer: ok"), reacting))
	if in := string(got.Steps[0].Action.Input); got.Output != "ok" || !strings.Contains(in, `one\ntwo`) || !strings.Contains(in, "2]") {
		t.Errorf("%+v", got)
	}
}

// The second of two blocks was swallowed into the input of the first.
func TestFieldL5TwoActionsAreTwo(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, writing(t, "Action: a\nAction Input: {\"q\":1}\nAction: b\nAction Input: {\"q\":2}", "Final Answer: ok"), reacting))
	if len(got.Steps) != 2 || string(got.Steps[0].Action.Input) != `{"q":1}` || got.Steps[1].Action.Tool != "b" || string(got.Steps[1].Action.Input) != `{"q":2}` {
		t.Errorf("%+v", got.Steps)
	}
	// Where they cannot be told apart the model is asked, and nothing runs.
	_, got = finish(t, t.Context(), newAgent(t, writing(t, "Action: a\nAction Input: some text\nAction: b\nAction Input: more", "Final Answer: ok"), reacting))
	if len(got.Steps) != 1 || got.Steps[0].ErrorKind != run.KindParseError || len(got.ToolCallCounts) != 0 {
		t.Errorf("%+v", got.Steps)
	}
}

// A run that ended at its limit had nothing to find out why.
func TestFieldL7TheEndSaysWhatWasDoneAndWhatCouldNotBeRead(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, writing(t, "Action: a\nAction Input: {}", "Action: a\nAction Input: {}"), func(a *agent.Agent) { reacting(a); a.MaxSteps = 2 }))
	if got.ExitReason != run.ExitMaxSteps || len(got.Steps) != 2 || got.Steps[1].Action.Log == "" || got.Steps[1].Observation != "did a" {
		t.Errorf("%+v", got)
	}
	_, got = finish(t, t.Context(), newAgent(t, writing(t, "?", "??", "???", "Action: a"), reacting))
	if got.ExitReason != run.ExitParseErrors || got.Partial != "???" {
		t.Errorf("what could not be read is told apart: %+v", got)
	}
}

// Variants of the labels ended the run, and of several calls one was made. Emphasis is
// read; what is written otherwise could be a quotation, and the model is told the form.
func TestFieldL8VariantsOfLabelsAreToldAndAllCallsAreMade(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, writing(t, "**Action:** a\n**Action Input:** {}", "final answer: 4", "**Final Answer:** 4"), reacting))
	if got.Output != "4" || len(got.Steps) != 2 || got.Steps[0].Observation != "did a" || !strings.Contains(got.Steps[1].Observation, "Final Answer:") {
		t.Errorf("%q %+v", got.Output, got.Steps)
	}
	_, got = finish(t, t.Context(), newAgent(t, says(calls("a", "b", "a"), text("ok")), nil))
	if len(got.Steps) != 3 || got.Output != "ok" {
		t.Errorf("%+v", got)
	}
}

// invalid is a reply with a call that cannot be read, among others.
func invalid(raw string, others ...string) *model.Reply {
	r := calls(append([]string{"a"}, others...)...)
	r.Message.ToolCalls[0].Arguments = []byte(raw)
	return r
}

// Nothing but calls that cannot be read ended the run without a word.
func TestFieldL10CallsThatCannotBeReadAreAnswered(t *testing.T) {
	r := invalid(`{"q":`)
	r.Message.ToolCalls = append(r.Message.ToolCalls, model.ToolCall{Name: "b", Arguments: []byte("}")})
	_, got := finish(t, t.Context(), newAgent(t, says(r, text("ok")), nil))
	if got.Output != "ok" || len(got.Steps) != 2 || got.Steps[0].ErrorKind != run.KindInvalidArgs || got.Steps[1].ErrorKind != run.KindInvalidArgs {
		t.Errorf("%+v", got)
	}
}

// One call with bad JSON ended the run, with what the others would have done.
func TestFieldL11CallsBesideABadOneAreMade(t *testing.T) {
	_, got := finish(t, t.Context(), newAgent(t, says(invalid(`{"q":`, "b", "b"), text("ok")), nil))
	if got.Output != "ok" || got.ToolCallCounts["b"] != 2 || got.ToolCallCounts["a"] != 0 {
		t.Errorf("%+v", got)
	}
}

// Bad JSON became {} and the tool ran.
func TestFieldL13NoToolRunsWithArgumentsThatCouldNotBeRead(t *testing.T) {
	for _, raw := range []string{`{"q":`, `{"q":1}}`, `q=1`, "{'q':1}", `{"q":NaN}`} {
		_, got := finish(t, t.Context(), newAgent(t, says(invalid(raw), text("ok")), nil))
		if len(got.ToolCallCounts) != 0 || got.Steps[0].ErrorKind != run.KindInvalidArgs {
			t.Errorf("%s: %+v", raw, got)
		}
	}
}

// JSON that is no object was a crash, and a large one came back whole.
func TestFieldL14ArgumentsAreAnObjectAndTheirEchoIsShort(t *testing.T) {
	for _, raw := range []string{"null", "[1]", "7", `"x"`, "[" + strings.Repeat("1,", 1<<20) + "1]"} {
		_, got := finish(t, t.Context(), newAgent(t, says(invalid(raw), text("ok")), nil))
		s := got.Steps[0]
		if got.Output != "ok" || s.ErrorKind != run.KindInvalidArgs || len(s.Observation) > 1000 || len(asJSON(t, got)) > 10_000 {
			t.Errorf("%.20s: %+v, the result has %d bytes", raw, s, len(asJSON(t, got)))
		}
	}
}

// At the limit the answer was the text of an action.
func TestFieldL22TheAnswerIsNeverTheFormOfACall(t *testing.T) {
	const action = "Thought: once more\nAction: a\nAction Input: {}"
	for _, p := range []planner.Planner{planner.React{}, planner.JSON{}} {
		reply := action
		if _, json := p.(planner.JSON); json {
			reply = `{"action": "a", "action_input": {}}`
		}
		_, got := finish(t, t.Context(), newAgent(t, writing(t, reply, reply, reply), func(a *agent.Agent) { a.Planner, a.MaxSteps, a.Generate = p, 2, true }))
		if got.ExitReason != run.ExitMaxSteps || got.Output != "The agent stopped at its limit of steps." {
			t.Errorf("%T: %q", p, got.Output)
		}
	}
}
