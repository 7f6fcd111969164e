package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxCalls      = 1024
	maxWarnings   = 64
	minCutPrompt  = 2048 // below it, an estimate says little
	contextBlocks = 1024 // servers' windows are multiples of it
)

// draft is a reply as it arrives, whole or in pieces.
type draft struct {
	origin string
	tools  *toolset
	sink   func(model.Chunk)
	prompt int64 // tokens of the request, estimated; 0: not counted

	id        string
	text      strings.Builder
	reasoning strings.Builder
	refusal   strings.Builder
	content   []json.RawMessage // the parts as they came, when there were other than text
	pieces    []*piece          // the parts of a stream, put together
	calls     callList
	extra     object
	usage     json.RawMessage
	finish    string
	choices   int
	warnings  []string
}

func newDraft(origin string, tools *toolset, sink func(model.Chunk)) *draft {
	if sink == nil {
		sink = func(model.Chunk) {}
	}
	return &draft{origin: origin, tools: tools, sink: sink, calls: callList{tools: tools}, extra: make(object)}
}

func (d *draft) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); len(d.warnings) < maxWarnings && !slices.Contains(d.warnings, w) {
		d.warnings = append(d.warnings, w)
	}
}

// add takes one JSON body: a chunk of a stream, or with whole set a complete
// reply.
func (d *draft) add(raw []byte, whole bool) error {
	o, ok := readFields(raw)
	if !ok {
		return &model.Error{
			Kind: model.Stream, Retryable: true, Partial: d.text.String(),
			Message: `the reply is not JSON: "` + truncate(string(bytes.TrimSpace(raw)), maxErrorBody) + `"`,
		}
	}
	if o.fails() {
		return d.broken(readError(0, nil, raw))
	}
	if s := o.str("id"); s != "" {
		d.id = s
	}
	d.takeUsage(o.get("usage"))
	for _, c := range o.list("choices") {
		choice, ok := splitFields(c)
		if !ok {
			continue
		}
		if n, ok := choice.number("index"); ok && n != 0 {
			continue // only one answer is asked for
		}
		if err := d.addChoice(choice, whole); err != nil {
			return err
		}
	}
	return nil
}

// fails says that a body is an error. Empty errors are none.
func (f fields) fails() bool {
	switch string(f.get("error")) {
	case `""`, "{}", "[]", "false":
		return false
	}
	return f.has("error")
}

// broken completes an error with what had arrived.
func (d *draft) broken(e *model.Error) *model.Error {
	e.Partial = d.text.String()
	return e
}

func (d *draft) takeUsage(raw json.RawMessage) {
	if present(raw) {
		d.usage = append(d.usage[:0], raw...)
	}
}

func (d *draft) addChoice(choice fields, whole bool) error {
	d.choices++
	d.takeUsage(choice.get("usage"))
	if s := choice.str("finish_reason"); s != "" {
		d.finish = s
	}
	message := choice.fields("delta")
	if message == nil {
		message = choice.fields("message")
	}
	if message == nil {
		return nil
	}
	if err := d.addContent(message.get("content"), whole); err != nil {
		return err
	}
	d.addReasoning(message)
	d.refusal.WriteString(message.str("refusal"))
	if err := d.addCalls(message, whole); err != nil {
		return err
	}
	for i := range message {
		if key := message[i].key; !known(string(key)) {
			keepUnknown(d.extra, string(key), message[i].value)
		}
	}
	return nil
}

// known says that a member of a message is read, or is not to be sent back.
func known(key string) bool {
	switch key {
	case "role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal",
		"annotations", "audio", "name", "tool_call_id", "logprobs", "token_ids":
		return true
	}
	return false
}

func (d *draft) addContent(raw json.RawMessage, whole bool) error {
	parts, err := readContent(raw)
	if err != nil {
		return d.broken(&model.Error{Kind: model.Stream, Retryable: true, Message: "the content of the reply cannot be read", Err: err})
	}
	if parts.odd {
		d.warn("a part of the content is of an unknown type and was left out")
	}
	if parts.thinking != "" {
		d.reasoning.WriteString(parts.thinking)
		d.sink(model.Chunk{Reasoning: parts.thinking})
	}
	if parts.text != "" {
		d.text.WriteString(parts.text)
		d.sink(model.Chunk{Text: parts.text})
	}
	d.keepContent(raw, parts, whole)
	return nil
}

// keepContent keeps content parts for the endpoint that sent them, which wants
// its thinking back in the same form.
func (d *draft) keepContent(raw json.RawMessage, parts contentParts, whole bool) {
	switch {
	case whole && parts.list:
		d.content = readList(raw)
	case !whole && (len(d.pieces) > 0 || parts.list):
		if len(d.pieces) == 0 {
			d.keepPiece(strings.TrimSuffix(d.text.String(), parts.text), false)
		}
		d.keepPiece(parts.thinking, true)
		d.keepPiece(parts.text, false)
	}
}

// keepPiece puts text to what came before it, when that is of the same kind.
func (d *draft) keepPiece(text string, thinking bool) {
	if text == "" {
		return
	}
	if n := len(d.pieces); n == 0 || d.pieces[n-1].thinking != thinking {
		d.pieces = append(d.pieces, &piece{thinking: thinking})
	}
	d.pieces[len(d.pieces)-1].text.WriteString(text)
}

func (d *draft) addReasoning(message fields) {
	s := message.str("reasoning_content")
	if s == "" {
		s = message.str("reasoning")
	}
	if s == "" {
		return
	}
	d.reasoning.WriteString(s)
	d.sink(model.Chunk{Reasoning: s})
}

func (d *draft) addCalls(message fields, whole bool) error {
	var pieces []callPiece
	list := message.list("tool_calls")
	if len(list)+len(d.calls.calls) > 2*maxCalls { // pieces of known calls count too, but nobody sends so many at once
		return d.tooManyCalls()
	}
	for _, raw := range list {
		if p, ok := readCall(raw); ok {
			pieces = append(pieces, p)
		}
	}
	if fn := message.fields("function_call"); fn != nil { // before tool_calls there was this
		p := callPiece{extra: make(object)}
		p.readFunction(fn)
		pieces = append(pieces, p)
	}
	if len(pieces) == 0 {
		return nil
	}
	slots := d.calls.add(pieces, whole)
	if len(d.calls.calls) > maxCalls {
		return d.tooManyCalls()
	}
	for i, slot := range slots {
		d.sink(model.Chunk{Call: &model.CallChunk{Index: slot, Name: d.calls.calls[slot].name, Arguments: pieces[i].args}})
	}
	return nil
}

func (d *draft) tooManyCalls() error {
	return d.broken(&model.Error{Kind: model.Stream, Message: fmt.Sprintf("the reply has more than %d tool calls", maxCalls)})
}
