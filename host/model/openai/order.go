package openai

import "github.com/wagent-dev/wagent/host/model"

// outgoing is a message as it is about to be sent.
type outgoing struct {
	*model.Message
	at int // its place in the request, from 0
	// fresh says that it was made for this request: a memo would not find it again.
	fresh bool
	// beside says that it is what a tool's result holds beside its text.
	beside bool
	images bool // of tools are in it
	files  bool // of tools that are sent as files likewise
}

// outgoing returns the messages of a request in the order in which they are sent.
// What a tool's result holds beside text follows the results of its step.
func (p *profile) outgoing(msgs []model.Message) []outgoing {
	out := make([]outgoing, 0, len(msgs)+1)
	var held []outgoing
	for i := range msgs {
		m := &msgs[i]
		if m.Role != model.Tool {
			out, held = append(out, held...), held[:0]
		}
		out = append(out, outgoing{Message: m, at: i})
		if m.Role != model.Tool {
			continue
		}
		if images, files := p.carries(m); images || files {
			// The content is the result's own, by which a memo knows it again.
			held = append(held, outgoing{
				Message: &model.Message{Role: model.User, Content: m.Content, CallID: m.CallID, Name: m.Name},
				at:      i, beside: true, images: images, files: files,
			})
		}
	}
	out = append(out, held...)
	if p.alternate {
		return p.takeTurns(out)
	}
	return out
}

// takeTurns puts messages into the order of strict endpoints: one system message at
// the front, then user and assistant in turns, the user first and last, where calls
// and their results count as the assistant's until it has spoken.
func (p *profile) takeTurns(msgs []outgoing) []outgoing {
	t := turns{profile: p}
	for _, m := range msgs {
		t.add(m)
	}
	switch last := t.last(); {
	case last == nil, last.Role == model.System:
		t.say(model.User, "Begin.")
	case last.Role == model.Assistant:
		t.say(model.User, "Go on.")
	}
	return t.out
}

type turns struct {
	*profile
	out []outgoing
}

// last is the message before the next one, or nil.
func (t *turns) last() *outgoing {
	if len(t.out) == 0 {
		return nil
	}
	return &t.out[len(t.out)-1]
}

func (t *turns) say(role model.Role, text string) {
	m := model.Text(role, text)
	t.out = append(t.out, outgoing{Message: &m, fresh: true})
}

func (t *turns) add(m outgoing) {
	last := t.last()
	role := m.Role
	if role == model.System && (t.system == roleUser || (last != nil && last.Role != model.System)) {
		m = outgoing{Message: &model.Message{Role: model.User, Content: m.Content}, at: m.at, fresh: true}
		role = model.User
	}
	switch {
	case role == model.Tool:
	case last == nil || last.Role == model.System && role != model.System:
		if role == model.Assistant {
			t.say(model.User, "(What came before is left out.)")
		}
	case last.Role == model.Tool && role == model.User:
		t.say(model.Assistant, "Understood.")
	case last.Role == role && len(last.ToolCalls) == 0:
		t.join(last, m)
		return
	}
	t.out = append(t.out, m)
}

// join makes two messages of one side one. What belongs to the second beside its
// content, calls and reasoning, is kept.
func (t *turns) join(last *outgoing, m outgoing) {
	one := *m.Message
	before, after := t.parts(last), t.parts(&m)
	one.Content = append(before[:len(before):len(before)], after...)
	one.CallID, one.Name = "", ""
	*last = outgoing{Message: &one, at: m.at, fresh: true, images: last.images || m.images, files: last.files || m.files}
}

func (t *turns) parts(m *outgoing) []model.Part {
	if m.beside {
		return t.besides(m.Message)
	}
	return m.Content
}
