package model

import "unsafe"

// Memo keeps what a provider made of each message, so that a conversation of n
// messages is encoded n times and not n² times. It belongs to one run and one
// provider, is not safe for concurrent use, and relies on messages being
// immutable. The zero Memo is ready.
type Memo struct {
	// Sent is the provider's own: what it keeps of the last request. Nil: nothing.
	Sent any
	// Learned is the provider's own as well: what it learned of this conversation
	// and of no other. Nil: nothing.
	Learned any

	kept     map[memoKey][]byte
	separate map[int]*Memo // of providers that are asked with one request
}

// of returns the memo of the i-th of several providers, or nil for a nil Memo.
func (c *Memo) of(i int) *Memo {
	if c == nil {
		return nil
	}
	if c.separate == nil {
		c.separate = make(map[int]*Memo)
	}
	if c.separate[i] == nil {
		c.separate[i] = new(Memo)
	}
	return c.separate[i]
}

// memoKey identifies an immutable message by where its parts are. The pointers
// keep what they point to alive, so an address is never used again under it.
type memoKey struct {
	role      Role
	content   *Part
	parts     int
	calls     *ToolCall
	ncalls    int
	reasoning *byte
	callID    string
	name      string
	isError   bool
	origin    string
	extra     *byte
	variant   string
}

// Bytes returns what encode made of m for this variant, a name for the
// provider's way of writing. It calls encode only when m is new. A message that
// cannot be told apart (no content and no calls) is encoded each time. The
// caller must not change the result.
func (c *Memo) Bytes(m *Message, variant string, encode func(*Message) ([]byte, error)) ([]byte, error) {
	if c == nil || (len(m.Content) == 0 && len(m.ToolCalls) == 0) {
		return encode(m)
	}
	k := memoKey{
		role: m.Role, content: unsafe.SliceData(m.Content), parts: len(m.Content),
		calls: unsafe.SliceData(m.ToolCalls), ncalls: len(m.ToolCalls),
		reasoning: unsafe.StringData(m.Reasoning), callID: m.CallID, name: m.Name,
		isError: m.IsError, origin: m.Origin, extra: unsafe.SliceData(m.Extra), variant: variant,
	}
	if b, ok := c.kept[k]; ok {
		return b, nil
	}
	b, err := encode(m)
	if err != nil {
		return nil, err
	}
	if c.kept == nil {
		c.kept = make(map[memoKey][]byte)
	}
	c.kept[k] = b
	return b, nil
}
