package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/wagent-dev/wagent/host/model"
)

// pieces is how many chunks a text is streamed in at most.
const pieces = 8

// Player is a [model.Model] that answers from a recording. It may be used by
// many goroutines; each call takes the next reply.
type Player struct {
	recording *Recording

	mu   sync.Mutex
	next int
}

var _ model.Model = (*Player)(nil)

// Generate returns the next reply, whatever is asked; it does not block. Usage
// that the recording does not have is estimated. A call after the last reply is
// a [*model.Error] of kind Rejected.
func (p *Player) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	rec, err := p.take()
	if err != nil {
		return nil, err
	}
	reply := rec.reply
	// The caller gives the calls their ids, and the recording has other players.
	reply.Message.ToolCalls = slices.Clone(reply.Message.ToolCalls)
	if !rec.usage {
		reply.Usage = estimate(req, &reply.Message)
	}
	if sink != nil {
		show(&reply.Message, sink)
	}
	return &reply, nil
}

func (p *Player) take() (*recorded, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.recording
	p.next++
	if p.next > len(r.replies) {
		return nil, &model.Error{Kind: model.Rejected, Message: fmt.Sprintf(
			"the recording %s has %d replies in %d lines and was asked for number %d", r.name, len(r.replies), r.lines, p.next)}
	}
	return &r.replies[p.next-1], nil
}

func estimate(req *model.Request, m *model.Message) model.Usage {
	u := model.Usage{PromptTokens: model.EstimateTokens(req), CompletionTokens: model.EstimateMessage(m), Estimated: true}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// show hands m to sink as a provider would stream it.
func show(m *model.Message, sink func(model.Chunk)) {
	for _, s := range cut(m.Reasoning) {
		sink(model.Chunk{Reasoning: s})
	}
	for _, s := range cut(m.Text()) {
		sink(model.Chunk{Text: s})
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		sink(model.Chunk{Call: &model.CallChunk{Index: i, Name: c.Name, Arguments: string(c.Arguments)}})
	}
}

// cut cuts s after spaces into a few pieces that make s again.
func cut(s string) []string {
	words := strings.SplitAfter(s, " ")
	if s == "" {
		return nil
	}
	size := (len(words) + pieces - 1) / pieces
	var out []string
	for len(words) > size {
		out = append(out, strings.Join(words[:size], ""))
		words = words[size:]
	}
	return append(out, strings.Join(words, ""))
}
