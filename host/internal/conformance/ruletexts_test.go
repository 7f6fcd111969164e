package conformance

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// askAgain leaves out replies that are empty: they are asked for once more, and
// two in a row, or one behind which the script ends, are an error.
func askAgain(c *testCase, want map[string]any) bool {
	said := make([]bool, len(c.Script)) // whether there is something in it
	for i := range c.Script {
		r, err := reply(c.Script[i])
		said[i] = err != nil || len(r.Message.ToolCalls) > 0 || r.Message.Text() != "" ||
			r.Finish == model.FinishLength || r.Finish == model.FinishContentFilter
	}
	calls, _ := want["llm_calls"].(float64)
	asked := min(int(calls), len(said))
	empty := slices.Index(said[:asked], false)
	if empty < 0 {
		return false
	}
	if empty+1 == len(said) || !said[empty+1] {
		fail(want, float64(empty+2))
		return true
	}
	storeNothingEmpty(c, want)
	steps, _ := want["step_count"].(float64)
	for _, s := range said[:asked] {
		if !s {
			steps--
		}
	}
	want["step_count"] = steps
	return true
}

// storeNothingEmpty leaves out messages that no provider would take back.
func storeNothingEmpty(_ *testCase, want map[string]any) bool {
	msgs := messagesOf(want)
	n := len(msgs)
	msgs = slices.DeleteFunc(msgs, func(m map[string]any) bool { return m["role"] == "assistant" && len(m) == 1 })
	if len(msgs) == n {
		return false
	}
	keep(want, msgs)
	return true
}

// showTheValue shows what a tool returned where they show a part of it.
func showTheValue(c *testCase, want map[string]any) bool {
	changed := false
	for _, m := range messagesOf(want) {
		name, _ := calledBy(m)
		for _, s := range c.Agent.Tools {
			if s.Name != name || s.Kind != "const" || s.OutputsToString == nil || m["error"] == true {
				continue
			}
			shown := any(model.PartsText(answered(s.Value).Content))
			if text(shown) != nil && string(mustJSON(text(m["result"]))) != string(mustJSON(text(shown))) {
				m["result"], changed = shown, true
			}
		}
	}
	if s, ok := want["error"]; ok && s != nil && c.Agent.Raise {
		var out struct{ Handler string }
		for _, s := range c.Agent.Tools {
			if json.Unmarshal(s.OutputsToString, &out) == nil && out.Handler == "boom" {
				calls, _ := want["llm_calls"].(float64)
				clear(want)
				want["llm_calls"] = calls + 1
				changed = true
			}
		}
	}
	return changed
}

// refuseUndeclared refuses a manifest that writes a key which it does not declare.
func refuseUndeclared(c *testCase, want map[string]any) bool {
	for _, s := range c.Agent.Tools {
		for key := range s.OutputsToState {
			if _, ok := c.Agent.State[key]; !ok {
				fail(want, 0)
				return true
			}
		}
	}
	return false
}

// sendAsItIs sends a prompt with templates in it as the text that it is.
func sendAsItIs(c *testCase, want map[string]any) bool {
	template := func(s *string) bool { return s != nil && strings.Contains(*s, "{{") }
	if !template(c.Agent.UserPrompt) && !template(c.Agent.SystemPrompt) {
		return false
	}
	if want["error"] != nil {
		clear(want)
		want["llm_calls"] = 1.0
		return true
	}
	msgs, at := messagesOf(want), len(c.Messages)
	if s := c.Agent.SystemPrompt; s != nil && len(msgs) > 0 {
		msgs[0]["text"] = *s
		at++
	}
	if s := c.Agent.UserPrompt; s != nil && at < len(msgs) {
		msgs[at]["text"] = *s
	}
	return true
}
