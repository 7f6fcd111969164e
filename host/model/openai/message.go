package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

// noOutput stands for the result of a tool that said nothing: a tool message
// without content is refused by strict endpoints.
const noOutput = "(no output)"

func (p *profile) encodeNext(memo *model.Memo, next *outgoing, ids *wireIDs, flat bool) ([]byte, error) {
	m := next.Message
	if next.fresh {
		memo = nil
	}
	if m.Role != model.Tool {
		if err := ids.settled(); err != nil {
			return nil, err
		}
	}
	switch m.Role {
	case model.Assistant:
		variant, err := ids.calls(m)
		if err != nil {
			return nil, err
		}
		if flat && len(m.ToolCalls) > 0 {
			return memo.Bytes(m, p.variant+" flat", encodeFlatCalls)
		}
		return memo.Bytes(m, variant, func(m *model.Message) ([]byte, error) {
			return p.encodeAssistant(m, ids.open)
		})
	case model.Tool:
		wire, variant, err := ids.result(m)
		if err != nil {
			return nil, err
		}
		if flat {
			return memo.Bytes(m, p.variant+" flat", p.encodeFlatResult)
		}
		return memo.Bytes(m, variant, func(m *model.Message) ([]byte, error) {
			return encodeResult(wire, p.resultText(m)), nil
		})
	case model.System, model.User:
		if next.beside {
			return memo.Bytes(m, p.variant+" beside", p.encodeBesides)
		}
		return memo.Bytes(m, p.variant, p.encodePlain)
	}
	return nil, fmt.Errorf("unknown role %q", m.Role)
}

// plainMessage is a message whose content is always sent, even when empty.
type plainMessage struct {
	Role    string `json:"role"`
	CallID  string `json:"tool_call_id,omitempty"`
	Content any    `json:"content"`
}

func encodeResult(wire, text string) []byte {
	b := make([]byte, 0, 64+len(wire)+len(text)*9/8)
	b = appendString(append(b, `{"role":"tool","tool_call_id":`...), wire)
	b = appendString(append(b, `,"content":`...), text)
	return append(b, '}')
}

func (p *profile) encodePlain(m *model.Message) ([]byte, error) {
	if m.Role == model.System {
		return marshal(plainMessage{Role: p.systemName(), Content: textOf(m)})
	}
	content, err := p.contentOf(m.Content)
	if err != nil {
		return nil, err
	}
	return marshal(plainMessage{Role: api.ChatMessageRoleUser, Content: content})
}

func (p *profile) systemName() string {
	switch p.system {
	case roleDeveloper:
		return api.ChatMessageRoleDeveloper
	case roleUser:
		return api.ChatMessageRoleUser
	}
	return api.ChatMessageRoleSystem
}

func (p *profile) encodeBesides(m *model.Message) ([]byte, error) {
	content, err := p.contentOf(p.besides(m))
	if err != nil {
		return nil, err
	}
	return marshal(plainMessage{Role: api.ChatMessageRoleUser, Content: content})
}

// contentOf is a string where text is all there is, since not all endpoints
// take a list.
func (p *profile) contentOf(content []model.Part) (any, error) {
	parts := make([]any, len(content))
	text := make([]string, 0, len(content))
	for i := range content {
		part, err := p.encodePart(&content[i])
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		parts[i] = part
		if t, ok := part.(api.ChatMessagePart); ok && t.Type == api.ChatMessagePartTypeText {
			text = append(text, t.Text)
		}
	}
	if len(text) == len(parts) {
		return strings.Join(text, "\n"), nil
	}
	return parts, nil
}

// textOf is the content of a message that can be nothing but text.
func textOf(m *model.Message) string {
	for i := range m.Content {
		if m.Content[i].Type != model.TextPart {
			return strings.TrimPrefix(m.Text()+"\n"+otherText(m), "\n")
		}
	}
	return m.Text()
}

// otherText tells what of a message is no text, in words.
func otherText(m *model.Message) string {
	var out []string
	for i := range m.Content {
		part := &m.Content[i]
		if part.Type == model.TextPart {
			continue
		}
		text, ok := fileText(part)
		if !ok {
			text = part.NotShown("a message of the " + string(m.Role) + " is text")
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

// encodeFlatCalls tells calls as text, for endpoints that refuse calls in the
// history when no tools are offered.
func encodeFlatCalls(m *model.Message) ([]byte, error) {
	var b strings.Builder
	b.WriteString(textOf(m))
	for i := range m.ToolCalls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[I called the tool %s with %s]", m.ToolCalls[i].Name, m.ToolCalls[i].Arguments)
	}
	return marshal(plainMessage{Role: api.ChatMessageRoleAssistant, Content: b.String()})
}

func (p *profile) encodeFlatResult(m *model.Message) ([]byte, error) {
	return marshal(plainMessage{
		Role:    api.ChatMessageRoleUser,
		Content: fmt.Sprintf("[The tool %s returned]\n%s", m.Name, p.resultText(m)),
	})
}

// marshal is json.Marshal without turning <, > and & into escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
