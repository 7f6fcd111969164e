package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/wagent-dev/wagent/host/model"
)

// scripted is a model that says what the script of a case has, call by call, and
// keeps what it was asked. Behind the end of the script it fails.
type scripted struct {
	script  []json.RawMessage
	streams bool // what it says arrives in pieces

	mu    sync.Mutex
	asked []model.Request
}

// Generate implements [model.Model].
func (s *scripted) Generate(_ context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *req
	kept.Messages = append([]model.Message(nil), req.Messages...)
	s.asked = append(s.asked, kept)
	n := len(s.asked) - 1
	if n >= len(s.script) {
		return nil, &model.Error{Kind: model.Rejected, Message: fmt.Sprintf("the script has no reply %d", n+1)}
	}
	r, err := reply(s.script[n])
	if s.streams && err == nil {
		stream(r, sink)
	}
	return r, err
}

// stream hands out a reply in pieces of one character, and its calls behind them.
func stream(r *model.Reply, sink func(model.Chunk)) {
	for _, c := range r.Message.Text() {
		sink(model.Chunk{Text: string(c)})
	}
	for i, c := range r.Message.ToolCalls {
		sink(model.Chunk{Call: &model.CallChunk{Index: i, Name: c.Name}})
		sink(model.Chunk{Call: &model.CallChunk{Index: i, Name: c.Name, Arguments: string(c.Arguments)}})
	}
}

// reply is an entry of a script: a message, a text, or a list of messages, which
// become one: our models give one reply for each call.
func reply(entry json.RawMessage) (*model.Reply, error) {
	var said []message
	switch b := bytes.TrimSpace(entry); {
	case bytes.HasPrefix(b, []byte(`"`)):
		said = []message{{Role: "assistant", Text: json.RawMessage(b)}}
	case bytes.HasPrefix(b, []byte("[")):
		if err := json.Unmarshal(b, &said); err != nil {
			return nil, err
		}
	default:
		var m message
		if err := json.Unmarshal(b, &m); err != nil {
			return nil, err
		}
		if m.Raise != nil {
			return nil, &model.Error{Kind: model.Rejected, Message: *m.Raise}
		}
		said = []message{m}
	}
	r := &model.Reply{Message: model.Message{Role: model.Assistant}, Finish: model.FinishStop}
	for i := range said {
		if err := add(r, &said[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func add(r *model.Reply, m *message) error {
	parts, err := contentOf(m.Text)
	if err != nil {
		return err
	}
	r.Message.Content = append(r.Message.Content, parts...)
	r.Message.Reasoning += m.Reasoning
	for _, c := range m.Calls {
		r.Message.ToolCalls = append(r.Message.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Args})
		r.Finish = model.FinishToolCalls
	}
	for _, c := range m.Invalid {
		var raw string
		if err := json.Unmarshal(c.Args, &raw); err != nil {
			return err
		}
		r.Message.ToolCalls = append(r.Message.ToolCalls, model.ToolCall{
			ID: c.ID, Name: c.Name, Arguments: json.RawMessage("{}"), Invalid: &model.InvalidArgs{Raw: raw, Problem: "not JSON"},
		})
	}
	if m.Meta != nil {
		r.Usage = r.Usage.Add(usageOf(m.Meta.Usage))
		if m.Meta.Finish != "" {
			r.Finish = model.FinishReason(m.Meta.Finish)
		}
	}
	return nil
}

// usageOf is what our clients make of a provider's counts.
func usageOf(u map[string]any) model.Usage {
	first := func(names ...string) int64 {
		for _, n := range names {
			if v, ok := u[n].(float64); ok {
				return int64(v)
			}
		}
		return 0
	}
	out := model.Usage{
		PromptTokens:     first("prompt_tokens", "input_tokens"),
		CompletionTokens: first("completion_tokens", "output_tokens"),
		TotalTokens:      first("total_tokens"),
	}
	if out.TotalTokens == 0 {
		out.TotalTokens = out.PromptTokens + out.CompletionTokens
	}
	return out
}

// contentOf is the content of a message: a text, or a list of texts.
func contentOf(raw json.RawMessage) ([]model.Part, error) {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return nil, nil
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return model.TextParts(s), err
	}
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("content that this runner cannot read: %s", raw)
	}
	var parts []model.Part
	for _, p := range list {
		if m, ok := p.(map[string]any); ok && m["text"] != nil {
			p = m["text"]
		}
		s, ok := p.(string)
		if !ok {
			return nil, fmt.Errorf("content that this runner cannot read: %s", raw)
		}
		parts = append(parts, model.Part{Type: model.TextPart, Text: s})
	}
	return parts, nil
}

// given is a message that a run begins with.
func given(m *message) (model.Message, error) {
	parts, err := contentOf(m.Text)
	if err != nil {
		return model.Message{}, err
	}
	out := model.Message{Role: model.Role(m.Role), Content: parts, Reasoning: m.Reasoning}
	for _, c := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, model.ToolCall{ID: c.ID, WireID: c.ID, Name: c.Name, Arguments: c.Args})
	}
	if m.Call != nil {
		out.CallID, out.Name, out.IsError = m.Call.ID, m.Call.Name, m.Error
		if out.Content, err = contentOf(m.Result); err != nil {
			return model.Message{}, err
		}
	}
	return out, nil
}
