package agent

import "github.com/wagent-dev/wagent/host/model"

// Repair returns a conversation that a provider takes: after an assistant
// message with calls come exactly its results, in the order of the calls, and no
// result stands alone. A call without a result gets one that says its outcome is
// not known; a result without a call is left out. The messages given are not
// changed; when nothing is wrong they are returned as they are.
func Repair(msgs []model.Message) []model.Message {
	out := make([]model.Message, 0, len(msgs))
	for i := 0; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == model.Tool {
			continue
		}
		out = append(out, m)
		if len(m.ToolCalls) == 0 {
			continue
		}
		end := i
		for end < len(msgs) && msgs[end].Role == model.Tool {
			end++
		}
		out = append(out, pair(m.ToolCalls, msgs[i:end])...)
		i = end
	}
	return out
}

// pair returns one result for each call, taken from results where it is there.
func pair(calls []model.ToolCall, results []model.Message) []model.Message {
	used := make([]bool, len(results))
	paired := make([]model.Message, len(calls))
	for i, c := range calls {
		paired[i] = model.Message{
			Role: model.Tool, CallID: c.ID, Name: c.Name, IsError: true,
			Content: model.TextParts("The run was interrupted before this call had a result. Whether it took effect is not known."),
		}
		for j := range results {
			if !used[j] && results[j].CallID == c.ID {
				paired[i], used[j] = results[j], true
				break
			}
		}
	}
	return paired
}
