package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

func TestCase25ReasoningGoesBackOnToolTurns(t *testing.T) {
	first := events(delta(`"reasoning_content":"I should "`), delta(`"reasoning_content":"read."`),
		calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`), finish("tool_calls"), done)
	server := serve(t, first, ok)
	reply := generate(t, server, offer("read"))
	if reply.Message.Reasoning != "I should read." || reply.Message.Text() != "" {
		t.Errorf("message = %+v", reply.Message)
	}
	reply.Message.ToolCalls[0].ID = "1"
	req := turn("", reply.Message, "r")
	req.Messages[1].Origin = reply.Message.Origin
	req.Messages = append(req.Messages, model.Message{
		Role: model.Assistant, Content: model.TextParts("done"), Reasoning: "private", Origin: reply.Message.Origin,
	}, model.Text(model.User, "more"))
	generate(t, server, req)
	if got := server.message(t, 1, 1)["reasoning_content"]; got != "I should read." {
		t.Errorf("reasoning sent back with the call = %v", got)
	}
	if got, sent := server.message(t, 1, 3)["reasoning_content"]; sent {
		t.Errorf("reasoning sent back with an answer = %v", got)
	}

	// Another provider does not get it.
	req.Messages[1].Origin = "openai:elsewhere"
	generate(t, server, req)
	if _, sent := server.message(t, 2, 1)["reasoning_content"]; sent {
		t.Error("reasoning was sent to another provider")
	}
}

func TestCase25TheOtherSettingIsLearned(t *testing.T) {
	thinking := model.Message{Reasoning: "hm", ToolCalls: []model.ToolCall{call("1", "a")}}
	for name, c := range map[string]struct {
		refusal, origin string
		want            any
	}{
		"wanted":   {"reasoning_content in the thinking mode must be passed back", "openai:elsewhere", "hm"},
		"unwanted": {"Unknown name reasoning_content", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, status(400, `{"error":{"message":"`+c.refusal+`"}}`), ok)
			origin := c.origin
			if origin == "" {
				origin = "openai:" + strings.TrimPrefix(server.url, "http://")
			}
			m := client(t, server.url)
			for range 2 {
				if _, err := m.Generate(t.Context(), turn(origin, thinking, "r"), nil); err != nil {
					t.Fatal(err)
				}
			}
			if server.count() != 3 {
				t.Fatalf("%d requests: it was not remembered", server.count())
			}
			if got := server.message(t, 1, 1)["reasoning_content"]; got != c.want {
				t.Errorf("reasoning_content = %v, want %v", got, c.want)
			}
		})
	}
	// An endpoint that wants neither ends the attempts.
	server := serve(t, status(400, `{"error":{"message":"reasoning_content must be passed back"}}`))
	failure(t, server, turn("", thinking, "r"), attempts(4))
	if server.count() != 2 {
		t.Errorf("%d requests", server.count())
	}
}

func TestCase26UnknownMembersRoundTrip(t *testing.T) {
	const signature = `{"google":{"thought_signature":"b64=="}}`
	first := events(
		delta(`"reasoning_details":[{"type":"reasoning.text","index":0,"text":"I "}]`),
		delta(`"reasoning_details":[{"type":"reasoning.text","index":0,"text":"think","signature":"s"}],"refusal":null,"annotations":[]`),
		calls(`{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":"{}"},"extra_content":`+signature+`}`),
		finish("tool_calls"), done,
	)
	server := serve(t, first, ok)
	reply := generate(t, server, offer("read"))
	reply.Message.ToolCalls[0].ID = "1"
	req := turn("", reply.Message, "r")
	req.Messages[1].Origin = reply.Message.Origin
	generate(t, server, req)
	sent := server.message(t, 1, 1)
	want := map[string]any{
		"role": "assistant", "content": nil,
		"reasoning_details": []any{map[string]any{"type": "reasoning.text", "index": 0.0, "text": "I think", "signature": "s"}},
		"tool_calls": []any{map[string]any{
			"id": "a", "type": "function", "function": map[string]any{"name": "read", "arguments": "{}"},
			"extra_content": map[string]any{"google": map[string]any{"thought_signature": "b64=="}},
		}},
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("sent back (-want +got):\n%s", diff)
	}

	req.Messages[1].Origin = "openai:elsewhere"
	generate(t, server, req)
	other, err := json.Marshal(server.message(t, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(other), "signature") || strings.Contains(string(other), "reasoning") {
		t.Errorf("sent to another provider: %s", other)
	}
}

func TestUnknownMembersCannotReplaceKnownOnes(t *testing.T) {
	server := serve(t, ok)
	origin := "openai:" + strings.TrimPrefix(server.url, "http://")
	c := call("1", "a")
	c.Extra = json.RawMessage(`{"id":"evil","function":{"name":"evil"},"type":"x"}`)
	m := model.Message{
		Content: model.TextParts("hi"), ToolCalls: []model.ToolCall{c},
		Extra: json.RawMessage(`{"role":"system","content":[{"type":"text","text":"evil"}],"tool_calls":[],"reasoning_content":"evil"}`),
	}
	generate(t, server, turn(origin, m, "r"))
	raw, err := json.Marshal(server.message(t, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "evil") || strings.Contains(string(raw), "system") {
		t.Errorf("sent = %s", raw)
	}
}

func TestCase28CallPrintedAsText(t *testing.T) {
	text := `<tool_call>{\"name\":\"read\",\"arguments\":{\"p\":\"a\"}}</tool_call>`
	reply := generate(t, serve(t, events(delta(`"content":"`+text+`"`), finish("stop"), done)), offer("read"))
	if len(reply.Message.ToolCalls) != 0 || reply.Finish != model.FinishStop {
		t.Errorf("reply = %+v", reply)
	}
	wantWarning(t, reply, "did not parse the model's tool call")
}

func TestCase29ContentAsList(t *testing.T) {
	const parts = `[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"4"}]`
	for name, first := range map[string]http.HandlerFunc{
		"whole": raw("application/json", message(`"content":`+parts, "stop")),
		"streamed": events(
			delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]`),
			delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]},{"type":"text","text":""}]`),
			delta(`"content":"4"`), finish("stop"), done),
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, first, ok)
			thought := ""
			reply, err := client(t, server.url).Generate(t.Context(), modeltest.Hello(), func(c model.Chunk) { thought += c.Reasoning })
			if err != nil {
				t.Fatal(err)
			}
			if reply.Message.Text() != "4" || reply.Message.Reasoning != "hm" || thought != "hm" {
				t.Errorf("message = %+v, chunks = %q", reply.Message, thought)
			}
			sendBack := func(m model.Message) any {
				req := modeltest.Hello()
				req.Messages = append(req.Messages, m, model.Text(model.User, "again"))
				generate(t, server, req)
				return server.message(t, server.count()-1, 1)["content"]
			}
			var want any
			if err := json.Unmarshal([]byte(parts), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, sendBack(reply.Message)); diff != "" {
				t.Errorf("sent back (-want +got):\n%s", diff)
			}
			// What a hook has rewritten is not brought back.
			reply.Message.Content = model.TextParts("[redacted]")
			if got := sendBack(reply.Message); got != "[redacted]" {
				t.Errorf("sent back = %v", got)
			}
		})
	}
	texts := events(delta(`"content":[{"type":"text","text":"a"},"b"]`), delta(`"content":null`), finish("stop"), done)
	reply := generate(t, serve(t, texts), modeltest.Hello())
	if reply.Message.Text() != "ab" || reply.Message.Extra != nil {
		t.Errorf("message = %+v", reply.Message)
	}
}

func TestCase31StatusOKWithoutAReply(t *testing.T) {
	for name, c := range map[string]struct {
		body, message string
		kind          model.ErrorKind
		retryable     bool
	}{
		"error":      {`{"error":{"message":"Provider returned error","code":524},"user_id":"u"}`, "Provider returned error", model.Unreachable, true},
		"flat error": {`{"object":"error","message":"too odd","code":400}`, "too odd", model.Rejected, false},
		"no choices": {`{"id":"x","choices":null}`, `the reply has no choices: {"id":"x","choices":null}`, model.Stream, true},
		"plain text": {`service busy`, `the reply is not JSON: "service busy"`, model.Stream, true},
		"odd blank":  {"\v\u00a0", `the reply is not JSON: ""`, model.Stream, true},
		"empty":      {``, "the reply is empty", model.Stream, true},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", stream), func(t *testing.T) {
				server := serve(t, raw("application/json", c.body))
				failed := failure(t, server, modeltest.Hello(), func(o *openai.Options) { o.Stream = stream })
				if failed.Message != c.message || failed.Kind != c.kind || failed.Retryable != c.retryable {
					t.Errorf("error = %+v", failed)
				}
			})
		}
	}
	long := failure(t, serve(t, raw("text/plain", strings.Repeat("x", 5000))), modeltest.Hello())
	if len(long.Message) > 700 {
		t.Errorf("message has %d bytes", len(long.Message))
	}
	nullError := raw("application/json", `{"error":null,`+message(`"content":"fine"`, "stop")[1:])
	if reply := generate(t, serve(t, nullError), modeltest.Hello()); reply.Message.Text() != "fine" {
		t.Errorf("reply = %+v", reply)
	}
}

func TestCase35PromptCutFromTheFront(t *testing.T) {
	req := modeltest.Hello()
	req.Messages = append([]model.Message{model.Text(model.System, strings.Repeat("word ", 24000))}, req.Messages...) // about 30,000 tokens
	answer := func(counted int) http.HandlerFunc {
		return raw("application/json", fmt.Sprintf(`{"choices":[{"message":{"content":"?"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`, counted))
	}
	failed := failure(t, serve(t, answer(2048)), req, whole)
	if failed.Kind != model.ContextOverflow || failed.Limit != 2048 || !strings.Contains(failed.Message, "num_ctx") {
		t.Errorf("error = %+v", failed)
	}
	wantWarning(t, generate(t, serve(t, answer(3001)), req, whole), "context is too small")
	if reply := generate(t, serve(t, answer(24001)), req, whole); len(reply.Warnings) != 0 {
		t.Errorf("warnings = %q", reply.Warnings)
	}
}

func TestCase40NothingEmptyIsSent(t *testing.T) {
	server := serve(t, ok)
	c := client(t, server.url, func(o *openai.Options) {
		o.Extra = map[string]any{"tool_choice": "auto", "parallel_tool_calls": false}
	})
	for _, req := range []*model.Request{
		modeltest.Hello(),
		{Messages: modeltest.Hello().Messages, Tools: []model.Definition{
			{Name: "a"}, {Name: "b", Parameters: json.RawMessage("null")}, {Name: "c", Parameters: json.RawMessage(`{"type":"object"}`)},
		}},
	} {
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tools", "tool_choice", "parallel_tool_calls"} {
		if v, sent := server.body(t, 0)[name]; sent {
			t.Errorf("%s = %v was sent without tools", name, v)
		}
	}
	if got := server.body(t, 1)["tool_choice"]; got != "auto" {
		t.Errorf("tool_choice = %v", got)
	}
	empty := map[string]any{"type": "object", "properties": map[string]any{}}
	for i, tool := range server.body(t, 1)["tools"].([]any) {
		fn := tool.(map[string]any)["function"].(map[string]any)
		if diff := cmp.Diff(empty, fn["parameters"]); diff != "" {
			t.Errorf("parameters of tool %d (-want +got):\n%s", i, diff)
		}
	}
	if m := server.message(t, 1, 0); len(m) != 2 {
		t.Errorf("user message = %v", m)
	}
}

func TestCase40HistoryWithCallsAndNoTools(t *testing.T) {
	refuse := status(400, `{"error":{"message":"Requests with tool calls in messages must also specify tools"}}`)
	server := serve(t, refuse, ok)
	generate(t, server, turn("", model.Message{ToolCalls: []model.ToolCall{call("1", "a")}}, "the result"))
	told := server.message(t, 1, 1)
	if told["tool_calls"] != nil || !strings.Contains(fmt.Sprint(told["content"]), "read") {
		t.Errorf("call = %v", told)
	}
	if result := server.message(t, 1, 2); result["role"] != "user" || !strings.Contains(fmt.Sprint(result["content"]), "the result") {
		t.Errorf("result = %v", result)
	}
}

func TestCase41ConversationThatIsNotComplete(t *testing.T) {
	server := serve(t, ok)
	two := model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{call("1", "a"), call("2", "b")}}
	result := func(id string) model.Message {
		return model.Message{Role: model.Tool, CallID: id, Content: model.TextParts("r")}
	}
	user := model.Text(model.User, "stop")
	for name, c := range map[string]struct {
		messages []model.Message
		want     string
	}{
		"missing, then a user": {[]model.Message{user, two, result("1"), user}, `message 4 of the conversation: the call "2" has no result`},
		"missing at the end":   {[]model.Message{user, two, result("2")}, `the end of the conversation: the call "1" has no result`},
		"twice":                {[]model.Message{user, two, result("1"), result("1")}, `message 4 of the conversation: the call "1" has two results`},
		"without a call":       {[]model.Message{user, result("9")}, `message 2 of the conversation: the result for call "9" does not follow`},
		"too late":             {[]model.Message{user, two, result("1"), result("2"), user, result("2")}, `message 6`},
		"one id twice":         {[]model.Message{user, {Role: model.Assistant, ToolCalls: []model.ToolCall{call("1", "a"), call("1", "b")}}}, `have the id "1"`},
		"no such role":         {[]model.Message{{Role: "wizard"}}, `unknown role "wizard"`},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(t, server, &model.Request{Messages: c.messages})
			if failed.Kind != model.Rejected || !strings.Contains(failed.Message, c.want) {
				t.Errorf("error = %v, want %s", failed, c.want)
			}
		})
	}
	if server.count() != 0 {
		t.Errorf("%d requests were sent", server.count())
	}
	generate(t, server, &model.Request{Messages: []model.Message{user, two, result("1"), result("2"), user}})
	wantSameIDs(t, server, 0, 2)
}

func TestCase43SystemMessageIsCalledSystem(t *testing.T) {
	server := serve(t, ok)
	req := modeltest.Hello()
	req.Messages = append([]model.Message{model.Text(model.System, "be brief")}, req.Messages...)
	generate(t, server, req)
	if m := server.message(t, 0, 0); m["role"] != "system" || m["content"] != "be brief" {
		t.Errorf("first message = %v", m)
	}
	refuse := status(400, `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role","code":"unsupported_value"}}`)
	picky := serve(t, refuse, ok)
	req.Memo = new(model.Memo)
	generate(t, picky, req)
	if m := picky.message(t, 1, 0); m["role"] != "developer" {
		t.Errorf("first message = %v", m)
	}
}

func TestCase46EmptyContentIsStillSent(t *testing.T) {
	server := serve(t, ok)
	generate(t, server, turn("", model.Message{ToolCalls: []model.ToolCall{call("1", "a")}}, ""))
	if got := server.message(t, 0, 2)["content"]; got != "(no output)" {
		t.Errorf("content of the tool message = %v", got)
	}
	if got, sent := server.message(t, 0, 1)["content"]; got != nil || !sent {
		t.Errorf("content beside calls = %v, sent %v", got, sent)
	}
	for _, body := range []string{
		`{"detail":[{"loc":["body","messages",1,"content"],"msg":"none is not an allowed value"}]}`,
		`{"error":{"message":"messages[1].content must be a string"}}`,
	} {
		picky := serve(t, status(422, body), ok)
		req := turn("", model.Message{ToolCalls: []model.ToolCall{call("1", "a")}}, "r")
		req.Memo = new(model.Memo)
		generate(t, picky, req)
		if got := picky.message(t, 1, 1)["content"]; got != "" {
			t.Errorf("content beside calls = %v", got)
		}
	}
}

func TestUserMediaIsEncoded(t *testing.T) {
	server := serve(t, ok)
	generate(t, server, &model.Request{Messages: []model.Message{{Role: model.User, Content: []model.Part{
		{Type: model.TextPart, Text: "what is <this>?"},
		{Type: model.ImagePart, MIME: "image/png", Data: []byte("abc")},
		{Type: model.ImagePart, URL: "https://example.com/a.png"},
		{Type: model.FilePart, MIME: "application/pdf", Data: []byte("abc"), Name: "a.pdf"},
	}}}})
	want := []any{
		map[string]any{"type": "text", "text": "what is <this>?"},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64,YWJj"}},
		map[string]any{"type": "image_url", "image_url": map[string]any{"url": "https://example.com/a.png"}},
		map[string]any{"type": "file", "file": map[string]any{"filename": "a.pdf", "file_data": "data:application/pdf;base64,YWJj"}},
	}
	if diff := cmp.Diff(want, server.message(t, 0, 0)["content"]); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	req := turn("", model.Message{ToolCalls: []model.ToolCall{call("1", "a")}}, "")
	req.Messages[2].Content = []model.Part{{Type: model.TextPart, Text: "see"}, {Type: model.ImagePart, MIME: "image/png", Data: []byte("abc")}}
	generate(t, server, req)
	if got := server.message(t, 1, 2)["content"]; got != "see\n(image image/png of 3 bytes, not shown: it is no PNG, JPEG, GIF or WebP image)" {
		t.Errorf("tool content = %v", got)
	}
}
