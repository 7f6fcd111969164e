package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

// refuses serves an endpoint that answers with status and body while wrong says that
// a request has the wrong form, and else with ok.
func refuses(t testing.TB, code int, body string, wrong func(sent map[string]any) bool) *recorder {
	t.Helper()
	var r *recorder
	r = serve(t, func(w http.ResponseWriter, req *http.Request) {
		if wrong(r.body(t, r.count()-1)) {
			status(code, body)(w, req)
			return
		}
		ok(w, req)
	})
	return r
}

func sentMessages(sent map[string]any) []map[string]any {
	list, _ := sent["messages"].([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}

func anyMessage(sent map[string]any, is func(m map[string]any) bool) bool {
	for _, m := range sentMessages(sent) {
		if is(m) {
			return true
		}
	}
	return false
}

// atOnce checks that the endpoint takes the first request, and with learned, that a
// client which is not told beforehand finds the way after so many refusals.
func atOnce(t *testing.T, server func() *recorder, req *model.Request, refused int, set func(*openai.Options)) *recorder {
	t.Helper()
	told := server()
	generate(t, told, req, set)
	if told.count() != 1 {
		t.Errorf("told beforehand, it took %d requests", told.count())
	}
	learned := server()
	c := client(t, learned.url, func(o *openai.Options) { set(o); o.Compat = openai.Compat{} })
	for range 2 {
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatalf("not told: %v", err)
		}
	}
	if got := learned.count(); got != refused+2 {
		t.Errorf("not told, it took %d requests, want %d", got, refused+2)
	}
	return told
}

func TestCase08CompatShortCallIDs(t *testing.T) {
	long := func(sent map[string]any) bool {
		return anyMessage(sent, func(m map[string]any) bool {
			id, tool := m["tool_call_id"].(string)
			return tool && len(id) != 9
		})
	}
	server := func() *recorder {
		return refuses(t, 400, `{"object":"error","message":"Tool call id was call_01HXYZ but must be a-z, A-Z, 0-9, with a length of 9.","code":"3280"}`, long)
	}
	req := turn("", model.Message{ToolCalls: []model.ToolCall{call("call_1_1", "call_01HXYZ")}}, "r")
	told := atOnce(t, server, req, 1, func(o *openai.Options) { o.Compat.CallIDs = "short" })
	wantSameIDs(t, told, 0, 1)
}

func TestCase25CompatReasoning(t *testing.T) {
	with := func(sent map[string]any) bool {
		return anyMessage(sent, func(m map[string]any) bool { _, there := m["reasoning_content"]; return there })
	}
	without := func(sent map[string]any) bool { return !with(sent) }
	never := func() *recorder {
		return refuses(t, 400, `{"error":{"message":"property 'reasoning_content' is unsupported"}}`, with)
	}
	always := func() *recorder {
		return refuses(t, 400, `{"error":{"message":"reasoning_content must be passed back"}}`, without)
	}
	// The message came from this endpoint, whose address is not known yet.
	own := turn("", model.Message{Reasoning: "hm", ToolCalls: []model.ToolCall{call("1", "a")}}, "r")
	atOnce(t, always, own, 1, func(o *openai.Options) { o.Compat.Reasoning = "always" })

	server := never()
	mine := turn("openai:"+strings.TrimPrefix(server.url, "http://"), model.Message{Reasoning: "hm", ToolCalls: []model.ToolCall{call("1", "a")}}, "r")
	generate(t, server, mine, func(o *openai.Options) { o.Compat.Reasoning = "never" })
	if server.count() != 1 {
		t.Errorf("told beforehand, it took %d requests", server.count())
	}
	server = serve(t, ok)
	mine = turn("openai:"+strings.TrimPrefix(server.url, "http://"), model.Message{Reasoning: "hm", ToolCalls: []model.ToolCall{call("1", "a")}}, "r")
	generate(t, server, mine)
	if server.message(t, 0, 1)["reasoning_content"] != "hm" {
		t.Error("the reasoning of a turn with calls did not go back")
	}
}

func TestCase38CompatPlainSchemas(t *testing.T) {
	refused := func(sent map[string]any) bool {
		tools, _ := json.Marshal(sent["tools"])
		return strings.Contains(string(tools), "additionalProperties")
	}
	server := func() *recorder {
		return refuses(t, 400, `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.","status":"INVALID_ARGUMENT"}}]`, refused)
	}
	req := modeltest.Hello()
	req.Tools = []model.Definition{{Name: "fs.read", Description: "reads", Parameters: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string","pattern":"^a"}},"required":["p"],"additionalProperties":false}`)}}
	told := atOnce(t, server, req, 1, func(o *openai.Options) { o.Compat.Schemas = "plain" })
	want := []any{map[string]any{"type": "function", "function": map[string]any{
		"name": "fs_read", "description": "reads",
		"parameters": map[string]any{"type": "object", "properties": map[string]any{"p": map[string]any{"type": "string"}}, "required": []any{"p"}},
	}}}
	if diff := cmp.Diff(want, told.body(t, 0)["tools"]); diff != "" {
		t.Error(diff)
	}
}

func TestCase43CompatSystemRole(t *testing.T) {
	req := modeltest.Hello()
	req.Messages = append([]model.Message{model.Text(model.System, "be brief")}, req.Messages...)
	has := func(role string) func(map[string]any) bool {
		return func(sent map[string]any) bool {
			return anyMessage(sent, func(m map[string]any) bool { return m["role"] == role })
		}
	}
	for name, c := range map[string]struct {
		code    int
		body    string
		wrong   func(map[string]any) bool
		set     openai.Compat
		refused int
	}{
		"developer": {
			400, `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role"}}`,
			has("system"),
			openai.Compat{SystemRole: "developer"},
			1,
		},
		"no such role": {
			400, `{"error":{"message":"System role not supported"}}`, has("system"),
			openai.Compat{SystemRole: "user"},
			1,
		},
		"no such role, in a template": {
			500, `{"error":{"message":"jinja: System role not supported"}}`, has("system"),
			openai.Compat{SystemRole: "user"},
			1,
		},
		"no such role, and turns": {
			400, `{"error":{"message":"System role not supported; Conversation roles must alternate user/assistant"}}`,
			func(sent map[string]any) bool { return len(sentMessages(sent)) != 1 || has("system")(sent) },
			openai.Compat{SystemRole: "user", Order: "alternate"},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := func() *recorder { return refuses(t, c.code, c.body, c.wrong) }
			atOnce(t, server, req, c.refused, func(o *openai.Options) { o.Compat = c.set })
		})
	}
	// A developer role that was asked for and is refused becomes the system's.
	picky := refuses(t, 400, "{\"error\":{\"message\":\"unknown variant `developer`, expected one of `system`, `user`\"}}", has("developer"))
	generate(t, picky, req, func(o *openai.Options) { o.Compat.SystemRole = "developer" })
	if m := picky.message(t, 1, 0); m["role"] != "system" {
		t.Errorf("first message = %v", m)
	}
	// One that refuses every role ends the attempts.
	never := refuses(t, 400, `{"error":{"message":"role 'system', 'developer' or 'user' is not supported"}}`, func(map[string]any) bool { return true })
	failure(t, never, req, attempts(4))
	if never.count() > 4 {
		t.Errorf("%d requests", never.count())
	}
}

func TestCase44CompatMaxTokens(t *testing.T) {
	server := func() *recorder {
		return refuses(t, 400, `{"error":{"code":"unsupported_parameter","param":"max_tokens","message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`,
			func(sent map[string]any) bool { return sent["max_tokens"] != nil })
	}
	told := atOnce(t, server, modeltest.Hello(), 1, func(o *openai.Options) {
		o.MaxOutputTokens, o.Compat.MaxTokens = 9, "max_completion_tokens"
	})
	if told.body(t, 0)["max_completion_tokens"] != 9.0 {
		t.Errorf("body %v", told.body(t, 0))
	}
}

func TestCase44And47CompatOmit(t *testing.T) {
	members := []string{"temperature", "parallel_tool_calls", "stream_options"}
	server := func() *recorder {
		return refuses(t, 400, `{"error":{"message":"Unsupported parameter: temperature, parallel_tool_calls and stream_options are not supported"}}`,
			func(sent map[string]any) bool {
				for _, m := range members {
					if _, there := sent[m]; there {
						return true
					}
				}
				return false
			})
	}
	zero := 0.0
	told := atOnce(t, server, offer("a"), 3, func(o *openai.Options) {
		o.Temperature, o.Extra = &zero, map[string]any{"parallel_tool_calls": false}
		o.Compat.Omit = members
	})
	// What was left out on purpose is no loss to tell of.
	reply := generate(t, told, offer("a"), func(o *openai.Options) { o.Temperature, o.Compat.Omit = &zero, members })
	if len(reply.Warnings) != 0 {
		t.Errorf("warnings %q", reply.Warnings)
	}
}

// at makes a client reach server by the name of another host.
func at(server *recorder, host string) func(*openai.Options) {
	return func(o *openai.Options) {
		o.BaseURL = "http://" + host + "/v1"
		o.HTTPClient = &http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(server.url, "http://"))
			},
		}}
	}
}

func TestWhatIsKnownOfAHostNeedsNoRefusal(t *testing.T) {
	limit := func(o *openai.Options) { o.MaxOutputTokens = 7 }
	req := turn("", model.Message{ToolCalls: []model.ToolCall{call("call_1_1", "call_01HXYZ")}}, "r")
	req.Messages = append(req.Messages, model.Text(model.User, "and?"))
	server := serve(t, ok)
	generate(t, server, req, limit, at(server, "api.mistral.ai"))
	wantSameIDs(t, server, 0, 1)
	id, _ := server.message(t, 0, 2)["tool_call_id"].(string)
	if m := server.message(t, 0, 3); len(id) != 9 || m["role"] != "assistant" || server.body(t, 0)["max_tokens"] != 7.0 {
		t.Errorf("Mistral was sent id %q, then %v", id, m)
	}
	generate(t, server, req, limit, at(server, "api.openai.com"))
	if server.body(t, 1)["max_completion_tokens"] != 7.0 {
		t.Errorf("OpenAI was sent %v", server.body(t, 1))
	}
	// What is said beforehand counts more, and other hosts are not taken for these.
	generate(t, server, req, at(server, "api.mistral.ai"), func(o *openai.Options) { o.Compat = openai.Compat{CallIDs: "any", Order: "any"} })
	generate(t, server, req, limit, at(server, "api.openai.com.example.org"))
	if server.message(t, 2, 2)["tool_call_id"] != "call_01HXYZ" || server.message(t, 2, 3)["role"] != "user" || server.body(t, 3)["max_tokens"] != 7.0 {
		t.Errorf("sent %v and %v", server.body(t, 2), server.body(t, 3))
	}
}

func TestACompatThatMakesNoSenseIsRefused(t *testing.T) {
	for want, compat := range map[string]openai.Compat{
		`compat reasoning: unknown value "x"; there are tool_turns, never, always`: {Reasoning: "x"},
		`compat call_ids: unknown value "x"`:                                       {CallIDs: "x"},
		`compat system_role: unknown value "x"`:                                    {SystemRole: "x"},
		`compat max_tokens: unknown value "x"`:                                     {MaxTokens: "x"},
		`compat order: unknown value "x"`:                                          {Order: "x"},
		`compat schemas: unknown value "x"`:                                        {Schemas: "x"},
		`compat omit: a request has to have "Messages"`:                            {Omit: []string{"Messages"}},
	} {
		_, err := openai.New(openai.Options{Name: "m", Compat: compat})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestExtraCannotChangeWhatTheLoopReliesOn(t *testing.T) {
	for _, key := range []string{"model", "messages", "tools", "stream", "functions", "function_call", "n", "Messages", "STREAM"} {
		_, err := openai.New(openai.Options{Name: "m", Extra: map[string]any{key: 1}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("extra cannot set %q", key)) {
			t.Errorf("%s: error %v", key, err)
		}
	}
}

func TestExtraIsMergedIntoEachRequest(t *testing.T) {
	server := serve(t, ok)
	extra := map[string]any{"top_k": 5, "reasoning": map[string]any{"effort": "low"}, "stop": []any{"END", "\nObservation"}, "temperature": 0.3}
	zero := 0.0
	c := client(t, server.url, func(o *openai.Options) { o.Extra, o.Temperature = extra, &zero })
	extra["top_k"] = 6 // later changes are not the client's
	req := modeltest.Hello()
	for _, stop := range [][]string{nil, {"\nObservation"}} {
		req.Stop = stop
		if _, err := c.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	body := server.body(t, 0)
	if body["top_k"] != 5.0 || body["temperature"] != 0.3 || !reflect.DeepEqual(body["reasoning"], map[string]any{"effort": "low"}) {
		t.Errorf("body %v", body)
	}
	// What a planner stops at is not lost.
	if diff := cmp.Diff([]any{"END", "\nObservation"}, body["stop"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{"\nObservation", "END"}, server.body(t, 1)["stop"]); diff != "" {
		t.Error(diff)
	}
	server = serve(t, ok)
	req.Stop = []string{"a"}
	generate(t, server, req, func(o *openai.Options) { o.Extra = map[string]any{"stop": "b"} })
	if diff := cmp.Diff([]any{"a", "b"}, server.body(t, 0)["stop"]); diff != "" {
		t.Error(diff)
	}
}

// A model that is asked instead of another one at the same endpoint is given what that
// one signed.
func TestCase26WhatAnotherModelSignedIsLeftOut(t *testing.T) {
	signed := func(sent map[string]any) bool {
		return anyMessage(sent, func(m map[string]any) bool {
			return m["reasoning_details"] != nil || strings.Contains(fmt.Sprint(m), "sig==")
		})
	}
	server := refuses(t, 400, `{"error":{"message":"messages.1: Invalid signature in thinking block"}}`, signed)
	c := call("1", "a")
	c.Extra = json.RawMessage(`{"extra_content":{"google":{"thought_signature":"sig=="}}}`)
	req := turn("openai:"+strings.TrimPrefix(server.url, "http://"), model.Message{
		Extra: json.RawMessage(`{"reasoning_details":[{"signature":"sig=="}]}`), ToolCalls: []model.ToolCall{c},
	}, "r")
	req.Memo = new(model.Memo)
	generate(t, server, req)
	if server.count() != 2 {
		t.Errorf("%d requests", server.count())
	}
	wantSameIDs(t, server, 1, 1)
	// One that is missing is not mended by leaving out the others.
	server = serve(t, status(400, `{"error":{"message":"Function call is missing a thought_signature in functionCall parts."}}`))
	req.Messages[1].Origin = "openai:" + strings.TrimPrefix(server.url, "http://")
	failure(t, server, req)
	if server.count() != 1 {
		t.Errorf("%d requests", server.count())
	}
}
