package conformance

import (
	"slices"
	"strings"
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
	{"hooks.md 7", exitOnSuccess},
	{"hooks.md 11", askAgain},
	{"hooks.md 11", storeNothingEmpty},
	{"agent-loop.md 3h", answerWithoutTools},
	{"agent-loop.md 3h", refuseHidden},
	{"hooks.md 8", refuseUndeclared},
	{"absent: outputs_to_string", showTheValue},
	{"absent: prompt templates", sendAsItIs},
}

// byRule changes what is wanted by the rules and names those that changed it.
func (c *testCase) byRule(want map[string]any) string {
	var names []string
	for _, r := range rules {
		if r.apply(c, want) && !slices.Contains(names, r.name) {
			names = append(names, r.name)
		}
	}
	return strings.Join(names, " and ")
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

// fail makes an error of the run of what is wanted.
func fail(want map[string]any, calls float64) {
	clear(want)
	want["error"], want["llm_calls"] = words, calls
}

// keep puts messages that were changed back into what is wanted.
func keep(want map[string]any, msgs []map[string]any) {
	want["messages"] = plain(map[string]any{"m": list(msgs)})["m"]
	if n := len(msgs); n > 0 && want["last_message_role"] != nil {
		want["last_message_role"] = msgs[n-1]["role"]
	}
}

// count adds to the count of a tool's calls.
func count(want map[string]any, tool string, by float64) {
	counts, _ := want["tool_call_counts"].(map[string]any)
	n, _ := counts[tool].(float64)
	if counts == nil {
		return
	}
	if counts[tool] = n + by; n+by == 0 {
		delete(counts, tool)
	}
}
