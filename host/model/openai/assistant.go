package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// echoes says whether m carries its reasoning back.
func (p *profile) echoes(m *model.Message) bool {
	switch p.echo {
	case echoToolTurns:
		return m.Reasoning != "" && len(m.ToolCalls) > 0 && m.Origin == p.origin
	case echoAlways:
		return m.Reasoning != "" || len(m.ToolCalls) > 0
	}
	return false
}

// own says that the members of m which are not known go back with it.
func (p *profile) own(m *model.Message) bool { return m.Origin == p.origin && !p.noExtra }

func (p *profile) encodeAssistant(m *model.Message, calls []openCall) ([]byte, error) {
	var members map[string]json.RawMessage // more than the known ones; nil: there are none
	if p.own(m) && len(m.Extra) > 0 {
		members = make(map[string]json.RawMessage)
		if err := addUnknown(members, m.Extra); err != nil {
			return nil, err
		}
	}
	content, asItCame, err := p.assistantContent(m, members["content"])
	if err != nil {
		return nil, err
	}
	var reasoning, list json.RawMessage
	if p.echoes(m) && !asItCame {
		if reasoning, err = marshal(m.Reasoning); err != nil {
			return nil, err
		}
	}
	if len(m.ToolCalls) > 0 {
		if list, err = encodeCalls(m, calls, p.own(m)); err != nil {
			return nil, err
		}
	}
	return joinKnown(members, []named{
		{"content", content}, {"reasoning_content", reasoning}, {"role", json.RawMessage(`"assistant"`)}, {"tool_calls", list},
	}), nil
}

// assistantContent is the text, or the parts as they came, thinking included,
// while they still say what the message says: hooks may have rewritten it.
func (p *profile) assistantContent(m *model.Message, raw json.RawMessage) (content json.RawMessage, asItCame bool, err error) {
	text := textOf(m)
	if len(raw) > 0 {
		parts, err := readContent(raw)
		if err == nil && parts.text == text && parts.thinking == m.Reasoning {
			return raw, true, nil
		}
	}
	if text == "" && len(m.ToolCalls) > 0 && !p.emptyContent {
		return json.RawMessage("null"), false, nil
	}
	content, err = marshal(text)
	return content, false, err
}

func encodeCalls(m *model.Message, open []openCall, ownOrigin bool) (json.RawMessage, error) {
	list := []byte{'['}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		b := encodeCall(c, open[i].wire)
		if ownOrigin && len(c.Extra) > 0 {
			var err error
			if b, err = withUnknown(b, c.Extra); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, b...)
	}
	return append(list, ']'), nil
}

func encodeCall(c *model.ToolCall, wire string) []byte {
	args := string(c.Arguments)
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	b := make([]byte, 0, 96+len(c.Name)+len(args)*5/4)
	b = appendString(append(b, `{"id":`...), wire)
	b = appendString(append(b, `,"type":"function","function":{"name":`...), wireName(c.Name))
	b = appendString(append(b, `,"arguments":`...), args)
	return append(b, "}}"...)
}

// withUnknown adds the members of extra to the object known, which wins.
func withUnknown(known, extra json.RawMessage) (json.RawMessage, error) {
	members := make(map[string]json.RawMessage)
	if err := addUnknown(members, extra); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(known, &members); err != nil {
		return nil, err
	}
	return marshal(members)
}

func addUnknown(members map[string]json.RawMessage, extra json.RawMessage) error {
	if len(extra) == 0 {
		return nil
	}
	if err := json.Unmarshal(extra, &members); err != nil {
		return fmt.Errorf("extra members: %w", err)
	}
	return nil
}
