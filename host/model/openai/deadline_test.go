package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
)

// closing answers with a part of a body that ends in good form once the request
// is over. That is what net/http makes of a server which sees the connection
// close and ends its chunks before the socket is gone; over a socket it happens
// once in some thousand times.
type closing struct {
	status int
	part   string
}

func (c closing) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	body := io.MultiReader(strings.NewReader(c.part), readerFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, io.EOF
	}))
	return &http.Response{
		StatusCode: c.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: io.NopCloser(body), ContentLength: -1, Request: r,
	}, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestABodyThatEndsAtTheDeadlineIsNotWhole(t *testing.T) {
	const short = 30 * time.Millisecond
	for _, c := range []struct {
		stream        bool
		timeout, idle time.Duration
		limit         string
	}{
		{true, short, time.Minute, "the attempt took longer than its timeout"},
		{false, short, time.Minute, "the attempt took longer than its timeout"},
		{true, time.Minute, short, "nothing arrived for the idle timeout"},
		{false, time.Minute, short, "nothing arrived for the idle timeout"},
	} {
		limit := c.limit
		change := func(o *openai.Options) { o.Stream, o.Timeout, o.IdleTimeout = c.stream, c.timeout, c.idle }
		ask := func(code int, part string) (*model.Reply, *model.Error) {
			t.Helper()
			c := client(t, "http://model.invalid", change, func(o *openai.Options) {
				o.HTTPClient = &http.Client{Transport: closing{code, part}}
			})
			reply, err := c.Generate(t.Context(), modeltest.Hello(), nil)
			failed, _ := err.(*model.Error)
			if (err == nil) == (failed != nil) {
				t.Fatalf("error = %v", err)
			}
			return reply, failed
		}
		answer := message(`"content":"all of it"`, "stop")
		chunk := "data: " + delta(`"content":"so far"`) + "\n\n"
		for name, part := range map[string]string{
			"nothing":              "",
			"half an answer":       answer[:len(answer)/2],
			"an answer, and more?": answer,
			"half a stream":        chunk,
			"half a chunk":         chunk + chunk[:len(chunk)/2],
			"half an error":        `data: {"error":{"message":"the key is no`,
			"a comment":            ": processing\n\n",
		} {
			reply, failed := ask(200, part)
			if failed == nil || failed.Kind != model.Stream || !failed.Retryable || !strings.Contains(failed.Message, limit) {
				t.Errorf("%s, %s: reply %+v, error %+v", limit, name, reply, failed)
			}
			if failed != nil && strings.HasPrefix(part, chunk) && failed.Partial != "so far" {
				t.Errorf("%s, %s: partial = %q", limit, name, failed.Partial)
			}
		}

		// The reply is complete, and what may have followed it is not known.
		reply, failed := ask(200, chunk+"data: "+finish("stop")+"\n\n")
		if failed != nil {
			t.Errorf("%s: %v", limit, failed)
		} else if wantWarning(t, reply, "broke off after the reply was complete"); reply.Message.Text() != "so far" {
			t.Errorf("%s: reply %+v", limit, reply)
		}

		// Half of a reason is no reason; the status is known.
		for code, want := range map[int]model.Error{
			400: {Kind: model.Rejected, Retryable: true, Message: "Bad Request"},
			401: {Kind: model.Auth, Message: "Unauthorized"},
			503: {Kind: model.Unreachable, Retryable: true, Message: "Service Unavailable"},
			529: {Kind: model.Unreachable, Retryable: true, Message: "no reason was given"},
		} {
			_, failed := ask(code, `{"error":{"message":"prompt is too long: 9 tokens > 8 maxi`)
			want.Message = fmt.Sprintf("%s; the reason broke off: %s", want.Message, limit)
			if failed == nil || failed.Kind != want.Kind || failed.Retryable != want.Retryable || failed.Status != code || !strings.HasPrefix(failed.Message, want.Message) {
				t.Errorf("%s, status %d: error %+v, want %+v", limit, code, failed, want)
			}
		}
	}
}

// A server that is asked again tells its reason in full, and that is what counts.
func TestAReasonThatBrokeOffIsAskedForAgain(t *testing.T) {
	full := `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens."}}`
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(full)))
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, full[:40])
	}, status(400, full))
	failed := failure(t, server, modeltest.Hello(), attempts(4))
	if failed.Kind != model.ContextOverflow || failed.Limit != 8192 || server.count() != 2 {
		t.Errorf("error = %+v after %d requests", failed, server.count())
	}
}
