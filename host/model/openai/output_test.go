package openai_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

// wanted is a request for output of a schema, and for the call of one tool.
func wanted() *model.Request {
	req := offer("fs.read", "other")
	req.ToolChoice = "fs.read"
	req.Output = &model.OutputSchema{Name: "output", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Strict: true}
	return req
}

func TestASchemaAndAForcedToolGoOverTheWire(t *testing.T) {
	server := serve(t, events(delta(`"content":"{}"`), finish("stop"), "data: [DONE]"))
	generate(t, server, wanted())
	body := server.body(t, 0)
	format := map[string]any{"type": "json_schema", "json_schema": map[string]any{
		"name": "output", "strict": true,
		"schema": map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "integer"}}},
	}}
	if d := cmp.Diff(any(format), body["response_format"]); d != "" {
		t.Error(d)
	}
	choice := map[string]any{"type": "function", "function": map[string]any{"name": "fs_read"}}
	if d := cmp.Diff(any(choice), body["tool_choice"]); d != "" {
		t.Error(d)
	}
}

// A tool that is not on offer cannot be forced, and without a wish nothing is sent.
func TestNothingIsForcedThatWasNotAskedFor(t *testing.T) {
	for _, choice := range []string{"", "gone"} {
		for _, req := range []*model.Request{modeltest.Hello(), offer("read")} {
			server := serve(t, events(delta(`"content":"hi"`), finish("stop"), "data: [DONE]"))
			req.ToolChoice = choice
			generate(t, server, req)
			for _, member := range []string{"tool_choice", "response_format"} {
				if v, ok := server.body(t, 0)[member]; ok {
					t.Errorf("choice %q: %s is sent: %v", choice, member, v)
				}
			}
		}
	}
}

// A schema is never left out in silence: the caller learns that it was refused, at
// once the second time, and other requests are not touched.
func TestARefusedSchemaIsTheCallersToReplace(t *testing.T) {
	for name, body := range map[string]string{
		"by its name":  `{"error":{"message":"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.","param":"response_format"}}`,
		"by a place":   `{"detail":[{"loc":["body","response_format","type"],"msg":"Input should be 'text' or 'json_object'"}]}`,
		"in words":     `{"error":{"message":"This model does not support response format json_schema"}}`,
		"with tools":   `{"error":{"message":"Function calling with a response mime type: 'application/json' is unsupported"}}`,
		"for its form": `{"error":{"message":"Invalid schema for response_format 'output': 'x' is not permitted.","param":"response_format"}}`,
	} {
		server := serve(t, status(400, body), events(delta(`"content":"hi"`), finish("stop"), "data: [DONE]"))
		c := client(t, server.url, attempts(3))
		for range 2 {
			_, err := c.Generate(t.Context(), wanted(), nil)
			var failed *model.Error
			if !errors.Is(err, model.ErrOutputSchema) || !errors.As(err, &failed) || failed.Kind != model.Rejected || failed.Retryable {
				t.Errorf("%s: error is %v", name, err)
			}
			if server.count() != 1 {
				t.Errorf("%s: %d requests", name, server.count())
			}
		}
		if reply, err := c.Generate(t.Context(), modeltest.Hello(), nil); err != nil || reply.Message.Text() != "hi" {
			t.Errorf("%s: %v, %v", name, reply, err)
		}
	}
	// What is about something else is told as it is.
	failed := failure(t, serve(t, status(400, `{"error":{"message":"the model is asleep"}}`)), wanted())
	if errors.Is(failed, model.ErrOutputSchema) || failed.Message != "the model is asleep" {
		t.Errorf("error is %v", failed)
	}
	// Who asked for no schema is told as well.
	failed = failure(t, serve(t, status(400, `{"error":{"message":"bad response_format"}}`)), modeltest.Hello())
	if errors.Is(failed, model.ErrOutputSchema) {
		t.Errorf("error is %v", failed)
	}
}

func TestAnEndpointThatForcesNoToolIsAskedWithout(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"Unsupported parameter: 'tool_choice'","param":"tool_choice"}}`,
		`{"error":{"message":"deepseek-reasoner does not support this tool_choice"}}`,
		`{"error":{"message":"tool_choice 'specified' is incompatible with thinking enabled"}}`,
		`{"error":{"message":"Input should be 'auto' or 'none'","param":"tool_choice"}}`,
	} {
		server := serve(t, status(400, body), events(delta(`"content":"hi"`), finish("stop"), "data: [DONE]"))
		req := wanted()
		req.Output = nil
		reply := generate(t, server, req)
		if _, ok := server.body(t, 1)["tool_choice"]; ok || server.body(t, 1)["tools"] == nil {
			t.Errorf("request 2 is %v", server.body(t, 1))
		}
		wantWarning(t, reply, "tool_choice")
	}
	// Who forced none has nothing that could be left out.
	server := serve(t, status(400, `{"error":{"message":"bad tool_choice"}}`))
	if failed := failure(t, server, offer("read")); server.count() != 1 || failed.Kind != model.Rejected {
		t.Errorf("%d requests, %v", server.count(), failed)
	}
}

func TestOnlyTheOfficialEndpointIsKnownToTakeSchemas(t *testing.T) {
	for url, want := range map[string]bool{"": true, "https://api.openai.com/v1": true, "http://127.0.0.1:1/v1": false, "https://api.openai.com.example.org": false} {
		if got := client(t, url).TakesOutputSchemas(); got != want {
			t.Errorf("%q: %v", url, got)
		}
	}
}
