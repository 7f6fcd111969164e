package planner

import (
	"slices"

	"github.com/wagent-dev/wagent/host/model"
)

// Cache keeps what a planner wrote for the messages of a conversation, so that
// each is written once, and so that a provider that knows messages by their
// place ([model.Memo]) knows it again. It holds what the last prompt needed and
// nothing else. It belongs to one run and is not safe for concurrent use. The
// zero Cache is ready.
type Cache struct {
	form  form
	tools []model.Definition
	old   map[groupKey]written // by the last prompt
	kept  map[groupKey]written // by this one
}

// groupKey is the first message of a group, known by where its parts are.
type groupKey struct {
	content *model.Part
	calls   *model.ToolCall
	role    model.Role
	callID  string
}

type written struct {
	from []model.Message
	then followedBy
	as   model.Message
}

// begin opens a prompt. Another form or other tools make all else void.
func (c *Cache) begin(f form, tools []model.Definition) {
	if c == nil {
		return
	}
	if c.form != f || len(c.tools) != len(tools) || (len(tools) > 0 && &c.tools[0] != &tools[0]) {
		c.old = nil
	}
	c.form, c.tools = f, tools
	c.kept = make(map[groupKey]written, len(c.old)+2)
}

// get returns what was written for msgs, or writes it.
func (c *Cache) get(msgs []model.Message, then followedBy, write func() model.Message) model.Message {
	if c == nil {
		return write()
	}
	k := keyOf(msgs)
	w, ok := c.old[k]
	if !ok || w.then != then || !slices.EqualFunc(w.from, msgs, same) {
		w = written{from: slices.Clone(msgs), then: then, as: write()}
	}
	c.kept[k] = w
	return w.as
}

func (c *Cache) end() {
	if c != nil {
		c.old, c.kept = c.kept, nil
	}
}

func keyOf(msgs []model.Message) groupKey {
	if len(msgs) == 0 {
		return groupKey{role: model.System}
	}
	m := &msgs[0]
	return groupKey{first(m.Content), first(m.ToolCalls), m.Role, m.CallID}
}

// same says that two messages are one value. Messages are immutable, so those
// with the same parts say the same.
func same(a, b model.Message) bool {
	return len(a.Content) == len(b.Content) && first(a.Content) == first(b.Content) &&
		len(a.ToolCalls) == len(b.ToolCalls) && first(a.ToolCalls) == first(b.ToolCalls) &&
		a.Role == b.Role && a.CallID == b.CallID && a.Name == b.Name && a.IsError == b.IsError &&
		a.Reasoning == b.Reasoning && a.Origin == b.Origin && string(a.Extra) == string(b.Extra)
}

func first[T any](s []T) *T {
	if len(s) == 0 {
		return nil
	}
	return &s[0]
}
