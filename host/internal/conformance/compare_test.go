package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// words stands for a text whose wording is not compared: it is not empty, and
// that is all.
const words = "<words>"

func holds(m *model.Message, s string) bool {
	return m.Role != model.Assistant && strings.Contains(m.Text(), s)
}

// theirs is what a case expects, in our terms. What is translated, and why, is in
// testdata/conformance/README.md.
func (c *testCase) theirs() map[string]any {
	want := plain(c.Expect)
	if e, ok := want["error"].(map[string]any); ok && e["kind"] == nil {
		want["error"] = words
	}
	for key := range c.Agent.State {
		if _, said := want[key]; !said && want["error"] == nil {
			want[key] = nil // it has no value at the end
		}
	}
	if want["exit_reason"] == "max_agent_steps" {
		want["exit_reason"] = "max_steps"
	}
	if n, ok := want["tool_call_counts"].(map[string]any); ok {
		maps.DeleteFunc(n, func(_ string, v any) bool { return v == 0.0 })
	}
	if u, ok := want["token_usage"].(map[string]any); ok {
		want["token_usage"] = usageTerms(u)
	}
	if l, ok := want["tool_log"].([]any); ok {
		want["tool_log"] = c.logged(l)
	}
	own := c.ownTexts()
	c.messageTerms(want["messages"], own)
	if inputs, ok := want["llm_inputs"].([]any); ok {
		for _, msgs := range inputs {
			c.messageTerms(msgs, own)
		}
	}
	if l, ok := want["chunks"].([]any); ok {
		want["chunks"] = chunkTerms(l)
	}
	return want
}

// usageTerms adds up counts that their providers name differently. Ours always
// has the sum.
func usageTerms(u map[string]any) map[string]any {
	move := func(from, to string) {
		if n, ok := u[from].(float64); ok {
			have, _ := u[to].(float64)
			u[to] = have + n
			delete(u, from)
		}
	}
	move("input_tokens", "prompt_tokens")
	move("output_tokens", "completion_tokens")
	if u["total_tokens"] == nil {
		p, _ := u["prompt_tokens"].(float64)
		o, _ := u["completion_tokens"].(float64)
		u["total_tokens"] = p + o
	}
	maps.DeleteFunc(u, func(_ string, v any) bool { return v == 0.0 })
	return u
}

// ownTexts is the texts of a case that are not of their wording.
func (c *testCase) ownTexts() map[string]bool {
	own := make(map[string]bool)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			own[v] = true
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	for _, k := range []string{"messages", "script", "agent"} {
		var v any
		if json.Unmarshal(c.raw[k], &v) == nil {
			walk(v)
		}
	}
	return own
}

// messageTerms leaves out of messages what ours do not hold: what came with a
// reply besides the message, a text that is empty, and the words of an error.
func (c *testCase) messageTerms(v any, own map[string]bool) {
	msgs, _ := v.([]any)
	for _, e := range msgs {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		delete(m, "meta")
		switch text := m["text"].(type) {
		case nil:
		case string:
			if text == "" {
				delete(m, "text")
			} else if c.flagged("default_wording") && !own[text] {
				m["text"] = words
			}
		default:
			parts, err := contentOf(mustJSON(text))
			if err == nil {
				m["text"] = model.PartsText(parts)
			}
		}
		if m["error"] == true {
			m["result"] = words
		}
	}
}

func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	return data
}

// chunkTerms leaves of their events for results what ours tell too.
func chunkTerms(l []any) []any {
	var out, step []any
	for _, e := range l {
		ch, _ := e.(map[string]any)
		if ch["tool"] == nil {
			out = append(append(out, sorted(step)...), map[string]any{"finish_reason": ch["finish_reason"]})
			step = nil
			continue
		}
		if ch["error"] == true {
			ch["result"] = words
		}
		step = append(step, map[string]any{"tool": ch["tool"], "result": ch["result"], "error": ch["error"]})
	}
	return list(append(out, step...))
}

// logged is a log of the tools, in the order of the calls, unless the case says
// that some of them are made at the same time.
func (c *testCase) logged(l []any) []any {
	if c.flagged("tool_log_order_within_a_batch_not_guaranteed") {
		return sorted(l)
	}
	return list(l)
}

// sorted puts what happened at the same time into an order. Errors, whose words
// differ, come by their tool.
func sorted(l []any) []any {
	key := func(v any) string {
		if m, ok := v.(map[string]any); ok && m["error"] == true {
			return fmt.Sprint(m["tool"])
		}
		if m, ok := v.(map[string]any); ok {
			return fmt.Sprint(m["tool"], text(m["result"]))
		}
		return string(mustJSON(v))
	}
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return list(out)
}

// text is a text as it is compared: one that is an object or a list in JSON is
// that value, however it is written.
func text(v any) any {
	s, ok := v.(string)
	if !ok || !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return v
	}
	var value any
	if json.Unmarshal([]byte(s), &value) != nil {
		return v
	}
	return value
}

// differ returns where got is not what is wanted, or "". Members that are not
// wanted are not looked at in the outermost object alone.
func differ(want, got map[string]any) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if d := unlike(k, want[k], got[k]); d != "" {
			return d
		}
	}
	if want["error"] == nil && got["error"] != nil {
		return fmt.Sprintf("error: want none, got %s", mustJSON(got["error"]))
	}
	return ""
}

func unlike(at string, want, got any) string {
	if want == words {
		if s, ok := got.(string); got == nil || ok && strings.TrimSpace(s) == "" {
			return fmt.Sprintf("%s: want something, got %s", at, mustJSON(got))
		}
		return ""
	}
	switch w := text(want).(type) {
	case map[string]any:
		g, ok := text(got).(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(g)
		maps.Copy(keys, w)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if d := unlike(at+"."+k, w[k], g[k]); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := text(got).([]any)
		if !ok {
			break
		}
		for i := range max(len(w), len(g)) {
			var a, b any = "nothing", "nothing"
			if i < len(w) {
				a = w[i]
			}
			if i < len(g) {
				b = g[i]
			}
			if d := unlike(fmt.Sprintf("%s[%d]", at, i), a, b); d != "" {
				return d
			}
		}
		return ""
	default:
		if w == text(got) {
			return ""
		}
	}
	return fmt.Sprintf("%s: want %s, got %s", at, mustJSON(want), mustJSON(got))
}
