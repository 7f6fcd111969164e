package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/schema"
)

// promptSchema is the schema of every agent that is a tool: one text.
const promptSchema = `{"type":"object","properties":{"prompt":{"type":"string","description":"What the agent is to do, with everything that it has to know for that: it sees nothing of this conversation."}},"required":["prompt"]}`

// errNoPrompt says how the arguments of an agent look.
var errNoPrompt = errors.New(`give the agent one text, as {"prompt": "what it is to do"}`)

// fitPrompt is [readPrompt], with the text in the shape of the schema.
func fitPrompt(args json.RawMessage) (json.RawMessage, error) {
	prompt, err := readPrompt(args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"prompt": prompt})
}

// readPrompt finds the one text in the arguments of a call of an agent. Models write
// it under another name, or as the message that it will be: each is read where there
// is no doubt what is meant.
func readPrompt(args json.RawMessage) (string, error) {
	if schema.Strict(args, schema.Limits{}) != nil {
		return "", errNoPrompt
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return "", errNoPrompt
	}
	value, named := fields["prompt"]
	switch {
	case named:
	case isMessage(fields):
		value = args
	case fields["role"] != nil: // a message without content, or of somebody else
	case len(fields) == 1:
		for _, value = range fields { // the only one
		}
	}
	text, ok := promptText(value)
	if text = strings.ToValidUTF8(text, "\ufffd"); !ok || strings.TrimSpace(text) == "" {
		return "", errNoPrompt
	}
	return text, nil
}

// isMessage reports whether an object has a message's content, and is the user's.
func isMessage(fields map[string]json.RawMessage) bool {
	if role, ok := fields["role"]; ok && string(role) != `"user"` {
		return false
	}
	return fields["content"] != nil
}

// promptText is the text of a value that is a text, a message, or a list of either.
func promptText(value json.RawMessage) (string, bool) {
	switch value = bytes.TrimSpace(value); {
	case len(value) == 0:
		return "", false
	case value[0] == '"':
		var text string
		err := json.Unmarshal(value, &text)
		return text, err == nil
	case value[0] != '[':
		return messageText(value)
	}
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return "", false
	}
	texts := make([]string, len(list))
	for i, one := range list {
		text, ok := messageText(one)
		if !ok {
			return "", false
		}
		texts[i] = text
	}
	return strings.Join(texts, "\n\n"), len(texts) > 0
}

// messageText is the text of a message of the user: its content, a text or a list of
// parts that are texts.
func messageText(value json.RawMessage) (string, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil || !isMessage(fields) {
		return "", false
	}
	var text string
	if json.Unmarshal(fields["content"], &text) == nil {
		return text, true
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(fields["content"], &parts) != nil || len(parts) == 0 {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Text == nil || (p.Type != "" && p.Type != "text") {
			return "", false
		}
		b.WriteString(*p.Text)
	}
	return b.String(), true
}
