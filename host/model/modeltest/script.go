package modeltest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/wagent-dev/wagent/host/model"
)

// Script is a [model.Model] that does what its turns say, in order, and keeps
// what it was asked. It may be used by several goroutines; each call takes the
// next turn.
type Script struct {
	// Forget, set before the first call, makes the script keep no requests:
	// keeping them copies the whole conversation each time.
	Forget bool

	next func(n int, req *model.Request) (Turn, bool)

	mu       sync.Mutex
	calls    int
	requests []model.Request
}

// New returns a script of turns. A call after the last of them fails with kind
// Rejected.
func New(turns ...Turn) *Script {
	return &Script{next: func(n int, _ *model.Request) (Turn, bool) {
		if n >= len(turns) {
			return Turn{}, false
		}
		return turns[n], true
	}}
}

// NewFunc returns a script that asks next what to do with call n, from 0. The
// function is called by one goroutine at a time.
func NewFunc(next func(n int, req *model.Request) Turn) *Script {
	return &Script{next: func(n int, req *model.Request) (Turn, bool) { return next(n, req), true }}
}

// Requests returns copies of the requests so far, in order.
func (s *Script) Requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Count returns how many calls were made.
func (s *Script) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Generate plays the next turn.
func (s *Script) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("scripted model: %w", err)
	}
	turn, err := s.take(req)
	if err != nil {
		return nil, err
	}
	turn.arrived()
	if turn.Err != nil {
		return nil, turn.Err
	}
	if sink == nil {
		sink = func(model.Chunk) {}
	}
	msg := turn.message()
	switch {
	case turn.Hang:
		sendText(sink, half(msg.Text()))
		<-ctx.Done()
		return nil, fmt.Errorf("scripted model: %w", ctx.Err())
	case turn.Break:
		part := half(msg.Text())
		sendText(sink, part)
		return nil, &model.Error{Kind: model.Stream, Message: "the stream broke off", Retryable: true, Partial: part}
	}
	send(sink, &msg)
	usage := turn.usage()
	if turn.NoUsage {
		usage = model.Usage{
			PromptTokens: model.EstimateTokens(req), CompletionTokens: model.EstimateMessage(&msg), Estimated: true,
		}
		usage.TotalTokens = usage.PromptTokens + usage.CompletionTokens
	}
	return &model.Reply{Message: msg, Usage: usage, Finish: turn.finish()}, nil
}

func (s *Script) take(req *model.Request) (Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls
	s.calls++
	if !s.Forget {
		s.requests = append(s.requests, cloneRequest(req))
	}
	turn, ok := s.next(n, req)
	if !ok {
		return Turn{}, &model.Error{
			Kind:    model.Rejected,
			Message: fmt.Sprintf("the script has no turn for call %d", n+1),
		}
	}
	return turn, nil
}

// send hands msg to sink the way a provider streams it.
func send(sink func(model.Chunk), msg *model.Message) {
	for _, p := range pieces(msg.Reasoning) {
		sink(model.Chunk{Reasoning: p})
	}
	sendText(sink, msg.Text())
	for i, c := range msg.ToolCalls {
		sink(model.Chunk{Call: &model.CallChunk{Index: i, Name: c.Name, Arguments: string(c.Arguments)}})
	}
}

func sendText(sink func(model.Chunk), text string) {
	for _, p := range pieces(text) {
		sink(model.Chunk{Text: p})
	}
}

func half(s string) string { return s[:len(s)/2] }

// cloneRequest copies req so deep that nothing the caller does later shows.
func cloneRequest(req *model.Request) model.Request {
	out := model.Request{
		Tools: slices.Clone(req.Tools), Messages: slices.Clone(req.Messages), ToolChoice: req.ToolChoice, Output: req.Output,
	}
	for i := range out.Tools {
		out.Tools[i].Parameters = slices.Clone(out.Tools[i].Parameters)
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		m.Content = slices.Clone(m.Content)
		for j := range m.Content {
			m.Content[j].Data = slices.Clone(m.Content[j].Data)
		}
		m.Extra = slices.Clone(m.Extra)
		m.ToolCalls = slices.Clone(m.ToolCalls)
		for j := range m.ToolCalls {
			c := &m.ToolCalls[j]
			c.Arguments = slices.Clone(c.Arguments)
			c.Extra = slices.Clone(c.Extra)
		}
	}
	return out
}
