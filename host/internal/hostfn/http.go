package hostfn

// Attack: a guest reaches a host, port, method or path that was not named, by
// way of a redirect, a proxy, another tool's connection or a name that moved.

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const (
	maxRedirects      = 5
	maxResponseHeader = 64 << 10 // bytes
	handshakeTimeout  = 10 * time.Second
	idleTimeout       = 30 * time.Second
	maxIdle           = 8 // connections kept for later requests
)

// HTTPOptions bound what a module may do on the network. Zero limits allow
// nothing.
type HTTPOptions struct {
	Private     bool  // loopback, link-local and private addresses may be reached
	MaxRequests int   // of one session, redirects included
	MaxResponse int64 // bytes of one response, headers included, after decompression
	MaxBody     int64 // bytes of one request's body

	Secrets []Secret    // added to requests to their origins
	Redact  *redact.Set // what is taken out of responses and errors; nil: nothing

	// What follows takes the place of the system's, for tests; nil is the system's.

	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked already.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Own returns the addresses of this machine's interfaces.
	Own func() ([]netip.Addr, error)
	TLS *tls.Config
}

// HTTP makes the requests of one module. It shares nothing with other modules:
// no connections, no cookies, no proxy from the environment. It is safe for
// concurrent use.
type HTTP struct {
	rules     []policy.HTTPRule
	o         HTTPOptions
	secure    *tls.Config
	transport *http.Transport

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// NewHTTP returns the door that the rules open. Close it when the module is no
// longer used.
func NewHTTP(rules []policy.HTTPRule, o HTTPOptions) *HTTP {
	h := &HTTP{rules: slices.Clone(rules), o: o}
	if h.o.Resolve == nil {
		h.o.Resolve = lookup
	}
	if h.o.Own == nil {
		h.o.Own = interfaceAddrs
	}
	h.secure = &tls.Config{}
	if o.TLS != nil {
		h.secure = o.TLS.Clone()
	}
	h.secure.MinVersion = max(h.secure.MinVersion, tls.VersionTLS12)
	h.secure.NextProtos = []string{"http/1.1"}
	// HTTP/1.1 only: every server has it, its limits tell why they refuse, and no
	// connection is shared by requests.
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	h.transport = &http.Transport{
		Proxy:                  nil,
		DialContext:            h.dialPlain,
		DialTLSContext:         h.dialTLS,
		Protocols:              protocols,
		DisableCompression:     true, // decompressed in response.go, where it is counted
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdle,
		MaxResponseHeaderBytes: max(1, min(maxResponseHeader, o.MaxResponse)),
	}
	return h
}

// Close waits for the requests that are under way, which their contexts bound,
// and closes the connections. Requests after it are refused.
func (h *HTTP) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.running.Wait()
	h.transport.CloseIdleConnections()
	return nil
}

func (h *HTTP) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.running.Add(1)
	}
	return !h.closed
}

// rule returns the first rule that covers the target.
func (h *HTTP) rule(t target) (policy.HTTPRule, bool) {
	i := slices.IndexFunc(h.rules, t.allowedBy)
	if i < 0 {
		return policy.HTTPRule{}, false
	}
	return h.rules[i], true
}

// Session returns what one call uses: it counts the call's requests and
// remembers where they went.
func (h *HTTP) Session() *HTTPSession {
	return &HTTPSession{h: h, hosts: map[string]struct{}{}}
}

// HTTPSession makes the requests of one call. It is safe for concurrent use.
type HTTPSession struct {
	h    *HTTP
	tell func(HTTPEnd) // see Watch

	mu    sync.Mutex
	count int
	hosts map[string]struct{}
}

// Do makes a request and follows redirects, each hop under the rules. It blocks
// until the response was read or ctx ends. What is refused or goes wrong is in
// the response's Error, in fixed words: a refusal names the manifest line that
// would allow it.
func (s *HTTPSession) Do(ctx context.Context, in abi.HTTPRequest) abi.HTTPResponse {
	if !s.h.begin() {
		return abi.HTTPResponse{Error: unavailable("the module is being closed").error()}
	}
	defer s.h.running.Done()
	out, err := s.do(ctx, in)
	s.ended(ctx, &out, err)
	if err != nil {
		out = abi.HTTPResponse{Error: explain(ctx, err).error()}
	}
	s.h.hide(&out)
	return out
}

// Hosts returns the origins that were connected to, as scheme://host:port, sorted.
func (s *HTTPSession) Hosts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]string, 0, len(s.hosts))
	for h := range s.hosts {
		out = append(out, h)
	}
	slices.Sort(out)
	return out
}

func (s *HTTPSession) do(ctx context.Context, in abi.HTTPRequest) (abi.HTTPResponse, error) {
	hop, err := s.first(in)
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	for redirects := 0; ; redirects++ {
		resp, err := s.send(ctx, hop)
		if err != nil {
			return abi.HTTPResponse{}, err
		}
		if err := hop.searchable(resp); err != nil {
			return abi.HTTPResponse{}, closing(resp, err)
		}
		if !isRedirect(resp) {
			out, err := s.h.read(resp, hop)
			// At the deadline the connection is closed from our side; a server that
			// sees that may end its response in good form before the socket is gone,
			// and half of it would pass for the whole.
			return out, errors.Join(err, ctx.Err())
		}
		if err := resp.Body.Close(); err != nil {
			return abi.HTTPResponse{}, err
		}
		if redirects == maxRedirects {
			return abi.HTTPResponse{}, tooMany("more than 5 redirects")
		}
		if hop, err = s.h.follow(hop, resp); err != nil {
			return abi.HTTPResponse{}, err
		}
	}
}

// first checks what the guest asked for.
func (s *HTTPSession) first(in abi.HTTPRequest) (hop, error) {
	t, err := parseTarget(in.Method, in.URL)
	if err != nil {
		return hop{}, err
	}
	header, err := cleanHeader(in.Headers)
	if err != nil {
		return hop{}, err
	}
	if int64(len(in.Body)) > s.h.o.MaxBody {
		return hop{}, tooLarge("the request's body has more than %d bytes", s.h.o.MaxBody)
	}
	r, ok := s.h.rule(t)
	if !ok {
		return hop{}, t.denied("")
	}
	return s.h.withSecrets(hop{target: t, rule: r, header: header, body: in.Body})
}

func (s *HTTPSession) send(ctx context.Context, hp hop) (*http.Response, error) {
	s.mu.Lock()
	over := s.count >= s.h.o.MaxRequests
	s.count++
	s.mu.Unlock()
	if over {
		return nil, tooMany("more than %d requests in one call", s.h.o.MaxRequests)
	}
	connected := func() { s.connected(hp.origin()) }
	ctx = httptrace.WithClientTrace(keepingEnd(ctx, connected), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected() }, // it may be one of an earlier request
	})
	req := hp.request(ctx)
	resp, err := s.h.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, closing(resp, unavailable("the server changed the protocol without being asked"))
	}
	return resp, nil
}

func (s *HTTPSession) connected(origin string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[origin] = struct{}{}
}

// hop is one request on the way to a response.
type hop struct {
	target
	rule   policy.HTTPRule // the one that covers it
	header http.Header
	body   []byte

	secrets  []Secret // that are added to it
	searched bool     // it, or one before it, carried a secret
}

func (hp hop) request(ctx context.Context) *http.Request {
	header := hp.header.Clone()
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "wagent")
	}
	for _, s := range hp.secrets {
		header.Set(s.Header, s.header())
	}
	if hp.decodes() {
		header.Set("Accept-Encoding", "gzip")
	}
	u := *hp.url
	req := &http.Request{
		Method: hp.method, URL: &u, Host: u.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// What a server sends behind its response, net/http writes as it is into the
		// log of the process when it keeps the connection: there may be a secret in it.
		Close: hp.searched,
	}
	if len(hp.body) > 0 {
		req.ContentLength = int64(len(hp.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(hp.body)), nil }
		req.Body = io.NopCloser(bytes.NewReader(hp.body))
	}
	return req.WithContext(ctx)
}

// decodes reports whether compression is between us and the server. A guest
// that asks for an encoding, or for a part, gets what the server sends.
func (hp hop) decodes() bool {
	return hp.header.Get("Accept-Encoding") == "" && hp.header.Get("Range") == ""
}

// withoutFragment returns the URL as it is sent and shown.
func withoutFragment(u *url.URL) *url.URL {
	v := *u
	v.Fragment, v.RawFragment = "", ""
	return &v
}
