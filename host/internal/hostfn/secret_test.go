package hostfn

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const secretValue = "cnry-4f1d9c7e2b"

func TestASecretIsInItsHeaderAndTheGuestSeesNothingOfIt(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.Header()["Date"] = nil
		w.Header().Set("X-Got", r.Header.Get("X-Key"))
		w.Header().Set("X-"+strings.TrimPrefix(r.Header.Get("X-Key"), "key="), "1")
		_, _ = w.Write([]byte("you sent " + r.Header.Get("X-Key")))
	}))
	defer server.Close()
	rule, err := policy.ParseHTTPRule(server.URL, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	one, err := policy.ParseSecret("KEY", server.URL, "x-key", "key={}")
	if err != nil {
		t.Fatal(err)
	}
	h := NewHTTP([]policy.HTTPRule{rule}, HTTPOptions{
		Private: true, MaxRequests: 9, MaxResponse: 1 << 20,
		Secrets: []Secret{{one, secretValue}}, Redact: redact.New(secretValue),
	})
	defer h.Close()
	resp := h.Session().Do(t.Context(), abi.HTTPRequest{URL: server.URL, Headers: map[string]string{"Range": "bytes=0-3", "X-Other": "mine"}})
	want := abi.HTTPResponse{
		Status: 200, URL: server.URL + "/", Body: []byte("you sent key=[redacted]"),
		Headers: map[string]string{"X-Got": "key=[redacted]", "[redacted]": "1", "Content-Length": "23", "Content-Type": "text/plain; charset=utf-8"},
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Error(diff)
	}
	if got.Get("X-Key") != "key="+secretValue || got.Get("Range") != "" || got.Get("X-Other") != "mine" {
		t.Errorf("the server got %v", got)
	}
	// An underscore is a hyphen to many servers.
	for _, name := range []string{"x-key", "X_KEY", "X-Key"} {
		resp := h.Session().Do(t.Context(), abi.HTTPRequest{URL: server.URL, Headers: map[string]string{name: "mine"}})
		if resp.Error == nil || resp.Error.Code != "denied" {
			t.Errorf("%s: %+v", name, resp)
		}
	}
	// What is refused repeats nothing of it, either.
	resp = h.Session().Do(t.Context(), abi.HTTPRequest{URL: "https://" + secretValue + ".example.com/"})
	if resp.Error == nil || strings.Contains(resp.Error.Message, secretValue) {
		t.Errorf("got %+v", resp.Error)
	}
}

// SEC-2: what a server sends behind its response, net/http would write into the log
// of the process, as it is.
func TestSEC2WhatFollowsAResponseIsInNoLog(t *testing.T) {
	var told lockedBuffer
	log.SetOutput(&told)
	defer log.SetOutput(os.Stderr)
	for _, head := range []string{"204 No Content\r\n", "200 OK\r\nContent-Length: 2\r\n", "302 Found\r\nLocation: /\r\nContent-Length: 2\r\n"} {
		ended := make(chan struct{})
		var once sync.Once
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 "+head+"\r\nok"+secretValue+r.Header.Get("X-Key"))
			_, _ = io.Copy(io.Discard, conn) // until the other side closes
			once.Do(func() { close(ended) })
		}))
		rule, err := policy.ParseHTTPRule(server.URL, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		one, err := policy.ParseSecret("KEY", server.URL, "x-key", "key={}")
		if err != nil {
			t.Fatal(err)
		}
		h := NewHTTP([]policy.HTTPRule{rule}, HTTPOptions{
			Private: true, MaxRequests: 9, MaxResponse: 1 << 20,
			Secrets: []Secret{{one, secretValue}}, Redact: redact.New(secretValue),
		})
		h.Session().Do(t.Context(), abi.HTTPRequest{URL: server.URL})
		<-ended
		h.Close()
		server.Close()
	}
	if told.String() != "" {
		t.Errorf("the log has %q", told.String())
	}
}

// lockedBuffer is a buffer that goroutines may share.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// SEC-2: a value that is split over two writes, or cut by a limit, is in no line.
func TestLogSinkHidesValuesThatAreSplitOrCut(t *testing.T) {
	for _, before := range []int{0, 10, maxLine - 20, maxLine - 7, maxLine - 1, maxTail - 7} {
		for _, limit := range []int64{20, 1 << 20} {
			var lines []string
			s := NewLogSink(limit, func(_ abi.Level, line string) { lines = append(lines, line) })
			s.Hide(redact.New(secretValue))
			text := strings.Repeat("x", before) + secretValue + strings.Repeat("y", maxTail-7)
			for i := 0; i < len(text); i += 5 {
				if _, err := s.Write([]byte(text[i:min(i+5, len(text))])); err != nil {
					t.Fatal(err)
				}
			}
			s.Line(abi.LevelWarn, text)
			s.Flush()
			for _, got := range append(lines, s.Tail()) {
				for n := 6; n <= len(secretValue); n++ {
					if strings.Contains(got, secretValue[:n]) || strings.Contains(got, secretValue[len(secretValue)-n:]) {
						t.Fatalf("%d bytes before it, limit %d: a part of %d bytes is told", before, limit, n)
					}
				}
			}
		}
	}
	// A line that ends like the beginning of a value is complete in the end.
	var lines []string
	s := NewLogSink(1<<20, func(_ abi.Level, line string) { lines = append(lines, line) })
	s.Hide(redact.New(secretValue))
	for _, piece := range []string{"a cnry", "-4f\nb cn", "ry", "\n", "c cnry-"} {
		_, _ = s.Write([]byte(piece))
	}
	s.Flush()
	if diff := cmp.Diff([]string{"a cnry-4f", "b cnry", "c cnry-"}, lines); diff != "" {
		t.Error(diff)
	}
}
