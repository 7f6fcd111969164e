package selftest

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func networkChecks() []check {
	return []check{
		{"NET-0", "a request that was granted, to show that the attacks would work", served},
		{"NET-1", "a module that imports http, without a grant", refused(embedded("needhttp"), sandbox.LoadGrant, "http")},
		{"NET-2a", "another port of the host that was granted", elsewhere(func(u *url.URL) { u.Host = net.JoinHostPort(u.Hostname(), "1") })},
		{"NET-2b", "the host that was granted, as a user before another one", elsewhere(func(u *url.URL) { u.User = url.User("example.com") })},
		{"NET-2c", "a method that was not granted", another("DELETE", nil)},
		{"NET-2d", "CONNECT and TRACE", bothMethods},
		{"NET-3", "a redirect to a host that was not granted", redirected},
		{"NET-5a", "loopback, without private networks", private("127.0.0.1")},
		{"NET-5b", "loopback as one number", private("2130706433")},
		{"NET-5c", "loopback in hexadecimal", private("0x7f000001")},
		{"NET-5d", "loopback as an IPv6 address of an IPv4 one", private("[::ffff:127.0.0.1]")},
		{"NET-5e", "the address of a cloud's metadata", private("169.254.169.254")},
		{"NET-5f", "localhost by name", private("localhost")},
		{"NET-7a", "a header of the connection's", another("GET", map[string]string{"Transfer-Encoding": "chunked"})},
		{"NET-7b", "a header with another one inside", another("GET", map[string]string{"X-A": "b\r\nX-C: d"})},
		{"NET-7c", "the Host header", another("GET", map[string]string{"Host": "example.com"})},
		{"NET-8a", "a response without end", tooLarge(endless)},
		{"NET-8b", "a response that unpacks to a thousand times its size", tooLarge(bomb)},
		{"NET-9", "more requests than a call may make", volume},
	}
}

// reaching grants the host of a URL, loopback included.
func reaching(address string) func(*sandbox.Source) {
	return func(s *sandbox.Source) {
		grant(address)(s)
		s.Policy.Grants.PrivateNetworks = true
	}
}

func grant(address string) func(*sandbox.Source) {
	return func(s *sandbox.Source) {
		u, err := url.Parse(address)
		if err != nil {
			return // nothing is granted
		}
		port, _ := strconv.Atoi(u.Port())
		s.Policy.Grants.HTTP = append(s.Policy.Grants.HTTP, policy.HTTPRule{Scheme: u.Scheme, Host: u.Hostname(), Port: port})
	}
}

// request is a call of the guest ask.
func request(address, method string, header map[string]string) (sandbox.Call, error) {
	b, err := json.Marshal(abi.HTTPRequest{Method: method, URL: address, Headers: header})
	if err != nil {
		return sandbox.Call{}, err
	}
	args, err := json.Marshal(map[string]string{"hex": hex.EncodeToString(b)})
	return sandbox.Call{Arguments: args}, err
}

// server counts what reaches it.
type server struct {
	*httptest.Server
	hits atomic.Int64
}

// serve starts a server on loopback. Nil: its answer is a word.
func serve(answer http.HandlerFunc) (s *server, err error) {
	s = &server{}
	defer func() { // httptest has no other way to say it
		if p := recover(); p != nil {
			s, err = nil, skipped(fmt.Sprint("nothing can listen on loopback here: ", p))
		}
	}()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		if answer != nil {
			answer(w, r)
			return
		}
		_, _ = w.Write([]byte("word"))
	}))
	return s, nil
}

// fetched is what the guest got.
type fetched struct {
	refused bool
	body    []byte
}

// fetch lets the guest make a request.
func (l *lab) fetch(ctx context.Context, address, method string, header map[string]string, change ...func(*sandbox.Source)) (fetched, error) {
	c, err := request(address, method, header)
	if err != nil {
		return fetched{}, err
	}
	src, err := guest("ask", change...)
	if err != nil {
		return fetched{}, err
	}
	answer, err := l.answered(ctx, src, c)
	if err != nil {
		return fetched{}, err
	}
	digits, body, _ := strings.Cut(answer, " ")
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return fetched{}, err
	}
	if int64(n) < 0 {
		return fetched{refused: true}, nil
	}
	b, err := hex.DecodeString(body)
	if err != nil {
		return fetched{}, err
	}
	var res abi.HTTPResponse
	err = json.Unmarshal(b, &res)
	return fetched{res.Error != nil, res.Body}, err
}

func served(ctx context.Context, l *lab) error {
	s, err := serve(nil)
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := l.fetch(ctx, s.URL+"/", "GET", nil, reaching(s.URL))
	if err == nil && (got.refused || string(got.body) != "word") {
		err = fmt.Errorf("the guest was given %q, the server saw %d requests", got.body, s.hits.Load())
	}
	return err
}

// untouched says that a request was refused before it reached the server.
func untouched(got fetched, s *server) error {
	if n := s.hits.Load(); n != 0 || !got.refused {
		return fmt.Errorf("the request was not refused, and the server saw %d", n)
	}
	return nil
}

// another makes a request to a server that was granted, which may not reach it.
func another(method string, header map[string]string) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		s, err := serve(nil)
		if err != nil {
			return err
		}
		defer s.Close()
		got, err := l.fetch(ctx, s.URL+"/", method, header, reaching(s.URL))
		return errors.Join(err, untouched(got, s))
	}
}

func bothMethods(ctx context.Context, l *lab) error {
	return errors.Join(another("CONNECT", nil)(ctx, l), another("TRACE", nil)(ctx, l))
}

// elsewhere makes a request to another place than the one that was granted.
func elsewhere(turn func(*url.URL)) func(context.Context, *lab) error {
	return near(turn, func(s *server, _ string) func(*sandbox.Source) { return reaching(s.URL) })
}

// private makes a request to this machine by some name, which is granted, without
// private networks.
func private(name string) func(context.Context, *lab) error {
	turn := func(u *url.URL) { u.Host = name + ":" + u.Port() }
	return near(turn, func(_ *server, address string) func(*sandbox.Source) { return grant(address) })
}

// near makes a request to nearly the address of a server, which may not reach it.
func near(turn func(*url.URL), grants func(*server, string) func(*sandbox.Source)) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		s, err := serve(nil)
		if err != nil {
			return err
		}
		defer s.Close()
		u, err := url.Parse(s.URL)
		if err != nil {
			return err
		}
		turn(u)
		got, err := l.fetch(ctx, u.String(), "GET", nil, grants(s, u.String()), within(2*time.Second))
		return errors.Join(err, untouched(got, s))
	}
}

func redirected(ctx context.Context, l *lab) error {
	to, err := serve(nil)
	if err != nil {
		return err
	}
	defer to.Close()
	from, err := serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to.URL, http.StatusFound) })
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := l.fetch(ctx, from.URL+"/", "GET", nil, reaching(from.URL)); err != nil {
		return err
	}
	if from.hits.Load() != 1 || to.hits.Load() != 0 {
		return fmt.Errorf("the first server saw %d requests and the second %d", from.hits.Load(), to.hits.Load())
	}
	return nil
}

func endless(w http.ResponseWriter, r *http.Request) {
	part := make([]byte, 64<<10)
	for r.Context().Err() == nil {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

func bomb(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	endless(writer{w, z}, r)
}

// writer answers through something else.
type writer struct {
	http.ResponseWriter
	through *gzip.Writer
}

func (w writer) Write(b []byte) (int, error) { return w.through.Write(b) }

// tooLarge asks for what is larger than a response may be.
func tooLarge(answer http.HandlerFunc) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		s, err := serve(answer)
		if err != nil {
			return err
		}
		defer s.Close()
		small := func(s *sandbox.Source) { s.Policy.Limits.HTTPResponse = 256 << 10 }
		got, err := l.fetch(ctx, s.URL+"/", "GET", nil, reaching(s.URL), small, within(10*time.Second))
		if err == nil && !got.refused && len(got.body) > 256<<10 {
			err = fmt.Errorf("the guest was given %d bytes", len(got.body))
		}
		return err
	}
}

// volume makes more requests than the limit, by redirects.
func volume(ctx context.Context, l *lab) error {
	s, err := serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusFound) })
	if err != nil {
		return err
	}
	defer s.Close()
	few := func(s *sandbox.Source) { s.Policy.Limits.HTTPRequests = 3 }
	if _, err := l.fetch(ctx, s.URL+"/", "GET", nil, reaching(s.URL), few); err != nil {
		return err
	}
	if n := s.hits.Load(); n < 1 || n > 3 {
		return fmt.Errorf("the server saw %d requests, and 3 are allowed", n)
	}
	return nil
}
