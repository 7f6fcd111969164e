package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/visible"
)

func readEvents(r io.Reader) (out []event, err error) {
	events := eventReader{r: bufio.NewReader(r)}
	for {
		ev, err := events.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, ev)
	}
}

// FuzzEvents: what a stream says does not depend on how it arrives or on how
// its lines end.
func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\ndata: b\ndata: c\n\n: x\n\nevent: e\ndata: d")
	f.Add("data:x\r\rdata\n\n:\n")
	f.Add("event: ping\ndata:\n\ndata: {\"a\":\r\ndata: 1}\r\n\r\n")
	f.Fuzz(func(t *testing.T, stream string) {
		want, err := readEvents(strings.NewReader(stream))
		if err != nil {
			t.Fatalf("a stream without read errors gave %v", err)
		}
		for _, ev := range want {
			if ev.comment != (ev.data == nil) || (!ev.comment && len(bytes.TrimSpace(ev.data)) == 0) {
				t.Fatalf("event %+v", ev)
			}
		}
		slow, err := readEvents(iotest.OneByteReader(strings.NewReader(stream)))
		if err != nil {
			t.Fatal(err)
		}
		compare := cmp.AllowUnexported(event{})
		if diff := cmp.Diff(want, slow, compare); diff != "" {
			t.Fatalf("one byte at a time (-want +got):\n%s", diff)
		}
		if strings.Contains(stream, "\r") {
			return
		}
		other, err := readEvents(strings.NewReader(strings.ReplaceAll(stream, "\n", "\r\n")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, other, compare); diff != "" {
			t.Fatalf("with CRLF (-want +got):\n%s", diff)
		}
	})
}

// read reads a body as an exchange does.
func read(body io.Reader) (*model.Reply, error) {
	tools, err := newToolset([]model.Definition{{Name: "read"}, {Name: "read_file"}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	w := newWatch(cancel, time.Minute, time.Minute)
	defer w.stop()
	r := newLive(ctx, w, body)
	d := newDraft("openai:fuzz", tools, nil)
	if err := readReply(bufio.NewReader(r), r, d); err != nil {
		return nil, err
	}
	return d.reply(&model.Request{Messages: []model.Message{model.Text(model.User, "hi")}})
}

// checkReply holds a reply to what the loop relies on.
func checkReply(t *testing.T, reply *model.Reply, err error) {
	t.Helper()
	if err != nil {
		var failed *model.Error
		if !errors.As(err, &failed) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("error of type %T: %v", err, err)
		}
		return
	}
	for _, c := range reply.Message.ToolCalls {
		var object map[string]json.RawMessage
		if json.Unmarshal(c.Arguments, &object) != nil || object == nil {
			t.Fatalf("arguments %q", c.Arguments)
		}
		if c.Invalid != nil && (len(c.Invalid.Raw) > maxRawArguments || strings.Contains(c.Invalid.Problem, "\n")) {
			t.Fatalf("invalid %+v", c.Invalid)
		}
	}
	if reply.Usage.TotalTokens <= 0 {
		t.Fatalf("usage %+v", reply.Usage)
	}
	// What was read can be sent back, to its origin and to another.
	for i := range reply.Message.ToolCalls {
		reply.Message.ToolCalls[i].ID = "call_" + strings.Repeat("x", i+1)
	}
	req := &model.Request{Messages: []model.Message{reply.Message}}
	for _, c := range reply.Message.ToolCalls {
		req.Messages = append(req.Messages, model.Message{Role: model.Tool, CallID: c.ID})
	}
	for _, p := range []*profile{
		(&Compat{}).profile("openai:fuzz"), (&Compat{}).profile("openai:other"),
		(&Compat{Order: "alternate", CallIDs: "short", Reasoning: "always", SystemRole: "user"}).profile("openai:fuzz"),
	} {
		out, err := p.encode(req)
		if err != nil {
			t.Fatalf("the reply cannot be sent back: %v", err)
		}
		if !json.Valid([]byte("[" + string(out.text) + "]")) {
			t.Fatalf("sent back as %q", out.text)
		}
	}
}

// FuzzStream reads any stream; a piece of it at a time changes nothing.
func FuzzStream(f *testing.F) {
	for _, s := range streamSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		want, wantErr := read(strings.NewReader(stream))
		got, err := read(iotest.OneByteReader(strings.NewReader(stream)))
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("at once %v, a byte at a time %v", wantErr, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("a byte at a time (-want +got):\n%s", diff)
		}
		checkReply(t, want, wantErr)
	})
}

var streamSeeds = []string{
	`data: {"choices":[{"delta":{"content":"hi","reasoning":"r"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}` + "\n\ndata: [DONE]\n\n",
	`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"re","arguments":"{\"a\""}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"ad","arguments":":1}"},"extra":{"x":[1]}},{"id":"","function":{"name":"read_file","arguments":{"b":2}}}]}}]}` + "\n\n" +
		`data: {"choices":[{"finish_reason":"length"}]}` + "\n",
	": x\n\nevent: error\ndata: {\"message\":\"m\",\"code\":\"502\"}",
	`data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"x"},1],"reasoning_details":[{"type":"t","text":"a"}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"reasoning_details":[{"type":"t","text":"b"}],"function_call":{"name":"default_api:read","arguments":"null"}},"finish_reason":"function_call"}]}`,
}

// FuzzReply reads any body that is not a stream.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":1,"choices":[{"message":{"content":"a","tool_calls":[{"id":"x","function":{"name":"read","arguments":"{}"}},{"id":"x","name":"read","arguments":{}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1.0,"completion_tokens":"2"}}`))
	f.Add([]byte(`[{"error":{"message":["a"],"code":null,"details":[{"retryDelay":"1s"}]}}]`))
	f.Add([]byte(`{"choices":{"message":{"content":[{"text":"a"}],"refusal":"no"}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := read(bytes.NewReader(body))
		checkReply(t, reply, err)
		e := readError(400, nil, body)
		redactor{redact.New("secret")}.failure(e)
		for text, most := range map[string]int{e.Message: maxMessage, e.Code: maxWord, e.Param: maxWord, e.Error(): 2 * maxMessage, e.Err.Error(): 2 * maxMessage} {
			if len(text) > most || strings.ContainsFunc(text, visible.Hidden) || strings.Contains(text, "secret") {
				t.Fatalf("error %q", text)
			}
		}
	})
}

// FuzzArguments: whatever is accepted is one object, and a repair never makes
// up what was not there.
func FuzzArguments(f *testing.F) {
	f.Add("```json\n{\"a\":1}\n```")
	f.Add(`{"a":1} then`)
	f.Add(`{"a":`)
	f.Fuzz(func(t *testing.T, raw string) {
		a := readArguments(raw)
		var object map[string]json.RawMessage
		if json.Unmarshal(a.object, &object) != nil || object == nil {
			t.Fatalf("%q became %q", raw, a.object)
		}
		if a.invalid == nil && string(a.object) != "{}" && !strings.Contains(strings.ToValidUTF8(raw, "\uFFFD"), string(a.object)) {
			t.Fatalf("%q became %q", raw, a.object)
		}
		if a.strict && (a.repaired != "" || a.invalid != nil || a.cut) {
			t.Fatalf("%q: %+v", raw, a)
		}
	})
}
