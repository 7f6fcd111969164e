package hostfn

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func zip(t *testing.T, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	chunk := make([]byte, 1<<20)
	for size > 0 {
		n, err := z.Write(chunk[:min(size, len(chunk))])
		if err != nil {
			t.Fatal(err)
		}
		size -= n
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// NET-8: a response has its limit, headers and unpacked body together, and the
// host holds no more than that of one that is larger.
func TestResponsesAreBounded(t *testing.T) {
	const limit = 100_000
	w := newWorld()
	bomb := zip(t, 64<<20)
	if len(bomb) > limit {
		t.Fatalf("the bomb is refused for its %d bytes packed", len(bomb))
	}
	small := zip(t, limit+1)
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<16)
		endless := func(p []byte) {
			for r.Context().Err() == nil {
				if _, err := rw.Write(p); err != nil {
					return
				}
			}
		}
		switch r.URL.Path {
		case "/exact":
			rw.Header()["Date"], rw.Header()["Content-Type"] = nil, nil
			rw.Header().Set("Content-Length", "99980")
			_, _ = rw.Write(make([]byte, 99_980))
		case "/over":
			_, _ = rw.Write(make([]byte, limit+1))
		case "/endless":
			endless(chunk)
		case "/bomb":
			rw.Header().Set("Content-Encoding", "gzip")
			_, _ = rw.Write(bomb)
		case "/packed":
			rw.Header().Set("Content-Encoding", "GZIP")
			_, _ = rw.Write(small)
		case "/empty members":
			rw.Header().Set("Content-Encoding", "gzip")
			var nothing bytes.Buffer
			_ = gzip.NewWriter(&nothing).Close()
			endless(bytes.Repeat(nothing.Bytes(), 1000))
		case "/headers":
			for i := range 100 {
				rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		case "/endless headers":
			for i := range 2000 {
				rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}
	})
	o := limits()
	o.MaxResponse = limit
	h := w.open(t, o, rule(t, "api.example.com", []string{"GET", "HEAD"}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, path := range []string{"/over", "/endless", "/bomb", "/packed", "/empty members", "/headers", "/endless headers"} {
		wantCode(t, path, get(t, h, "https://api.example.com"+path), "too_large")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
	if got := get(t, h, "https://api.example.com/exact"); got.Error != nil || len(got.Body) != 99_980 {
		t.Errorf("below the limit: %d bytes, %v", len(got.Body), got.Error)
	}
	head := h.Session().Do(t.Context(), abi.HTTPRequest{Method: "HEAD", URL: "https://api.example.com/bomb"})
	if head.Error != nil || len(head.Body) != 0 {
		t.Errorf("HEAD: %v", head.Error)
	}
	none := w.open(t, HTTPOptions{MaxRequests: 1}, rule(t, "api.example.com", nil))
	wantCode(t, "no limit is nothing", get(t, none, "https://api.example.com/exact"), "too_large")
}

func TestCompressionIsBetweenHostAndServer(t *testing.T) {
	w, s := newWorld(), &seen{}
	packed := zip(t, 1000)
	w.serve(t, "https://api.example.com", s.handler(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/nothing":
			rw.Header().Set("Content-Encoding", "gzip")
		case "/none":
			rw.Header().Set("Content-Encoding", "gzip")
			rw.WriteHeader(204)
		case "/damaged":
			rw.Header().Set("Content-Encoding", "gzip")
			_, _ = rw.Write([]byte("this is not gzip at all, as one sees"))
		case "/cut":
			rw.Header().Set("Content-Encoding", "gzip")
			_, _ = rw.Write(packed[:len(packed)-5])
		default:
			rw.Header().Set("Content-Encoding", "gzip")
			_, _ = rw.Write(packed)
		}
	}))
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	do := func(path string, headers map[string]string) abi.HTTPResponse {
		return h.Session().Do(t.Context(), abi.HTTPRequest{URL: "https://api.example.com" + path, Headers: headers})
	}
	got := do("/", nil)
	if len(got.Body) != 1000 || got.Headers["Content-Encoding"] != "" || got.Headers["Content-Length"] != "" {
		t.Errorf("%d bytes, %v, %v", len(got.Body), got.Headers, got.Error)
	}
	if e := s.reqs[0].Header.Get("Accept-Encoding"); e != "gzip" {
		t.Errorf("asked for %q", e)
	}
	for _, headers := range []map[string]string{{"Accept-Encoding": "gzip"}, {"Range": "bytes=0-"}} {
		got := do("/", headers)
		if !bytes.Equal(got.Body, packed) || got.Headers["Content-Encoding"] != "gzip" {
			t.Errorf("%v: %d bytes, %v", headers, len(got.Body), got.Headers)
		}
	}
	wantBody(t, "nothing", do("/nothing", nil), "")
	wantBody(t, "no content", do("/none", nil), "")
	wantCode(t, "damaged", do("/damaged", nil), "unavailable", "damaged")
	wantCode(t, "cut", do("/cut", nil), "unavailable", "ended")
}

// raw serves one response that net/http would not send, to each connection.
func raw(t *testing.T, w *world, host, response string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(response))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	w.serve(t, "http://"+host, nil)
	for a := range w.servers {
		if a.Addr() == w.names[host][0][0] {
			w.servers[a] = l.Addr().String()
		}
	}
}

// NET-8: a server that lies or breaks off never makes a success.
func TestBrokenResponsesAreErrors(t *testing.T) {
	for what, c := range map[string]struct{ response, code string }{
		"short":             {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "unavailable"},
		"lying":             {"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\nx", "too_large"},
		"cut chunk":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "unavailable"},
		"two lengths":       {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "unavailable"},
		"not HTTP":          {"SSH-2.0-OpenSSH_9.9\r\n", "unavailable"},
		"nothing":           {"", "unavailable"},
		"switch":            {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "unavailable"},
		"header line break": {"HTTP/1.1 302 Found\r\nLocation: https://x\x01y\r\nContent-Length: 0\r\n\r\n", "unavailable"},
		"early hints":       {strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 1000)+"\r\n\r\n", 1000), "too_large"},
	} {
		w := newWorld()
		raw(t, w, "api.example.com", c.response)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		got := w.open(t, limits(), rule(t, "http://api.example.com", nil)).Session().Do(ctx, abi.HTTPRequest{URL: "http://api.example.com/"})
		wantCode(t, what, got, c.code)
		cancel()
	}
}
