package hostfn

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// NET-3: a redirect goes no further than the rules.
func TestRedirectsStayWithinTheRules(t *testing.T) {
	w, evil := newWorld(), &seen{}
	w.serve(t, "https://evil.example.com", evil.handler(say("evil")))
	w.serve(t, "http://api.example.com", evil.handler(say("plain")))
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ok/end" {
			say("end "+r.Method+" "+r.URL.RawQuery)(rw, r)
			return
		}
		rw.Header().Set("Location", r.URL.Query().Get("to"))
		rw.WriteHeader(302)
		_, _ = rw.Write([]byte("a body that nobody reads"))
	})
	h := w.open(t, limits(), rule(t, "api.example.com", []string{"GET"}, "/from", "/ok/**"), rule(t, "http://api.example.com", nil), rule(t, "127.0.0.1", nil))
	for to, want := range map[string]struct{ code, word string }{
		"/ok/end":                              {},
		"ok/end":                               {},
		"https://api.example.com/ok/end":       {},
		"//api.example.com/ok/end%23x":         {},
		"https://evil.example.com/":            {"denied", `redirected: no grant covers this; to allow it: allow.http: - {host: evil.example.com`},
		"//evil.example.com/":                  {"denied", "evil.example.com"},
		"https://api.example.com.evil.com/":    {"denied", ""},
		"/other":                               {"denied", `paths: ["/other"]`},
		"http://api.example.com/ok/end":        {"denied", "from https to http"},
		"https://api.example.com:8443/ok/end":  {"denied", "8443"},
		"https://user:pw@api.example.com/ok":   {"invalid", "user name"},
		"https://127.0.0.1/":                   {"denied", "private_networks"},
		"https://169.254.169.254/":             {"denied", ""},
		"file:///etc/passwd":                   {"denied", "scheme"},
		"javascript:alert(1)":                  {"denied", "scheme"},
		"https://[::ffff:127.0.0.1]/":          {"invalid", ""},
		"https://0x7f.1/":                      {"invalid", ""},
		"/ok/%2e%2e/secret":                    {"invalid", ""},
		`/ok\..\secret`:                        {"invalid", ""},
		"https://аpi.example.com/":             {"invalid", "punycode"},
		"https://api.example.com/from?to=":     {},
		"https://xn--pi-6kc.example.com/ok":    {"denied", "xn--pi-6kc.example.com"},
		"https://api.example.com/ok/end?a=b#f": {},
	} {
		got := get(t, h, "https://api.example.com/from?to="+queryEscape(to))
		if want.code != "" {
			wantCode(t, to, got, want.code, want.word)
		} else if got.Error != nil {
			t.Errorf("%s: %s: %s", to, got.Error.Code, got.Error.Message)
		}
	}
	if evil.count() > 0 {
		t.Errorf("servers that are not granted were sent %d requests", evil.count())
	}
}

func queryEscape(s string) string {
	var out string
	for i := range len(s) {
		out += fmt.Sprintf("%%%02x", s[i])
	}
	return out
}

// NET-3: five hops, and no loop.
func TestRedirectsAreBounded(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(func(rw http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			redirect(307, fmt.Sprint("/", n-1))(rw, r)
			return
		}
		if r.URL.Path == "/loop" {
			redirect(301, "/loop")(rw, r)
		}
	}))
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	wantBody(t, "five", get(t, h, "https://api.example.com/5"), "")
	wantCode(t, "six", get(t, h, "https://api.example.com/6"), "too_many", "5 redirects")
	before := s.count()
	wantCode(t, "loop", get(t, h, "https://api.example.com/loop"), "too_many")
	if n := s.count() - before; n != 6 {
		t.Errorf("the loop was %d requests", n)
	}
}

// NET-3: credentials and headers of the guest's own stay with the origin that
// they were meant for, also when a redirect leads back to it.
func TestRedirectsLeaveCredentialsBehind(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://a.example.com", s.handler(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			redirect(302, "https://b.example.com/back")(rw, r)
		case "/here":
			redirect(302, "/end")(rw, r)
		}
	}))
	w.serve(t, "https://b.example.com", s.handler(redirect(302, "https://a.example.com/end")))
	h := w.open(t, limits(), rule(t, "*.example.com", nil))
	headers := map[string]string{
		"Authorization": "Bearer x", "Cookie": "a=b", "X-Api-Key": "k", "Api-Token": "t", "Accept": "text/plain", "Accept-Language": "en",
	}
	names := func(r *http.Request) map[string]bool {
		out := map[string]bool{}
		for name := range headers {
			if r.Header.Get(name) != "" {
				out[name] = true
			}
		}
		return out
	}
	all := map[string]bool{"Authorization": true, "Cookie": true, "X-Api-Key": true, "Api-Token": true, "Accept": true, "Accept-Language": true}
	few := map[string]bool{"Accept": true, "Accept-Language": true}
	session := h.Session()
	for _, path := range []string{"/away", "/here"} {
		got := session.Do(t.Context(), abi.HTTPRequest{URL: "https://a.example.com" + path, Headers: headers})
		if got.URL != "https://a.example.com/end" {
			t.Errorf("%s ended at %s: %v", path, got.URL, got.Error)
		}
	}
	var got []map[string]bool
	for _, r := range s.reqs {
		got = append(got, names(r))
		if r.Header.Get("Referer") != "" {
			t.Error("the redirect says where it came from")
		}
	}
	if d := cmp.Diff([]map[string]bool{all, few, few, all, all}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"https://a.example.com:443", "https://b.example.com:443"}, session.Hosts()); d != "" {
		t.Error(d)
	}
}

// NET-3: what a redirect makes of method and body.
func TestRedirectsKeepMethodAndBodyAsTheyShould(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(func(rw http.ResponseWriter, r *http.Request) {
		var code int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &code); err == nil {
			redirect(code, "/end")(rw, r)
		}
	}))
	h := w.open(t, limits(), rule(t, "api.example.com", []string{"GET", "HEAD", "POST", "PUT"}))
	for _, c := range []struct {
		code         int
		method, want string
		body         string
	}{
		{301, "POST", "GET", ""},
		{302, "POST", "GET", ""},
		{303, "POST", "GET", ""},
		{307, "POST", "POST", "body"},
		{308, "POST", "POST", "body"},
		{301, "PUT", "PUT", "body"},
		{302, "PUT", "PUT", "body"},
		{303, "PUT", "GET", ""},
		{303, "HEAD", "HEAD", ""},
		{302, "HEAD", "HEAD", ""},
		{302, "GET", "GET", ""},
	} {
		in := abi.HTTPRequest{Method: c.method, URL: fmt.Sprint("https://api.example.com/", c.code), Headers: map[string]string{"Content-Type": "text/plain"}}
		if c.method == "POST" || c.method == "PUT" {
			in.Body = []byte("body")
		}
		if got := h.Session().Do(t.Context(), in); got.Status != 200 {
			t.Errorf("%d %s: %d, %v", c.code, c.method, got.Status, got.Error)
		}
		last := s.reqs[len(s.reqs)-1]
		if last.URL.Path != "/end" || last.Method != c.want || s.body[len(s.body)-1] != c.body {
			t.Errorf("%d %s became %s %s with %q", c.code, c.method, last.Method, last.URL, s.body[len(s.body)-1])
		}
		if c.method != c.want && last.Header.Get("Content-Type") != "" {
			t.Errorf("%d %s: a request without a body has a type", c.code, c.method)
		}
	}
	// The method that it becomes must be granted too.
	post := w.open(t, limits(), rule(t, "api.example.com", []string{"POST"}))
	wantCode(t, "becomes GET", post.Session().Do(t.Context(), abi.HTTPRequest{Method: "POST", URL: "https://api.example.com/302"}), "denied", "methods: [GET]")
}

// NET-3: a server cannot send the guest's body on to what another rule allows.
func TestRedirectedBodyStaysWithItsRule(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://a.example.com", redirect(307, "https://b.example.com/"))
	w.serve(t, "https://b.example.com", s.handler(say("got it")))
	post := func(h *HTTP, body string) abi.HTTPResponse {
		return h.Session().Do(t.Context(), abi.HTTPRequest{Method: "POST", URL: "https://a.example.com/", Body: []byte(body)})
	}
	methods := []string{"POST"}
	apart := w.open(t, limits(), rule(t, "a.example.com", methods), rule(t, "b.example.com", methods))
	wantCode(t, "two rules", post(apart, "data"), "denied", "body")
	if s.count() > 0 {
		t.Error("the body was sent")
	}
	wantBody(t, "two rules, no body", post(apart, ""), "got it")
	wantBody(t, "one rule", post(w.open(t, limits(), rule(t, "*.example.com", methods)), "data"), "got it")
}

func TestRedirectWithoutLocationIsAResponse(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(302)
		_, _ = rw.Write([]byte("nowhere"))
	})
	got := get(t, w.open(t, limits(), rule(t, "api.example.com", nil)), "https://api.example.com/")
	wantBody(t, "no location", got, "nowhere")
	if got.Status != 302 {
		t.Errorf("got %d", got.Status)
	}
}
