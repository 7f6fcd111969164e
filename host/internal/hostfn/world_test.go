package hostfn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// world is a small internet: real servers on loopback, behind names and public
// addresses that exist only here.
type world struct {
	mu      sync.Mutex
	names   map[string][][]netip.Addr // answers to the first, second … lookup; the last stays
	lookups []string
	dials   []netip.AddrPort
	servers map[netip.AddrPort]string // where they really listen
	roots   *x509.CertPool
}

func newWorld() *world {
	return &world{names: map[string][][]netip.Addr{}, servers: map[netip.AddrPort]string{}, roots: x509.NewCertPool()}
}

// addr returns the n-th public address of the world.
func addr(n byte) netip.Addr { return netip.AddrFrom4([4]byte{93, 184, 216, n}) }

// serve starts a server for scheme://host, on the usual port. The certificates
// of httptest are for example.com and its subdomains.
func (w *world) serve(t *testing.T, origin string, handler http.HandlerFunc) {
	t.Helper()
	scheme, host, _ := strings.Cut(origin, "://")
	srv := httptest.NewUnstartedServer(handler)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	if scheme == "https" {
		srv.StartTLS()
		w.roots.AddCert(srv.Certificate())
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	w.mu.Lock()
	defer w.mu.Unlock()
	a := addr(byte(len(w.servers) + 1))
	if known := w.names[host]; known != nil {
		a = known[0][0]
	}
	w.names[host] = [][]netip.Addr{{a}}
	w.servers[netip.AddrPortFrom(a, uint16(usualPort(scheme)))] = srv.Listener.Addr().String()
}

func (w *world) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups = append(w.lookups, host)
	answers := w.names[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.0.0.53:53", IsNotFound: true}
	}
	if len(answers) > 1 {
		w.names[host] = answers[1:]
	}
	return answers[0], nil
}

func (w *world) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dials = append(w.dials, to)
	real, ok := w.servers[to]
	w.mu.Unlock()
	if !ok {
		real = "127.0.0.1:1" // refused: nothing listens on tcpmux
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", real)
}

func (w *world) looked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.lookups)
}

func limits() HTTPOptions {
	return HTTPOptions{MaxRequests: 20, MaxResponse: 1 << 20, MaxBody: 1 << 20}
}

// open returns a module's door into the world.
func (w *world) open(t *testing.T, o HTTPOptions, rules ...policy.HTTPRule) *HTTP {
	t.Helper()
	o.Resolve, o.Dial = w.resolve, w.dial
	o.TLS = &tls.Config{RootCAs: w.roots}
	return openHTTP(t, o, rules...)
}

func openHTTP(t *testing.T, o HTTPOptions, rules ...policy.HTTPRule) *HTTP {
	t.Helper()
	h := NewHTTP(rules, o)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func rule(t *testing.T, host string, methods []string, paths ...string) policy.HTTPRule {
	t.Helper()
	r, err := policy.ParseHTTPRule(host, methods, paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func get(t *testing.T, h *HTTP, url string) abi.HTTPResponse {
	t.Helper()
	return h.Session().Do(t.Context(), abi.HTTPRequest{URL: url})
}

// wantCode fails unless the response is an error with the code, in a message
// that may be shown and has the words.
func wantCode(t *testing.T, what string, resp abi.HTTPResponse, code string, words ...string) {
	t.Helper()
	if resp.Error == nil {
		t.Errorf("%s: got status %d, want the error %s", what, resp.Status, code)
		return
	}
	msg := resp.Error.Message
	if resp.Error.Code != code {
		t.Errorf("%s: got %s (%s), want %s", what, resp.Error.Code, msg, code)
	}
	if len(msg) > maxMessage || msg != visible.Line(msg, maxMessage) {
		t.Errorf("%s: the message cannot be shown: %q", what, msg)
	}
	for _, w := range words {
		if !strings.Contains(msg, w) {
			t.Errorf("%s: %q does not say %q", what, msg, w)
		}
	}
}

func wantBody(t *testing.T, what string, resp abi.HTTPResponse, body string) {
	t.Helper()
	if resp.Error != nil {
		t.Errorf("%s: %s: %s", what, resp.Error.Code, resp.Error.Message)
		return
	}
	if string(resp.Body) != body {
		t.Errorf("%s: got %q, want %q", what, resp.Body, body)
	}
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// seen is what a server was sent.
type seen struct {
	mu   sync.Mutex
	reqs []*http.Request
	body []string
}

func (s *seen) handler(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.reqs, s.body = append(s.reqs, r), append(s.body, string(b))
		s.mu.Unlock()
		next(w, r)
	}
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.reqs)
}

func redirect(code int, to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}
}
