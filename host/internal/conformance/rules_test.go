package conformance

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/wagent-dev/wagent/host/model"
)

// rules are the deliberate differences that can be worked out for a case that is
// not in the table, as those of another file. Each changes what is wanted into
// what we do, and says whether it had to. The table is held to them as well.
var rules = []struct {
	name  string
	apply func(c *testCase, want map[string]any) bool
}{
	{"agent-loop.md 3, calls that ran", countRuns},
	{"hooks.md 7", keepCallOrder},
	{"hooks.md 11", askAgain},
	{"agent-loop.md 3h", answerWithoutTools},
	{"absent: outputs_to_string", showTheValue},
}

// byRule changes what is wanted by the rules and names those that changed it.
func (c *testCase) byRule(want map[string]any) string {
	names := ""
	for _, r := range rules {
		if r.apply(c, want) {
			if names != "" {
				names += " and "
			}
			names += r.name
		}
	}
	return names
}

// inForce says that the case has a tool of this name.
func (c *testCase) inForce(name string) bool {
	tools, only, err := c.chosen()
	return err == nil && slices.ContainsFunc(tools, func(s toolSpec) bool { return s.Name == name }) &&
		(only == nil || slices.Contains(only, name))
}

func messagesOf(want map[string]any) []map[string]any {
	msgs, _ := want["messages"].([]any)
	var out []map[string]any
	for _, e := range msgs {
		m, _ := e.(map[string]any)
		out = append(out, m)
	}
	return out
}

func calledBy(m map[string]any) (name, id string) {
	call, _ := m["call"].(map[string]any)
	name, _ = call["name"].(string)
	id, _ = call["id"].(string)
	return name, id
}

// countRuns leaves calls of tools that are not there out of the counts.
func countRuns(c *testCase, want map[string]any) bool {
	counts, _ := want["tool_call_counts"].(map[string]any)
	changed := false
	for _, m := range messagesOf(want) {
		name, _ := calledBy(m)
		n, counted := counts[name].(float64)
		if m["role"] != "tool" || m["error"] != true || c.inForce(name) || !counted {
			continue
		}
		changed = true
		if counts[name] = n - 1; n == 1 {
			delete(counts, name)
		}
	}
	return changed
}

// keepCallOrder puts the results of a message's calls into the order of the calls.
func keepCallOrder(_ *testCase, want map[string]any) bool {
	msgs, changed := messagesOf(want), false
	for i := range msgs {
		place := map[string]int{}
		calls, _ := msgs[i]["tool_calls"].([]any)
		for k, e := range calls {
			call, _ := e.(map[string]any)
			id, _ := call["id"].(string)
			place[id] = k
		}
		end := i + 1
		for end < len(msgs) && msgs[end]["role"] == "tool" {
			end++
		}
		byCall := func(a, b map[string]any) int {
			_, x := calledBy(a)
			_, y := calledBy(b)
			return cmp.Compare(place[x], place[y])
		}
		if len(place) == len(calls) && !slices.IsSortedFunc(msgs[i+1:end], byCall) {
			slices.SortStableFunc(msgs[i+1:end], byCall)
			changed = true
		}
	}
	if changed {
		want["messages"] = plain(map[string]any{"m": msgs})["m"]
	}
	return changed
}

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
	msgs, _ := want["messages"].([]any)
	want["messages"] = slices.DeleteFunc(msgs, func(e any) bool {
		m, _ := e.(map[string]any)
		return m["role"] == "assistant" && len(m) == 1
	})
	steps, _ := want["step_count"].(float64)
	for _, s := range said[:asked] {
		if !s {
			steps--
		}
	}
	want["step_count"] = steps
	return true
}

// fail makes an error of the run of what is wanted.
func fail(want map[string]any, calls float64) {
	clear(want)
	want["error"], want["llm_calls"] = words, calls
}

// answerWithoutTools has calls answered where there are no tools: the run goes on,
// and the script has no more.
func answerWithoutTools(c *testCase, want map[string]any) bool {
	msgs := messagesOf(want)
	tools, names, _ := c.chosen()
	if len(msgs) == 0 || msgs[len(msgs)-1]["tool_calls"] == nil || len(tools) > 0 && names == nil {
		return false
	}
	calls, _ := want["llm_calls"].(float64)
	if int(calls) != len(c.Script) {
		return false
	}
	fail(want, calls+1)
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
