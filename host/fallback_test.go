package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

const (
	firstKey  = "key-of-the-first-0123"
	secondKey = "key-of-the-second-456"
)

// chained is a host of a model and its fallbacks.
func chained(t *testing.T, m manifest.Model, log io.Writer) *host.Host {
	t.Helper()
	opts := &host.Options{}
	if log != nil {
		opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	h, err := host.New(t.Context(), &manifest.Manifest{Model: m}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

// leaky fails as a provider that repeats the key it was sent.
func leaky(status int) modeltest.Turn {
	return modeltest.Turn{HTTP: func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"bad key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}}
}

func TestAFallbackAnswersWhenTheFirstModelHasGivenUp(t *testing.T) {
	first := modeltest.Server(t, leaky(503), leaky(503), modeltest.Text("the first again"))
	second := modeltest.Server(t, modeltest.Text("the second"))
	var log bytes.Buffer
	h := chained(t, manifest.Model{
		Name: "a", BaseURL: first.URL, APIKey: firstKey, Retry: manifest.Retry{Attempts: 2, Initial: manifest.Duration(1e6)}, MaxOutputTokens: 11,
		Fallback: []manifest.Fallback{{Name: "b", BaseURL: second.URL, Extra: map[string]any{"seed": 4}}},
	}, &log)
	var retries []run.Retried
	var warnings []string
	output := ""
	for e, err := range h.Run(t.Context(), host.Text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case run.Retried:
			b.WaitMS = 0
			retries = append(retries, b)
		case run.Replied:
			warnings = b.Warnings
		case run.Finished:
			output = b.Output
		}
	}
	why := "HTTP 503: bad key: [redacted]"
	if diff := cmp.Diff([]run.Retried{
		{Attempt: 1, Error: "model: " + why},
		{Attempt: 2, Error: "model: " + why + ", after 2 attempts", Model: "b"},
	}, retries); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b answered, since others gave up: a: " + why + ", after 2 attempts"}, warnings); diff != "" || output != "the second" {
		t.Errorf("output %q, warnings: %s", output, diff)
	}
	if !strings.Contains(log.String(), "level=WARN msg=\"model reply\"") || strings.Contains(log.String(), firstKey) {
		t.Errorf("log: %s", log.String())
	}
	x := second.Exchanges()[0]
	if body := string(x.Body); x.Header.Get("Authorization") != "" || !strings.Contains(body, `"model":"b"`) ||
		!strings.Contains(body, `"seed":4`) || !strings.Contains(body, `"max_tokens":11`) {
		t.Errorf("the second was sent %v %s", x.Header, body)
	}
	// The next run begins with the first.
	end, err := h.Ask(t.Context(), "go")
	if err != nil || end.Output != "the first again" || len(second.Exchanges()) != 1 {
		t.Errorf("the next run: %+v, %v", end, err)
	}
}

func TestWhenEveryModelHasGivenUpTheErrorNamesEachAndNoKey(t *testing.T) {
	first, second := modeltest.Server(t, leaky(401)), modeltest.Server(t, leaky(400))
	h := chained(t, manifest.Model{
		Name: "a", BaseURL: first.URL, APIKey: firstKey,
		Fallback: []manifest.Fallback{{Name: "b", BaseURL: second.URL, APIKey: secondKey}},
	}, nil)
	_, err := h.Ask(t.Context(), "go")
	var failed *host.RunError
	if !errors.As(err, &failed) {
		t.Fatalf("error %v", err)
	}
	want := "model: every model gave up: a: HTTP 401: bad key: [redacted]; b: HTTP 400: bad key: [redacted]"
	if failed.Failure.Kind != string(model.Auth) || failed.Failure.Message != want {
		t.Errorf("failure %+v\nwant %s", failed.Failure, want)
	}
	if got := second.Exchanges()[0].Header.Get("Authorization"); got != "Bearer "+secondKey {
		t.Errorf("the second was sent the key %q", got)
	}
}

func TestWhatABrokenStreamCostCounts(t *testing.T) {
	first, second := modeltest.Server(t, modeltest.Break("one two three four five six")), modeltest.Server(t, modeltest.Text("ok"))
	h := chained(t, manifest.Model{
		Name: "a", BaseURL: first.URL, Retry: manifest.Retry{Attempts: 1},
		Fallback: []manifest.Fallback{{Name: "b", BaseURL: second.URL}},
	}, nil)
	end, err := h.Ask(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if u := end.Result.TokenUsage; u.TotalTokens <= 15 || !u.Estimated || end.Result.ContextTokens != 15 {
		t.Errorf("usage %+v, context %d", u, end.Result.ContextTokens)
	}
	// A run that fails counts it too.
	first = modeltest.Server(t, modeltest.Break("one two three four five six"))
	h = chained(t, manifest.Model{Name: "a", BaseURL: first.URL, Retry: manifest.Retry{Attempts: 1}}, nil)
	var failed *host.RunError
	if _, err := h.Ask(t.Context(), "go"); !errors.As(err, &failed) || failed.Result.TokenUsage.TotalTokens == 0 {
		t.Errorf("error %v, result %+v", err, failed)
	}
}

// signed is a provider's reply with a call and a member that is for its model alone.
func signed(model string) modeltest.Turn {
	return modeltest.Turn{HTTP: func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","reasoning_details":[{"signature":"of %s"}],`+
			`"tool_calls":[{"id":"c","type":"function","function":{"name":"nope","arguments":"{}"}}]}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, model)
	}}
}

func TestWhatAModelSignedGoesBackToItselfAlone(t *testing.T) {
	// First a, then b because a is down, then both again: they have one address.
	end := modeltest.Server(t, signed("a"), leaky(401), signed("b"), leaky(401), modeltest.Text("ok"))
	h := chained(t, manifest.Model{Name: "a", BaseURL: end.URL, Fallback: []manifest.Fallback{{Name: "b"}}}, nil)
	if _, err := h.Ask(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]string{1: "of a", 2: "", 3: "of a", 4: "of b"} {
		body := string(end.Exchanges()[i].Body)
		for _, by := range []string{"of a", "of b"} {
			if strings.Contains(body, by) != (by == want) {
				t.Errorf("request %d: %s", i+1, body)
			}
		}
	}
}

func TestAFallbackCostsByItsOwnPrices(t *testing.T) {
	for want, prices := range map[float64]manifest.Prices{
		10e-6 + 2*5e-6:     {}, // as the first model's
		3*10e-6 + 100*5e-6: {Input: 3, Output: 100},
	} {
		first, second := modeltest.Server(t, leaky(401)), modeltest.Server(t, modeltest.Text("ok"))
		h := chained(t, manifest.Model{
			Name: "a", BaseURL: first.URL, Prices: manifest.Prices{Input: 1, Output: 2},
			Fallback: []manifest.Fallback{{Name: "b", BaseURL: second.URL, Prices: prices}},
		}, nil)
		end, err := h.Ask(t.Context(), "go")
		if err != nil || math.Abs(end.Result.Cost-want) > 1e-9 {
			t.Errorf("%+v: cost %v, want %v, %v", prices, end.Result.Cost, want, err)
		}
	}
}

// Each attempt costs what its own model does: one that broke off and whose fallback
// answered, and all when none did.
func TestEachAttemptCostsByItsOwnPrices(t *testing.T) {
	cheap, dear := manifest.Prices{Input: 1, Output: 2}, manifest.Prices{Input: 300, Output: 5000}
	const words = "one two three four five six"
	alone := func() float64 { // what the first costs that breaks off
		end := modeltest.Server(t, modeltest.Break(words))
		h := chained(t, manifest.Model{Name: "a", BaseURL: end.URL, Prices: cheap, Retry: manifest.Retry{Attempts: 1}}, nil)
		var failed *host.RunError
		if _, err := h.Ask(t.Context(), "go"); !errors.As(err, &failed) || failed.Result.Cost == 0 {
			t.Fatalf("%v", err)
		}
		return failed.Result.Cost
	}()
	for name, c := range map[string]struct {
		second modeltest.Turn
		more   float64
	}{
		"the fallback answers": {modeltest.Text("ok"), 10*300e-6 + 5*5000e-6},
		"it breaks off too":    {modeltest.Break(words), -1}, // its tokens are those of the first
	} {
		first, second := modeltest.Server(t, modeltest.Break(words)), modeltest.Server(t, c.second)
		h := chained(t, manifest.Model{
			Name: "a", BaseURL: first.URL, Prices: cheap, Retry: manifest.Retry{Attempts: 1},
			Fallback: []manifest.Fallback{{Name: "b", BaseURL: second.URL, Prices: dear}},
		}, nil)
		end, err := h.Ask(t.Context(), "go")
		got := end.Result
		var failed *host.RunError
		if errors.As(err, &failed) {
			got = failed.Result
		}
		want := alone + c.more
		if c.more < 0 {
			u := got.TokenUsage // of two attempts alike
			want = alone + (float64(u.PromptTokens)*dear.Input+float64(u.CompletionTokens)*dear.Output)/2e6
		}
		if got == nil || math.Abs(got.Cost-want) > 1e-9 {
			t.Errorf("%s: cost %v, want %v", name, got.Cost, want)
		}
	}
}

// What the manifest can say of an endpoint, its client understands.
func TestEveryCompatSwitchReachesTheClient(t *testing.T) {
	for _, c := range []manifest.Compat{
		{Reasoning: "tool_turns"},
		{Reasoning: "never"},
		{Reasoning: "always"},
		{CallIDs: "any"},
		{CallIDs: "short"},
		{SystemRole: "system"},
		{SystemRole: "developer"},
		{SystemRole: "user"},
		{MaxTokens: "max_tokens"},
		{MaxTokens: "max_completion_tokens"},
		{Order: "any"},
		{Order: "alternate"},
		{Schemas: "full"},
		{Schemas: "plain"},
		{Images: new(false), Files: new(false)},
		{Omit: []string{"max_tokens"}},
	} {
		end := modeltest.Server(t, modeltest.Text("ok"))
		h := chained(t, manifest.Model{Name: "a", BaseURL: end.URL, MaxOutputTokens: 3, Compat: c}, nil)
		in := host.Input{Messages: []model.Message{
			model.Text(model.System, "s"),
			{Role: model.User, Content: []model.Part{{Type: model.ImagePart, MIME: "image/png", Data: []byte("x")}}},
		}}
		for e, err := range h.Run(t.Context(), in) {
			if f, failed := e.Body.(run.Failed); err != nil || failed {
				t.Errorf("%+v: %v %+v", c, err, f)
			}
		}
		body := string(end.Exchanges()[0].Body)
		for _, one := range []struct {
			said bool
			want string
		}{
			{c.SystemRole == "developer", `"role":"developer"`},
			{c.SystemRole == "user", `"role":"user"`},
			{c.SystemRole == "", `"role":"system"`},
			{c.MaxTokens == "max_completion_tokens", `"max_completion_tokens":3`},
			{c.MaxTokens == "max_tokens", `"max_tokens":3`},
			{c.Images != nil, "not shown: the endpoint takes no images"},
			{c.Images == nil, "image_url"},
		} {
			if one.said && !strings.Contains(body, one.want) {
				t.Errorf("%+v: no %s in %s", c, one.want, body)
			}
		}
		if len(c.Omit) > 0 && strings.Contains(body, "max_tokens") {
			t.Errorf("%+v: %s", c, body)
		}
	}
}
