package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
)

// Endpoint is an OpenAI-compatible server on loopback that does what its turns
// say, in order, streamed or whole as the request wants it. A request after the
// last turn is answered with status 400.
type Endpoint struct {
	// URL is the base URL, as a client is configured with it.
	URL string

	server *httptest.Server
	gone   chan struct{}
	once   sync.Once

	mu        sync.Mutex
	turns     []Turn
	exchanges []Exchange
}

// Exchange is one request that an [Endpoint] received.
type Exchange struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server starts an endpoint that is closed when the test ends.
func Server(t testing.TB, turns ...Turn) *Endpoint {
	t.Helper()
	e := Serve(turns...)
	t.Cleanup(e.Close)
	return e
}

// Serve starts an endpoint, which the caller must close.
func Serve(turns ...Turn) *Endpoint {
	e := &Endpoint{turns: slices.Clone(turns), gone: make(chan struct{})}
	e.server = httptest.NewServer(http.HandlerFunc(e.serve))
	e.URL = e.server.URL + "/v1"
	return e
}

// Close lets go of hanging requests and stops the server. It blocks until all
// requests have ended; a second call does nothing.
func (e *Endpoint) Close() {
	e.once.Do(func() {
		close(e.gone)
		e.server.CloseClientConnections()
		e.server.Close()
	})
}

// Exchanges returns the requests so far, in order.
func (e *Endpoint) Exchanges() []Exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.exchanges)
}

// JSON decodes the request's body; numbers are float64.
func (x *Exchange) JSON() (map[string]any, error) {
	var v map[string]any
	if err := json.Unmarshal(x.Body, &v); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	return v, nil
}

func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	// A handler that a turn brings reads the body again.
	r.Body = io.NopCloser(bytes.NewReader(body))
	turn, n := e.take(Exchange{Path: r.URL.Path, Header: r.Header.Clone(), Body: body})
	if turn.HTTP != nil {
		turn.arrived()
		turn.HTTP(w, r)
		return
	}
	turn.arrived()
	if turn.Err != nil {
		writeError(w, turn.Err)
		return
	}
	var asked struct {
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		writeError(w, &model.Error{Status: http.StatusBadRequest, Message: "the body is not JSON"})
		return
	}
	if !asked.Stream {
		e.answerWhole(w, r, &turn, n)
		return
	}
	e.answerStream(w, r, &turn, n)
}

func (e *Endpoint) take(x Exchange) (Turn, int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exchanges = append(e.exchanges, x)
	n := len(e.exchanges)
	if n > len(e.turns) {
		return Fail(&model.Error{
			Status:  http.StatusBadRequest,
			Message: fmt.Sprintf("the script has no turn for call %d", n),
		}), n
	}
	return e.turns[n-1], n
}

// wait holds a request until its client or the server goes away.
func (e *Endpoint) wait(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-e.gone:
	}
}

func (e *Endpoint) answerWhole(w http.ResponseWriter, r *http.Request, turn *Turn, n int) {
	msg := turn.message()
	body, err := json.Marshal(wireReply{
		ID: "chatcmpl-" + strconv.Itoa(n), Object: "chat.completion", Model: "scripted",
		Choices: []wireChoice{{Message: wholeMessage(&msg, n), Finish: turn.finish()}},
		Usage:   turn.wireUsage(),
	})
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_"+strconv.Itoa(n))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if turn.Hang || turn.Break {
		body = body[:len(body)/2]
	}
	if _, err := w.Write(body); err != nil {
		return
	}
	if turn.Hang {
		flush(w)
		e.wait(r)
	}
}

func (e *Endpoint) answerStream(w http.ResponseWriter, r *http.Request, turn *Turn, n int) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Request-Id", "req_"+strconv.Itoa(n))
	msg := turn.message()
	chunks := streamChunks(&msg, turn, n)
	if turn.Hang || turn.Break {
		chunks = chunks[:len(chunks)/2]
	}
	for _, c := range chunks {
		line, err := json.Marshal(c)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", line); err != nil {
			return
		}
		flush(w)
	}
	switch {
	case turn.Hang:
		flush(w)
		e.wait(r)
	case turn.Break:
		panic(http.ErrAbortHandler)
	default:
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	body := map[string]any{"message": err.Error(), "type": "scripted"}
	var failed *model.Error
	if errors.As(err, &failed) {
		if failed.Status != 0 {
			status = failed.Status
		}
		body["message"] = failed.Message
		if failed.Code != "" {
			body["code"] = failed.Code
		}
		if failed.Param != "" {
			body["param"] = failed.Param
		}
		if failed.RetryAfter > 0 {
			w.Header().Set("Retry-After-Ms", strconv.FormatInt(failed.RetryAfter.Milliseconds(), 10))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": body})
}
