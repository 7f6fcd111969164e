package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
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
	"time"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// internet is what the guests of these tests can reach: real servers on loopback,
// behind names and public addresses that exist here only. It writes down every
// name that is looked up, every connection that is made, and every request.
type internet struct {
	mu      sync.Mutex
	names   map[string][][]netip.Addr // answers to the first, second … question; the last stays
	servers map[netip.AddrPort]string // where they really listen
	roots   *x509.CertPool
	own     []netip.Addr

	lookups  []string
	dials    []netip.AddrPort
	requests []arrived
}

// arrived is a request as a server got it.
type arrived struct {
	to, from string // host, and the address that it came from
	method   string
	uri      string
	header   http.Header
	body     string
}

func newInternet() *internet {
	return &internet{names: map[string][][]netip.Addr{}, servers: map[netip.AddrPort]string{}, roots: x509.NewCertPool()}
}

// publicAddr is the n-th address of this internet.
func publicAddr(n int) netip.Addr { return netip.AddrFrom4([4]byte{93, 184, 216, byte(n)}) }

// serve starts a server for scheme://name, on the usual port, and returns its
// address. Certificates are for example.com and the names below it.
func (n *internet) serve(t testing.TB, origin string, handler http.HandlerFunc) netip.Addr {
	t.Helper()
	scheme, name, _ := strings.Cut(origin, "://")
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		n.requests = append(n.requests, arrived{r.Host, r.RemoteAddr, r.Method, r.RequestURI, r.Header, string(body)})
		n.mu.Unlock()
		handler(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	port := uint16(80)
	if scheme == "https" {
		port = 443
		s.StartTLS()
		n.roots.AddCert(s.Certificate())
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	n.mu.Lock()
	defer n.mu.Unlock()
	at := publicAddr(len(n.servers) + 1)
	if known := n.names[name]; known != nil {
		at = known[0][0]
	}
	n.names[name] = [][]netip.Addr{{at}}
	n.servers[netip.AddrPortFrom(at, port)] = s.Listener.Addr().String()
	return at
}

// answers is what questions for a name are answered with, one after the other.
func (n *internet) answers(name string, answers ...[]netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = answers
}

func (n *internet) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups = append(n.lookups, name)
	answers := n.names[name]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.names[name] = answers[1:]
	}
	return answers[0], nil
}

func (n *internet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dials = append(n.dials, to)
	listens, ok := n.servers[to]
	n.mu.Unlock()
	if !ok {
		listens = "127.0.0.1:1" // nothing listens on tcpmux
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", listens)
}

// join puts a module into this internet. All that its policy says holds there.
func (n *internet) join(t testing.TB, m *Module) {
	t.Helper()
	if m.http == nil {
		return
	}
	if err := m.http.Close(); err != nil {
		t.Fatal(err)
	}
	o := httpOptions(&m.src)
	o.Resolve, o.Dial = n.resolve, n.dial
	o.Own = func() ([]netip.Addr, error) { return n.own, nil }
	o.TLS = &tls.Config{RootCAs: n.roots}
	m.http = hostfn.NewHTTP(m.src.Policy.Grants.HTTP, o)
}

// leave closes the connections of a module, which makes no more.
func (n *internet) leave(t testing.TB, m *Module) {
	t.Helper()
	if err := m.http.Close(); err != nil {
		t.Error(err)
	}
}

// traffic is what happened since the last time that it was taken.
type traffic struct {
	lookups  []string
	dials    []netip.AddrPort
	requests []arrived
}

func (n *internet) record() traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := traffic{n.lookups, n.dials, n.requests}
	n.lookups, n.dials, n.requests = nil, nil, nil
	return r
}

// untouched fails when anything was looked up, connected to or asked.
func (n *internet) untouched(t *testing.T) {
	t.Helper()
	if r := n.record(); len(r.lookups)+len(r.dials)+len(r.requests) > 0 {
		t.Errorf("the network was used: %+v", r)
	}
}

// netReply is what came of a request, as a guest sees it or its call ends.
type netReply struct {
	Code    string // of the error; empty: a response
	Message string
	Status  int
	URL     string
	Headers map[string]string
	Body    string
	fault   Fault
}

// netDoor is a way for guests to make requests. The same answers are behind all.
type netDoor struct {
	name string
	m    *Module
	ask  func(t *testing.T, reqs ...abi.HTTPRequest) []netReply
}

// doors are a guest of our kit, one of plain WASI, and a plugin of an unmodified
// kit of Extism, each with the same policy and in this internet.
func (n *internet) doors(t *testing.T, e *Engine, change ...func(*Source)) []netDoor {
	t.Helper()
	var all []netDoor
	for _, src := range []Source{sdkGuest(t), wasiGuest(t), extismGuest(t)} {
		m := load(t, e, src, change...)
		n.join(t, m)
		all = append(all, doorOf(m))
	}
	return all
}

// doorOf is the door of one of the guests below.
func doorOf(m *Module) netDoor {
	d := netDoor{name: strings.TrimSuffix(m.src.Name, ".wasm"), m: m}
	switch d.name {
	case "sdk":
		d.ask = func(t *testing.T, reqs ...abi.HTTPRequest) []netReply { return askGuest(t, m, readKit, reqs) }
	case "wasi":
		d.ask = func(t *testing.T, reqs ...abi.HTTPRequest) []netReply { return askGuest(t, m, readABI, reqs) }
	default:
		d.ask = func(t *testing.T, reqs ...abi.HTTPRequest) []netReply { return askPlugin(t, m, reqs) }
	}
	return d
}

// arguments are those of a call that makes one request.
func (d netDoor) arguments(t *testing.T, req abi.HTTPRequest) json.RawMessage {
	t.Helper()
	if d.name != "extism" {
		return requestsArg(t, []abi.HTTPRequest{req})
	}
	args, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return args
}

func sdkGuest(t testing.TB) Source {
	return Source{Name: "sdk.wasm", Wasm: builds.Tool(t, "testdata/netguest"), Policy: policy.Default()}
}

func wasiGuest(t testing.TB) Source {
	return Source{Name: "wasi.wasm", Wasm: builds.Command(t, "testdata/netprogram"), Policy: policy.Default()}
}

// extismGuest is a plugin in Rust that makes the request which it is given.
func extismGuest(t testing.TB) Source {
	src := Source{Name: "extism.wasm", Wasm: pdkPlugin(t, "http_headers"), ABI: Extism, Policy: policy.Default()}
	plainTool("http_get")(&src)
	return src
}

// timely makes a call that has to end in time.
func timely(t *testing.T, m *Module, c Call) Outcome {
	t.Helper()
	start := time.Now()
	out := m.Call(t.Context(), c)
	if took := time.Since(start); took > m.src.Policy.Limits.Timeout+overrun {
		t.Errorf("%s: took %v", m.src.Name, took)
	}
	checkShown(t, out)
	return out
}

func askGuest(t *testing.T, m *Module, read func([]byte) ([]netReply, error), reqs []abi.HTTPRequest) []netReply {
	t.Helper()
	out := timely(t, m, Call{Tool: "requests", Arguments: requestsArg(t, reqs)})
	if out.Fault != "" {
		return []netReply{{fault: out.Fault, Message: said(out)}}
	}
	replies, err := read([]byte(said(out)))
	if err != nil || len(replies) != len(reqs) {
		t.Fatalf("%s: %v %.500s", m.src.Name, err, said(out))
	}
	return replies
}

func requestsArg(t *testing.T, reqs []abi.HTTPRequest) json.RawMessage {
	t.Helper()
	args, err := json.Marshal(map[string]any{"requests": reqs})
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// readABI reads the responses of the host as they are.
func readABI(b []byte) ([]netReply, error) {
	var all []struct {
		abi.HTTPResponse
		Errno abi.Errno `json:"errno"`
	}
	err := json.Unmarshal(b, &all)
	var out []netReply
	for _, r := range all {
		switch {
		case r.Errno == abi.ErrDenied:
			out = append(out, netReply{Code: "denied", Message: r.Errno.Error()})
		case r.Errno != 0:
			out = append(out, netReply{Code: "errno", Message: r.Errno.Error()})
		case r.Error != nil:
			out = append(out, netReply{Code: r.Error.Code, Message: r.Error.Message})
		default:
			out = append(out, netReply{Status: r.Status, URL: r.URL, Headers: r.Headers, Body: string(r.Body)})
		}
	}
	return out, err
}

// readKit reads what the SDK makes of them.
func readKit(b []byte) ([]netReply, error) {
	var all []struct {
		netReply
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(b, &all)
	var out []netReply
	for _, r := range all {
		r.Code = r.Kind
		out = append(out, r.netReply)
	}
	return out, err
}

// askPlugin makes each request in a call of its own: what is refused ends it.
func askPlugin(t *testing.T, m *Module, reqs []abi.HTTPRequest) []netReply {
	t.Helper()
	var all []netReply
	for _, req := range reqs {
		out := timely(t, m, Call{Arguments: doorOf(m).arguments(t, req)})
		const denied, failed = "the tool made an HTTP request that it was not granted: ", "the tool's HTTP request failed: "
		text := said(out)
		switch {
		case out.Fault == FaultDenied:
			all = append(all, netReply{Code: "denied", Message: strings.TrimPrefix(text, denied)})
		case out.Fault == "" && out.Result.IsError:
			code, message, _ := strings.Cut(text[strings.Index(text, failed)+len(failed):], ": ")
			all = append(all, netReply{Code: code, Message: message})
		case out.Fault != "":
			all = append(all, netReply{fault: out.Fault, Message: text})
		default:
			r := netReply{}
			if err := json.Unmarshal([]byte(text), &r.Headers); err != nil {
				t.Fatalf("%v %s", err, text)
			}
			all = append(all, r)
		}
	}
	return all
}

// kitKinds are what the SDK makes of the codes of the host.
func kitKinds() map[string]abi.ErrorKind {
	return map[string]abi.ErrorKind{
		"denied": abi.AuthRequired, "invalid": abi.Input, "too_large": abi.Input,
		"too_many": abi.RateLimited, "timeout": abi.Unavailable, "unavailable": abi.Unavailable,
	}
}

// refusedAt checks that a request is refused at every door, in the same words.
func refusedAt(t *testing.T, doors []netDoor, req abi.HTTPRequest, code, says string) {
	t.Helper()
	what := req.Method + " " + req.URL
	var first string
	for _, d := range doors {
		for _, r := range d.ask(t, req) {
			want := code
			if d.name == "sdk" {
				want = string(kitKinds()[code])
			}
			if r.fault != "" || r.Code != want || !strings.Contains(r.Message, says) {
				t.Errorf("%s: %.200q %v: got %+v, want %s %q", d.name, what, req.Headers, r, want, says)
			}
			if first == "" {
				first = r.Message
			}
			if r.Message != first {
				t.Errorf("%s: %.200q: %q at one door, %q at another", d.name, what, first, r.Message)
			}
		}
	}
}

// answeredAt checks that a request is answered at every door.
func answeredAt(t *testing.T, doors []netDoor, req abi.HTTPRequest) []netReply {
	t.Helper()
	var all []netReply
	for _, d := range doors {
		r := d.ask(t, req)[0]
		if r.fault != "" || r.Code != "" {
			t.Errorf("%s: %s %.200q: got %+v", d.name, req.Method, req.URL, r)
		}
		all = append(all, r)
	}
	return all
}

func getOf(url string) abi.HTTPRequest { return abi.HTTPRequest{Method: "GET", URL: url} }

// allowing grants hosts, as a manifest does.
func allowing(t *testing.T, methods []string, hosts ...string) func(*Source) {
	t.Helper()
	var rules []policy.HTTPRule
	for _, h := range hosts {
		r, err := policy.ParseHTTPRule(h, methods, nil)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return func(s *Source) { s.Policy.Grants.HTTP = append(slices.Clone(s.Policy.Grants.HTTP), rules...) }
}

func sayOK(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
