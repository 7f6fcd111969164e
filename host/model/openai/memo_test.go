package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
)

// history is a conversation of n calls, each with a result of 4 KB.
func history(n int) []model.Message {
	msgs := []model.Message{model.Text(model.User, "go")}
	for i := range n {
		id := fmt.Sprintf("call_%d", i)
		msgs = append(msgs,
			model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: id, WireID: "w" + id, Name: "read", Arguments: json.RawMessage(`{"p":"a"}`)}}},
			model.Message{Role: model.Tool, CallID: id, Content: model.TextParts(strings.Repeat("x", 4096))},
		)
	}
	return msgs
}

func TestKeptMessagesAreNotEncodedAgain(t *testing.T) {
	p := (&Compat{}).profile("openai:test")
	req := &model.Request{Messages: history(100), Memo: new(model.Memo)}
	first, err := p.encode(req)
	if err != nil {
		t.Fatal(err)
	}
	again := testing.AllocsPerRun(10, func() {
		second, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		if &second.text[0] != &first.text[0] || len(second.text) != len(first.text) {
			t.Fatal("the messages were encoded again")
		}
	})
	if again > 2 { // the list of what is sent, and what it comes to
		t.Errorf("%v allocations for 201 messages that were known", again)
	}
}

func TestBodyIsOneJSONObject(t *testing.T) {
	p := (&Compat{}).profile("openai:test")
	c := &Client{opts: Options{Name: "m", Stream: true}}
	tools, err := newToolset(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 7} {
		req := &model.Request{Messages: history(n)}
		messages, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		members, err := c.members(p, tools, &model.Request{})
		if err != nil {
			t.Fatal(err)
		}
		segments := newBody(messages.text, nil, members)
		read, err := io.ReadAll(&segmentReader{segments: segments})
		if err != nil {
			t.Fatal(err)
		}
		var written bytes.Buffer
		if _, err := (&segmentReader{segments: segments}).WriteTo(&written); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read, written.Bytes()) || int64(len(read)) != totalLen(segments) || !json.Valid(read) {
			t.Errorf("body of %d messages: %d bytes read, %d written, %d announced", len(req.Messages), len(read), written.Len(), totalLen(segments))
		}
	}
}

func BenchmarkEncodeNextOf100Steps(b *testing.B) {
	p := (&Compat{}).profile("openai:test")
	c := &Client{opts: Options{Name: "m", Stream: true}}
	tools, err := newToolset(nil)
	if err != nil {
		b.Fatal(err)
	}
	req := &model.Request{Messages: history(100), Memo: new(model.Memo)}
	b.ReportAllocs()
	for b.Loop() {
		messages, err := p.encode(req)
		if err != nil {
			b.Fatal(err)
		}
		members, err := c.members(p, tools, &model.Request{})
		if err != nil {
			b.Fatal(err)
		}
		if totalLen(newBody(messages.text, nil, members)) < 400<<10 {
			b.Fatal("the body is too short")
		}
	}
}
