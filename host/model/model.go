// Package model is what the loop asks of a language model: one method, plain
// values, and errors that say what may be done about them.
//
//	reply, err := m.Generate(ctx, &model.Request{Messages: msgs, Tools: tools}, func(c model.Chunk) {
//		fmt.Print(c.Text)
//	})
//
// Providers live below: [openai] for any compatible endpoint, [replay] for
// recordings. Every provider passes the suite in [modeltest].
//
// [openai]: https://pkg.go.dev/github.com/wagent-dev/wagent/host/model/openai
// [replay]: https://pkg.go.dev/github.com/wagent-dev/wagent/host/model/replay
// [modeltest]: https://pkg.go.dev/github.com/wagent-dev/wagent/host/model/modeltest
package model

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"
)

// Model answers a conversation.
type Model interface {
	// Generate sends req and blocks until the reply is complete, ctx ends, or
	// the provider has failed for good; it retries what may be retried. A
	// failure is an [*Error], or ctx.Err() wrapped. What arrives on the way is
	// handed to sink, which is called from Generate's own goroutine and may be
	// nil. The reply is complete in itself: chunks are for showing only, and
	// after a chunk with Retry all earlier ones are void.
	//
	// A Model may be used by many goroutines at once.
	Generate(ctx context.Context, req *Request, sink func(Chunk)) (*Reply, error)
}

// Request is one call of a model.
type Request struct {
	Messages []Message
	Tools    []Definition // none: the model answers with text
	Stop     []string     // texts before which the reply is to end; a provider may leave them out
	Memo     *Memo        // where the provider keeps encoded messages; may be nil
	// ToolChoice names the one tool of Tools that must be called; empty: the model
	// decides. A provider that cannot ask for that leaves it out.
	ToolChoice string
	// Output asks for text that is JSON of a schema; nil: any text. A provider that
	// cannot ask for that fails with an error that wraps [ErrOutputSchema].
	Output *OutputSchema
}

// OutputSchema is what the text of a reply must fit.
type OutputSchema struct {
	Name   string          `json:"name"` // letters, digits, _ and -, at most 64
	Schema json.RawMessage `json:"schema"`
	// Strict asks the provider to hold the model to the schema while it writes. The
	// schema must be one that providers can do that for.
	Strict bool `json:"strict"`
}

// ErrOutputSchema says that a model cannot be asked for the output of a schema,
// or not for this one. Without Request.Output it may answer.
var ErrOutputSchema = errors.New("the endpoint does not take the output schema")

// OutputSchemas is a [Model] that can be known to take Request.Output before it is
// asked. What is not one may take it all the same.
type OutputSchemas interface {
	TakesOutputSchemas() bool
}

// Definition describes a tool to the model.
type Definition struct {
	Name        string          `json:"name"` // any characters; providers map them
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object; nil: no parameters
}

// Reply is a complete answer.
type Reply struct {
	Message Message // role Assistant; calls have no ID yet, the loop gives it
	Usage   Usage
	Finish  FinishReason
	// Retried is what attempts before this reply cost, of other models too, beside
	// Usage; zero: there were none, or they cost nothing that is known.
	Retried Usage
	// Prices are those of the model that answered; nil: of the one that was asked.
	Prices *Prices
	// Bill is what Usage and Retried are made of, where not all of it has the same
	// prices. Nil: all of it has Prices.
	Bill []Priced
	// DroppedCalls counts calls that were cut off and are not part of Message.
	DroppedCalls int
	// DroppedNames are the names of those calls, as the model wrote them, as far as
	// they are known. Not fit for a terminal.
	DroppedNames []string
	// Warnings tell the operator what was odd about the reply and how it was
	// read: repaired arguments, a call printed as text, a prompt that seems cut.
	Warnings []string
	// RequestID is the provider's own id of the exchange, for support and logs.
	RequestID string
}

// FinishReason is why the model stopped.
type FinishReason string

// The reasons that the loop acts on. Providers map theirs to these.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
)

// Usage counts tokens. Estimated says that the provider gave no numbers and
// these are ours, so that budgets still bite.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	ReasoningTokens  int64 `json:"reasoning_tokens,omitempty"`
	CachedTokens     int64 `json:"cached_tokens,omitempty"`
	Estimated        bool  `json:"estimated,omitempty"`
}

// Add returns the sum of u and v. Counts below 0 are 0, and no sum is larger than an
// int64: what a provider says must not make what was spent less.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		PromptTokens:     sum(u.PromptTokens, v.PromptTokens),
		CompletionTokens: sum(u.CompletionTokens, v.CompletionTokens),
		TotalTokens:      sum(u.TotalTokens, v.TotalTokens),
		ReasoningTokens:  sum(u.ReasoningTokens, v.ReasoningTokens),
		CachedTokens:     sum(u.CachedTokens, v.CachedTokens),
		Estimated:        u.Estimated || v.Estimated,
	}
}

func sum(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	return a + min(b, math.MaxInt64-a)
}

// Chunk is something that arrived while a reply was under way: one of its
// fields is set.
type Chunk struct {
	Text      string // what came in addition
	Reasoning string // likewise
	Call      *CallChunk
	Retry     *Retry // everything since the call began is void
}

// CallChunk is a piece of a tool call as it arrives.
type CallChunk struct {
	Index     int    // position of the call in the reply
	Name      string // as known so far
	Arguments string // what came in addition
}

// Retry says that an attempt failed and another follows.
type Retry struct {
	Attempt int           // the attempt that failed, from 1
	Wait    time.Duration // until the next one
	Err     error         // why it failed, an [*Error]
	Next    string        // the model that is asked instead; empty: the same again
}
