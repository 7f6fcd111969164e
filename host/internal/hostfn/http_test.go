package hostfn

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func TestGrantedRequestIsMade(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-One", "1")
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.RequestURI())
	}))
	h := w.open(t, limits(), rule(t, "api.example.com", []string{"POST"}, "/v1/**"))
	session := h.Session()
	got := session.Do(t.Context(), abi.HTTPRequest{
		Method: "post", URL: "HTTPS://API.Example.com.:443/v1/grün?q=a b&c=ü#fragment",
		Headers: map[string]string{"authorization": "Bearer x", "Content-Type": "text/plain"}, Body: []byte("hello"),
	})
	wantBody(t, "post", got, "POST /v1/gr%C3%BCn?q=a%20b&c=%C3%BC")
	if got.Status != 418 || got.URL != "https://api.example.com/v1/gr%C3%BCn?q=a%20b&c=%C3%BC" {
		t.Errorf("got %d from %s", got.Status, got.URL)
	}
	if got.Headers["X-One"] != "1" || got.Headers["X-Two"] != "a, b" {
		t.Errorf("got the headers %v", got.Headers)
	}
	r := s.reqs[0]
	if r.Host != "api.example.com" || r.Header.Get("Authorization") != "Bearer x" || s.body[0] != "hello" || r.Header.Get("User-Agent") != "wagent" {
		t.Errorf("the server got %s %v %q", r.Host, r.Header, s.body[0])
	}
	if d := cmp.Diff([]string{"https://api.example.com:443"}, session.Hosts()); d != "" {
		t.Error(d)
	}
}

// NET-1, NET-9: what no rule names is refused before its name is looked up, and
// the message is the line that would allow it.
func TestUnlistedHostsAreNeverResolved(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", say("hello"))
	for _, h := range []*HTTP{w.open(t, limits()), w.open(t, limits(), rule(t, "*.x.com", nil), rule(t, "api.example.com", nil, "/v1/**"))} {
		for _, c := range []struct{ method, url, line string }{
			{"GET", "https://api.example.com/v2/x?secret=1", `allow.http: - {host: api.example.com, methods: [GET], paths: ["/v2/x"]}`},
			{"POST", "https://api.example.com/v1/x", `methods: [POST]`},
			{"GET", "http://api.example.com/v1/x", `- {host: "http://api.example.com"`},
			{"GET", "https://api.example.com:8443/v1/x", `- {host: "api.example.com:8443"`},
			{"GET", "https://api.example.com", `paths: ["/"]}`},
			{"GET", "https://api.example.com/a\u202eb\"]}/x", `- {host: api.example.com, methods: [GET], paths: ["/*/x"]}`},
			{"GET", "https://api.example.com/a//b", `paths: ["/a//b", "/a/b"]}`},
			{"GET", "https://api.example.com/" + strings.Repeat("a", 200), `the line of allow.http that would is too long to be shown here`},
			{"GET", "https://" + strings.Repeat("data.", 40) + "evil.com/a", `allow.http`},
			{"GET", "https://x.com", ""},
			{"GET", "https://a.b.x.com", ""},
			{"GET", "https://evilx.com", ""},
			{"GET", "https://a.x.com.evil.com", ""},
		} {
			got := h.Session().Do(t.Context(), abi.HTTPRequest{Method: c.method, URL: c.url})
			wantCode(t, c.url, got, "denied", c.line)
			if got.Error != nil && strings.Contains(got.Error.Message, "secret") {
				t.Errorf("%s: the message repeats the query", c.url)
			}
		}
	}
	if d := cmp.Diff([]string(nil), w.looked()); d != "" {
		t.Errorf("names were looked up: %s", d)
	}
}

// NET-2: URLs that one reader takes for another host, path or request.
func TestAmbiguousURLsAreRefused(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", say("hello"))
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	for _, url := range []string{
		"", "api.example.com", "//api.example.com", "/path", "https:api.example.com", "https:///x", "ftp://api.example.com", "file:///etc/passwd", "javascript:x",
		"https://user@api.example.com/", "https://user:pass@api.example.com/", "https://api.example.com@evil.com/", "https://@api.example.com/",
		`https://api.example.com\@evil.com/`, `https:\\api.example.com`, `https://api.example.com/a\b`,
		"https://api.example.com\t/", "https://api.example.com\n/", "https://api.example.com/\r\nX: y", "https://api.example.com/\x00", " https://api.example.com/",
		"https://api%2eexample.com/", "https://api.example.com%00/", "https://аpi.example.com/", "https://api。example.com/", "https://api.example.com\u200b/",
		"https://api.example.com:0/", "https://api.example.com:65536/", "https://api.example.com:x/", "https://api..example.com/", "https://.example.com/",
		"https://0x7f000001/", "https://0x7f.1/", "https://127.1/", "https://2130706433/", "https://0177.0.0.1/", "https://127.0.0.1./x/../",
		"https://[::ffff:169.254.169.254]/", "https://[fe80::1%25eth0]/", "https://[api.example.com]/", "https://[::1/",
		"https://api.example.com/../x", "https://api.example.com/a/..", "https://api.example.com/a/./b", "https://api.example.com/%2e%2e/x", "https://api.example.com/a/.%2E",
		"https://api.example.com/a%2fb", "https://api.example.com/a%2Fb", "https://api.example.com/a%5cb", "https://api.example.com/a%0d%0ab", "https://api.example.com/%00",
		"https://api.example.com/%252e%252e/x", "https://api.example.com/a%252fb", "https://api.example.com/..;/x", "https://api.example.com/.;a=b/x", "https://api.example.com/%25252525252541",
		"https://api.example.com/%zz", "https://api.example.com/%25zz/%252e%252e/x", "https://api.example.com/%25/%252e%252e/x", "https://api.example.com/..%3bx/y",
		"https://api.example.com/%c0%ae%c0%ae/x", "https://api.example.com/a%c0%afb", "https://api.example.com/a%C1%9Cb", "https://api.example.com/%e0%80%ae%e0%80%ae/x", "https://api.example.com/%f0%80%80%af", "https://api.example.com/%25c0%25af",
		"https://api.example.com/" + strings.Repeat("a", maxURL),
	} {
		wantCode(t, fmt.Sprintf("%.60q", url), get(t, h, url), "invalid")
	}
	if n := w.looked(); len(n) > 0 {
		t.Errorf("names were looked up: %v", n)
	}
	for _, url := range []string{"https://api.example.com#@evil.com", "https://api.example.com/a//b", "https://api.example.com/100%25/a%20b;c", "https://api.example.com/...", "https://api.example.com/caf%E9/%C3%A0%EF%BC%8F", "https://api.example.com?q=../x%2f"} {
		wantBody(t, url, get(t, h, url), "hello")
	}
}

func TestTraceAndConnectAreRefused(t *testing.T) {
	w := newWorld()
	r := rule(t, "api.example.com", nil)
	r.Methods = []string{"GET", "TRACE", "CONNECT"}
	h := w.open(t, limits(), r)
	for method, code := range map[string]string{"TRACE": "denied", "connect": "denied", "GET /x HTTP/1.1\r\n": "invalid", "GÉT": "invalid", strings.Repeat("A", 40): "invalid"} {
		wantCode(t, method, h.Session().Do(t.Context(), abi.HTTPRequest{Method: method, URL: "https://api.example.com/"}), code)
	}
}

// A server that merges slashes must not see a path that no rule covers.
func TestMergedSlashesAreCheckedToo(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", say("hello"))
	h := w.open(t, limits(), rule(t, "api.example.com", nil, "/a/*/b", "/web/**"))
	wantCode(t, "merged", get(t, h, "https://api.example.com/a//b"), "denied")
	wantBody(t, "covered both ways", get(t, h, "https://api.example.com/web/https://x.com"), "hello")
}

// NET-6: no proxy from the environment.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if c, err := proxy.Accept(); err == nil {
			t.Error("the proxy was asked")
			_ = c.Close()
		}
	}()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://"+proxy.Addr().String())
	}
	w := newWorld()
	w.serve(t, "http://api.example.com", say("plain"))
	w.serve(t, "https://api.example.com", say("secure"))
	h := w.open(t, limits(), rule(t, "api.example.com", nil), rule(t, "http://api.example.com", nil))
	wantBody(t, "http", get(t, h, "http://api.example.com"), "plain")
	wantBody(t, "https", get(t, h, "https://api.example.com"), "secure")
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	<-asked
}

// NET-9: requests of a call are counted, redirects among them, and a body is
// weighed before it is sent.
func TestRequestsAndUploadsAreBounded(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			redirect(302, "/")(rw, r)
		}
	}))
	o := limits()
	o.MaxRequests, o.MaxBody = 5, 100
	h := w.open(t, o, rule(t, "api.example.com", []string{"GET", "POST"}))
	session := h.Session()
	do := func(path string, body int) abi.HTTPResponse {
		return session.Do(t.Context(), abi.HTTPRequest{Method: "POST", URL: "https://api.example.com" + path, Body: make([]byte, body)})
	}
	wantCode(t, "a large body", do("/", 101), "too_large", "100 bytes")
	wantBody(t, "the largest body", do("/", 100), "")
	wantBody(t, "redirected", do("/again", 0), "")
	wantBody(t, "fourth", do("/", 0), "")
	wantCode(t, "redirected past the end", do("/again", 0), "too_many", "5 requests")
	for range 1000 {
		wantCode(t, "past the end", do("/", 0), "too_many")
	}
	if s.count() != 5 {
		t.Errorf("%d requests were made", s.count())
	}
	wantBody(t, "another call", get(t, h, "https://api.example.com/"), "")
}

// NET-10: what one module was given, another does not send.
func TestModulesShareNothing(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT")
	}))
	r := rule(t, "api.example.com", nil)
	a, b := w.open(t, limits(), r), w.open(t, limits(), r)
	got := get(t, a, "https://api.example.com/")
	if got.Headers["Set-Cookie"] != "a=1\nb=2; Expires=Wed, 01 Jan 2031 00:00:00 GMT" {
		t.Errorf("cookies: %q", got.Headers["Set-Cookie"])
	}
	get(t, a, "https://api.example.com/")
	get(t, b, "https://api.example.com/")
	for _, r := range s.reqs {
		if r.Header.Get("Cookie") != "" {
			t.Error("a cookie was sent")
		}
	}
	if s.reqs[0].RemoteAddr != s.reqs[1].RemoteAddr {
		t.Error("a module does not use its own connection again")
	}
	if s.reqs[0].RemoteAddr == s.reqs[2].RemoteAddr {
		t.Error("a module used another's connection")
	}
}

// CPU-4: a request ends with its call, wherever it is.
func TestRequestsEndWithTheCall(t *testing.T) {
	w := newWorld()
	release := make(chan struct{})
	w.serve(t, "https://api.example.com", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			w.WriteHeader(200)
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte("x")); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-release:
				case <-r.Context().Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
			return
		}
		<-release
	})
	t.Cleanup(func() { close(release) })
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	for _, path := range []string{"/silent", "/drip"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		start := time.Now()
		wantCode(t, path, h.Session().Do(ctx, abi.HTTPRequest{URL: "https://api.example.com" + path}), "timeout")
		// 300 ms and what a loaded machine adds.
		if d := time.Since(start); d > 3*time.Second {
			t.Errorf("%s: took %v", path, d)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, "after the end", h.Session().Do(ctx, abi.HTTPRequest{URL: "https://api.example.com/"}), "timeout")
}

func TestClosedModuleMakesNoRequests(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", say("hello"))
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "closed", get(t, h, "https://api.example.com/"), "unavailable")
}

// The attack: errors that tell the guest about the host's resolver and addresses.
func TestFailuresAreToldInFixedWords(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", func(_ http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) })
	w.serve(t, "https://api.other.org", say("its certificate is for example.com"))
	w.names["refused.example.com"] = w.names["api.example.com"]
	h := w.open(t, limits(), rule(t, "*.example.com", nil), rule(t, "*.other.org", nil), rule(t, "http://refused.example.com", nil))
	for url, words := range map[string]string{
		"https://gone.example.com/":   "the name does not resolve",
		"https://api.other.org/":      "the server's certificate is not trusted",
		"http://refused.example.com/": "the server refuses connections",
	} {
		got := get(t, h, url)
		wantCode(t, url, got, "unavailable", words)
		if got.Error != nil && got.Error.Message != words {
			t.Errorf("%s: %q says more than that", url, got.Error.Message)
		}
	}
	wantCode(t, "aborted", get(t, h, "https://api.example.com/"), "unavailable")
}

func FuzzHTTPRequest(f *testing.F) {
	for _, s := range []string{"https://api.example.com/a", "https://u@x", "http://[::1]:80/", `https://a\b`, "https://api.example.com/%2e%2e", "https://0x7f.1"} {
		f.Add("GET", s, "Accept", "x")
	}
	f.Fuzz(func(t *testing.T, method, url, name, value string) {
		target, err := parseTarget(method, url)
		if err == nil {
			again, err := parseTarget(target.method, target.url.String())
			if err != nil || again.host != target.host || again.port != target.port || again.path != target.path || again.url.String() != target.url.String() {
				t.Errorf("%q is read as %q and then as %q (%v)", url, target.url, again.url, err)
			}
			if msg := explain(t.Context(), target.denied("")).error().Message; strings.ContainsFunc(msg, func(r rune) bool { return r < 0x20 || r > 0x7e && r != '…' }) {
				t.Errorf("%q cannot be shown", msg)
			}
		}
		header, err := cleanHeader(map[string]string{name: value})
		if err == nil && (len(header) != 1 || isReserved(name) || strings.ContainsAny(name+value, "\r\n\x00")) {
			t.Errorf("%q: %q was let through", name, value)
		}
	})
}
