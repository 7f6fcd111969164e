package openai_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

func TestCase32ErrorBodiesInSevenShapes(t *testing.T) {
	for name, c := range map[string]struct {
		status    int
		body      string
		message   string
		code      string
		param     string
		kind      model.ErrorKind
		retryable bool
	}{
		"object":          {401, `{"error":{"message":"no key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, "no key", "invalid_api_key", "", model.Auth, false},
		"string":          {404, `{"error":"model 'x' not found"}`, "model 'x' not found", "", "", model.Rejected, false},
		"array":           {400, `[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`, "bad", "INVALID_ARGUMENT", "", model.Rejected, false},
		"detail":          {422, `{"detail":[{"loc":["body","tools"],"msg":"extra fields"}]}`, "tools: extra fields", "", "tools", model.Rejected, false},
		"flat":            {400, `{"object":"error","message":"too odd","type":"BadRequestError","code":400}`, "too odd", "BadRequestError", "", model.Rejected, false},
		"page":            {502, "<html><head><style>a{}</style></head>\n<h1>502 Bad Gateway</h1></html>", "502 Bad Gateway", "", "", model.Unreachable, true},
		"nothing":         {503, "", "Service Unavailable", "", "", model.Unreachable, true},
		"detail as words": {403, `{"detail":"not yours"}`, "not yours", "", "", model.Auth, false},
		"wrapped":         {400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"tools are\nbad"}}}`, "Provider returned error: tools are bad", "400", "", model.Rejected, false},
		"list of words":   {400, `{"error":{"message":["a","b"]}}`, "a, b", "", "", model.Rejected, false},
		"no more money":   {429, `{"error":{"message":"pay","code":"insufficient_quota"}}`, "pay", "insufficient_quota", "", model.Rejected, false},
		"other JSON":      {418, `{"tea":true}`, `{"tea":true}`, "", "", model.Rejected, false},
		"busy":            {529, `{"error":{"type":"overloaded_error","message":"busy"}}`, "busy", "overloaded_error", "", model.Unreachable, true},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(t, serve(t, status(c.status, c.body)), modeltest.Hello())
			if failed.Status != c.status || failed.Message != c.message || failed.Code != c.code || failed.Param != c.param ||
				failed.Kind != c.kind || failed.Retryable != c.retryable {
				t.Errorf("error = %+v\nwant %+v", failed, c)
			}
			var cause *api.APIError
			if !errors.As(failed, &cause) || cause.HTTPStatusCode != c.status {
				t.Errorf("cause = %#v", failed.Err)
			}
		})
	}
}

func TestAnAddressThatIsNotThereSaysHowTheyEnd(t *testing.T) {
	const advice = "there is no such address (base_url usually ends in /v1): "
	for body, want := range map[string]string{
		"": advice + "Not Found",
		"<html><h1>404 page not found</h1></html>":                                                    advice + "404 page not found",
		`{"error":{"message":"Invalid URL (POST /chat/completions)","type":"invalid_request_error"}}`: advice + "Invalid URL (POST /chat/completions)",
		`{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`:                  advice + "File Not Found",
		`{"detail":"Not Found"}`: advice + "Not Found",
		`{"error":{"message":"The model ` + "`x`" + ` does not exist","code":"model_not_found"}}`:                  "The model `x` does not exist",
		`{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`: "The API deployment for this resource does not exist.",
		`{"error":{"message":"not here","code":"model_not_found"}}`:                                                "not here",
	} {
		server := serve(t, status(404, body))
		failed := failure(t, server, modeltest.Hello(), attempts(3))
		if failed.Message != want || failed.Kind != model.Rejected || server.count() != 1 {
			t.Errorf("%s: error = %+v after %d requests, want %q", body, failed, server.count(), want)
		}
	}
	if failed := failure(t, serve(t, status(405, "")), modeltest.Hello()); failed.Message != advice+"Method Not Allowed" {
		t.Errorf("error = %+v", failed)
	}
	const key = "sk-abcdefghijklmnopqrstuvwxyz"
	if failed := failure(t, serve(t, status(404, strings.Repeat("x", 505)+" "+key)), modeltest.Hello()); strings.Contains(failed.Message, "sk-abc") || !strings.HasPrefix(failed.Message, advice) {
		t.Errorf("error = %+v", failed)
	}
}

func TestCase34ContextOverflow(t *testing.T) {
	for body, limit := range map[string]int64{
		`{"error":{"code":400,"type":"exceed_context_size_error","message":"too much","n_prompt_tokens":9120,"n_ctx":8192}}`:                                           8192,
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}`: 8192,
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","code":400}`:                             4096,
		`{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","code":"3051"}`:          32768,
		`{"error":{"message":"Invalid request: Your request exceeded model token limit: total message size 300000 exceeds limit 262144"}}`:                             262144,
		`[{"error":{"code":400,"message":"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`:     1048576,
		`{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`:                                                                                   200000,
		`{"error":{"message":"the request exceeds the available context size, try increasing it"}}`:                                                                    0,
	} {
		server := serve(t, status(400, body))
		failed := failure(t, server, modeltest.Hello(), attempts(4))
		if failed.Kind != model.ContextOverflow || failed.Limit != limit || server.count() != 1 {
			t.Errorf("error = %+v after %d requests, want limit %d for %s", failed, server.count(), limit, body)
		}
	}
}

func TestCase37ModelWroteACallTheServerCannotRead(t *testing.T) {
	bad := status(400, `{"error":{"code":"tool_use_failed","message":"Failed to call a function.","failed_generation":"<function=read{\"p\":1}</function>"}}`)
	server := serve(t, bad, bad, ok)
	retries := 0
	reply, err := client(t, server.url, attempts(9)).Generate(t.Context(), offer("read"), func(c model.Chunk) {
		if c.Retry != nil {
			retries++
		}
	})
	if err != nil || reply.Message.Text() != "ok" || retries != 2 {
		t.Fatalf("reply = %+v, error = %v, retries = %d", reply, err, retries)
	}
	if m := server.message(t, 1, -1); m["role"] != "user" || !strings.Contains(m["content"].(string), "could not be read") {
		t.Errorf("the model was told %v", m)
	}

	always := serve(t, bad)
	failed := failure(t, always, offer("read"), attempts(9))
	if always.count() != 3 || failed.Code != "tool_use_failed" || failed.Kind != model.Rejected ||
		failed.Partial != `<function=read{"p":1}</function>` {
		t.Errorf("error = %+v after %d requests", failed, always.count())
	}
}

// learned checks that a refusal is mended once and remembered, and returns the
// second request's body.
func learned(t *testing.T, refusal http.HandlerFunc, change func(*openai.Options)) map[string]any {
	t.Helper()
	server := serve(t, refusal, ok)
	c := client(t, server.url, change)
	for range 2 {
		if _, err := c.Generate(t.Context(), offer("a"), nil); err != nil {
			t.Fatal(err)
		}
	}
	if server.count() != 3 {
		t.Fatalf("%d requests, want one refused and two that went well", server.count())
	}
	return server.body(t, 2)
}

func TestCase44MaxTokensAndTemperature(t *testing.T) {
	refuse := status(400, `{"error":{"code":"unsupported_parameter","param":"max_tokens","message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`)
	body := learned(t, refuse, func(o *openai.Options) { o.MaxOutputTokens = 100 })
	if body["max_completion_tokens"] != 100.0 || body["max_tokens"] != nil {
		t.Errorf("body = %v", body)
	}

	zero := 0.0
	refuse = status(400, `{"error":{"code":"unsupported_value","param":"temperature","message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."}}`)
	body = learned(t, refuse, func(o *openai.Options) { o.Temperature = &zero })
	if _, sent := body["temperature"]; sent {
		t.Errorf("body = %v", body)
	}

	// Neither is sent unless it is configured, and zero is sent as zero.
	server := serve(t, ok)
	generate(t, server, modeltest.Hello())
	generate(t, server, modeltest.Hello(), func(o *openai.Options) { o.Temperature = &zero })
	for _, name := range []string{"temperature", "max_tokens", "max_completion_tokens"} {
		if v, sent := server.body(t, 0)[name]; sent {
			t.Errorf("%s = %v was sent", name, v)
		}
	}
	if got := server.body(t, 1)["temperature"]; got != 0.0 {
		t.Errorf("temperature = %v", got)
	}

	// A wrong value is the caller's to mend, and nothing is sent unchanged.
	wrong := serve(t, status(400, `{"error":{"param":"temperature","message":"temperature must be at most 2"}}`))
	hot := 9.0
	failed := failure(t, wrong, modeltest.Hello(), attempts(4), func(o *openai.Options) { o.Temperature = &hot })
	if failed.Param != "temperature" || wrong.count() != 1 {
		t.Errorf("error = %+v after %d requests", failed, wrong.count())
	}
	// An endpoint that refuses both names ends the attempts.
	both := serve(t, refuse2("max_tokens", "max_completion_tokens"), refuse2("max_completion_tokens", "max_tokens"), ok)
	failure(t, both, modeltest.Hello(), attempts(4), func(o *openai.Options) { o.MaxOutputTokens = 5 })
	if both.count() != 2 {
		t.Errorf("%d requests", both.count())
	}
}

func refuse2(param, other string) http.HandlerFunc {
	return status(400, `{"error":{"code":"unsupported_parameter","param":"`+param+`","message":"Use '`+other+`' instead."}}`)
}

func TestModelNamesAreNotJudged(t *testing.T) {
	for _, name := range []string{"o3de-finetune", "gpt-5-local-distill", "openai/gpt-5", "o1"} {
		server := serve(t, ok)
		zero := 0.0
		generate(t, server, offer("a"), func(o *openai.Options) { o.Name, o.Temperature, o.MaxOutputTokens = name, &zero, 9 })
		if got := server.body(t, 0)["model"]; got != name {
			t.Errorf("model = %v", got)
		}
	}
}

func TestCase47ParallelToolCalls(t *testing.T) {
	for _, refusal := range []string{
		`{"error":{"param":"parallel_tool_calls","message":"Unsupported parameter"}}`,
		`{"detail":[{"type":"extra_forbidden","loc":["body","parallel_tool_calls"],"msg":"Extra inputs are not permitted"}]}`,
	} {
		body := learned(t, status(400, refusal), func(o *openai.Options) {
			o.Extra = map[string]any{"parallel_tool_calls": false, "top_k": 5}
		})
		if _, sent := body["parallel_tool_calls"]; sent || body["top_k"] != 5.0 {
			t.Errorf("body = %v", body)
		}
	}
	server := serve(t, ok)
	generate(t, server, offer("a"))
	if v, sent := server.body(t, 0)["parallel_tool_calls"]; sent {
		t.Errorf("parallel_tool_calls = %v was sent unasked", v)
	}
}

func TestUsageIsAskedForUntilItIsRefused(t *testing.T) {
	server := serve(t, ok)
	generate(t, server, modeltest.Hello())
	options, _ := server.body(t, 0)["stream_options"].(map[string]any)
	if options["include_usage"] != true {
		t.Errorf("stream_options = %v", options)
	}
	for _, refusal := range []string{
		`{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`,
		`{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}`,
		`{"error":{"message":"Unknown parameter: 'stream_options.include_usage'.","param":"stream_options.include_usage"}}`,
	} {
		body := learned(t, status(400, refusal), func(*openai.Options) {})
		if _, sent := body["stream_options"]; sent {
			t.Errorf("body = %v", body)
		}
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	answer := func(name, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(name, value)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	var waits []time.Duration
	ask := func(first http.HandlerFunc) (*model.Reply, error) {
		waits = nil
		return client(t, serve(t, first, ok).url, attempts(2)).Generate(t.Context(), modeltest.Hello(), func(c model.Chunk) {
			if c.Retry != nil {
				waits = append(waits, c.Retry.Wait)
			}
		})
	}
	for _, c := range []struct {
		name, value string
		want, slack time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second, 0},
		{"Retry-After", "0.5", 500 * time.Millisecond, 0},
		{"Retry-After-Ms", "1250", 1250 * time.Millisecond, 0},
		{"Retry-After", time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat), 40 * time.Second, 5 * time.Second},
	} {
		if _, err := ask(answer(c.name, c.value)); err != nil {
			t.Fatal(err)
		}
		if len(waits) != 1 || waits[0] > c.want || waits[0] < c.want-c.slack {
			t.Errorf("waits for %s: %s = %v, want %v", c.name, c.value, waits, c.want)
		}
	}
	_, err := ask(answer("Retry-After", "86400"))
	var failed *model.Error
	if !errors.As(err, &failed) || failed.RetryAfter != 24*time.Hour || len(waits) != 0 {
		t.Errorf("error = %v, waits = %v: a day was waited for", err, waits)
	}
	if _, err := ask(status(429, `[{"error":{"code":429,"message":"quota","details":[{"@type":"RetryInfo","retryDelay":"3s"}]}}]`)); err != nil || waits[0] != 3*time.Second {
		t.Errorf("waits = %v, error = %v", waits, err)
	}
}

func TestOnlyWhatMaySucceedIsRetried(t *testing.T) {
	for code, want := range map[int]int{400: 1, 401: 1, 403: 1, 404: 1, 408: 3, 409: 3, 422: 1, 429: 3, 500: 3, 501: 1, 502: 3, 529: 3} {
		server := serve(t, status(code, ""))
		failed := failure(t, server, modeltest.Hello(), attempts(3))
		if server.count() != want {
			t.Errorf("status %d: %d requests, want %d", code, server.count(), want)
		}
		if failed.Attempts != want {
			t.Errorf("status %d: attempts = %d", code, failed.Attempts)
		}
	}
	reset := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	if reply := generate(t, serve(t, reset, reset, ok), modeltest.Hello(), attempts(3)); reply.Message.Text() != "ok" {
		t.Errorf("reply = %+v", reply)
	}
}

func TestLogHoldsNeitherKeyNorContent(t *testing.T) {
	var log bytes.Buffer
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"error":{"message":"busy, ` + r.Header.Get("Authorization") + `"}}`))
	}
	refuse := status(400, `{"error":{"message":"Unknown parameter: 'stream_options'"}}`)
	req := &model.Request{Messages: []model.Message{model.Text(model.User, "private question")}}
	generate(t, serve(t, busy, refuse, events(delta(`"content":"private answer"`), finish("stop"), done)), req, attempts(3), func(o *openai.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for _, want := range []string{"tried again", "busy", "no stream_options"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in the log:\n%s", want, log.String())
		}
	}
	for _, secret := range []string{testKey, "private"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, log.String())
		}
	}
}

func TestKeyDoesNotFollowARedirect(t *testing.T) {
	thief := serve(t, ok)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.url+"/chat/completions?key=x", http.StatusTemporaryRedirect)
	})
	failed := failure(t, server, modeltest.Hello(), attempts(3))
	if thief.count() != 0 || server.count() != 1 {
		t.Errorf("%d requests arrived elsewhere", thief.count())
	}
	if failed.Kind != model.Rejected || !strings.Contains(failed.Message, "redirects to "+thief.url+":") {
		t.Errorf("error = %v", failed)
	}
}

func TestAuthorizationAndPath(t *testing.T) {
	server := serve(t, ok)
	generate(t, server, modeltest.Hello(), func(o *openai.Options) { o.BaseURL += "/v1/" })
	generate(t, server, modeltest.Hello(), func(o *openai.Options) { o.APIKey = "" })
	if got := server.heads[0].Get("Authorization"); got != "Bearer "+testKey {
		t.Errorf("Authorization = %q", got)
	}
	if _, sent := server.heads[1]["Authorization"]; sent {
		t.Error("an empty key was sent")
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	for want, opts := range map[string]openai.Options{
		"the model has no name":               {},
		"must begin with http:// or https://": {Name: "m", BaseURL: "localhost:8080"},
		"has no host":                         {Name: "m", BaseURL: "http://"},
		"must not hold a user":                {Name: "m", BaseURL: "http://u:secret@h"},
		`extra cannot set "messages"`:         {Name: "m", Extra: map[string]any{"messages": 1}},
		"line break":                          {Name: "m", APIKey: "a\nb"},
		`extra "f"`:                           {Name: "m", Extra: map[string]any{"f": func() {}}},
	} {
		_, err := openai.New(opts)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
}
