package hostfn

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// world is a network of one server, which every name leads to, and a record of
// the names that were looked up.
type world struct {
	t      *testing.T
	server *httptest.Server

	mu    sync.Mutex
	names []string
	seen  []*http.Request
}

func newWorld(t *testing.T, h http.HandlerFunc) *world {
	t.Helper()
	w := &world{t: t}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r)
		w.mu.Unlock()
		h(rw, r)
	}))
	t.Cleanup(w.server.Close)
	return w
}

// requests returns what the server received.
func (w *world) requests() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// session opens the door for rules, each "[http://]host" with optional methods.
func (w *world) session(o HTTPOptions, rules ...policy.HTTPRule) *HTTPSession {
	w.t.Helper()
	if o.MaxRequests == 0 {
		o.MaxRequests = 20
	}
	if o.MaxResponse == 0 {
		o.MaxResponse = 1 << 20
	}
	if o.MaxBody == 0 {
		o.MaxBody = 1 << 20
	}
	if o.Resolve == nil {
		o.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			w.mu.Lock()
			w.names = append(w.names, host)
			w.mu.Unlock()
			return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
		}
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", w.server.Listener.Addr().String())
		}
	}
	h := NewHTTP(rules, o)
	w.t.Cleanup(func() { _ = h.Close() })
	return h.Session()
}

func rule(t *testing.T, host string, methods ...string) policy.HTTPRule {
	t.Helper()
	r, err := policy.ParseHTTPRule(host, methods, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func get(t *testing.T, s *HTTPSession, url string) abi.HTTPResponse {
	t.Helper()
	return s.Do(t.Context(), abi.HTTPRequest{Method: "GET", URL: url})
}

func ok(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

// wantError fails unless the response is a refusal with this code and words.
func wantError(t *testing.T, res abi.HTTPResponse, code, words string) {
	t.Helper()
	if res.Error == nil || res.Error.Code != code || !strings.Contains(res.Error.Message, words) {
		t.Errorf("got %d %+v, want %s %q", res.Status, res.Error, code, words)
	}
}

func TestAGrantedRequestIsMade(t *testing.T) {
	w := newWorld(t, ok)
	s := w.session(HTTPOptions{}, rule(t, "http://a.example"))
	res := get(t, s, "http://a.example/x?q=1#frag")
	if res.Error != nil || res.Status != 200 || string(res.Body) != "hello" || res.URL != "http://a.example/x?q=1" {
		t.Errorf("got %+v %+v", res, res.Error)
	}
	if hosts := s.Hosts(); len(hosts) != 1 || hosts[0] != "http://a.example:80" {
		t.Errorf("hosts are %v", hosts)
	}
}

// NET-1, NET-2, NET-9: what is not granted is refused before its name is looked
// up, and the refusal names the line that would grant it.
func TestWhatIsNotGrantedIsNeitherAskedNorResolved(t *testing.T) {
	w := newWorld(t, ok)
	s := w.session(HTTPOptions{}, rule(t, "http://a.example"), rule(t, "http://*.b.example"), rule(t, "http://c.example:8080"))
	for _, url := range []string{
		"http://evil.example/", "https://a.example/", "http://a.example:81/", "http://xa.example/",
		"http://a.example.evil.example/", "http://b.example/", "http://x.y.b.example/", "http://evilb.example/",
		"http://c.example/", "http://secret-data-in-a-name.evil.example/",
	} {
		wantError(t, get(t, s, url), "denied", "allow.http: - {host: ")
	}
	for _, method := range []string{"POST", "DELETE", "PUT"} {
		wantError(t, s.Do(t.Context(), abi.HTTPRequest{Method: method, URL: "http://a.example/"}), "denied", "methods: ["+method+"]")
	}
	for _, url := range []string{
		"http://user:pw@a.example/", "http://a.example@evil.example/", "http://a.example\\@evil.example/", "http://a.example/\n",
		"file:///etc/passwd", "gopher://a.example/", "//a.example/", "a.example", "http://", "http://0x7f000001/", "http://2130706433/", "http://127.1/",
		"http://a.example/../x", "http://a.example/%2e%2e/x", "http://a.example/a%2fb", "http://a.example/a%5cb", "http://a.example/%252e%252e/",
	} {
		if res := get(t, s, url); res.Error == nil {
			t.Errorf("%q was asked", url)
		}
	}
	if len(w.names) != 0 || len(w.requests()) != 0 {
		t.Errorf("looked up %v, made %d requests", w.names, len(w.requests()))
	}
	for _, url := range []string{"http://A.Example./", "http://x.b.example/", "http://c.example:8080/"} {
		if res := get(t, s, url); res.Error != nil {
			t.Errorf("%s: %+v", url, res.Error)
		}
	}
}

// NET-3: each hop is under the rules; credentials do not cross origins.
func TestRedirectsAreUnderTheRules(t *testing.T) {
	target := ""
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/go") {
			http.Redirect(rw, r, target, http.StatusFound)
			return
		}
		ok(rw, r)
	})
	s := w.session(HTTPOptions{MaxRequests: 200}, rule(t, "http://a.example"), rule(t, "http://b.example"))
	for _, c := range []struct{ to, code, words string }{
		{"http://evil.example/", "denied", "redirected: "},
		{"http://169.254.169.254/latest", "denied", ""},
		{"http://a.example:81/", "denied", ""},
		{"file:///etc/passwd", "denied", "scheme"},
		{"/go/round", "too_many", "redirects"},
	} {
		target = c.to
		wantError(t, get(t, s, "http://a.example/go"), c.code, c.words)
	}
	target = "http://b.example/end"
	res := s.Do(t.Context(), abi.HTTPRequest{URL: "http://a.example/go", Headers: map[string]string{
		"Authorization": "Bearer t", "X-Api-Key": "k", "Cookie": "c=1", "Accept": "text/plain",
	}})
	if res.Error != nil || res.URL != "http://b.example/end" {
		t.Fatalf("got %+v %+v", res, res.Error)
	}
	all := w.requests()
	last := all[len(all)-1].Header
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
		if last.Get(name) != "" {
			t.Errorf("%s crossed to another host", name)
		}
	}
	if last.Get("Accept") != "text/plain" {
		t.Error("Accept was lost")
	}
}

// NET-3: a body goes on only where the rule that let it out allows.
func TestABodyIsNotRedirectedToAnotherHost(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.Host == "a.example" {
			http.Redirect(rw, r, "http://b.example/", http.StatusTemporaryRedirect)
		}
	})
	s := w.session(HTTPOptions{}, rule(t, "http://a.example", "POST"), rule(t, "http://b.example", "POST"))
	res := s.Do(t.Context(), abi.HTTPRequest{Method: "POST", URL: "http://a.example/", Body: []byte("data")})
	wantError(t, res, "denied", "body to another host")
}

// NET-4, NET-5: the address decides, whatever the name says.
func TestPrivateAddressesAreNotReached(t *testing.T) {
	for _, addr := range []string{
		"127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "192.0.0.1", "192.0.2.1",
		"198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
		"64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "fc00::1", "fe80::1", "ff02::1", "fd00:ec2::254",
	} {
		w := newWorld(t, ok)
		o := HTTPOptions{Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr(addr)}, nil
		}}
		res := get(t, w.session(o, rule(t, "http://a.example")), "http://a.example/")
		wantError(t, res, "denied", "")
		if len(w.requests()) != 0 {
			t.Errorf("%s was reached", addr)
		}
	}
}

// NET-5: the real dialler, to a real server on loopback.
func TestLoopbackNeedsPrivateNetworks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(ok))
	defer server.Close()
	r := rule(t, server.URL)
	for _, private := range []bool{false, true} {
		h := NewHTTP([]policy.HTTPRule{r}, HTTPOptions{Private: private, MaxRequests: 1, MaxResponse: 1 << 16})
		res := get(t, h.Session(), server.URL+"/")
		if private != (res.Error == nil) {
			t.Errorf("private networks %v: %+v", private, res.Error)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

// NET-6: no proxy from the environment.
func TestTheEnvironmentsProxyIsNotUsed(t *testing.T) {
	proxied := false
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied = true }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	w := newWorld(t, ok)
	if res := get(t, w.session(HTTPOptions{}, rule(t, "http://a.example")), "http://a.example/"); res.Error != nil || proxied {
		t.Errorf("proxied %v, %+v", proxied, res.Error)
	}
}

// NET-7: headers that are not the guest's to set.
func TestHeadersThatChangeARequestAreRefused(t *testing.T) {
	w := newWorld(t, ok)
	s := w.session(HTTPOptions{}, rule(t, "http://a.example"))
	for _, name := range []string{
		"Host", "content-length", "Transfer-Encoding", "Connection", "Proxy-Authorization", "X-HTTP-Method-Override",
		"X_Original_URL", "X-Forwarded-For", "Upgrade", "Te", "Bad Name", "", "a\r\nX", "Expect",
	} {
		if res := s.Do(t.Context(), abi.HTTPRequest{URL: "http://a.example/", Headers: map[string]string{name: "v"}}); res.Error == nil {
			t.Errorf("%q was sent", name)
		}
	}
	res := s.Do(t.Context(), abi.HTTPRequest{URL: "http://a.example/", Headers: map[string]string{"X-Ok": "a\r\nY: b"}})
	wantError(t, res, "invalid", "")
	for _, method := range []string{"TRACE", "CONNECT", "GET / HTTP/1.1\r\n"} {
		if res := s.Do(t.Context(), abi.HTTPRequest{Method: method, URL: "http://a.example/"}); res.Error == nil {
			t.Errorf("method %q was sent", method)
		}
	}
	if len(w.requests()) != 0 {
		t.Errorf("%d requests were made", len(w.requests()))
	}
}

// NET-8: a response is bounded as it is unpacked, and the deadline holds.
func TestResponsesAreBounded(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	handlers := map[string]http.HandlerFunc{
		"endless": func(rw http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := rw.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		},
		"bomb": func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Encoding", "gzip")
			_, _ = rw.Write(bomb.Bytes()) // the client hangs up
		},
		"headers": func(rw http.ResponseWriter, _ *http.Request) {
			for i := range 3000 {
				rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("v", 100))
			}
		},
	}
	for name, h := range handlers {
		w := newWorld(t, h)
		if res := get(t, w.session(HTTPOptions{MaxResponse: 1 << 16}, rule(t, "http://a.example")), "http://a.example/"); res.Error == nil {
			t.Errorf("%s: %d bytes came through", name, len(res.Body))
		}
	}
	slow := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	res := slow.session(HTTPOptions{}, rule(t, "http://a.example")).Do(ctx, abi.HTTPRequest{URL: "http://a.example/"})
	wantError(t, res, "timeout", "")
	if took := time.Since(start); took > 2*time.Second { // the deadline, and a loaded machine
		t.Errorf("took %s", took)
	}
}

// NET-9, NET-10: requests and uploads are counted; nothing is kept between tools.
func TestRequestsAndUploadsAreBounded(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, r *http.Request) {
		http.SetCookie(rw, &http.Cookie{Name: "c", Value: "1"})
		ok(rw, r)
	})
	s := w.session(HTTPOptions{MaxRequests: 2, MaxBody: 4}, rule(t, "http://a.example", "GET", "POST"))
	wantError(t, s.Do(t.Context(), abi.HTTPRequest{Method: "POST", URL: "http://a.example/", Body: []byte("12345")}), "too_large", "")
	for range 2 {
		if res := get(t, s, "http://a.example/"); res.Error != nil {
			t.Error(res.Error)
		}
	}
	wantError(t, get(t, s, "http://a.example/"), "too_many", "2 requests")
	for _, r := range w.requests() {
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie was kept")
		}
	}
}
