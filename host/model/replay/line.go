package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/wagent-dev/wagent/host/model"
)

// line is one line of a recording. Its message is the one of package model,
// but content written by hand may be a plain string.
type line struct {
	Message *message           `json:"message"`
	Usage   *model.Usage       `json:"usage"`
	Finish  model.FinishReason `json:"finish_reason"`
}

type message struct {
	model.Message
	Content content `json:"content"`
}

type content []model.Part

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var text string
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		*c = model.TextParts(text)
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode((*[]model.Part)(c))
}

// parseLine reads a line strictly: recordings are written by hand too, and a
// misspelt member must not be a silent one.
func parseLine(b []byte) (recorded, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	var l line
	if err := dec.Decode(&l); err != nil {
		return recorded{}, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return recorded{}, errors.New("more than one value on the line")
	}
	if l.Message == nil {
		return recorded{}, errors.New(`the line has no "message"`)
	}
	m := l.Message.Message
	m.Content = l.Message.Content
	if err := check(&m); err != nil {
		return recorded{}, err
	}
	finish, err := finishOf(l.Finish, &m)
	if err != nil {
		return recorded{}, err
	}
	out := recorded{reply: model.Reply{Message: m, Finish: finish}}
	if u := l.Usage; u != nil {
		if min(u.PromptTokens, u.CompletionTokens, u.TotalTokens, u.ReasoningTokens, u.CachedTokens) < 0 {
			return recorded{}, errors.New("the usage is less than zero")
		}
		out.usage = true
		out.reply.Usage = *l.Usage
		if u := &out.reply.Usage; u.TotalTokens == 0 {
			u.TotalTokens = u.PromptTokens + u.CompletionTokens
		}
	}
	return out, nil
}

// check completes m to what a model may answer.
func check(m *model.Message) error {
	switch m.Role {
	case "":
		m.Role = model.Assistant
	case model.Assistant:
	default:
		return fmt.Errorf("the message has role %q: a recording holds what the model said", m.Role)
	}
	for i := range m.Content {
		switch m.Content[i].Type {
		case model.TextPart, model.ImagePart, model.FilePart:
		default:
			return fmt.Errorf("part %d has the unknown type %q", i+1, m.Content[i].Type)
		}
	}
	for i := range m.ToolCalls {
		if err := checkCall(&m.ToolCalls[i]); err != nil {
			return fmt.Errorf("call %d: %w", i+1, err)
		}
	}
	return nil
}

// checkCall makes c what a provider hands over: without an id of ours.
func checkCall(c *model.ToolCall) error {
	if c.Name == "" {
		return errors.New("it has no name")
	}
	args := bytes.TrimSpace(c.Arguments)
	if len(args) == 0 {
		args = []byte("{}")
	}
	if args[0] != '{' {
		return fmt.Errorf("the arguments of %q are no JSON object", c.Name)
	}
	c.Arguments = args
	if c.WireID == "" {
		c.WireID = c.ID
	}
	c.ID = ""
	return nil
}

func finishOf(f model.FinishReason, m *model.Message) (model.FinishReason, error) {
	switch f {
	case model.FinishStop, model.FinishToolCalls, model.FinishLength, model.FinishContentFilter:
		return f, nil
	case "":
		if len(m.ToolCalls) > 0 {
			return model.FinishToolCalls, nil
		}
		return model.FinishStop, nil
	}
	return "", fmt.Errorf("unknown finish_reason %q", f)
}
