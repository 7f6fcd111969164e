package model

import (
	"bytes"
	"encoding/json"
	"strings"
	"unsafe"
)

// Role says who speaks in a [Message].
type Role string

// The four roles. There is at most one system message at the front of a
// request; providers that want another name for it are served on the wire.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one turn of a conversation. A Message and all it points to is
// immutable once it has been handed to another package: encoders keep the bytes
// they made for it.
//
// Its JSON form is the one that the command line, stores and recordings share.
type Message struct {
	Role    Role   `json:"role"`
	Content []Part `json:"content"`
	// Reasoning is the model's own thinking, kept apart from its answer.
	Reasoning string     `json:"reasoning,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`

	// CallID, Name and IsError are for role [Tool]: the call that is answered,
	// the tool that answered it, and whether it failed.
	CallID  string `json:"call_id,omitempty"`
	Name    string `json:"name,omitempty"`
	IsError bool   `json:"is_error,omitempty"`

	// Origin names the provider profile that made the message, and Extra holds
	// the members it sent that we do not know. They go back to the same origin
	// and to no other.
	Origin string          `json:"origin,omitempty"`
	Extra  json.RawMessage `json:"extra,omitempty"`
}

// MarshalJSON writes the message; one of role [Tool] always says whether it is
// an error.
func (m Message) MarshalJSON() ([]byte, error) {
	type plain Message
	if m.Content == nil {
		m.Content = []Part{} // a list that is empty, and not null
	}
	var v any = plain(m)
	if m.Role == Tool {
		v = struct {
			plain
			IsError bool `json:"is_error"`
		}{plain(m), m.IsError}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // the text is data and not a page
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// Part is a piece of a message's content: text, or an image or a file with
// either Data or URL.
type Part struct {
	Type PartType `json:"type"`
	Text string   `json:"text,omitempty"` // of a text part
	MIME string   `json:"mime,omitempty"` // of an image or a file
	Data []byte   `json:"data,omitempty"` // the bytes themselves; base64 in JSON
	URL  string   `json:"url,omitempty"`  // instead of Data
	Name string   `json:"name,omitempty"` // a file's name, as shown
}

// PartType is the kind of a [Part].
type PartType string

// The kinds of content.
const (
	TextPart  PartType = "text"
	ImagePart PartType = "image"
	FilePart  PartType = "file"
)

// ToolCall is one call that the model asked for.
type ToolCall struct {
	// ID is ours: unique within the conversation, whatever the provider sent.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is always one JSON object. When the model wrote something else,
	// it is {} and Invalid says what was wrong: such a call is answered with an
	// error and never run.
	Arguments json.RawMessage `json:"arguments"`
	Invalid   *InvalidArgs    `json:"invalid,omitempty"`

	// WireID is the provider's id for the call, as it came; it may be empty or
	// used twice. Extra is what came with the call that we do not know.
	WireID string          `json:"wire_id,omitempty"`
	Extra  json.RawMessage `json:"extra,omitempty"`
}

// InvalidArgs keeps arguments that could not be read.
type InvalidArgs struct {
	Raw     string `json:"raw"`     // what the model wrote, cut to 2 KiB
	Problem string `json:"problem"` // one line, with the position
}

// Same says that two messages are one value. They are immutable, so those with their
// parts and calls at the same place say the same; copies of these may not be Same.
func (m *Message) Same(o *Message) bool {
	return len(m.Content) == len(o.Content) && unsafe.SliceData(m.Content) == unsafe.SliceData(o.Content) &&
		len(m.ToolCalls) == len(o.ToolCalls) && unsafe.SliceData(m.ToolCalls) == unsafe.SliceData(o.ToolCalls) &&
		m.Role == o.Role && m.CallID == o.CallID && m.Name == o.Name && m.IsError == o.IsError &&
		m.Reasoning == o.Reasoning && m.Origin == o.Origin && string(m.Extra) == string(o.Extra)
}

// Text returns a message of one text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Content: []Part{{Type: TextPart, Text: text}}}
}

// TextParts returns text as message content.
func TextParts(text string) []Part { return []Part{{Type: TextPart, Text: text}} }

// Text returns the text parts of the message, joined by newlines.
func (m *Message) Text() string { return PartsText(m.Content) }

// PartsText returns the text of parts, joined by newlines.
func PartsText(parts []Part) string {
	if len(parts) == 1 && parts[0].Type == TextPart {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != TextPart {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
	}
	return b.String()
}
