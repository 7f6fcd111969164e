package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

// object is a JSON object of which nothing is known yet. Members are read one
// by one, each in any shape it was seen in.
type object map[string]json.RawMessage

// readFields is readObject without a map.
func readFields(raw []byte) (fields, bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	return splitFields(raw)
}

// readObject takes apart what may be anything. Its members are slices of raw.
func readObject(raw []byte) (object, bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	return splitObject(raw)
}

// has says that the member is there and not null.
func (o object) has(key string) bool { return present(o[key]) }

func present(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && string(raw) != "null"
}

// str reads a string, or a number as its text; anything else is empty.
func (o object) str(key string) string { return readString(o[key]) }

func readString(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		s, plain := plainString(raw)
		if plain {
			return s
		}
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
		return ""
	}
	if raw[0] == '-' || isDigit(rune(raw[0])) {
		return string(raw)
	}
	return ""
}

// number reads a whole number written as a number or a string.
func (o object) number(key string) (int64, bool) { return readNumber(o[key]) }

func readNumber(raw json.RawMessage) (int64, bool) {
	text := strings.TrimSpace(readString(raw))
	if text == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func (o object) object(key string) object {
	child, _ := splitObject(o[key])
	return child
}

// list reads an array; a lone object counts as an array of one.
func (o object) list(key string) []json.RawMessage { return elements(o[key]) }

// readList is list for what may be anything.
func readList(raw json.RawMessage) []json.RawMessage {
	if !json.Valid(raw) {
		return nil
	}
	return elements(raw)
}

func elements(raw json.RawMessage) []json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '{' {
		return []json.RawMessage{raw}
	}
	return splitList(raw)
}

// callPiece is one entry of tool_calls.
type callPiece struct {
	index    int
	hasIndex bool
	id, name string
	args     string
	wholeArg bool // the arguments came as an object, all at once
	extra    object
}

// readCall reads an element of a list that is known to be JSON.
func readCall(raw json.RawMessage) (callPiece, bool) {
	o, ok := splitFields(raw)
	if !ok {
		return callPiece{}, false
	}
	p := callPiece{id: strings.TrimSpace(o.str("id")), extra: make(object)}
	if n, ok := o.number("index"); ok && n >= 0 && n < 1<<20 {
		p.index, p.hasIndex = int(n), true
	}
	fn := o.fields("function")
	if fn == nil {
		fn = o // seen: name and arguments beside the id
	}
	p.readFunction(fn)
	for i := range o {
		switch string(o[i].key) {
		case "index", "id", "type", "function", "name", "arguments":
		default:
			keepUnknown(p.extra, string(o[i].key), o[i].value)
		}
	}
	return p, true
}

func (p *callPiece) readFunction(fn fields) {
	p.name = truncate(fn.str("name"), maxName)
	args := bytes.TrimSpace(fn.get("arguments"))
	if len(args) > 0 && args[0] == '{' {
		p.args, p.wholeArg = string(args), true
		return
	}
	p.args = readString(args)
}

// keepUnknown keeps a member to be sent back; lists that come in pieces are put
// together.
func keepUnknown(into object, key string, value json.RawMessage) {
	value = bytes.TrimSpace(value)
	if !present(value) || string(value) == "{}" {
		return
	}
	if len(readList(value)) == 0 && value[0] == '[' {
		return
	}
	if before := into[key]; len(before) > 0 && before[0] == '[' && value[0] == '[' {
		into[key] = append(append(before[:len(before)-1], ','), value[1:]...)
		return
	}
	into[key] = bytes.Clone(value)
}

// contentParts is a message's content in one form.
type contentParts struct {
	text     string
	thinking string
	list     bool // it was a list that held more than text
	odd      bool // something in it was not understood
}

// readContent reads content that is a string, null, or a list of parts.
func readContent(raw json.RawMessage) (contentParts, error) {
	var out contentParts
	raw = bytes.TrimSpace(raw)
	if !present(raw) {
		return out, nil
	}
	if raw[0] == '"' {
		if text, plain := plainString(raw); plain {
			out.text = text
			return out, nil
		}
		return out, json.Unmarshal(raw, &out.text)
	}
	var text, thinking strings.Builder
	for _, part := range readList(raw) {
		if part = bytes.TrimSpace(part); part[0] == '"' {
			text.WriteString(readString(part))
			continue
		}
		o, _ := readObject(part)
		switch {
		case o.has("thinking"):
			out.list = true
			thinking.WriteString(thought(o["thinking"]))
		case o.has("text"):
			text.WriteString(o.str("text"))
		default:
			out.odd = true
		}
	}
	out.text, out.thinking = text.String(), thinking.String()
	return out, nil
}

// thought reads thinking that is a string or a list of text parts.
func thought(raw json.RawMessage) string {
	if s := readString(raw); s != "" {
		return s
	}
	var b strings.Builder
	for _, part := range readList(raw) {
		if o, ok := readObject(part); ok {
			b.WriteString(o.str("text"))
		} else {
			b.WriteString(readString(part))
		}
	}
	return b.String()
}

// readUsage reads token counts; ok is false when there are none or all are
// zero.
func readUsage(raw json.RawMessage) (u model.Usage, ok bool) {
	o, isObject := readFields(raw)
	if !isObject {
		return u, false
	}
	count := func(o fields, key string) int64 {
		n, _ := o.number(key)
		return max(n, 0)
	}
	u.PromptTokens = count(o, "prompt_tokens")
	u.CompletionTokens = count(o, "completion_tokens")
	u.TotalTokens = max(count(o, "total_tokens"), u.PromptTokens+u.CompletionTokens)
	u.CachedTokens = count(o.fields("prompt_tokens_details"), "cached_tokens")
	u.ReasoningTokens = count(o.fields("completion_tokens_details"), "reasoning_tokens")
	return u, u.PromptTokens+u.CompletionTokens > 0
}
