// Package modeltest is for tests of everything that talks to a model. It has a
// scripted model ([New]), a scripted endpoint that speaks the wire format of
// OpenAI over loopback ([Server]), and the suite that every provider passes
// ([Run], [RunFailures]). All three are driven by the same list of [Turn]s.
//
//	m := modeltest.New(
//		modeltest.Calls(modeltest.Call("word_count", `{"text":"a b"}`)),
//		modeltest.Text("Two words."),
//	)
package modeltest

import (
	"encoding/json"
	"net/http"

	"github.com/wagent-dev/wagent/host/model"
)

// Turn is what a scripted model does with one call. The zero Turn answers with
// an empty message.
type Turn struct {
	// Message is the answer; an empty role means assistant.
	Message model.Message
	// Usage is reported as it is. The zero value means 10 tokens in and 5 out;
	// set NoUsage to report none, which leaves it to be estimated.
	Usage   model.Usage
	NoUsage bool
	// Finish, when empty, is tool_calls for a message with calls, else stop.
	Finish model.FinishReason

	// Err, when not nil, is the outcome instead of a message. An endpoint
	// answers with the Status, Code, Param, Message and RetryAfter of a
	// [*model.Error], and with status 500 for any other error.
	Err error
	// Break sends half of the message and breaks off: a scripted model fails
	// with kind Stream, an endpoint cuts the connection.
	Break bool
	// Hang sends half of the message and then waits until the caller gives up.
	Hang bool
	// Arrived, when not nil, is closed when the call has been received: a test
	// that cancels a hanging call waits for it.
	Arrived chan struct{}

	// HTTP, when not nil, answers at an endpoint instead of all of the above. A
	// scripted model ignores it.
	HTTP http.HandlerFunc
}

// Text returns a turn that answers with text.
func Text(text string) Turn { return Turn{Message: model.Text(model.Assistant, text)} }

// Calls returns a turn that asks for calls.
func Calls(calls ...model.ToolCall) Turn {
	return Turn{Message: model.Message{Role: model.Assistant, ToolCalls: calls}}
}

// Call returns a call of a tool with arguments, which must be a JSON object.
func Call(name, arguments string) model.ToolCall {
	return model.ToolCall{Name: name, Arguments: json.RawMessage(arguments)}
}

// Fail returns a turn that fails with err.
func Fail(err error) Turn { return Turn{Err: err} }

// Hang returns a turn that never answers.
func Hang() Turn { return Turn{Hang: true} }

// Break returns a turn that breaks off in the middle of text.
func Break(text string) Turn {
	t := Text(text)
	t.Break = true
	return t
}

// message is the turn's message with its role.
func (t *Turn) message() model.Message {
	m := t.Message
	if m.Role == "" {
		m.Role = model.Assistant
	}
	return m
}

func (t *Turn) finish() model.FinishReason {
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Message.ToolCalls) > 0:
		return model.FinishToolCalls
	}
	return model.FinishStop
}

func (t *Turn) usage() model.Usage {
	u := t.Usage
	if u == (model.Usage{}) && !t.NoUsage {
		u = model.Usage{PromptTokens: 10, CompletionTokens: 5}
	}
	if u.TotalTokens == 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	return u
}

// pieces cuts s after each space, so that joining them gives s again.
func pieces(s string) []string {
	var out []string
	start := 0
	for i := range len(s) {
		if s[i] == ' ' {
			out = append(out, s[start:i+1])
			start = i + 1
		}
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

func (t *Turn) arrived() {
	if t.Arrived != nil {
		close(t.Arrived)
	}
}
