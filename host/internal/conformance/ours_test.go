package conformance

import (
	"encoding/json"
	"slices"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// ours is what came of a run, in the terms of the cases and as JSON values.
func (c *testCase) ours(p *played) map[string]any {
	got := map[string]any{"llm_calls": len(p.asked), "tool_log": c.logged(p.log)}
	if p.refused != nil {
		got["error"] = map[string]any{"kind": "refused"}
		return plain(got)
	}
	r := p.result
	if r.Error != nil {
		got["error"] = map[string]any{"kind": r.Error.Kind}
	}
	last := ""
	if r.LastMessage != nil {
		last = string(r.LastMessage.Role)
	}
	got["messages"], got["last_message_role"] = c.messages(r.Messages), last
	got["step_count"], got["exit_reason"] = r.StepCount, string(r.ExitReason)
	got["token_usage"], got["tool_call_counts"] = counts(r.TokenUsage), r.ToolCallCounts
	got["output"], got["partial"] = r.Output, r.Partial
	got["steps"], got["logs"] = c.steps(r.Steps), logs(r.Steps)
	got["chunks"], got["events"] = c.chunks(p.events), events(p.events)
	got["structured"] = r.Structured
	got["told"] = told(p.events)
	got["finish"] = finishOf(p.events)
	got["elapsed_ms"] = p.elapsed.Milliseconds()
	for key := range c.Agent.State {
		got[key] = r.State[key] // null: it has no value
	}
	var inputs, tools, stops, shown []any
	for i := range p.asked {
		req := &p.asked[i]
		inputs = append(inputs, c.messages(req.Messages))
		tools = append(tools, map[string]any{"tools": names(req.Tools)})
		stops = append(stops, list(req.Stop))
		shown = append(shown, c.shown(req.Messages, r.Steps))
	}
	got["llm_inputs"], got["llm_tools"], got["stops"], got["shown"] = list(inputs), list(tools), list(stops), list(shown)
	return plain(got)
}

// list is v, and never null in JSON.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// plain is v as JSON values.
func plain(v map[string]any) map[string]any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of what came from JSON
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

func counts(u model.Usage) map[string]int64 {
	out := map[string]int64{}
	for name, n := range map[string]int64{
		"prompt_tokens": u.PromptTokens, "completion_tokens": u.CompletionTokens, "total_tokens": u.TotalTokens,
		"reasoning_tokens": u.ReasoningTokens, "cached_tokens": u.CachedTokens,
	} {
		if n != 0 {
			out[name] = n
		}
	}
	return out
}

// messages writes messages as a case does, with the ids that its script gave.
func (c *testCase) messages(msgs []model.Message) []any {
	calls := make(map[string]map[string]any)
	out := []any{}
	for i := range msgs {
		m := &msgs[i]
		w := map[string]any{"role": string(m.Role)}
		if m.Role == model.Tool {
			call := calls[m.CallID]
			if call == nil { // a text planner's action is no call of the message
				call = map[string]any{"name": m.Name}
			}
			w["call"], w["error"], w["result"] = call, m.IsError, m.Text()
			out = append(out, w)
			continue
		}
		if text := m.Text(); text != "" {
			w["text"] = text
		}
		if m.Reasoning != "" {
			w["reasoning"] = m.Reasoning
		}
		var made []any
		for _, k := range m.ToolCalls {
			call := map[string]any{"name": k.Name, "args": k.Arguments}
			if k.WireID != "" {
				call["id"] = k.WireID
			}
			calls[k.ID] = call
			made = append(made, call)
		}
		if made != nil {
			w["tool_calls"] = made
		}
		out = append(out, w)
	}
	return out
}

// steps writes steps as tool, input and observation. The input of a tool that
// takes one text is that text.
func (c *testCase) steps(steps []run.Step) []any {
	out := []any{}
	for _, s := range steps {
		out = append(out, []any{s.Action.Tool, c.input(s.Action), s.Observation, s.IsError})
	}
	return out
}

func (c *testCase) input(a run.Action) any {
	var m map[string]any
	if json.Unmarshal(a.Input, &m) != nil {
		return a.Input
	}
	for _, t := range c.Agent.Tools {
		if text, ok := m["input"].(string); ok && t.Name == a.Tool && t.Kind == "res" && len(m) == 1 {
			return text
		}
	}
	return a.Input
}

func logs(steps []run.Step) []string {
	out := []string{}
	for _, s := range steps {
		out = append(out, s.Action.Log)
	}
	return out
}

// chunks writes the outcomes of the calls that ran as a stream tells them: step
// by step, and the end of each step that ran some.
func (c *testCase) chunks(all []run.Event) []any {
	out := []any{}
	ran, step := map[string]bool{}, []any{}
	for _, e := range all {
		switch b := e.Body.(type) {
		case run.Called:
			ran[b.CallID] = true
		case run.Returned:
			if ran[b.CallID] {
				step = append(step, map[string]any{"tool": b.Tool, "result": model.PartsText(b.Content), "error": b.IsError})
			}
		case run.Ended:
			if len(step) > 0 {
				out = append(append(out, sorted(step)...), map[string]any{"finish_reason": "tool_call_results"})
			}
			step = nil
		}
	}
	return out
}

// events tells what a caller sees, and in which order.
func events(all []run.Event) []string {
	out := []string{}
	for _, e := range all {
		switch b := e.Body.(type) {
		case run.Planned:
			for range b.Actions {
				out = append(out, "action")
			}
		case run.Called:
			out = append(out, "start")
		case run.Returned:
			out = append(out, "step")
		case run.Finished:
			out = append(out, "output")
		case run.Failed:
			out = append(out, "error")
		}
	}
	return out
}

// told leaves the beginnings of calls out of events.
func told(all []run.Event) []string {
	return slices.DeleteFunc(events(all), func(e string) bool { return e == "start" })
}

func finishOf(all []run.Event) map[string]any {
	for _, e := range all {
		if p, ok := e.Body.(run.Planned); ok && p.Finish != nil {
			return p.Finish.ReturnValues
		}
	}
	return nil
}

func names(tools []model.Definition) []string {
	out := []string{}
	for _, d := range tools {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return out
}

// shown is which observations a request holds.
func (c *testCase) shown(msgs []model.Message, steps []run.Step) []string {
	out := []string{}
	for _, s := range steps {
		if slices.ContainsFunc(msgs, func(m model.Message) bool { return holds(&m, s.Observation) }) && !slices.Contains(out, s.Observation) {
			out = append(out, s.Observation)
		}
	}
	return out
}
