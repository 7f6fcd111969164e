package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
)

// The tests of this file are named after what users of other loops have reported: H
// for the first list of reports and L for the second, with the number of the entry.

// A tool without arguments, streamed: the empty text was taken for bad JSON, and the
// call was dropped.
func TestFieldH11NoArgumentsAreAnEmptyObject(t *testing.T) {
	for _, arguments := range []string{`"arguments":""`, `"arguments":null`, `"arguments":"null"`, `"arguments":" "`, `"arguments":{}`, `"a":1`} {
		reply := generate(t, serve(t, events(calls(`{"index":0,"id":"c","function":{"name":"read",`+arguments+`}}`), finish("tool_calls"), done)), offer("read"))
		wantCalls(t, reply, `read {}`)
		if reply.Message.ToolCalls[0].Invalid != nil {
			t.Errorf("%s: %+v", arguments, reply.Message.ToolCalls[0].Invalid)
		}
	}
}

// A piece with neither a name nor arguments was a crash.
func TestFieldH13PiecesWithNothingInThemAreNothing(t *testing.T) {
	reply := generate(t, serve(t, events(
		`{"choices":[{"delta":{}}]}`, `{"choices":[{}]}`, `{"choices":[{"delta":null}]}`,
		calls(`{"index":0,"id":"c","function":{"name":"read","arguments":"{\"p\":"}}`),
		calls(`{"index":0}`), calls(`{"index":0,"function":{}}`), calls(`{"index":0,"function":null}`), calls(`{}`), calls(`null`), `{"choices":[{"delta":{"tool_calls":null}}]}`,
		args(0, `1}`), finish("tool_calls"), done,
	)), offer("read"))
	wantCalls(t, reply, `read {"p":1}`)
}

// Calls that came in parts of the stream of their own: only the first was handled.
func TestFieldL31CallsInSeparatePartsAreAllThere(t *testing.T) {
	var parts []string
	for i := range 4 {
		parts = append(parts, calls(fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"read","arguments":"{\"n\":%d}"}}`, i, i, i)), delta(`"content":" and "`))
	}
	reply := generate(t, serve(t, events(append(parts, finish("tool_calls"), done)...)), offer("read"))
	wantCalls(t, reply, `read {"n":0}`, `read {"n":1}`, `read {"n":2}`, `read {"n":3}`)
	if got := reply.Message.Text(); got != " and  and  and  and " {
		t.Errorf("text is %q", got)
	}
}

// Ids that were used before, or left out: results were dropped, or went to another
// call. On the wire each call has one of its own, and its result has the same.
func TestFieldL32EachCallHasAnIDOfItsOwnOnTheWire(t *testing.T) {
	step := func(n int, wire ...string) []model.Message {
		m := model.Message{Role: model.Assistant}
		msgs := []model.Message{}
		for i, w := range wire {
			id := fmt.Sprintf("call_%d_%d", n, i+1)
			m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: id, WireID: w, Name: "read", Arguments: json.RawMessage("{}")})
			msgs = append(msgs, model.Message{Role: model.Tool, CallID: id, Content: model.TextParts(id)})
		}
		return append([]model.Message{m}, msgs...)
	}
	req := offer("read")
	req.Memo = new(model.Memo)
	server := serve(t, events(delta(`"content":"ok"`), finish("stop"), done), events(delta(`"content":"ok"`), finish("stop"), done))
	c := client(t, server.url)
	req.Messages = append(req.Messages, step(1, "0", "0")...)
	if _, err := c.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, step(2, "", "0", "own")...)
	if _, err := c.Generate(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	sent, _ := server.body(t, 1)["messages"].([]any)
	seen := map[any]bool{}
	var open []any
	for _, one := range sent {
		m := one.(map[string]any)
		list, _ := m["tool_calls"].([]any)
		for _, c := range list {
			id := c.(map[string]any)["id"]
			if seen[id] || id == "" {
				t.Errorf("id %q is used twice", id)
			}
			seen[id] = true
			open = append(open, id)
		}
		if m["role"] != "tool" {
			continue
		}
		if len(open) == 0 || open[0] != m["tool_call_id"] {
			t.Fatalf("a result of %q, open are %q", m["tool_call_id"], open)
		}
		open = open[1:]
	}
	if len(seen) != 5 || len(open) != 0 || !seen["0"] || !seen["own"] {
		t.Errorf("ids are %v, without result %v", seen, open)
	}
	// The beginning is sent as it was, or no provider could keep it.
	first, _ := server.body(t, 0)["messages"].([]any)
	for i := range first {
		if fmt.Sprint(first[i]) != fmt.Sprint(sent[i]) {
			t.Errorf("message %d was %v and is %v", i, first[i], sent[i])
		}
	}
}

// Text before the first piece of a call was taken for the answer.
func TestFieldL37TextBeforeACallIsNoAnswer(t *testing.T) {
	stream := events(
		delta(`"role":"assistant","content":"Let me "`), delta(`"content":"see."`),
		calls(`{"index":0,"id":"c","function":{"name":"read","arguments":""}}`), args(0, `{}`), finish("tool_calls"), done,
	)
	var shown string
	reply, err := client(t, serve(t, stream).url).Generate(t.Context(), offer("read"), func(c model.Chunk) { shown += c.Text })
	if err != nil {
		t.Fatal(err)
	}
	wantCalls(t, reply, `read {}`)
	if shown != "Let me see." || reply.Finish != model.FinishToolCalls {
		t.Errorf("shown %q, %s", shown, reply.Finish)
	}
}

// A stream that died in a call passed for a reply.
func TestFieldL38AStreamThatDiesInACallIsAnError(t *testing.T) {
	cut := []string{
		delta(`"content":"I will"`), calls(`{"index":0,"id":"c","function":{"name":"read","arguments":"{\"p\":"}}`),
	}
	e := failure(t, serve(t, events(cut...)), offer("read"), attempts(1))
	if e.Kind != model.Stream || e.Partial != "I will" || !e.Retryable {
		t.Errorf("%+v", e)
	}
	// And it is asked for again when that is allowed.
	server := serve(t, events(cut...), events(calls(`{"index":0,"id":"c","function":{"name":"read","arguments":"{}"}}`), finish("tool_calls"), done))
	void := false
	reply, err := client(t, server.url, attempts(2)).Generate(context.WithoutCancel(t.Context()), offer("read"), func(c model.Chunk) { void = void || c.Retry != nil })
	if err != nil || !void {
		t.Fatalf("%v, told: %t", err, void)
	}
	wantCalls(t, reply, `read {}`)
}
