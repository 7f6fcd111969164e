package planner

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Cases are named by their number in the list of conformance cases (F), by the
// rule of the grammar (B4), or by the report of users (report).
func TestJSONForm(t *testing.T) {
	obj := `{"action": "search", "action_input": "x"}`
	for name, c := range map[string]struct {
		text string
		want want
	}{
		"F35 words":                       {"bad", fails(KindJSON)},
		"F46 a call that was cut off":     {`{"action": "search", "action_input": "unterminated`, fails(KindJSON)}, // not as LangChain does: it is not run
		"F46 an answer that was cut off":  {`{"action": "Final Answer", "action_input": "unterminated`, answer("unterminated")},
		"F46 in an escape":                {`{"action": "Final Answer", "action_input": "a\`, answer("a")},
		"F46 only the last brace missing": {`{"action": "search", "action_input": {"query":"x"}`, query("x")},
		"F46 the input's brace missing":   {`{"action": "search", "action_input": {"query": "x"`, fails(KindJSON)},
		"F46 the input missing":           {`{"action": "now"`, fails(KindJSON)},
		"F47 list of one":                 {"[" + obj + "]", query("x")},
		"F47 list of two":                 {"[" + obj + `, {"action":"now"}]`, calls("search", `{"query":"x"}`, "now", `{}`)}, // not as LangChain does: all are run
		"F47 empty list":                  {"[]", fails(KindShape)},
		"F49 no input":                    {`{"action": "now"}`, calls("now", `{}`)},
		"F49 null input":                  {`{"action": "now", "action_input": null}`, calls("now", `{}`)},
		"F49 list input":                  {`{"action": "search", "action_input": ["x"]}`, fails(KindShape)},
		"F49 number input":                {`{"action": "double", "action_input": 5}`, fails(KindShape)},
		"F49 answer with an object":       {`{"action": "Final Answer", "action_input": {"a": 1}}`, answer(map[string]any{"a": json.Number("1")})},
		"F49 answer with a list":          {`{"action": "Final Answer", "action_input": [1]}`, answer([]any{json.Number("1")})},
		"F49 answer with null":            {`{"action": "Final Answer", "action_input": null}`, answer(nil)},
		"F49 answer without input":        {`{"action": "Final Answer"}`, fails(KindShape)},

		"B4 object":                      {obj, query("x")},
		"B4 space around":                {" \n\t" + obj + "\n", query("x")},
		"B4 backticks around":            {"`" + obj + "`", query("x")},
		"B4 fence":                       {"```json\n" + obj + "\n```", query("x")},
		"B4 fence without a word":        {"```\n" + obj + "\n```", query("x")},
		"B4 words around a fence":        {"I search.\n```json\n" + obj + "\n```\nThen I wait.", query("x")},
		"B4 fence without an end":        {"I search.\n```json\n" + obj, query("x")},
		"B4 words behind the object":     {obj + "\nNow I wait.", query("x")},
		"B4 words in front":              {"I search: " + obj, fails(KindJSON)},
		"B4 line breaks in a string":     {"{\"action\": \"write\", \"action_input\": {\"path\": \"a\", \"text\": \"b\n\tc\"}}", calls("write", `{"path": "a", "text": "b\u000a\u0009c"}`)},
		"B4 line breaks in a text":       {"{\"action\": \"search\", \"action_input\": \"b\n\tc\"}", query("b\n\tc")},
		"B4 object input":                {`{"action": "write", "action_input": {"path":"a"}}`, calls("write", `{"path":"a"}`)},
		"B4 object in a string":          {`{"action": "write", "action_input": "{\"path\":\"a\"}"}`, calls("write", `{"path":"a"}`)},
		"B4 text for an object":          {`{"action": "write", "action_input": "a"}`, fails(KindInput)},
		"B4 wrong bracket":               {`{"action": "search", "action_input": "x"]`, fails(KindJSON)},
		"B4 comma at the end":            {`{"action": "search", "action_input": "x",}`, fails(KindJSON)},
		"B4 comment":                     {"{\"action\": \"search\", // why\n\"action_input\": \"x\"}", fails(KindJSON)},
		"B4 single quotes":               {`{'action': 'search', 'action_input': 'x'}`, fails(KindJSON)},
		"B4 other type":                  {`"search"`, fails(KindJSON)},
		"B4 no action":                   {`{"action_input": "x"}`, fails(KindShape)},
		"B4 action in other case":        {`{"Action": "search", "action_input": "x"}`, fails(KindShape)},
		"B4 action is no string":         {`{"action": null, "action_input": "x"}`, fails(KindShape)},
		"B4 action twice":                {`{"action": "search", "action": "now", "action_input": "x"}`, fails(KindShape)},
		"B4 list of words":               {`["search"]`, fails(KindShape)},
		"B4 more members":                {`{"thought": "a", "action": "search", "action_input": "x"}`, query("x")},
		"B4 nothing":                     {"", fails(KindJSON)},
		"report 8: answer and call":      {"[" + obj + `, {"action":"Final Answer","action_input":"y"}]`, fails(KindBoth)},
		"report 8: two objects":          {obj + "\n" + obj, fails(KindSeveral)},
		"report 8: two fences":           {"```json\n" + obj + "\n```\nand\n```json\n" + obj + "\n```", fails(KindSeveral)},
		"report 2: JSON answers":         {`{"answer": 42}`, fails(KindShape)},
		"unknown tool keeps its text":    {`{"action": "nope", "action_input": "x"}`, calls("nope", `"x"`)},
		"thinking is not said":           {"<think>" + `{"action":"now"}` + "</think>\n" + obj, query("x")},
		"code behind an object is words": {obj + "\n```go\nx\n```", query("x")},
	} {
		t.Run(name, func(t *testing.T) { check(t, JSON{}, offered, c.text, c.want) })
	}
}

func TestJSONLogsAreTheModelsOwnText(t *testing.T) {
	text := "I do.\n```json\n[{\"action\":\"now\"}, {\"action\":\"search\",\"action_input\":\"x\"}]\n```"
	actions, _, err := JSON{}.Plan(reply(text), offered)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{actions[0].Log, actions[1].Log}
	if diff := cmp.Diff([]string{text, `{"action":"search","action_input":"x"}`}, got); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}
