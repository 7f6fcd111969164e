package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

// noOutput stands for the result of a tool that said nothing: a tool message
// without content is refused by strict endpoints.
const noOutput = "(no output)"

// encoded is the messages of a request as they go over the wire.
type encoded struct {
	parts       [][]byte
	reasoning   bool // some reasoning is sent back
	nullContent bool // some assistant message has null for content
	calls       bool // there are calls in the history
}

// encode writes the messages of req under p. Bytes that were made before are
// taken from req.Memo.
func (p *profile) encode(req *model.Request) (*encoded, error) {
	out := &encoded{parts: make([][]byte, 0, len(req.Messages))}
	ids := wireIDs{profile: p, used: make(map[string]bool, len(req.Messages)/2)}
	flat := p.flatten && len(req.Tools) == 0
	for i := range req.Messages {
		b, err := p.encodeNext(req, &req.Messages[i], &ids, flat)
		if err != nil {
			return nil, rejected(fmt.Sprintf("message %d of the conversation: %v", i+1, err))
		}
		out.parts = append(out.parts, b)
		out.note(&req.Messages[i], p)
	}
	if err := ids.settled(); err != nil {
		return nil, rejected(fmt.Sprintf("the end of the conversation: %v", err))
	}
	return out, nil
}

func (e *encoded) note(m *model.Message, p *profile) {
	if m.Role != model.Assistant {
		return
	}
	e.reasoning = e.reasoning || p.echoes(m)
	if len(m.ToolCalls) > 0 {
		e.calls = true
		e.nullContent = e.nullContent || (m.Text() == "" && !p.emptyContent)
	}
}

func (p *profile) encodeNext(req *model.Request, m *model.Message, ids *wireIDs, flat bool) ([]byte, error) {
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
			return req.Memo.Bytes(m, p.variant+" flat", encodeFlatCalls)
		}
		return req.Memo.Bytes(m, variant, func(m *model.Message) ([]byte, error) {
			return p.encodeAssistant(m, ids.open)
		})
	case model.Tool:
		wire, variant, err := ids.result(m)
		if err != nil {
			return nil, err
		}
		if flat {
			return req.Memo.Bytes(m, p.variant+" flat", encodeFlatResult)
		}
		return req.Memo.Bytes(m, variant, func(m *model.Message) ([]byte, error) {
			return marshal(plainMessage{Role: api.ChatMessageRoleTool, CallID: wire, Content: visibleText(m)})
		})
	case model.System, model.User:
		return req.Memo.Bytes(m, p.variant, p.encodePlain)
	}
	return nil, fmt.Errorf("unknown role %q", m.Role)
}

// plainMessage is a message whose content is always sent, even when empty.
type plainMessage struct {
	Role    string `json:"role"`
	CallID  string `json:"tool_call_id,omitempty"`
	Content any    `json:"content"`
}

func (p *profile) encodePlain(m *model.Message) ([]byte, error) {
	role := api.ChatMessageRoleUser
	if m.Role == model.System {
		role = api.ChatMessageRoleSystem
		if p.developer {
			role = api.ChatMessageRoleDeveloper
		}
		return marshal(plainMessage{Role: role, Content: m.Text()})
	}
	content, err := contentOf(m)
	if err != nil {
		return nil, err
	}
	return marshal(plainMessage{Role: role, Content: content})
}

// contentOf is a string where text is all there is, since not all endpoints
// take a list.
func contentOf(m *model.Message) (any, error) {
	media := false
	for i := range m.Content {
		media = media || m.Content[i].Type != model.TextPart
	}
	if !media {
		return m.Text(), nil
	}
	parts := make([]any, len(m.Content))
	for i := range m.Content {
		part, err := encodePart(&m.Content[i])
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
		parts[i] = part
	}
	return parts, nil
}

func encodePart(p *model.Part) (any, error) {
	switch p.Type {
	case model.TextPart:
		return api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: p.Text}, nil
	case model.ImagePart:
		url := p.URL
		if len(p.Data) > 0 {
			url = dataURL(p)
		}
		if url == "" {
			return nil, errors.New("an image without data or URL")
		}
		return api.ChatMessagePart{
			Type: api.ChatMessagePartTypeImageURL, ImageURL: &api.ChatMessageImageURL{URL: url},
		}, nil
	case model.FilePart:
		if len(p.Data) == 0 {
			return nil, errors.New("a file without data: this endpoint takes no URL of a file")
		}
		return map[string]any{"type": "file", "file": map[string]string{
			"filename": p.Name, "file_data": dataURL(p),
		}}, nil
	}
	return nil, fmt.Errorf("unknown type %q", p.Type)
}

func dataURL(p *model.Part) string {
	return "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// visibleText is the text of a tool's result, with a word for what is not text.
func visibleText(m *model.Message) string {
	var b strings.Builder
	for i := range m.Content {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		p := &m.Content[i]
		if p.Type == model.TextPart {
			b.WriteString(p.Text)
			continue
		}
		fmt.Fprintf(&b, "(%s %s of %d bytes, not shown)", p.Type, p.MIME, len(p.Data))
	}
	if strings.TrimSpace(b.String()) == "" {
		return noOutput
	}
	return b.String()
}

// encodeFlatCalls tells calls as text, for endpoints that refuse calls in the
// history when no tools are offered.
func encodeFlatCalls(m *model.Message) ([]byte, error) {
	var b strings.Builder
	b.WriteString(visibleAssistantText(m))
	for i := range m.ToolCalls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[I called the tool %s with %s]", m.ToolCalls[i].Name, m.ToolCalls[i].Arguments)
	}
	return marshal(plainMessage{Role: api.ChatMessageRoleAssistant, Content: b.String()})
}

func encodeFlatResult(m *model.Message) ([]byte, error) {
	return marshal(plainMessage{
		Role:    api.ChatMessageRoleUser,
		Content: fmt.Sprintf("[The tool %s returned]\n%s", m.Name, visibleText(m)),
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
