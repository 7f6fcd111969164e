package planner

import (
	"errors"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
)

// Cases are named by their number in the list of conformance cases (F), by the
// rule of the grammar (B3), or by the report of users (report).
func TestReact(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want want
	}{
		"F1 action":                       {"Thought: a\nAction: search\nAction Input: x", query("x")},
		"F1 answer":                       {"Final Answer: ok", answer("ok")},
		"F4 unknown tool keeps its text":  {"Action: nope\nAction Input: x", calls("nope", `"x"`)},
		"F31 answer, then action":         {"Final Answer: a\nAction: search\nAction Input: x", fails(KindBoth)},
		"F37 only spaces are trimmed":     {"Thought: a\nAction: search\nAction Input:   spaced  \n", query("spaced  \n")},
		"F38 numbered labels":             {"Action 1: search\nAction 1 Input 1: foo", query("foo")},
		"F38 numbered labels on one line": {"Action1 : search Action1 Input1 : foo", query("foo")},
		"F40 input before action":         {"Action Input: foo\nAction: bar", fails(KindOrder)},
		"F41 input alone":                 {"Action Input: foo", fails(KindNoAction)},
		"F41 action alone":                {"Action: search", fails(KindNoInput)},
		"F41 nothing":                     {"", fails(KindNoAction)},
		"F41 small letters":               {"final answer: x", fails(KindNoAction)},
		"F43 action without input":        {"Action: None\nFinal Answer: 5", answer("5")},
		"F44 invented observation":        {"Action: search\nAction Input: foo\nObservation: bar", query("foo")},

		"B3.1 action, then answer":             {"Action: search\nAction Input: x\nFinal Answer: y", fails(KindBoth)},
		"B3.1 answer between the labels":       {"Action: search\nFinal Answer: y\nAction Input: x", fails(KindBoth)},
		"B3.2 the answer's label in a text":    {"Action: search\nAction Input: what does Final Answer: mean", query("what does Final Answer: mean")},
		"B3.2 the answer's label in an object": {"Action: write\nAction Input: {\"path\":\"a\",\"text\":\"x\nFinal Answer: 1\nAction: now\"}", calls("write", `{"path":"a","text":"x\u000aFinal Answer: 1\u000aAction: now"}`)},
		"B3.2 several lines":                   {"Action: search\nAction Input: a\n\nb\nc", query("a\n\nb\nc")},
		"B3.2 input on the next line":          {"Action: search\nAction Input:\n  foo", query("foo")},
		"B3.2 quotes":                          {`Action: search` + "\n" + `Action Input: "foo"`, query("foo")},
		"B3.2 quotes without an end":           {`Action: search` + "\n" + `Action Input: "foo`, query("foo")},
		"B3.2 two quotes":                      {`Action: search` + "\n" + `Action Input: "a" and "b"`, query(`"a" and "b"`)},
		"B3.2 quoted quotes":                   {`Action: search` + "\n" + `Action Input: "say \"hi\""`, query(`say "hi"`)},
		"B3.2 a quote at the end":              {`Action: search` + "\n" + `Action Input: nails of 6"`, query(`nails of 6"`)},
		"B3.2 a path in quotes":                {`Action: search` + "\n" + `Action Input: "C:\new"`, query(`C:\new`)},
		"B3.3 last answer":                     {"Final Answer: a\nFinal Answer: b", answer("b")},
		"B3.3 inside a line":                   {"Thought: I know. Final Answer: 42 \n", answer("42")},
		"B3.3 empty":                           {"Final Answer:", answer("")},
		"B3.3 several lines":                   {"Final Answer: a\n\nb\n", answer("a\n\nb")},
		"B3.3 a line first":                    {"Final Answer: write `Final Answer:` last", answer("write `Final Answer:` last")},
		"B3.4 plain text":                      {"Hello, how can I help?", fails(KindNoAction)},
		"B3.4 names no tool":                   {"Action:\nAction Input: x", fails(KindNoAction)},
		"B3.5 action, then thought":            {"Action: search\nThought: hm", fails(KindNoInput)},
		"B3.5 observation without input":       {"Action: search\nObservation: bar\nFinal Answer: 42", fails(KindNoInput)},
		"B3.6 wide spaces and digits":          {"Action\u00a0٣\u2003: search\nAction\u3000Input １: foo", query("foo")},

		"B3 trap: a label in the thought":    {"Thought: Action: is hard\nAction: search\nAction Input: foo", query("foo")},
		"B3 trap: labels inside lines":       {"Thought: Action: is hard, so Action: search\nAction Input: foo", query("foo")},
		"B3 trap: two actions, one input":    {"Action: now\nAction: search\nAction Input: foo", fails(KindNoInput)},
		"B3 trap: bold labels":               {"**Thought:** a\n**Action:** search\n**Action Input:** foo", query("foo")},
		"B3 trap: bold before the colon":     {"**Action**: search\n**Action Input**: *.go", query("*.go")},
		"B3 trap: bold lines":                {"**Action: search**\n**Action Input: foo**", query("foo")},
		"B3 trap: bold answer":               {"**Final Answer: 42**", answer("42")},
		"B3 trap: emphasis of the answer":    {"Final Answer: **42**", answer("**42**")},
		"B3 trap: name in quotes":            {"Action: `search`\nAction Input: foo", query("foo")},
		"B3 trap: name with words behind it": {"Action: search\nto find it\nAction Input: foo", query("foo")},
		"B3 trap: emphasis that touches":     {"**Action:**Action Input:**", fails(KindNoAction)},
		"B3 fence around the object":         {"Action: write\nAction Input:\n```json\n{\"path\":\"a\",\"text\":\"b\"}\n```", calls("write", `{"path":"a","text":"b"}`)},
		"B3 fence around all":                {"```\nThought: a\nAction: search\nAction Input: foo\n```", query("foo")},
		"B3 fence around all, object":        {"```\nAction: write\nAction Input: {\"path\":\"a\",\"text\":\"b\"}\n```", calls("write", `{"path":"a","text":"b"}`)},
		"B3 fence around the answer":         {"```\nFinal Answer: 42\n```", answer("42")},
		"B3 fence as the text":               {"Action: search\nAction Input: ```go\nx\n```", query("```go\nx\n```")},

		"report 4: several lines":             {"Action: search\nAction Input: select *\nfrom t\nwhere x", query("select *\nfrom t\nwhere x")},
		"report 5: second action, text":       {"Action: search\nAction Input: foo\n\nAction: search\nAction Input: bar", fails(KindSeveral)},
		"report 5: second input":              {"Action: search\nAction Input: foo\nAction Input: bar", fails(KindSeveral)},
		"report 5: second action, object":     {"Action: write\nAction Input: {\"path\":\"a\",\"text\":\"b\"}\n\nAction: search\nAction Input: foo", calls("write", `{"path":"a","text":"b"}`, "search", `{"query":"foo"}`)},
		"report 5: second action, invented":   {"Action: now\nAction Input: {}\nObservation: 12:00\nAction: search\nAction Input: foo\nFinal Answer: x", calls("now", `{}`)},
		"report 5: second action, no input":   {"Action: now\nAction Input: {}\nAction: search", fails(KindNoInput)},
		"report 8: other case is an option":   {"FINAL ANSWER: x", fails(KindNoAction)},
		"report 13: bad JSON is not run":      {"Action: write\nAction Input: {\"path\": \"a\", text: 1}", fails(KindInput)},
		"report 13: cut JSON is not run":      {"Action: write\nAction Input: {\"path\": \"a\", \"text\": \"b", fails(KindInput)},
		"report 13: two objects":              {"Action: write\nAction Input: {\"path\":\"a\"}{\"path\":\"b\"}", fails(KindInput)},
		"report 14: not an object":            {"Action: write\nAction Input: [1,2]", fails(KindInput)},
		"report 11: no arguments":             {"Action: now\nAction Input: None", calls("now", `{}`)},
		"input: no arguments for an object":   {"Action: write\nAction Input:", calls("write", `{}`)},
		"input: nothing is wanted":            {"Action: now\nAction Input: only the test folder", fails(KindInput)},
		"input: text for an object":           {"Action: write\nAction Input: foo", fails(KindInput)},
		"input: object for a text":            {`Action: search` + "\n" + `Action Input: {"query":"a","limit":3}`, calls("search", `{"query":"a","limit":3}`)},
		"input: other object for a text":      {`Action: search` + "\n" + `Action Input: {"a":1}`, query(`{"a":1}`)},
		"input: thought behind the object":    {"Action: search\nAction Input: {\"query\":\"a\"}\nThought: I wait", calls("search", `{"query":"a"}`)},
		"input: number":                       {"Action: double\nAction Input: 21", calls("double", `{"n":21}`)},
		"input: number that is a text":        {"Action: search\nAction Input: 21", query("21")},
		"input: no number":                    {"Action: double\nAction Input: many", fails(KindInput)},
		"input: a string in no object":        {"Action: echo\nAction Input: {\"a\":1}", calls("echo", `"{\"a\":1}"`)},
		"input: answer behind the object":     {"Action: now\nAction Input: {} Final Answer: 5", fails(KindBoth)},
		"thinking is not said":                {"<think>\nAction: now\nAction Input: {}\n</think>\nFinal Answer: 5", answer("5")},
		"thinking without its beginning":      {"Action: now\nAction Input: {}\n</think>\nFinal Answer: 5", answer("5")},
		"thinking without its end":            {"<think>\nFinal Answer: 5", fails(KindNoAction)},
		"a quotation is nobody's word":        {"The page says:\n> Action: now\n> Action Input: {}\nI will not.", fails(KindNoAction)},
		"a quotation, then an answer":         {"> Action: now\n> Action Input: {}\nFinal Answer: no", answer("no")},
		"invalid text":                        {"Action: search\nAction Input: a\xffb", query("a�b")},
		"a name that is too long is no tool":  {"Action: " + strings.Repeat("x", 300) + "\nAction Input: {}", calls(strings.Repeat("x", maxName-3)+"…", `{}`)},
		"a label is not the end of a word":    {"ReAction: search\nAction Input: foo", fails(KindNoAction)},
		"an observation at the start is read": {"Observation: fine\nFinal Answer: 5", answer("5")},
	} {
		t.Run(name, func(t *testing.T) { check(t, React{}, offered, c.text, c.want) })
	}
}

func TestReport08LabelsInAnyCase(t *testing.T) {
	for text, w := range map[string]want{
		"FINAL ANSWER: x":  answer("x"),
		"final answer : x": answer("x"),
		"thought: a\naction: search\naction input: foo":     query("foo"),
		"ACTION: search\nACTION INPUT: foo\nOBSERVATION: b": query("foo"),
	} {
		check(t, React{AnyCase: true}, offered, text, w)
	}
}

func TestF02TheStopSequenceIsSent(t *testing.T) {
	p := React{}.Prompt(&Conversation{Messages: []model.Message{model.Text(model.User, "q")}, Tools: offered})
	if len(p.Stop) != 1 || p.Stop[0] != "\nObservation" {
		t.Errorf("stop = %q", p.Stop)
	}
}

func TestReactLogsAreTheModelsOwnText(t *testing.T) {
	actions, _, err := React{}.Plan(reply("Thought: both\nAction: now\nAction Input: {}\n\nThought: and\nAction: search\nAction Input: x\nObservation: made up"), offered)
	if err != nil {
		t.Fatal(err)
	}
	for i, log := range []string{"Thought: both\nAction: now\nAction Input: {}\n\nThought: and", "Action: search\nAction Input: x"} {
		if actions[i].Log != log {
			t.Errorf("log %d = %q, want %q", i, actions[i].Log, log)
		}
	}
	text := "Thought: I know\nFinal Answer: 42"
	_, done, err := React{}.Plan(reply(text), offered)
	if err != nil || done.Log != text {
		t.Errorf("log = %q, error %v", done.Log, err)
	}
}

func TestCallsOfTheProviderAreTakenAsTheyAre(t *testing.T) {
	m := model.Message{Role: model.Assistant, Content: model.TextParts("Final Answer: x"), ToolCalls: []model.ToolCall{{ID: "1", Name: "search", Arguments: []byte(`{"query":"a"}`)}}}
	for _, p := range []Planner{Tools{}, React{}, JSON{}} {
		actions, done, err := p.Plan(&m, offered)
		checkPlan(t, actions, done, err, calls("search", `{"query":"a"}`))
		if actions[0].CallID != "1" {
			t.Errorf("%T: id %q", p, actions[0].CallID)
		}
	}
}

func TestWithoutToolsAPlainReplyIsTheAnswer(t *testing.T) {
	for _, p := range []Planner{React{}, JSON{}} {
		check(t, p, nil, "Hello.", answer("Hello."))
	}
	check(t, React{}, nil, "Final Answer: x", answer("x"))
	check(t, JSON{}, nil, `{"action":"Final Answer","action_input":"x"}`, answer("x"))
	check(t, JSON{}, nil, "", fails(KindJSON))
}

// TestF16 and report 22: the answer at the limit is never a call.
func TestF16TheLastAnswerIsNeverACall(t *testing.T) {
	for name, c := range map[string]struct {
		p    Planner
		text string
		want want
	}{
		"react plain":               {React{}, "It is 42.", answer("It is 42.")},
		"react thought":             {React{}, "Thought: It is 42.", answer("It is 42.")},
		"react answer":              {React{}, "Thought: a\nFinal Answer: 42", answer("42")},
		"react call":                {React{}, "Thought: a\nAction: search\nAction Input: x", fails(KindNoAnswer)},
		"react call without input":  {React{}, "Action: search", fails(KindNoAnswer)},
		"react call, then answer":   {React{}, "Action: search\nAction Input: x\nFinal Answer: 42", answer("42")},
		"react answer, then call":   {React{}, "Final Answer: 42\nAction: search\nAction Input: x", answer("42")},
		"react nothing but a label": {React{}, "Final Answer:\nAction: search", fails(KindNoAnswer)},
		"react empty":               {React{}, " \n", fails(KindNoAnswer)},
		"json plain":                {JSON{}, "It is 42.", answer("It is 42.")},
		"json answer":               {JSON{}, `{"action":"Final Answer","action_input":"42"}`, answer("42")},
		"json call":                 {JSON{}, `{"action":"search","action_input":"42"}`, fails(KindNoAnswer)},
		"json broken":               {JSON{}, `{"action":"search", action_input`, fails(KindNoAnswer)},
		"json empty":                {JSON{}, "", fails(KindNoAnswer)},
		"tools plain":               {Tools{}, "It is 42.", answer("It is 42.")},
		"tools empty":               {Tools{}, "", fails(KindNoAnswer)},
	} {
		t.Run(name, func(t *testing.T) {
			done, err := c.p.Answer(reply(c.text))
			checkPlan(t, nil, done, err, c.want)
		})
	}
	m := model.Message{Role: model.Assistant, Content: model.TextParts("x"), ToolCalls: []model.ToolCall{{Name: "search"}}}
	for _, p := range []Planner{Tools{}, React{}, JSON{}} {
		done, err := p.Answer(&m)
		checkPlan(t, nil, done, err, fails(KindNoAnswer))
	}
}

func TestF50And61ToolsTakeCallsAndText(t *testing.T) {
	check(t, Tools{}, offered, "", answer(""))
	check(t, Tools{}, offered, "Action: search\nAction Input: x", answer("Action: search\nAction Input: x"))
}

func TestF29And31WhatIsWrongIsToldAndTheReplyKept(t *testing.T) {
	_, _, err := React{}.Plan(reply("garbage"), offered)
	pe, ok := errors.AsType[*ParseError](err)
	if !ok {
		t.Fatal(err)
	}
	if pe.Raw != "garbage" || strings.Contains(pe.Error(), "garbage") || strings.Contains(pe.Error(), "\n") {
		t.Errorf("raw %q, error %q", pe.Raw, pe)
	}
	first, second := pe.Feedback(1), pe.Feedback(2)
	if !strings.Contains(first, "Action:") || strings.Contains(first, reactForm) {
		t.Errorf("first feedback %q", first)
	}
	if !strings.HasPrefix(second, first) || !strings.Contains(second, reactForm) { // report 1: more each time
		t.Errorf("second feedback %q", second)
	}
	a := pe.Action("Check!") // F32: a text of the user's, while the log is the model's
	if a.Tool != "_Exception" || string(a.Input) != `"Check!"` || a.Log != "garbage" {
		t.Errorf("action %+v", a)
	}
}

func TestParseErrorsAreBounded(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("é", 1<<20), "Action: write\nAction Input: " + strings.Repeat("ü", 1<<20), "Action: now\nAction Input: " + strings.Repeat("x", 1<<20),
		`{"action":` + strings.Repeat("[", 1<<20), `{"` + strings.Repeat("k", 1<<20) + `":1,"` + strings.Repeat("k", 1<<20) + `":2}`, `{"action":"write","action_input":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		for _, p := range []Planner{React{}, JSON{}} {
			_, _, err := p.Plan(reply(text), offered)
			pe, ok := errors.AsType[*ParseError](err)
			if !ok {
				t.Fatalf("%T took %.40q", p, text)
			}
			if len(pe.Raw) > maxRaw || len(pe.Feedback(9)) > 2*maxProblem || !strings.HasPrefix(text, strings.TrimSuffix(pe.Raw, "…")) {
				t.Errorf("%T: %d bytes of the reply, %d of feedback", p, len(pe.Raw), len(pe.Feedback(9)))
			}
		}
	}
}

// TestReport08TooManyActions: what one reply can start is bounded.
func TestReport08TooManyActions(t *testing.T) {
	block := "Action: now\nAction Input: {}\n"
	actions, _, err := React{}.Plan(reply(strings.Repeat(block, maxActions)), offered)
	if err != nil || len(actions) != maxActions {
		t.Fatalf("%d actions, %v", len(actions), err)
	}
	check(t, React{}, offered, strings.Repeat(block, maxActions+1), fails(KindSeveral))
	object := `{"action":"now","action_input":{}},`
	check(t, JSON{}, offered, "["+strings.TrimSuffix(strings.Repeat(object, maxActions+1), ",")+"]", fails(KindSeveral))
}
