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
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func networkChecks() []check {
	return []check{
		{"NET-0", "a request that was granted, to show that the attacks would work", "it was answered", served},
		{"NET-1", "a module that makes HTTP requests, without a grant", whenLoaded, refused(embedded("needhttp"), sandbox.LoadGrant, "http")},
		{"NET-2a", "a request to another port of the host that was granted", unsent, elsewhere(func(u *url.URL) { u.Host = net.JoinHostPort(u.Hostname(), "1") })},
		{"NET-2b", "a URL with a user before the granted host, http://example.com@", unsent, elsewhere(func(u *url.URL) { u.User = url.User("example.com") })},
		{"NET-2c", "a method that was not granted", unsent, another(abi.HTTPRequest{Method: "DELETE"})},
		{"NET-2d", "the methods CONNECT and TRACE, even if they are granted", "neither was sent", bothMethods},
		{"NET-3a", "a redirect to a host that was not granted", "not followed", redirected},
		{"NET-3b", "a redirect to another granted host, with Authorization, Cookie and X-Api-Key", "followed without these headers", inInternet(headersCrossing)},
		{"NET-3c", "a redirect of a request's body to another granted host", "not followed", inInternet(bodyCrossing)},
		{"NET-3d", "a redirect from https to http, both granted", "not followed", inInternet(downgraded)},
		{"NET-3e", "a redirect to itself, without end", "given up after 5 redirects", redirectedForEver},
		{"NET-4a", "a granted name that is a public address first, and loopback the next time", "its address checked for each connection, and refused", inInternet(rebound)},
		{"NET-4b", "a granted name that is a public address and loopback at once", "refused, wherever the bad address stands", inInternet(mixedAddresses)},
		{"NET-4c", "a granted name that turns into a cloud's metadata address, with private networks", "refused", inInternet(reboundToMetadata)},
		{"NET-5a", "loopback, granted as a host without private networks", unsent, private("127.0.0.1")},
		{"NET-5b", "loopback written as one number, 2130706433", unsent, private("2130706433")},
		{"NET-5c", "loopback written in hexadecimal, 0x7f000001", unsent, private("0x7f000001")},
		{"NET-5d", "loopback written as an IPv6 address, ::ffff:127.0.0.1", unsent, private("[::ffff:127.0.0.1]")},
		{"NET-5e", "169.254.169.254, at which clouds hand out credentials", unsent, private("169.254.169.254")},
		{"NET-5f", "localhost by its name", unsent, private("localhost")},
		{"NET-7a", "a header that says how the request is sent, Transfer-Encoding", unsent, another(abi.HTTPRequest{Method: "GET", Headers: map[string]string{"Transfer-Encoding": "chunked"}})},
		{"NET-7b", "a header with a line break and another header in it", unsent, another(abi.HTTPRequest{Method: "GET", Headers: map[string]string{"X-A": "b\r\nX-C: d"}})},
		{"NET-7c", "the header Host, for another host", unsent, another(abi.HTTPRequest{Method: "GET", Headers: map[string]string{"Host": "example.com"}})},
		{"NET-8a", "a response without end", "given up at the limit of a response", tooLarge(endless)},
		{"NET-8b", "a response that unpacks to a thousand times its size", "given up at the limit of a response", tooLarge(bomb)},
		{"NET-9", "more requests than a call may make, by redirects", "refused from the limit on", volume},
		{"NET-10a", "the cookie that a server set for another tool, and in an earlier call", "not sent", cookies},
		{"NET-10b", "the connection that another tool made to the same server", "not shared", connections},
		{"NET-11a", "a request to another granted host than the secret is for", "sent without it", elsewhereWithoutSecret},
		{"NET-11b", "redirects of a request with a secret, to another granted host and to its own", "followed without it", redirectedWithoutSecret},
		{"NET-11c", "a guest that sets the secret's header itself", unsent, ownHeader},
	}
}

// firstChecks come before all others: Go reads the variables that name a proxy at
// the first request of a process that asks for them, and never again.
func firstChecks() []check {
	return []check{{"NET-6", "a request while variables such as HTTP_PROXY name a proxy", "it went to the server, and the proxy heard nothing", inInternet(proxied)}}
}

// What held off a request.
const unsent = "refused before it was sent"

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
func request(r abi.HTTPRequest) (sandbox.Call, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return sandbox.Call{}, err
	}
	args, err := json.Marshal(map[string]string{"hex": hex.EncodeToString(b)})
	return sandbox.Call{Arguments: args}, err
}

// get is a request for a URL.
func get(address string) abi.HTTPRequest { return abi.HTTPRequest{Method: "GET", URL: address} }

// fetched is what the guest got.
type fetched struct {
	refused bool
	abi.HTTPResponse
}

// fetch lets the guest make a request.
func (l *lab) fetch(ctx context.Context, r abi.HTTPRequest, change ...func(*sandbox.Source)) (fetched, error) {
	m, err := l.load(ctx, "ask", change...)
	if err != nil {
		return fetched{}, err
	}
	got, err := l.visit(ctx, m, r)
	return got, errors.Join(err, m.Close(ctx))
}

// visit lets a guest that is loaded make a request.
func (l *lab) visit(ctx context.Context, m *sandbox.Module, r abi.HTTPRequest) (fetched, error) {
	c, err := request(r)
	if err != nil {
		return fetched{}, err
	}
	out := l.ask(ctx, m, c)
	if err := ended(&out, []sandbox.Fault{""}); err != nil {
		return fetched{}, err
	}
	digits, body, _ := strings.Cut(text(&out), " ")
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
	var got fetched
	err = json.Unmarshal(b, &got.HTTPResponse)
	got.refused = got.Error != nil
	return got, err
}

// why is the reason of a refusal.
func (f *fetched) why() string {
	if f.Error == nil {
		return "no reason"
	}
	return f.Error.Code + ": " + f.Error.Message
}

// answered says that the guest got what it asked for.
func (f *fetched) answered() error {
	if f.refused || string(f.Body) != "word" {
		return fmt.Errorf("the guest was given %q, %s", f.Body, f.why())
	}
	return nil
}

func served(ctx context.Context, l *lab) error {
	s, err := serve(nil)
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := l.fetch(ctx, get(s.URL+"/"), reaching(s.URL))
	if err != nil {
		return err
	}
	return got.answered()
}

// untouched says that the host refused a request before it reached the server. That
// it went wrong on the way is not enough.
func untouched(got fetched, s *server) error {
	decided := got.Error != nil && (got.Error.Code == "denied" || got.Error.Code == "invalid")
	if n := s.hits(); n != 0 || !decided {
		return fmt.Errorf("the host did not refuse the request (%s), and the server saw %d", got.why(), n)
	}
	return nil
}

// another makes a request to a server that was granted, which may not reach it.
func another(r abi.HTTPRequest, change ...func(*sandbox.Source)) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		s, err := serve(nil)
		if err != nil {
			return err
		}
		defer s.Close()
		r.URL = s.URL + "/"
		got, err := l.fetch(ctx, r, append([]func(*sandbox.Source){reaching(s.URL)}, change...)...)
		return errors.Join(err, untouched(got, s))
	}
}

// bothMethods are granted, and still no guest's.
func bothMethods(ctx context.Context, l *lab) error {
	var err error
	for _, method := range []string{http.MethodConnect, http.MethodTrace} {
		granted := func(s *sandbox.Source) { s.Policy.Grants.HTTP[0].Methods = []string{method} }
		err = errors.Join(err, another(abi.HTTPRequest{Method: method}, granted)(ctx, l))
	}
	return err
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
		got, err := l.fetch(ctx, get(u.String()), grants(s, u.String()), within(2*time.Second))
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
	if _, err := l.fetch(ctx, get(from.URL+"/"), reaching(from.URL)); err != nil {
		return err
	}
	if from.hits() != 1 || to.hits() != 0 {
		return fmt.Errorf("the first server saw %d requests and the second %d", from.hits(), to.hits())
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
		got, err := l.fetch(ctx, get(s.URL+"/"), reaching(s.URL), small, within(10*time.Second))
		if err == nil && (got.Error == nil || got.Error.Code != "too_large") {
			err = fmt.Errorf("the guest was given %d bytes, %s", len(got.Body), got.why())
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
	if _, err := l.fetch(ctx, get(s.URL+"/"), reaching(s.URL), few); err != nil {
		return err
	}
	if n := s.hits(); n < 1 || n > 3 {
		return fmt.Errorf("the server saw %d requests, and 3 are allowed", n)
	}
	return nil
}
