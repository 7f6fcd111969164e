package openai_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

// The numbers of the cases are those of the list of quirks that were reported
// for compatible endpoints.

func TestCase01DeltaWithoutIndex(t *testing.T) {
	two := []string{
		calls(`{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}`),
		calls(`{"id":"c2","type":"function","function":{"name":"list","arguments":"{\"p\""}}`),
		calls(`{"function":{"arguments":":1}"}}`), finish("tool_calls"), done,
	}
	reply := generate(t, serve(t, events(two...)), offer("read", "list"))
	wantCalls(t, reply, `read {}`, `list {"p":1}`)

	together := events(
		calls(`{"id":"c1","function":{"name":"read","arguments":"{\"a\":"}},{"id":"c2","function":{"name":"list","arguments":"{\"b\":"}}`),
		calls(`{"function":{"arguments":"1}"}},{"function":{"arguments":"2}"}}`), finish("tool_calls"), done,
	)
	wantCalls(t, generate(t, serve(t, together), offer("read", "list")), `read {"a":1}`, `list {"b":2}`)
}

func TestCase02ParallelCallsAllAtIndexZero(t *testing.T) {
	stream := events(
		calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`),
		calls(`{"index":0,"id":"b","function":{"name":"read","arguments":"{\"p\":"}}`),
		args(0, `2}`), finish("tool_calls"), done,
	)
	wantCalls(t, generate(t, serve(t, stream), offer("read")), `read {"p":1}`, `read {"p":2}`)

	// Without ids a name after complete arguments is the sign.
	nameless := events(
		calls(`{"index":0,"id":"","function":{"name":"read","arguments":"{\"p\":1}"}}`),
		calls(`{"index":0,"id":"","function":{"name":"read","arguments":"{\"p\":2}"}}`),
		finish("tool_calls"), done,
	)
	wantCalls(t, generate(t, serve(t, nameless), offer("read")), `read {"p":1}`, `read {"p":2}`)

	for name, chunks := range map[string][]string{
		"one chunk": {calls(`{"index":0,"function":{"name":"read","arguments":""}},{"index":0,"function":{"name":"list","arguments":"{}"}}`)},
		"two chunks": {
			calls(`{"index":0,"function":{"name":"read","arguments":"{}"}}`), calls(`{"index":0,"function":{"name":"list","arguments":"{}"}}`),
		},
	} {
		reply := generate(t, serve(t, events(append(chunks, finish("tool_calls"), done)...)), offer("read", "list"))
		if len(reply.Message.ToolCalls) != 2 {
			t.Errorf("%s without ids: calls = %+v", name, reply.Message.ToolCalls)
		}
	}

	// Two objects in one call are a bad merge: the first must not be run.
	merged := events(
		calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}{\"p\":2}"}}`), finish("tool_calls"), done,
	)
	reply := generate(t, serve(t, merged), offer("read"))
	wantCalls(t, reply, `read {} invalid`)
	if got := reply.Message.ToolCalls[0].Invalid; got.Raw != `{"p":1}{"p":2}` || !strings.Contains(got.Problem, "byte 7") {
		t.Errorf("invalid = %+v", got)
	}
}

func TestCase04NameRepeatedOrSplit(t *testing.T) {
	head := func(name, arguments string) string {
		return calls(`{"index":0,"id":"a","type":"function","function":{"name":"` + name + `","arguments":"` + arguments + `"}}`)
	}
	for name, chunks := range map[string][]string{
		"repeated": {head("get_time", ""), head("get_time", "{}")},
		"growing":  {head("get_", ""), head("get_time", ""), args(0, "{}")},
		"split":    {head("get", ""), head("_ti", ""), head("me", "{}")},
		"split without id": {
			calls(`{"index":0,"function":{"name":"get"}}`), calls(`{"index":0,"function":{"name":"_time","arguments":"{}"}}`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			reply := generate(t, serve(t, events(append(chunks, finish("tool_calls"), done)...)), offer("get", "get_time"))
			wantCalls(t, reply, `get_time {}`)
		})
	}
}

func TestCase05ArgumentsSentAgainCumulatively(t *testing.T) {
	head := calls(`{"index":0,"id":"a","function":{"name":"search","arguments":""}}`)
	reply := generate(t, serve(t, events(head, args(0, `{"q":`), args(0, `{"q":"x"}`), finish("tool_calls"), done)), offer("search"))
	wantCalls(t, reply, `search {"q":"x"}`)

	// Pieces that only look cumulative are appended.
	reply = generate(t, serve(t, events(head, args(0, `{"q":`), args(0, `{"q":1}}`), finish("tool_calls"), done)), offer("search"))
	wantCalls(t, reply, `search {"q":{"q":1}}`)

	// Neither reading is an object: the call fails.
	reply = generate(t, serve(t, events(head, args(0, `[`), args(0, `[1]`), finish("tool_calls"), done)), offer("search"))
	wantCalls(t, reply, `search {} invalid`)
}

func TestCase07CallIDsEmptyOrUsedTwice(t *testing.T) {
	list := `"tool_calls":[{"id":"","function":{"name":"a","arguments":"{}"}},{"id":" ","function":{"name":"b","arguments":"{}"}},` +
		`{"id":"x","function":{"name":"a","arguments":"{}"}},{"id":"x","function":{"name":"b","arguments":"{}"}}]`
	for name, first := range map[string]http.HandlerFunc{
		"streamed": events(delta(list), finish("tool_calls"), done),
		"whole":    raw("application/json", message(list, "tool_calls")),
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, first, ok)
			c := client(t, server.url)
			req := offer("a", "b")
			req.Memo = new(model.Memo)
			reply, err := c.Generate(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantCalls(t, reply, `a {}`, `b {}`, `a {}`, `b {}`)
			req.Messages = append(req.Messages, reply.Message)
			for i := range reply.Message.ToolCalls {
				id := "ours_" + string(rune('a'+i))
				reply.Message.ToolCalls[i].ID = id
				req.Messages = append(req.Messages, model.Message{Role: model.Tool, CallID: id, Content: model.TextParts("r")})
			}
			for range 2 { // the second time the messages come from the memo
				if _, err := c.Generate(t.Context(), req, nil); err != nil {
					t.Fatal(err)
				}
			}
			wantSameIDs(t, server, 1, 4)
			wantSameIDs(t, server, 2, 4)
			if server.message(t, 1, 2)["tool_call_id"] != server.message(t, 2, 2)["tool_call_id"] {
				t.Error("the same call has another id in the next request")
			}
		})
	}
}

// wantSameIDs checks that message 1 of request n has calls with ids that are
// legal and unique, and that the messages after it answer them in order.
func wantSameIDs(t *testing.T, server *recorder, n, calls int) {
	t.Helper()
	seen := make(map[string]bool)
	list, _ := server.message(t, n, 1)["tool_calls"].([]any)
	if len(list) != calls {
		t.Fatalf("request %d has %d calls, want %d", n, len(list), calls)
	}
	for i, c := range list {
		id, _ := c.(map[string]any)["id"].(string)
		if strings.TrimSpace(id) == "" || seen[id] {
			t.Errorf("call %d has the id %q", i, id)
		}
		seen[id] = true
		if got := server.message(t, n, 2+i)["tool_call_id"]; got != id {
			t.Errorf("result %d answers %v, the call is %q", i, got, id)
		}
	}
}

func TestIDsStayPairedWhenTheHistoryIsCut(t *testing.T) {
	pair := func(id string) []model.Message {
		return []model.Message{
			{Role: model.Assistant, ToolCalls: []model.ToolCall{call(id, "x")}},
			{Role: model.Tool, CallID: id, Content: model.TextParts("r")},
		}
	}
	server := serve(t, ok)
	c := client(t, server.url)
	user, second := model.Text(model.User, "go"), pair("2")
	req := &model.Request{Memo: new(model.Memo), Messages: append(append(append([]model.Message{user}, pair("1")...), second...), user)}
	for range 2 {
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		req.Messages = append([]model.Message{user}, second...) // now x is free again
	}
	wantSameIDs(t, server, 1, 1)
}

func TestCase08NineCharacterIDs(t *testing.T) {
	refuse := status(400, `{"object":"error","message":"Tool call id was call_01HXYZ but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_request_error","code":"3280"}`)
	server := serve(t, refuse, ok)
	c := client(t, server.url)
	req := turn("", model.Message{ToolCalls: []model.ToolCall{call("call_1_1", "call_01HXYZ")}}, "r")
	req.Memo = new(model.Memo)
	for range 2 {
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if server.count() != 3 {
		t.Errorf("%d requests: the form was not remembered", server.count())
	}
	for _, n := range []int{1, 2} {
		id, _ := server.message(t, n, 2)["tool_call_id"].(string)
		if len(id) != 9 || strings.ContainsAny(id, "_-") {
			t.Errorf("id = %q", id)
		}
		wantSameIDs(t, server, n, 1)
	}
	if server.message(t, 1, 2)["tool_call_id"] != server.message(t, 2, 2)["tool_call_id"] {
		t.Error("the id is another one each time")
	}
}

func TestCase10EmptyArguments(t *testing.T) {
	for _, empty := range []string{`""`, `"  "`, `"null"`, `null`, `{}`} {
		t.Run(empty, func(t *testing.T) {
			server := serve(t, events(calls(`{"index":0,"id":"a","function":{"name":"now","arguments":`+empty+`}}`), finish("tool_calls"), done), ok)
			reply := generate(t, server, offer("now"))
			wantCalls(t, reply, `now {}`)
			reply.Message.ToolCalls[0].ID = "1"
			req := turn(reply.Message.Origin, reply.Message, "noon")
			generate(t, server, req)
			list, _ := server.message(t, 1, 1)["tool_calls"].([]any)
			fn, _ := list[0].(map[string]any)["function"].(map[string]any)
			if fn["arguments"] != "{}" {
				t.Errorf("sent back as %v", fn)
			}
		})
	}
	// Empty because it was cut is not "no arguments".
	cut := events(calls(`{"index":0,"id":"a","function":{"name":"now","arguments":""}}`), finish("length"), done)
	reply := generate(t, serve(t, cut), offer("now"))
	if len(reply.Message.ToolCalls) != 0 || reply.DroppedCalls != 1 || !slices.Equal(reply.DroppedNames, []string{"now"}) {
		t.Errorf("calls = %v, dropped = %d", reply.Message.ToolCalls, reply.DroppedCalls)
	}
}

func TestCase11ArgumentsThatAreNoJSON(t *testing.T) {
	for name, c := range map[string]struct{ raw, want, warning string }{
		"fence":             {"```json\n{\"q\": \"a\"}\n```", `search {"q": "a"}`, "fence"},
		"fence in a value":  {"{\"q\":\"```json\\n{}\\n```\"}", "search {\"q\":\"```json\\n{}\\n```\"}", ""},
		"prose after":       {`{"q":"a"} I will now search.`, `search {"q":"a"}`, "left out"},
		"a second object":   {`{"q":"a"} {"q":"b"}`, `search {} invalid`, "more than one"},
		"single quotes":     {`{'q': None}`, `search {} invalid`, "byte 1"},
		"encoded twice":     {`"{\"q\":\"a\"}"`, `search {} invalid`, "must begin with {"},
		"an array":          {`[{"q":"a"}]`, `search {} invalid`, "must begin with {"},
		"prose before":      {`Sure: {"q":"a"}`, `search {} invalid`, "must begin with {"},
		"a brace too many":  {`{"q":"a"}}`, `search {} invalid`, "more than one"},
		"strange but valid": {" {\"q\" : [1,{\"a\":null}]}\n", `search {"q" : [1,{"a":null}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			stream := events(calls(`{"index":0,"id":"a","function":{"name":"search","arguments":""}}`), args(0, c.raw), finish("tool_calls"), done)
			reply := generate(t, serve(t, stream), offer("search"))
			wantCalls(t, reply, c.want)
			wantWarning(t, reply, c.warning)
			if c.warning == "" && len(reply.Warnings) > 0 {
				t.Errorf("warnings = %q", reply.Warnings)
			}
		})
	}
}

func TestUnreadableArgumentsAreKeptBounded(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	stream := events(calls(`{"index":0,"id":"a","function":{"name":"search","arguments":"`+long+`"}}`), finish("tool_calls"), done)
	invalid := generate(t, serve(t, stream), offer("search")).Message.ToolCalls[0].Invalid
	if len(invalid.Raw) > 2048 || len(invalid.Raw) < 2040 || !strings.HasPrefix(long, invalid.Raw) {
		t.Errorf("raw has %d bytes", len(invalid.Raw))
	}
	if len(invalid.Problem) > 200 || strings.Contains(invalid.Problem, "\n") {
		t.Errorf("problem = %q", invalid.Problem)
	}
}

func TestCase13ToolCallsAnnouncedAndNoneSent(t *testing.T) {
	text := events(delta(`"content":"done"`), finish("tool_calls"), done)
	reply := generate(t, serve(t, text), offer("a"))
	if reply.Message.Text() != "done" || reply.Finish != model.FinishStop {
		t.Errorf("reply = %+v", reply)
	}
	wantWarning(t, reply, "announced tool calls")

	nothing := events(delta(`"content":""`), finish("tool_calls"), done)
	server := serve(t, nothing)
	failed := failure(t, server, offer("a"), attempts(5))
	if failed.Kind != model.Stream || server.count() != 2 {
		t.Errorf("error = %v after %d requests, want one retry", failed, server.count())
	}
	if reply := generate(t, serve(t, nothing, ok), offer("a"), attempts(5)); reply.Message.Text() != "ok" {
		t.Errorf("reply = %+v", reply)
	}
}

func TestCase14CallCutByTheTokenLimit(t *testing.T) {
	stream := events(
		delta(`"content":"writing"`),
		calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"b\"}"}}`),
		calls(`{"index":1,"id":"b","function":{"name":"write","arguments":""}}`),
		args(1, `{"path":"a.txt","text":"half of the fi`), finish("length"), done,
	)
	reply := generate(t, serve(t, stream), offer("read", "write"))
	wantCalls(t, reply, `read {"path":"b"}`)
	if reply.Finish != model.FinishLength || reply.DroppedCalls != 1 || reply.Message.Text() != "writing" {
		t.Errorf("reply = %+v", reply)
	}
}

// Nobody said that a limit was reached, so none is claimed: the call cannot be
// read, and the model is told so.
func TestArgumentsThatEndTooEarlyGoBackToTheModel(t *testing.T) {
	const half = `{"file": "/data/sales.csv", `
	quoted := strings.ReplaceAll(half, `"`, `\"`)
	for _, reason := range []string{"tool_calls", "stop", "function_call", ""} {
		last := finish(reason)
		if reason == "" {
			last = delta("")
		}
		for name, c := range map[string]struct {
			reply  http.HandlerFunc
			stream bool
		}{
			"streamed": {events(
				calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`),
				calls(`{"index":1,"id":"b","function":{"name":"write","arguments":""}}`), args(1, half), last, done), true},
			"streamed, and a call after it": {events(
				calls(`{"index":0,"id":"b","function":{"name":"write","arguments":""}}`), args(0, half),
				calls(`{"index":1,"id":"a","function":{"name":"read","arguments":"{}"}}`), last, done), true},
			"told again with each piece": {events(
				calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`),
				calls(`{"index":1,"id":"b","function":{"name":"write","arguments":"{\"file\": "}}`), args(1, half), last, done), true},
			"whole": {raw("application/json", message(`"tool_calls":[`+
				`{"id":"a","function":{"name":"read","arguments":"{}"}},{"id":"b","function":{"name":"write","arguments":"`+quoted+`"}}]`, reason)), false},
		} {
			t.Run(reason+" "+name, func(t *testing.T) {
				reply := generate(t, serve(t, c.reply), offer("read", "write"), func(o *openai.Options) { o.Stream = c.stream })
				if reply.Finish != model.FinishToolCalls || reply.DroppedCalls != 0 || len(reply.Message.ToolCalls) != 2 {
					t.Fatalf("reply = %+v", reply)
				}
				for _, call := range reply.Message.ToolCalls {
					switch {
					case call.Name == "read" && call.Invalid != nil:
						t.Errorf("the good call is %+v", call)
					case call.Name == "write" && (call.Invalid == nil || string(call.Arguments) != "{}" || call.Invalid.Raw != half ||
						!strings.Contains(call.Invalid.Problem, "it ends too early, at byte 27")):
						t.Errorf("call = %+v, invalid = %+v", call, call.Invalid)
					}
				}
				wantWarning(t, reply, "cannot be read")
			})
		}
	}
}

func TestFilteredReplyHasNoCalls(t *testing.T) {
	stream := events(calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}`), finish("content_filter"), done)
	reply := generate(t, serve(t, stream), offer("read"))
	if len(reply.Message.ToolCalls) != 0 || reply.DroppedCalls != 1 || reply.Finish != model.FinishContentFilter {
		t.Errorf("reply = %+v", reply)
	}
}

func TestCase38ToolNamesOnTheWire(t *testing.T) {
	long := "x" + strings.Repeat("y", 80)
	req := offer("fs.read/file", long, "9lives", "plain-name_1")
	server := serve(t, events(
		calls(`{"index":0,"id":"a","function":{"name":"fs_read_file","arguments":"{}"}}`),
		calls(`{"index":1,"id":"b","function":{"name":"_9lives","arguments":"{}"}}`),
		finish("tool_calls"), done), ok)
	reply := generate(t, server, req)
	wantCalls(t, reply, `fs.read/file {}`, `9lives {}`)
	list, _ := server.body(t, 0)["tools"].([]any)
	seen := make(map[string]bool)
	for _, tool := range list {
		fn, _ := tool.(map[string]any)["function"].(map[string]any)
		name, _ := fn["name"].(string)
		if len(name) > 64 || strings.ContainsAny(name, "./") || seen[name] {
			t.Errorf("name on the wire = %q", name)
		}
		seen[name] = true
	}

	// The history is told with the same names, offered or not.
	reply.Message.ToolCalls = reply.Message.ToolCalls[:1]
	reply.Message.ToolCalls[0].ID = "1"
	generate(t, server, turn("", reply.Message, "r"))
	sent, _ := server.message(t, 1, 1)["tool_calls"].([]any)
	fn, _ := sent[0].(map[string]any)["function"].(map[string]any)
	if fn["name"] != "fs_read_file" {
		t.Errorf("name in the history = %v", fn["name"])
	}

	failed := failure(t, server, offer("fs.read", "fs_read"))
	if failed.Kind != model.Rejected || !strings.Contains(failed.Message, `"fs.read" and "fs_read"`) {
		t.Errorf("error = %v", failed)
	}
	if server.count() != 2 {
		t.Error("a request with two equal names was sent")
	}
}

func TestCase49PrefixedAndUnknownNames(t *testing.T) {
	ask := func(name string) *model.Reply {
		stream := events(calls(`{"index":0,"id":"a","function":{"name":"`+name+`","arguments":"{}"}}`), finish("tool_calls"), done)
		return generate(t, serve(t, stream), offer("read_file", "functions.odd"))
	}
	for name, want := range map[string]string{
		"default_api:read_file":  "read_file {}",
		"functions.read_file":    "read_file {}",
		"functions.odd":          "functions.odd {}",
		"functions_odd":          "functions.odd {}",
		"default_api:write_file": "default_api:write_file {}",
		"read_files":             "read_files {}",
		"evil.read_file":         "evil.read_file {}",
	} {
		wantCalls(t, ask(name), want)
	}
	wantWarning(t, ask("default_api:read_file"), `was read as a call of "read_file"`)
}

func TestReplyWithTooManyCallsIsRefused(t *testing.T) {
	one := `{"id":"","function":{"name":"a","arguments":"{}"}}`
	list := strings.TrimSuffix(strings.Repeat(one+",", 2000), ",")
	failed := failure(t, serve(t, raw("application/json", message(`"tool_calls":[`+list+`]`, "tool_calls"))), offer("a"), func(o *openai.Options) { o.Stream = false })
	if failed.Kind != model.Stream || failed.Retryable {
		t.Errorf("error = %+v", failed)
	}
}

func TestTwentyCallsInOneReply(t *testing.T) {
	var turns []model.ToolCall
	for range 20 {
		turns = append(turns, modeltest.Call("a", `{"n":1}`))
	}
	server := modeltest.Server(t, modeltest.Calls(turns...))
	reply, err := client(t, server.URL).Generate(t.Context(), offer("a"), nil)
	if err != nil || len(reply.Message.ToolCalls) != 20 {
		t.Errorf("reply = %+v, error = %v", reply, err)
	}
}
