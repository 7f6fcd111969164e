package openai

import (
	"fmt"

	"github.com/wagent-dev/wagent/host/model"
)

// encoded is the messages of a request as they go over the wire.
type encoded struct {
	text        []byte // one behind the other, with commas between them
	tokens      int64  // what they cost, estimated
	reasoning   bool   // some reasoning is sent back
	nullContent bool   // some assistant message has null for content
	extra       bool   // members that are not known go back
	calls       bool   // there are calls in the history
	images      bool   // images of tools are sent
	files       bool   // files of tools are sent
}

// kept is the messages of a run's last request. A conversation grows at its end, so
// the next request writes only what is new behind them. What stands in text is never
// written again: an exchange that was given up may still read it.
type kept struct {
	profile *profile
	flat    bool
	msgs    []model.Message // of the request
	ids     wireIDs
	encoded
}

// encode writes the messages of req under p. What was made before is taken from
// req.Memo.
func (p *profile) encode(req *model.Request) (*encoded, error) {
	k := p.keptOf(req)
	from := len(k.msgs)
	memo := req.Memo
	if from > 0 {
		memo = nil // what is new of a conversation that grows is kept here, and written once
	}
	messages := p.outgoing(req.Messages[from:])
	for i := range messages {
		b, err := p.encodeNext(memo, &messages[i], &k.ids, k.flat)
		if err != nil {
			k.forget()
			return nil, rejected(fmt.Sprintf("message %d of the conversation: %v", from+messages[i].at+1, err))
		}
		k.write(b)
		k.note(&messages[i], p)
	}
	if err := k.ids.settled(); err != nil {
		k.forget()
		return nil, rejected(fmt.Sprintf("the end of the conversation: %v", err))
	}
	k.msgs = append(k.msgs, req.Messages[from:]...)
	for i := from; i < len(req.Messages); i++ {
		k.tokens += model.EstimateMessage(&req.Messages[i])
	}
	out := k.encoded
	return &out, nil
}

// keptOf returns what of req was sent last, written as it is to be now. Where
// messages take turns, each depends on what comes after it, and nothing is kept.
func (p *profile) keptOf(req *model.Request) *kept {
	flat := p.flatten && len(req.Tools) == 0
	if req.Memo != nil {
		if k, ok := req.Memo.Sent.(*kept); ok && k.profile == p && k.flat == flat && k.begins(req.Messages) {
			return k
		}
	}
	k := &kept{profile: p, flat: flat, ids: wireIDs{profile: p, used: make(map[string]bool)}}
	if req.Memo != nil && !p.alternate {
		req.Memo.Sent = k
	}
	return k
}

// begins says that msgs are what was sent and more. Results that come behind others
// are not only more: what these hold beside text was sent behind the last of them.
func (k *kept) begins(msgs []model.Message) bool {
	n := len(k.msgs)
	if len(msgs) < n || n > 0 && len(msgs) > n && msgs[n].Role == model.Tool {
		return false
	}
	for i := range k.msgs {
		if !k.msgs[i].Same(&msgs[i]) {
			return false
		}
	}
	return true
}

// forget makes the next request begin anew.
func (k *kept) forget() { k.profile = nil }

func (k *kept) write(b []byte) {
	if len(k.text) > 0 {
		k.text = append(k.text, ',')
	}
	k.text = append(k.text, b...)
}

func (e *encoded) note(m *outgoing, p *profile) {
	e.images = e.images || m.images
	e.files = e.files || m.files
	if m.Role != model.Assistant {
		return
	}
	if p.own(m.Message) {
		e.extra = e.extra || len(m.Extra) > 0
		for i := range m.ToolCalls {
			e.extra = e.extra || len(m.ToolCalls[i].Extra) > 0
		}
	}
	e.reasoning = e.reasoning || p.echoes(m.Message)
	if len(m.ToolCalls) > 0 {
		e.calls = true
		e.nullContent = e.nullContent || (m.Text() == "" && !p.emptyContent)
	}
}
