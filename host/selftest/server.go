package selftest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// server remembers what reaches it.
type server struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

// seen is a request as a server got it.
type seen struct {
	from, uri string
	header    http.Header
}

func (s *server) saw(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen{r.RemoteAddr, r.RequestURI, r.Header.Clone()})
}

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// hits is how many requests reached it.
func (s *server) hits() int { return len(s.requests()) }

// serve starts a server on loopback. Nil: its answer is a word.
func serve(answer http.HandlerFunc) (*server, error) {
	return (&server{}).start(answer, httptest.NewServer)
}

func serveTLS(answer http.HandlerFunc) (*server, error) {
	return (&server{}).start(answer, httptest.NewTLSServer)
}

func (s *server) start(answer http.HandlerFunc, how func(http.Handler) *httptest.Server) (started *server, err error) {
	defer func() { // httptest has no other way to say it
		if p := recover(); p != nil {
			started, err = nil, skipped(fmt.Sprint("nothing can listen on loopback here: ", p))
		}
	}()
	s.Server = how(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.saw(r)
		if answer != nil {
			answer(w, r)
			return
		}
		_, _ = w.Write([]byte("word"))
	}))
	return s, nil
}
