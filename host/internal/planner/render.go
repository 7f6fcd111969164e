package planner

import (
	"slices"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	// maxResent is what a model is shown again of a reply that could not be read,
	// in bytes.
	maxResent = 4 << 10
	// maxResult is what a model is shown of one result, in bytes. The limit of a
	// tool's output is far below.
	maxResult = 4 << 20
)

// form is a way to write a conversation without tool calls.
type form interface {
	instructions(tools []model.Definition) string
	writeCalls(thought string, calls []model.ToolCall) string
	writeResults(results []model.Message) string
	resend(text string, then followedBy) string
	asking() asking
}

// asking is what a model is told when it is its turn and nothing else says so.
type asking struct{ goOn, final string }

// followedBy is what comes after a reply.
type followedBy uint8

const (
	byOther     followedBy = iota // a message of the user, or nothing
	byResult                      // what came of its actions
	byException                   // what was wrong with it
)

// Prompt implements [Planner].
func (p React) Prompt(c *Conversation) Prompt {
	out := Prompt{Messages: write(p, c)}
	if len(c.Tools) > 0 {
		out.Stop = []string{"\nObservation"}
	}
	return out
}

// Prompt implements [Planner].
func (p JSON) Prompt(c *Conversation) Prompt { return Prompt{Messages: write(p, c)} }

// write returns a conversation as messages that every provider takes: one system
// message at the front, then the user and the assistant in turns, the user first
// and last, none of them empty.
func write(f form, c *Conversation) []model.Message {
	w := writer{form: f, cache: c.Cache, tools: c.Tools}
	w.cache.begin(f, c.Tools)
	system, rest := split(c.Messages)
	w.system(system)
	for len(rest) > 0 {
		n := group(rest)
		w.add(rest[:n], follows(rest[n:]))
		rest = rest[n:]
	}
	w.turns(c)
	w.cache.end()
	return w.out
}

type writer struct {
	form
	cache *Cache
	tools []model.Definition
	out   []model.Message
}

// split parts the system messages, which are at the front, from the others.
func split(msgs []model.Message) (system, rest []model.Message) {
	n := 0
	for n < len(msgs) && msgs[n].Role == model.System {
		n++
	}
	return msgs[:n], msgs[n:]
}

// group returns how many of msgs, at least one, become one message: neighbours of
// one side.
func group(msgs []model.Message) int {
	n := 1
	for n < len(msgs) && assistant(&msgs[n]) == assistant(&msgs[0]) {
		n++
	}
	return n
}

func assistant(m *model.Message) bool { return m.Role == model.Assistant }

// follows says what comes after a reply that is followed by rest.
func follows(rest []model.Message) followedBy {
	switch {
	case len(rest) == 0 || rest[0].Role != model.Tool:
		return byOther
	case rest[0].Name == Exception:
		return byException
	}
	return byResult
}

func (w *writer) system(msgs []model.Message) {
	if len(msgs) == 1 && len(w.tools) == 0 && hasContent(msgs[0].Content) {
		w.out = append(w.out, msgs[0])
		return
	}
	m := w.cache.get(msgs, byOther, func() model.Message {
		var parts []model.Part
		for i := range msgs {
			parts = appendParts(parts, msgs[i].Content, "\n\n")
		}
		if len(w.tools) > 0 {
			parts = appendText(parts, w.instructions(w.tools), "\n\n")
		}
		return model.Message{Role: model.System, Content: parts}
	})
	if len(m.Content) > 0 {
		w.out = append(w.out, m)
	}
}

// add writes neighbours of one side as one message.
func (w *writer) add(msgs []model.Message, then followedBy) {
	m := w.cache.get(msgs, then, func() model.Message {
		if assistant(&msgs[0]) {
			return w.replies(msgs, then)
		}
		return w.questions(msgs)
	})
	if !hasContent(m.Content) {
		return
	}
	if n := len(w.out); n > 0 && w.out[n-1].Role == m.Role { // what was between them is empty
		w.out[n-1] = join(w.out[n-1], m)
		return
	}
	w.out = append(w.out, m)
}

func join(a, b model.Message) model.Message {
	return model.Message{Role: a.Role, Content: appendParts(slices.Clone(a.Content), b.Content, "\n\n")}
}

// replies writes messages of the assistant.
func (w *writer) replies(msgs []model.Message, then followedBy) model.Message {
	if len(msgs) == 1 && len(msgs[0].ToolCalls) == 0 {
		if text := msgs[0].Text(); w.reply(&msgs[0], then) == text {
			return msgs[0] // as it came, with what belongs to it
		}
	}
	out := model.Message{Role: model.Assistant}
	for i := range msgs {
		next := byOther
		if i == len(msgs)-1 {
			next = then
		}
		out.Content = appendText(out.Content, w.reply(&msgs[i], next), "\n\n")
		if len(msgs) == 1 {
			out.Reasoning, out.Origin = msgs[i].Reasoning, msgs[i].Origin
		}
	}
	return out
}

func (w *writer) reply(m *model.Message, then followedBy) string {
	text := afterThinking(m.Text())
	switch {
	case len(m.ToolCalls) > 0:
		return w.writeCalls(text, m.ToolCalls)
	case isBlank(text) || len(w.tools) == 0:
		return text
	}
	return w.resend(text, then)
}

// questions writes messages of the user and results of tools.
func (w *writer) questions(msgs []model.Message) model.Message {
	if len(msgs) == 1 && msgs[0].Role == model.User {
		return msgs[0]
	}
	var parts []model.Part
	for len(msgs) > 0 {
		n := 1
		switch {
		case msgs[0].Role != model.Tool:
			parts = appendParts(parts, msgs[0].Content, "\n\n")
		case msgs[0].Name == Exception:
			parts = appendText(parts, exceptionText(&msgs[0]), "\n\n")
		default:
			for n < len(msgs) && msgs[n].Role == model.Tool && msgs[n].Name != Exception {
				n++
			}
			parts = appendText(parts, w.writeResults(msgs[:n]), "\n\n")
			for i := range msgs[:n] {
				parts = appendMedia(parts, msgs[i].Content)
			}
		}
		msgs = msgs[n:]
	}
	return model.Message{Role: model.User, Content: parts}
}

func exceptionText(m *model.Message) string {
	if text := m.Text(); !isBlank(text) {
		return cut(text, maxRaw)
	}
	return "Your last reply could not be read."
}

// turns sees to it that the user speaks first and last.
func (w *writer) turns(c *Conversation) {
	at := 0
	if len(w.out) > 0 && w.out[0].Role == model.System {
		at = 1
	}
	if at < len(w.out) && w.out[at].Role == model.Assistant {
		w.out = slices.Insert(w.out, at, model.Message{Role: model.User, Content: leftOut})
	}
	say := ""
	switch ask := w.asking(); {
	case c.Final:
		say = ask.final
	case at == len(w.out):
		say = "Begin."
	case w.out[len(w.out)-1].Role == model.Assistant && len(w.tools) == 0:
		say = "Go on."
	case w.out[len(w.out)-1].Role == model.Assistant && c.GoOn != "":
		say = c.GoOn
	case w.out[len(w.out)-1].Role == model.Assistant:
		say = ask.goOn
	default:
		return
	}
	m := model.Text(model.User, say)
	if n := len(w.out); n > at && w.out[n-1].Role == model.User {
		w.out[n-1] = join(w.out[n-1], m)
		return
	}
	w.out = append(w.out, m)
}

// leftOut is one value, so that a provider knows it again.
var leftOut = model.TextParts("(What came before is left out.)")

// appendParts adds content without what is empty. Text goes on in a text before
// it, behind sep.
func appendParts(parts, content []model.Part, sep string) []model.Part {
	for _, p := range content {
		if p.Type == model.TextPart {
			parts = appendText(parts, p.Text, sep)
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

func appendText(parts []model.Part, text, sep string) []model.Part {
	if isBlank(text) {
		return parts
	}
	if n := len(parts); n > 0 && parts[n-1].Type == model.TextPart {
		parts[n-1].Text += sep + text
		return parts
	}
	return append(parts, model.Part{Type: model.TextPart, Text: text})
}

// appendMedia adds what of a result is attached, with the type that its bytes have.
func appendMedia(parts, content []model.Part) []model.Part {
	for _, p := range content {
		if p.Type != model.TextPart && !p.IsTextFile() && p.Unfit() == "" {
			parts = append(parts, model.Part{Type: p.Type, MIME: p.Sniff(), Data: p.Data, Name: cut(p.Name, maxName)})
		}
	}
	return parts
}

func hasContent(parts []model.Part) bool {
	return slices.ContainsFunc(parts, func(p model.Part) bool { return p.Type != model.TextPart || !isBlank(p.Text) })
}
