package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

func TestCase16KeepAliveComments(t *testing.T) {
	body := strings.Repeat(": OPENROUTER PROCESSING\n\n", 2000) + "data: : OPENROUTER PROCESSING\n\n" +
		"data: " + delta(`"content":"hi"`) + "\n\n" + ": again\n" + "data: " + finish("stop") + "\n\ndata: [DONE]\n\n"
	reply := generate(t, serve(t, raw("text/event-stream", body)), modeltest.Hello())
	if reply.Message.Text() != "hi" {
		t.Errorf("text = %q", reply.Message.Text())
	}
}

func TestCase16KeepAlivesAloneAreNoLifeForEver(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			fmt.Fprint(w, ": still here\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	})
	failed := failure(t, server, modeltest.Hello(), func(o *openai.Options) { o.IdleTimeout = 200 * time.Millisecond }) // 40 ticks: a busy machine is no silence
	if failed.Kind != model.Stream || !strings.Contains(failed.Message, "keep-alives") {
		t.Errorf("error = %v", failed)
	}
}

func TestCase17ErrorAfterACommentOrEventLine(t *testing.T) {
	for name, c := range map[string]struct {
		stream    http.HandlerFunc
		message   string
		kind      model.ErrorKind
		retryable bool
	}{
		"after a comment": {
			events(": OPENROUTER PROCESSING", `{"error":{"message":"upstream overloaded","code":502}}`),
			"upstream overloaded", model.Unreachable, true,
		},
		"after an event line": {
			events("event: error\ndata: {\"error\":{\"message\":\"bad key\",\"code\":401}}"), "bad key", model.Auth, false,
		},
		"flat, named by its event": {
			events("event: error\ndata: {\"message\":\"no such model\",\"code\":404}"), "no such model", model.Rejected, false,
		},
		"a string": {events(`{"error":"boom"}`), "boom", model.Stream, true},
		"in the middle": {
			events(delta(`"content":"so far"`), `{"error":{"message":"gone","code":"503"},"choices":[]}`), "gone", model.Unreachable, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(t, serve(t, c.stream), modeltest.Hello())
			if failed.Message != c.message || failed.Kind != c.kind || failed.Retryable != c.retryable {
				t.Errorf("error = %+v", failed)
			}
		})
	}
}

func TestCase19LastLineWithoutNewline(t *testing.T) {
	last := raw("text/event-stream", "data: "+delta(`"content":"hi"`)+"\n\ndata: "+finish("stop"))
	if reply := generate(t, serve(t, last), modeltest.Hello()); reply.Message.Text() != "hi" || reply.Usage.PromptTokens != 9 {
		t.Errorf("reply = %+v", reply)
	}
	for name, c := range map[string]struct{ media, body, want string }{
		"error event":       {"text/event-stream", `data: {"error":{"message":"quota"}}`, "quota"},
		"bare error":        {"text/event-stream", `{"error":{"message":"quota"}}`, "quota"},
		"page":              {"text/html", "<html><body>Bad gateway</body></html>", "not JSON"},
		"page as events":    {"text/event-stream", "<html>sorry</html>", "not JSON"},
		"words":             {"text/event-stream", "upstream is gone", "upstream is gone"},
		"nothing":           {"text/event-stream", "", "empty"},
		"no chunks":         {"text/event-stream", ": hello\n\n", "without a reply"},
		"done at once":      {"text/event-stream", "data: [DONE]\n\n", "no choices"},
		"cut in a chunk":    {"text/event-stream", "data: " + delta(`"content":"hi"`) + "\n\ndata: {\"choi", "not JSON"},
		"cut after a chunk": {"text/event-stream", "data: " + delta(`"content":"hi"`) + "\n\n", "without a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(t, serve(t, raw(c.media, c.body)), modeltest.Hello())
			if !strings.Contains(failed.Message, c.want) || !failed.Retryable {
				t.Errorf("error = %+v, want %q", failed, c.want)
			}
		})
	}
	answer := raw("application/json", message(`"content":"whole"`, "stop"))
	if reply := generate(t, serve(t, answer), modeltest.Hello()); reply.Message.Text() != "whole" {
		t.Errorf("a whole reply to a streaming request = %+v", reply)
	}
}

func TestCase20OddFraming(t *testing.T) {
	stream := "event: ping\ndata:\n\nid: 7\nretry: 10\nunknown\n" +
		"data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"hi\"}}]}\n\n" +
		"data:" + finish("stop") + "\n\ndata: [DONE]\n\n"
	for name, body := range map[string]string{
		"LF":          stream,
		"CRLF":        strings.ReplaceAll(stream, "\n", "\r\n"),
		"CR":          strings.ReplaceAll(stream, "\n", "\r"),
		"mark":        "\xef\xbb\xbf" + stream,
		"blank first": "\r\n\r\n" + stream,
		"as text":     stream,
	} {
		t.Run(name, func(t *testing.T) {
			media := "text/event-stream"
			if name == "as text" {
				media = "text/plain"
			}
			if reply := generate(t, serve(t, raw(media, body)), modeltest.Hello()); reply.Message.Text() != "hi" {
				t.Errorf("text = %q", reply.Message.Text())
			}
		})
	}
}

// goodStream has text, reasoning and two calls.
const goodStream = ": hi\r\n\r\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm ü\",\"content\":\"né\"}}]}\n\n" +
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"a\",\"arguments\":\"{\"}}]}}]}\n\n" +
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"}\"}},{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}}]}\r\n\r\n" +
	"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n"

func TestStreamCutAtEachByteReadsTheSame(t *testing.T) {
	want := generate(t, serve(t, raw("text/event-stream", goodStream)), offer("a"))
	wantCalls(t, want, "a {}", "a {}")
	cut := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, goodStream[:cut])
		w.(http.Flusher).Flush()
		io.WriteString(w, goodStream[cut:])
	})
	c := client(t, server.url)
	for cut = range goodStream {
		got, err := c.Generate(t.Context(), offer("a"), nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if diff := cmp.Diff(want.Message.ToolCalls, got.Message.ToolCalls); diff != "" || got.Message.Text() != want.Message.Text() {
			t.Fatalf("cut at %d (-want +got):\n%s", cut, diff)
		}
	}
}

func TestStreamThatEndsEarlyIsNoReply(t *testing.T) {
	complete := strings.LastIndex(goodStream, "data: [DONE]") - len("\n\n")
	length := 0
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, goodStream[:length])
	})
	c := client(t, server.url)
	for length = range complete {
		reply, err := c.Generate(t.Context(), offer("a"), nil)
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Kind != model.Stream {
			t.Fatalf("cut at %d: reply %+v, error %v", length, reply, err)
		}
	}
}

func TestCase22EmptyChoicesAndNoDelta(t *testing.T) {
	stream := events(
		`{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`,
		delta(`"content":"hi"`),
		`{"choices":[{"index":0,"finish_reason":null,"content_filter_offsets":{}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"another answer"}}]}`,
		finish("stop"), `{"choices":null,"usage":null}`, done,
	)
	reply := generate(t, serve(t, stream), modeltest.Hello())
	if reply.Message.Text() != "hi" || reply.Message.Role != model.Assistant {
		t.Errorf("reply = %+v", reply)
	}
}

func TestCase23Usage(t *testing.T) {
	chunk := func(usage string) string { return `{"choices":[{"delta":{"content":"x"}}],"usage":` + usage + `}` }
	end := `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		chunks []string
		want   model.Usage
	}{
		"cumulative": {
			[]string{chunk(`{"prompt_tokens":48,"completion_tokens":1}`), chunk(`{"prompt_tokens":48,"completion_tokens":2}`), chunk(`null`), end},
			model.Usage{PromptTokens: 48, CompletionTokens: 2, TotalTokens: 50},
		},
		"floats and strings": {
			[]string{chunk(`{"prompt_tokens":48.0,"completion_tokens":"2","total_tokens":5e1}`), end},
			model.Usage{PromptTokens: 48, CompletionTokens: 2, TotalTokens: 50},
		},
		"details": {
			[]string{chunk(`{"prompt_tokens":48,"completion_tokens":20,"total_tokens":70,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens_details":{"reasoning_tokens":12}}`), end},
			model.Usage{PromptTokens: 48, CompletionTokens: 20, TotalTokens: 70, CachedTokens: 40, ReasoningTokens: 12},
		},
		"after the choices": {
			[]string{chunk(`null`), end, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`},
			model.Usage{PromptTokens: 3, CompletionTokens: 1, TotalTokens: 4},
		},
		// "hello" and "x": 5 characters are 2 tokens, 1 is 1, and 4 for each message.
		"zero":     {[]string{chunk(`{"prompt_tokens":0,"completion_tokens":0}`), end}, model.Usage{PromptTokens: 6, CompletionTokens: 5, TotalTokens: 11, Estimated: true}},
		"missing":  {[]string{chunk(`null`), end}, model.Usage{PromptTokens: 6, CompletionTokens: 5, TotalTokens: 11, Estimated: true}},
		"nonsense": {[]string{chunk(`{"prompt_tokens":-5,"completion_tokens":[1]}`), end}, model.Usage{PromptTokens: 6, CompletionTokens: 5, TotalTokens: 11, Estimated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			reply := generate(t, serve(t, events(append(c.chunks, done)...)), modeltest.Hello())
			if diff := cmp.Diff(c.want, reply.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
	odd := events(`{"id":7,"created":1.5,"choices":[{"index":"0","delta":{"tool_calls":[{"index":"0","id":3,"function":{"name":"a","arguments":"{}"}}]}}]}`, finish("tool_calls"), done)
	wantCalls(t, generate(t, serve(t, odd), offer("a")), "a {}")
}

func TestCase50StalledStreamIsEnded(t *testing.T) {
	stall := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\n", delta(`"content":"hi"`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	server := serve(t, stall, stall, ok)
	var said []string
	var waits int
	c := client(t, server.url, attempts(3), func(o *openai.Options) { o.IdleTimeout = 30 * time.Millisecond })
	reply, err := c.Generate(t.Context(), modeltest.Hello(), func(c model.Chunk) {
		if c.Retry != nil {
			waits++
			said = nil
			return
		}
		said = append(said, c.Text)
	})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Message.Text() != "ok" || strings.Join(said, "") != "ok" || waits != 2 {
		t.Errorf("reply = %q, said = %q, retries = %d", reply.Message.Text(), said, waits)
	}
	failed := failure(t, serve(t, stall), modeltest.Hello(), func(o *openai.Options) { o.IdleTimeout = 30 * time.Millisecond })
	if failed.Kind != model.Stream || failed.Partial != "hi" || !strings.Contains(failed.Message, "idle timeout") {
		t.Errorf("error = %+v", failed)
	}
}

func TestCase50HealthyStreamOutlivesTheIdleTimeout(t *testing.T) {
	slow := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range 20 { // together longer than the idle timeout
			fmt.Fprintf(w, "data: %s\n\n", delta(`"content":"x"`))
			w.(http.Flusher).Flush()
			<-tick.C
		}
		fmt.Fprintf(w, "data: %s\n\n", finish("stop"))
	}
	reply := generate(t, serve(t, slow), modeltest.Hello(), func(o *openai.Options) { o.IdleTimeout = 300 * time.Millisecond })
	if got := reply.Message.Text(); got != strings.Repeat("x", 20) {
		t.Errorf("text = %q", got)
	}
}

func TestTimeoutBoundsTheWholeAttempt(t *testing.T) {
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	failed := failure(t, server, modeltest.Hello(), func(o *openai.Options) { o.Timeout = 40 * time.Millisecond })
	if failed.Kind != model.Unreachable || !failed.Retryable {
		t.Errorf("error = %+v", failed)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var conns atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok(w, r)
		w.(http.Flusher).Flush()
		<-time.After(5 * time.Millisecond) // the end of the body comes a moment after the end mark
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c := client(t, server.URL)
	for range 5 {
		if _, err := c.Generate(t.Context(), modeltest.Hello(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("5 calls took %d connections", n)
	}
}

func TestReplyIsKeptWhenTheServerHoldsTheLine(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		ok(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	if reply := generate(t, server, modeltest.Hello()); reply.Message.Text() != "ok" {
		t.Errorf("reply = %+v", reply)
	}
}

func TestBreakAfterTheReasonKeepsTheReply(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: %s\n\n", delta(`"content":"all"`), finish("stop"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	reply := generate(t, server, modeltest.Hello())
	if reply.Message.Text() != "all" {
		t.Errorf("reply = %+v", reply)
	}
	wantWarning(t, reply, "after the reply was complete")
}

func TestCancelEndsTheWaitBetweenAttempts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, status(503, ""))
	c := client(t, server.url, attempts(4), func(o *openai.Options) {
		o.Retry.Sleep, o.Retry.Initial, o.Retry.Max = nil, time.Hour, time.Hour
	})
	_, err := c.Generate(ctx, modeltest.Hello(), func(c model.Chunk) {
		if c.Retry != nil {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || server.count() != 1 {
		t.Errorf("error = %v after %d requests", err, server.count())
	}
}

func TestReplyIsBounded(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		chunk := "data: " + delta(`"content":""`) + strings.Repeat(" ", 1<<20) + "\n\n"
		for range 40 {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	failed := failure(t, server, modeltest.Hello(), attempts(3))
	if failed.Kind != model.Stream || server.count() != 1 || !strings.Contains(failed.Message, "32 MiB") {
		t.Errorf("error = %+v after %d requests", failed, server.count())
	}
}

func TestALongThoughtIsPutTogetherInTime(t *testing.T) {
	// Putting each piece to all before it would take the square of them: a minute
	// and more. It takes some tenths of a second.
	const pieces, longest = 30_000, 10 * time.Second
	word := "a word "
	for name, piece := range map[string]string{
		"content":           `"content":[{"type":"thinking","thinking":[{"type":"text","text":"` + word + `"}]}]`,
		"reasoning details": `"reasoning_details":[{"type":"reasoning.text","index":0,"text":"` + word + `"}]`,
	} {
		body := strings.Repeat("data: "+delta(piece)+"\n\n", pieces) + "data: " + delta(`"content":"4"`) + "\n\ndata: " + finish("stop") + "\n\n"
		start := time.Now()
		reply := generate(t, serve(t, raw("text/event-stream", body)), modeltest.Hello())
		if took := time.Since(start); took > longest {
			t.Errorf("%s: took %v", name, took)
		}
		if n := strings.Count(string(reply.Message.Extra), word); n != pieces || reply.Message.Text() != "4" {
			t.Errorf("%s: %d pieces are kept", name, n)
		}
		t.Log(name, time.Since(start))
	}
}
