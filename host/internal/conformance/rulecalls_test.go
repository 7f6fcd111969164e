package conformance

import (
	"cmp"
	"slices"
)

// countRuns leaves calls of tools that are not there out of the counts.
func countRuns(c *testCase, want map[string]any) bool {
	counts, _ := want["tool_call_counts"].(map[string]any)
	changed := false
	for _, m := range messagesOf(want) {
		name, _ := calledBy(m)
		if m["role"] == "tool" && m["error"] == true && !c.inForce(name) && counts[name] != nil {
			count(want, name, -1)
			changed = true
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
		keep(want, msgs)
	}
	return changed
}

// exitOnSuccess ends the run with the first exit tool that succeeded, where theirs
// goes on because another call of it, or of another, failed.
func exitOnSuccess(c *testCase, want map[string]any) bool {
	msgs := messagesOf(want)
	reason, end := "", 0
	for i := 0; i < len(msgs) && reason == ""; i++ {
		name, _ := calledBy(msgs[i])
		if msgs[i]["role"] == "tool" && msgs[i]["error"] != true && name != "text" && slices.Contains(c.Agent.Exit, name) {
			reason, end = name, i+1
		}
	}
	for end < len(msgs) && msgs[end]["role"] == "tool" {
		end++
	}
	if reason == "" || end == len(msgs) {
		return false
	}
	keep(want, msgs[:end])
	want["exit_reason"], want["tool_call_counts"] = reason, map[string]any{}
	delete(want, "token_usage")
	delete(want, "tool_log")
	steps := 0.0
	for _, m := range msgs[:end] {
		switch name, _ := calledBy(m); {
		case m["role"] == "assistant":
			steps++
		case m["role"] == "tool" && c.inForce(name):
			count(want, name, 1)
		}
	}
	want["step_count"], want["llm_calls"] = steps, steps
	return true
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

// refuseHidden gives a call back to the model that has an argument which comes from
// the state.
func refuseHidden(c *testCase, want map[string]any) bool {
	msgs, changed := messagesOf(want), false
	for _, m := range msgs {
		call, _ := m["call"].(map[string]any)
		args, _ := call["args"].(map[string]any)
		for _, s := range c.Agent.Tools {
			for _, argument := range s.InputsFromState {
				if call["name"] != s.Name || args[argument] == nil || len(s.OutputsToState) > 0 {
					continue
				}
				leaveOut(want, "tool_log", []any{s.Name, args})
				leaveOut(want, "chunks", map[string]any{"tool": s.Name, "result": m["result"], "error": false})
				m["result"], m["error"], changed = words, true, true
				count(want, s.Name, -1)
			}
		}
	}
	return changed
}

// leaveOut takes the first like v out of a list.
func leaveOut(want map[string]any, key string, v any) {
	l, _ := want[key].([]any)
	if i := slices.IndexFunc(l, func(e any) bool { return unlike("", v, e) == "" }); i >= 0 {
		want[key] = slices.Delete(slices.Clone(l), i, i+1)
	}
}
