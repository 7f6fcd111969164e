package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testKey = "sk-test-0123456789abcdef"

// client opens a client of base that makes one attempt and does not wait.
func client(t testing.TB, base string, change ...func(*openai.Options)) *openai.Client {
	t.Helper()
	opts := openai.Options{
		Name: "m", BaseURL: base, APIKey: testKey, Stream: true,
		Retry: model.Backoff{Attempts: 1, Sleep: func(context.Context, time.Duration) error { return nil }},
	}
	for _, f := range change {
		f(&opts)
	}
	c, err := openai.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func attempts(n int) func(*openai.Options) {
	return func(o *openai.Options) { o.Retry.Attempts = n }
}

func whole(o *openai.Options) { o.Stream = false }

// recorder is a server that answers with handlers in turn, the last one again
// and again, and keeps what it was sent.
type recorder struct {
	url string

	mu     sync.Mutex
	bodies []string
	heads  []http.Header
}

func serve(t testing.TB, answers ...http.HandlerFunc) *recorder {
	t.Helper()
	r := new(recorder)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Errorf("read request: %v", err)
		}
		r.mu.Lock()
		n := min(len(r.bodies), len(answers)-1)
		r.bodies = append(r.bodies, string(body))
		r.heads = append(r.heads, req.Header.Clone())
		r.mu.Unlock()
		if !json.Valid(body) {
			t.Errorf("the request is not JSON: %s", body)
		}
		answers[n](w, req)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.url = server.URL
	return r
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.bodies)
}

// body returns request n, from 0.
func (r *recorder) body(t testing.TB, n int) map[string]any {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if n >= len(r.bodies) {
		t.Fatalf("there is no request %d: %d were made", n, len(r.bodies))
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(r.bodies[n]), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// message returns message i of request n; a negative i counts from the end.
func (r *recorder) message(t testing.TB, n, i int) map[string]any {
	t.Helper()
	list, _ := r.body(t, n)["messages"].([]any)
	if i < 0 {
		i += len(list)
	}
	m, _ := list[i].(map[string]any)
	return m
}

// events answers with lines as a stream. Each line is followed by an empty one;
// one that begins with { is put behind data:.
func events(lines ...string) http.HandlerFunc {
	var b strings.Builder
	for _, l := range lines {
		if strings.HasPrefix(l, "{") {
			l = "data: " + l
		}
		b.WriteString(l + "\n\n")
	}
	return raw("text/event-stream", b.String())
}

func raw(media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		io.WriteString(w, body)
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// delta is a chunk with one delta.
func delta(members string) string {
	return `{"id":"x","choices":[{"index":0,"delta":{` + members + `},"finish_reason":null}]}`
}

func calls(list string) string { return delta(`"tool_calls":[` + list + `]`) }

// args is a chunk with a piece of arguments for the call with an index.
func args(index int, piece string) string {
	return calls(fmt.Sprintf(`{"index":%d,"function":{"arguments":%q}}`, index, piece))
}

func finish(reason string) string {
	return `{"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`
}

const done = "data: [DONE]"

// message is a complete reply that is not streamed.
func message(members, reason string) string {
	return `{"id":"x","choices":[{"index":0,"message":{"role":"assistant",` + members + `},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`
}

var ok = events(delta(`"content":"ok"`), finish("stop"), done)

func offer(names ...string) *model.Request {
	req := modeltest.Hello()
	for _, n := range names {
		req.Tools = append(req.Tools, model.Definition{Name: n, Parameters: json.RawMessage(`{"type":"object","properties":{}}`)})
	}
	return req
}

// generate asks the server once, streamed.
func generate(t testing.TB, r *recorder, req *model.Request, change ...func(*openai.Options)) *model.Reply {
	t.Helper()
	reply, err := client(t, r.url, change...).Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return reply
}

// failure asks the server and returns the error it must give.
func failure(t testing.TB, r *recorder, req *model.Request, change ...func(*openai.Options)) *model.Error {
	t.Helper()
	reply, err := client(t, r.url, change...).Generate(t.Context(), req, nil)
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("reply = %+v, error = %v, want a *model.Error", reply, err)
	}
	return failed
}

// wantCalls checks names and arguments, written as "name {…}".
func wantCalls(t testing.TB, reply *model.Reply, want ...string) {
	t.Helper()
	var got []string
	for _, c := range reply.Message.ToolCalls {
		s := c.Name + " " + string(c.Arguments)
		if c.Invalid != nil {
			s += " invalid"
		}
		got = append(got, s)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func wantWarning(t testing.TB, reply *model.Reply, part string) {
	t.Helper()
	if !strings.Contains(strings.Join(reply.Warnings, "\n"), part) {
		t.Errorf("warnings = %q, want one with %q", reply.Warnings, part)
	}
}

// turn is a conversation in which a call was answered.
func turn(origin string, assistant model.Message, result string) *model.Request {
	assistant.Role, assistant.Origin = model.Assistant, origin
	return &model.Request{Messages: []model.Message{
		model.Text(model.User, "go"), assistant,
		{Role: model.Tool, CallID: assistant.ToolCalls[0].ID, Name: assistant.ToolCalls[0].Name, Content: model.TextParts(result)},
	}}
}

func call(id, wire string) model.ToolCall {
	return model.ToolCall{ID: id, WireID: wire, Name: "read", Arguments: json.RawMessage(`{}`)}
}

func open(stream bool) modeltest.Factory {
	return func(t testing.TB, turns ...modeltest.Turn) model.Model {
		return client(t, modeltest.Server(t, turns...).URL, func(o *openai.Options) { o.Stream = stream })
	}
}

func TestStreamingClientIsAModel(t *testing.T) {
	modeltest.Run(t, open(true))
	modeltest.RunFailures(t, open(true))
}

func TestWholeClientIsAModel(t *testing.T) {
	modeltest.Run(t, open(false))
	modeltest.RunFailures(t, open(false))
}
