package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/openai"
)

// picky answers as an endpoint whose template wants its roles in turns: one system
// message at the front, then user and assistant, where an assistant with calls and
// their results belong to the assistant's turn, which it ends with a text before the
// user speaks again.
func picky(w http.ResponseWriter, r *http.Request, body []byte) bool {
	if why := disorder(body); why != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"object":"error","message":%q,"type":"BadRequestError","code":400}`, why)
		return false
	}
	return true
}

type sentMessage struct {
	Role      string
	Content   any
	ToolCalls []any `json:"tool_calls"`
}

func disorder(body []byte) string {
	var sent struct{ Messages []sentMessage }
	if err := json.Unmarshal(body, &sent); err != nil {
		return err.Error()
	}
	before := ""
	for i, m := range sent.Messages {
		switch {
		case m.Role == "system" && i > 0:
			return "System message must be at the beginning."
		case m.Role == "user" && before == "tool":
			return "Unexpected role 'user' after role 'tool'"
		case m.Role == before && m.Role != "tool", m.Role == "assistant" && (before == "" || before == "system"):
			return "Conversation roles must alternate user/assistant/user/assistant/..."
		}
		before = m.Role
	}
	if before != "user" && before != "tool" {
		return "Expected last role User or Tool (or Assistant with prefix True) for serving but got " + before
	}
	return ""
}

// strict serves an endpoint that refuses whatever is out of order.
func strict(t testing.TB) *recorder {
	var r *recorder
	r = serve(t, func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		body := []byte(r.bodies[len(r.bodies)-1])
		r.mu.Unlock()
		if picky(w, req, body) {
			ok(w, req)
		}
	})
	return r
}

func alternate(o *openai.Options) { o.Compat.Order = "alternate" }

// A run of anything that the loop may send is taken by an endpoint that wants turns.
func TestLawStrictEndpointsTakeEveryOrder(t *testing.T) {
	server := strict(t)
	c := client(t, server.url, alternate)
	rapid.Check(t, func(rt *rapid.T) {
		var msgs []model.Message
		for range rapid.IntRange(0, 8).Draw(rt, "n") {
			switch rapid.SampledFrom([]string{"system", "user", "assistant", "step"}).Draw(rt, "kind") {
			case "system":
				msgs = append(msgs, model.Text(model.System, "s"))
			case "user":
				msgs = append(msgs, model.Text(model.User, "u"))
			case "assistant":
				msgs = append(msgs, model.Text(model.Assistant, "a"))
			case "step":
				msgs = append(msgs, model.Message{Role: model.Assistant, Content: model.TextParts("b"), ToolCalls: []model.ToolCall{call("1", ""), call("2", "")}},
					model.Message{Role: model.Tool, CallID: "1", Content: model.TextParts("r")},
					model.Message{Role: model.Tool, CallID: "2", Content: []model.Part{{Type: model.ImagePart, Data: picture(t)}}})
			}
		}
		if _, err := c.Generate(t.Context(), &model.Request{Messages: msgs}, nil); err != nil {
			rt.Fatalf("%+v: %v", msgs, err)
		}
	})
}

func TestRolesTakeTurnsOnceTheEndpointAsksForIt(t *testing.T) {
	server := strict(t)
	c := client(t, server.url)
	msgs := []model.Message{
		model.Text(model.System, "one"), model.Text(model.System, "two"),
		model.Text(model.User, "first"), model.Text(model.User, "second"),
		model.Text(model.Assistant, "let me"),
		{Role: model.Assistant, Content: model.TextParts("look"), ToolCalls: []model.ToolCall{call("1", "w")}},
		{Role: model.Tool, CallID: "1", Content: model.TextParts("r")},
		model.Text(model.System, "be brief"), model.Text(model.User, "well?"),
	}
	before := fmt.Sprint(msgs)
	for range 2 {
		if _, err := c.Generate(t.Context(), &model.Request{Messages: msgs, Memo: new(model.Memo)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if server.count() != 3 {
		t.Errorf("%d requests: the order was not remembered", server.count())
	}
	if fmt.Sprint(msgs) != before {
		t.Error("the conversation itself was changed")
	}
	var got []string
	list, _ := server.body(t, 2)["messages"].([]any)
	for _, m := range list {
		m, _ := m.(map[string]any)
		got = append(got, fmt.Sprintf("%v: %v", m["role"], m["content"]))
	}
	want := []string{"system: one\ntwo", "user: first\nsecond", "assistant: let me\nlook", "tool: r", "assistant: Understood.", "user: be brief\nwell?"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOrderIsLeftAloneWhereNobodyAsks(t *testing.T) {
	server := serve(t, ok)
	generate(t, server, &model.Request{Messages: []model.Message{model.Text(model.User, "a"), model.Text(model.User, "b"), model.Text(model.System, "c")}})
	if list, _ := server.body(t, 0)["messages"].([]any); len(list) != 3 {
		t.Errorf("messages %v", list)
	}
}

func TestAMistakeInAnOrderThatChangesIsToldAtItsPlace(t *testing.T) {
	server := serve(t, ok)
	failed := failure(t, server, &model.Request{Messages: []model.Message{
		model.Text(model.User, "a"), model.Text(model.User, "b"), {Role: model.Assistant, ToolCalls: []model.ToolCall{call("1", "")}}, model.Text(model.User, "c"),
	}}, alternate)
	if !strings.Contains(failed.Message, `message 4 of the conversation: the call "1" has no result`) || server.count() != 0 {
		t.Errorf("error %v", failed)
	}
}
