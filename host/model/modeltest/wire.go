package modeltest

import (
	"fmt"
	"strconv"

	"github.com/wagent-dev/wagent/host/model"
)

// The wire types are the endpoint's own and not the client's: a mistake in the
// client's must not hide behind the same mistake here.
type wireReply struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Model   string       `json:"model"`
	Choices []wireChoice `json:"choices"`
	Usage   *wireUsage   `json:"usage,omitempty"`
}

type wireChoice struct {
	Index   int                `json:"index"`
	Message *wireMessage       `json:"message,omitempty"`
	Delta   *wireMessage       `json:"delta,omitempty"`
	Finish  model.FinishReason `json:"finish_reason,omitempty"`
}

type wireMessage struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type wireUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

func (t *Turn) wireUsage() *wireUsage {
	if t.NoUsage {
		return nil
	}
	u := t.usage()
	return &wireUsage{u.PromptTokens, u.CompletionTokens, u.TotalTokens}
}

func wholeMessage(m *model.Message, n int) *wireMessage {
	text := m.Text()
	out := &wireMessage{Role: "assistant", Content: &text, Reasoning: m.Reasoning}
	for i, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, wireCall{
			ID: wireID(&c, n, i), Type: "function",
			Function: wireFunction{Name: c.Name, Arguments: string(c.Arguments)},
		})
	}
	return out
}

// wireID is the call's own id, or one that is unique within the endpoint.
func wireID(c *model.ToolCall, n, i int) string {
	if c.WireID != "" {
		return c.WireID
	}
	return fmt.Sprintf("call_%d_%d", n, i)
}

// streamChunks cuts a message into the chunks that a server streams: the role,
// the text in pieces, each call's head and then its arguments in two halves,
// the finish reason, the usage.
func streamChunks(m *model.Message, turn *Turn, n int) []wireReply {
	var out []wireReply
	add := func(delta *wireMessage, finish model.FinishReason) {
		out = append(out, wireReply{
			ID: "chatcmpl-" + strconv.Itoa(n), Object: "chat.completion.chunk", Model: "scripted",
			Choices: []wireChoice{{Delta: delta, Finish: finish}},
		})
	}
	empty := ""
	add(&wireMessage{Role: "assistant", Content: &empty}, "")
	for _, p := range pieces(m.Reasoning) {
		add(&wireMessage{Reasoning: p}, "")
	}
	for _, p := range pieces(m.Text()) {
		add(&wireMessage{Content: &p}, "")
	}
	for i, c := range m.ToolCalls {
		args := string(c.Arguments)
		add(&wireMessage{ToolCalls: []wireCall{{
			Index: &i, ID: wireID(&c, n, i), Type: "function",
			Function: wireFunction{Name: c.Name},
		}}}, "")
		for _, a := range []string{half(args), args[len(args)/2:]} {
			add(&wireMessage{ToolCalls: []wireCall{{Index: &i, Function: wireFunction{Arguments: a}}}}, "")
		}
	}
	add(&wireMessage{}, turn.finish())
	if u := turn.wireUsage(); u != nil {
		out = append(out, wireReply{
			ID: "chatcmpl-" + strconv.Itoa(n), Object: "chat.completion.chunk", Model: "scripted",
			Choices: []wireChoice{}, Usage: u,
		})
	}
	return out
}
