package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
)

// Factory makes the model under test, which does what turns say. It registers
// what must be closed with t.
type Factory func(t testing.TB, turns ...Turn) model.Model

// patience bounds what must happen at once; only a failing test waits for it.
const patience = 10 * time.Second

// Run checks what every [model.Model] promises, with one that makes no second
// attempts.
func Run(t *testing.T, open Factory) {
	t.Run("ReplyIsCompleteWithoutASink", func(t *testing.T) { testComplete(t, open) })
	t.Run("ChunksMakeTheReply", func(t *testing.T) { testChunks(t, open) })
	t.Run("CallsKeepTheirOrderAndArguments", func(t *testing.T) { testCalls(t, open) })
	t.Run("ReasoningIsKeptApart", func(t *testing.T) { testReasoning(t, open) })
	t.Run("MissingUsageIsEstimated", func(t *testing.T) { testEstimate(t, open) })
	t.Run("ConversationGoesOn", func(t *testing.T) { testConversation(t, open) })
	t.Run("RequestIsNotChanged", func(t *testing.T) { testUnchanged(t, open) })
	t.Run("PastTheEndIsRejected", func(t *testing.T) { testPastTheEnd(t, open) })
	t.Run("CancelledContextMakesNoCall", func(t *testing.T) { testCancelled(t, open) })
	t.Run("ManyGoroutinesEachGetAReply", func(t *testing.T) { testConcurrent(t, open) })
}

// Hello is a request of one user message.
func Hello() *model.Request {
	return &model.Request{Messages: []model.Message{model.Text(model.User, "hello")}}
}

func generate(t testing.TB, m model.Model, req *model.Request, sink func(model.Chunk)) *model.Reply {
	t.Helper()
	reply, err := m.Generate(t.Context(), req, sink)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return reply
}

func testComplete(t *testing.T, open Factory) {
	turn := Text("two words")
	turn.Usage = model.Usage{PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10}
	reply := generate(t, open(t, turn), Hello(), nil)
	if got := reply.Message.Text(); got != "two words" {
		t.Errorf("text = %q", got)
	}
	if reply.Message.Role != model.Assistant {
		t.Errorf("role = %q", reply.Message.Role)
	}
	if reply.Finish != model.FinishStop {
		t.Errorf("finish = %q", reply.Finish)
	}
	if diff := cmp.Diff(turn.Usage, reply.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func testChunks(t *testing.T, open Factory) {
	text := "one two three — vier fünf"
	var got strings.Builder
	reply := generate(t, open(t, Text(text)), Hello(), func(c model.Chunk) { got.WriteString(c.Text) })
	if diff := cmp.Diff(text, got.String()); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(text, reply.Message.Text()); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

func withTools(req *model.Request) *model.Request {
	schema := json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)
	req.Tools = []model.Definition{
		{Name: "search", Description: "Searches.", Parameters: schema},
		{Name: "now", Description: "Tells the time."},
	}
	return req
}

func testCalls(t *testing.T, open Factory) {
	turn := Calls(Call("search", `{"q":"a \"b\" <c>"}`), Call("now", `{}`), Call("search", `{"q":"z"}`))
	arguments := make(map[int]string)
	reply := generate(t, open(t, turn), withTools(Hello()), func(c model.Chunk) {
		if c.Call != nil {
			arguments[c.Call.Index] += c.Call.Arguments
		}
	})
	if reply.Finish != model.FinishToolCalls {
		t.Errorf("finish = %q", reply.Finish)
	}
	if len(reply.Message.ToolCalls) != 3 {
		t.Fatalf("calls = %+v", reply.Message.ToolCalls)
	}
	for i, want := range turn.Message.ToolCalls {
		got := reply.Message.ToolCalls[i]
		if got.Name != want.Name || string(got.Arguments) != string(want.Arguments) || got.Invalid != nil {
			t.Errorf("call %d = %+v, want %s %s", i, got, want.Name, want.Arguments)
		}
		if arguments[i] != string(want.Arguments) {
			t.Errorf("chunks of call %d = %s", i, arguments[i])
		}
	}
}

func testReasoning(t *testing.T, open Factory) {
	turn := Text("4")
	turn.Message.Reasoning = "two and two"
	var thought strings.Builder
	reply := generate(t, open(t, turn), Hello(), func(c model.Chunk) { thought.WriteString(c.Reasoning) })
	if reply.Message.Reasoning != "two and two" || thought.String() != "two and two" {
		t.Errorf("reasoning = %q, chunks %q", reply.Message.Reasoning, thought.String())
	}
	if reply.Message.Text() != "4" {
		t.Errorf("text = %q", reply.Message.Text())
	}
}

func testEstimate(t *testing.T, open Factory) {
	turn := Text("some words")
	turn.NoUsage = true
	u := generate(t, open(t, turn), Hello(), nil).Usage
	if !u.Estimated || u.PromptTokens <= 0 || u.CompletionTokens <= 0 || u.TotalTokens != u.PromptTokens+u.CompletionTokens {
		t.Errorf("usage = %+v, want an estimate", u)
	}
}

func testConversation(t *testing.T, open Factory) {
	m := open(t, Calls(Call("now", `{}`), Call("search", `{"q":"x"}`)), Text("done"))
	req := withTools(Hello())
	req.Memo = new(model.Memo)
	first := generate(t, m, req, nil).Message
	req.Messages = append(req.Messages, first)
	for i := range first.ToolCalls {
		c := &first.ToolCalls[i]
		c.ID = "call_1_" + string(rune('1'+i))
		req.Messages = append(req.Messages, model.Message{
			Role: model.Tool, CallID: c.ID, Name: c.Name, Content: model.TextParts("result"),
		})
	}
	if got := generate(t, m, req, nil).Message.Text(); got != "done" {
		t.Errorf("text = %q", got)
	}
}

func testUnchanged(t *testing.T, open Factory) {
	req := withTools(&model.Request{Messages: []model.Message{
		model.Text(model.System, "be brief"),
		model.Text(model.User, "hello"),
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "c1", Name: "now", Arguments: json.RawMessage(`{}`)}}},
		{Role: model.Tool, CallID: "c1", Name: "now", Content: model.TextParts("noon")},
	}})
	before := cloneRequest(req)
	generate(t, open(t, Text("x")), req, nil)
	if diff := cmp.Diff(before, cloneRequest(req)); diff != "" {
		t.Errorf("request (-before +after):\n%s", diff)
	}
}

func testPastTheEnd(t *testing.T, open Factory) {
	m := open(t, Text("only"))
	generate(t, m, Hello(), nil)
	_, err := m.Generate(t.Context(), Hello(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.Rejected {
		t.Errorf("error = %v, want one of kind %s", err, model.Rejected)
	}
}

func testCancelled(t *testing.T, open Factory) {
	m := open(t, Text("kept for later"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Generate(ctx, Hello(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
	if got := generate(t, m, Hello(), nil).Message.Text(); got != "kept for later" {
		t.Errorf("text = %q", got)
	}
}

func testConcurrent(t *testing.T, open Factory) {
	want := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	turns := make([]Turn, len(want))
	for i, s := range want {
		turns[i] = Text(s)
	}
	m := open(t, turns...)
	var mu sync.Mutex
	var got []string
	var wg sync.WaitGroup
	for range want {
		wg.Go(func() {
			reply, err := m.Generate(t.Context(), Hello(), nil)
			if err != nil {
				t.Errorf("Generate: %v", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, reply.Message.Text())
		})
	}
	wg.Wait()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}
