package sandbox

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// canary is a secret with characters that encodings write in another way.
const canary = `cnry/4f1d9c7e"2b<8a`

// betrays returns the form in which the canary is in text, or "".
func betrays(text string) string {
	quoted, _ := json.Marshal(canary)
	reversed := []byte(canary)
	slices.Reverse(reversed)
	forms := map[string]string{
		"raw": canary, "JSON": string(quoted[1 : len(quoted)-1]), "URL": url.QueryEscape(canary), "path": url.PathEscape(canary),
		"hex": hex.EncodeToString([]byte(canary)), "reversed": string(reversed), "half": canary[:10], "other half": canary[9:],
	}
	for i := range 3 {
		b := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", i) + canary))
		forms[fmt.Sprint("base64 ", i)] = b[4 : len(b)-4]
	}
	for name, form := range forms {
		if strings.Contains(text, form) || strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
			return name
		}
	}
	return ""
}

// mirror is a server that sends back what it was sent, in the form that the path
// names, and remembers the headers of every request.
type mirror struct {
	*httptest.Server
	mu   sync.Mutex
	seen []http.Header
}

func newMirror(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.seen = append(m.seen, r.Header.Clone())
	m.mu.Unlock()
	got := r.Header.Get("Authorization")
	token := strings.TrimPrefix(got, "Bearer ")
	quoted, _ := json.Marshal(token)
	switch how := strings.TrimPrefix(r.URL.Path, "/"); how {
	case "raw":
		fmt.Fprint(w, "you sent ", got)
	case "base64":
		for _, before := range []string{"", "a", "ab", "abc"} {
			fmt.Fprintln(w, base64.StdEncoding.EncodeToString([]byte(before+token+before)), base64.RawURLEncoding.EncodeToString([]byte(before+token)))
		}
	case "hex":
		fmt.Fprintf(w, "%x %X", token, token)
	case "url":
		fmt.Fprint(w, url.QueryEscape(token), " ", url.PathEscape(token))
	case "json":
		fmt.Fprintf(w, `{"token":%s}`, quoted)
	case "escaped":
		for _, b := range []byte(token) {
			fmt.Fprintf(w, `\u%04x`, b)
		}
	case "reversed":
		back := []byte(token)
		slices.Reverse(back)
		_, _ = w.Write(back)
	case "chunks":
		for i := range len(token) {
			fmt.Fprint(w, token[i:i+1])
			_ = http.NewResponseController(w).Flush()
		}
	case "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, token)
		_ = z.Close()
	case "br", "gzip, gzip", "deflate":
		w.Header().Set("Content-Encoding", how)
		fmt.Fprint(w, token)
	case "range":
		http.ServeContent(w, r, "a.txt", time.Time{}, strings.NewReader(token+strings.Repeat(" and text", 10)))
	case "header":
		w.Header().Set("X-Echo", token)
		w.Header().Set("Set-Cookie", "t="+url.QueryEscape(token))
		w.Header().Set("X-"+hex.EncodeToString([]byte(token)), "name")
	case "cookie":
		http.SetCookie(w, &http.Cookie{Name: "t", Value: base64.StdEncoding.EncodeToString([]byte(token))})
	case "failing":
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, token)
	case "location":
		http.Redirect(w, r, "/nowhere?token="+url.QueryEscape(token), http.StatusFound)
	case "away":
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
	}
}

// requests returns the values of a header that the server got.
func (m *mirror) requests(header string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, h := range m.seen {
		out = append(out, strings.Join(h.Values(header), ","))
	}
	m.seen = nil
	return out
}

// knowing grants a module the servers, and the canary as a secret for the first.
func knowing(t *testing.T, servers ...string) func(*Source) {
	t.Helper()
	return func(src *Source) {
		src.Inspect = false
		g := &src.Policy.Grants
		g.PrivateNetworks = true
		for i, base := range servers {
			u, err := url.Parse(base)
			if err != nil {
				t.Fatal(err)
			}
			at := netip.MustParseAddrPort(u.Host)
			g.HTTP = append(g.HTTP, policy.HTTPRule{Scheme: "http", Host: at.Addr().String(), Port: int(at.Port()), Methods: []string{"GET", "POST"}})
			if i == 0 {
				s, err := policy.ParseSecret("TOKEN", base, "Authorization", "Bearer {}")
				if err != nil {
					t.Fatal(err)
				}
				g.Secrets = []policy.Secret{s}
			}
		}
		src.Secrets = map[string]string{"TOKEN": canary}
		src.Redact = redact.New(canary)
	}
}

func thief(t *testing.T, servers ...string) *Module {
	t.Helper()
	src := guestSource(t)
	src.Wasm = builds.Tool(t, "testdata/thief")
	return load(t, newEngine(t), src, knowing(t, servers...))
}

func steal(t *testing.T, m *Module, tool string, args any) Outcome {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return m.Call(t.Context(), Call{Tool: tool, Arguments: raw})
}

// everything is all of an outcome as text.
func everything(t *testing.T, o Outcome) string {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	all := string(raw) + said(o) + o.Detail
	for _, c := range o.Result.Content {
		all += string(c.Data)
		if c.Resource != nil {
			all += string(c.Resource.Blob)
		}
	}
	return all
}

// thefts are the ways in which a server is asked to send the secret back, and
// what has to be in the answer.
func thefts() map[string]string {
	return map[string]string{
		"raw": redact.Mark, "base64": redact.Mark, "hex": redact.Mark, "url": redact.Mark, "json": redact.Mark, "escaped": redact.Mark,
		"reversed": redact.Mark, "chunks": redact.Mark, "gzip": redact.Mark, "range": redact.Mark, "header": redact.Mark, "cookie": redact.Mark,
		"failing": redact.Mark, "location": "a secret in it",
		"br": "cannot be looked for", "deflate": "cannot be looked for", "gzip,%20gzip": "cannot be looked for",
	}
}

// The headers with which a guest would have it in parts or in an encoding.
func greedy() map[string]string {
	return map[string]string{"Range": "bytes=2-9", "If-Range": `"x"`, "Accept-Encoding": "br", "Accept-Charset": "utf-16"}
}

func TestThreat10AServerThatSendsASecretBackGivesItToNobody(t *testing.T) {
	site := newMirror(t)
	m := thief(t, site.URL)
	for path, want := range thefts() {
		for name, headers := range map[string]map[string]string{"plain": nil, "greedy": greedy()} {
			out := steal(t, m, "steal", abi.HTTPRequest{URL: site.URL + "/" + path, Headers: headers})
			if form := betrays(everything(t, out)); form != "" || out.Fault != "" || !strings.Contains(said(out), want) {
				t.Errorf("%s, %s: %q %q: %s", path, name, form, out.Fault, said(out))
			}
			for _, sent := range [][]string{site.requests("Authorization")} {
				if len(sent) != 1 || sent[0] != "Bearer "+canary {
					t.Errorf("%s: the server got %q", path, sent)
				}
			}
		}
	}
	_ = steal(t, m, "steal", abi.HTTPRequest{URL: site.URL + "/raw", Headers: greedy()})
	site.mu.Lock()
	last := site.seen[0]
	site.mu.Unlock()
	for _, name := range []string{"Range", "If-Range", "Accept-Charset"} {
		if last.Get(name) != "" {
			t.Errorf("%s: %q is sent", name, last.Get(name))
		}
	}
	if last.Get("Accept-Encoding") != "gzip" {
		t.Errorf("Accept-Encoding is %q", last.Get("Accept-Encoding"))
	}
}

func TestThreat10AServerThatSendsASecretBackGivesItToNoExtismPlugin(t *testing.T) {
	site := newMirror(t)
	m := load(t, newEngine(t), stepsSource(t, knowing(t, site.URL)))
	for path, want := range thefts() {
		for name, headers := range map[string]map[string]string{"plain": nil, "greedy": greedy()} {
			request, err := json.Marshal(map[string]any{"url": site.URL + "/" + path, "headers": headers})
			if err != nil {
				t.Fatal(err)
			}
			var s steps
			got := s.do("http_request", s.text(string(request)), num(0))
			s.do("output_set", got, s.do("length", got))
			r := perform(t, m, "leave", s.program)
			all := fmt.Sprint(r)
			if want == redact.Mark && (path == "header" || path == "cookie") {
				want = ""
			}
			if form := betrays(all); form != "" || !strings.Contains(all, want) {
				t.Errorf("%s, %s: %q: %+v", path, name, form, r)
			}
			if sent := site.requests("Authorization"); len(sent) != 1 || sent[0] != "Bearer "+canary {
				t.Errorf("%s: the server got %q", path, sent)
			}
		}
	}
	// The kit for Rust has the headers.
	src := Source{Name: "headers.wasm", Wasm: pdkPlugin(t, "http_headers"), ABI: Extism, Policy: policy.Default()}
	p := load(t, newEngine(t), src, plainTool("http_get"), knowing(t, site.URL))
	for _, path := range []string{"header", "cookie"} {
		out := p.Call(t.Context(), Call{Arguments: json.RawMessage(`{"url":"` + site.URL + `/` + path + `"}`)})
		if form := betrays(everything(t, out)); form != "" || !strings.Contains(said(out), redact.Mark) {
			t.Errorf("%s: %q %s", path, form, said(out))
		}
	}
}

// SEC-1: the value is in no guest, at no time.
func TestSEC1NoGuestHoldsASecret(t *testing.T) {
	site := newMirror(t)
	m := thief(t, site.URL)
	d, err := m.Describe(t.Context())
	if err != nil || d.Tools[0].Description != "Makes a request. There is a secret: 0" {
		t.Errorf("%+v %v", d, err)
	}
	for name, want := range map[string]string{"TOKEN": "1", "token": "0", "OTHER": "0", "": "0", strings.Repeat("x", 1<<16): fmt.Sprint(int32(abi.ErrTooLarge))} {
		if out := steal(t, m, "exists", arguments{"name": name}); said(out) != want {
			t.Errorf("%.20q: %s, want %s", name, said(out), want)
		}
	}
	for path := range thefts() {
		raw, err := json.Marshal(abi.HTTPRequest{URL: site.URL + "/" + path})
		if err != nil {
			t.Fatal(err)
		}
		looked := 0
		var g *guest
		look := func() {
			looked++
			for _, mem := range g.arena.given {
				if form := betrays(string(mem.reserved.Slice(int(mem.size)))); form != "" {
					t.Errorf("%s: the guest's memory has it: %s", path, form)
				}
			}
		}
		if g, err = newGuest(t.Context(), m.src.Policy, m.http, Call{Progress: func(int, string) { look() }, shared: m.share()}); err != nil {
			t.Fatal(err)
		}
		req, err := m.request(g, Call{Tool: "steal", Arguments: raw})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.speaks.call(g, req); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		look()
		if err := g.close(); err != nil {
			t.Error(err)
		}
		if looked != 2 {
			t.Errorf("%s: looked %d times", path, looked)
		}
	}
}

type arguments map[string]any

// NET-11 and SEC-1: the value goes to its origin and nowhere else.
func TestNET11ASecretGoesToItsOriginAndOnNoRedirect(t *testing.T) {
	site, other := newMirror(t), newMirror(t)
	m := thief(t, site.URL, other.URL)
	for _, tc := range []struct {
		what, url   string
		site, other []string
	}{
		{"its origin", site.URL + "/raw", []string{"Bearer " + canary}, nil},
		{"another that is granted", other.URL + "/raw", nil, []string{""}},
		{"redirected away", site.URL + "/away?to=" + url.QueryEscape(other.URL+"/raw"), []string{"Bearer " + canary}, []string{""}},
		{"redirected to itself", site.URL + "/away?to=/raw", []string{"Bearer " + canary, ""}, nil},
		{"redirected from another", other.URL + "/away?to=" + url.QueryEscape(site.URL+"/raw"), []string{""}, []string{""}},
		{"there and back", site.URL + "/away?to=" + url.QueryEscape(other.URL+"/away?to="+url.QueryEscape(site.URL+"/raw")), []string{"Bearer " + canary, ""}, []string{""}},
	} {
		out := steal(t, m, "steal", abi.HTTPRequest{URL: tc.url})
		if out.Fault != "" || betrays(everything(t, out)) != "" || !strings.Contains(said(out), `"status":200`) {
			t.Errorf("%s: %s %s", tc.what, out.Fault, said(out))
		}
		if a, b := site.requests("Authorization"), other.requests("Authorization"); !slices.Equal(a, tc.site) || !slices.Equal(b, tc.other) {
			t.Errorf("%s: the servers got %q and %q", tc.what, a, b)
		}
	}
	for _, name := range []string{"Authorization", "authorization", "AUTHORIZATION"} {
		out := steal(t, m, "steal", abi.HTTPRequest{URL: site.URL + "/raw", Headers: map[string]string{name: "Bearer mine"}})
		if !strings.Contains(said(out), "is not the guest's to set: the host puts a secret into it") || len(site.requests("Authorization")) != 0 {
			t.Errorf("%s: %s", name, said(out))
		}
	}
	out := steal(t, m, "steal", abi.HTTPRequest{URL: other.URL + "/raw", Headers: map[string]string{"Authorization": "Bearer mine"}})
	if got := other.requests("Authorization"); !slices.Equal(got, []string{"Bearer mine"}) {
		t.Errorf("its own header for another host: %q %s", got, said(out))
	}
}

// SEC-2: a guest that came by a value passes it on in vain.
func TestSEC2NoSinkHasASecret(t *testing.T) {
	site := newMirror(t)
	dir := t.TempDir()
	e := newEngineAt(t, Options{CacheDir: dir})
	src := guestSource(t)
	src.Wasm = builds.Tool(t, "testdata/thief")
	m := load(t, e, src, knowing(t, site.URL))
	forms := map[string]string{
		"raw": canary, "base64": base64.StdEncoding.EncodeToString([]byte("user:" + canary)), "hex": hex.EncodeToString([]byte(canary)),
		"url": url.QueryEscape(canary), "json": strings.ReplaceAll(canary, `"`, `\"`),
	}
	for _, how := range []string{
		"log", "progress", "stdout", "stderr", "bytes", "long", "error", "structured", "image", "resource", "panic", "exit", "result",
	} {
		for name, text := range forms {
			raw, err := json.Marshal(arguments{"text": text, "how": how})
			if err != nil {
				t.Fatal(err)
			}
			var heard []string
			out := m.Call(t.Context(), Call{
				Tool: "tell", Arguments: raw,
				Log:      func(_ abi.Level, line string) { heard = append(heard, line) },
				Progress: func(_ int, line string) { heard = append(heard, line) },
			})
			all := everything(t, out) + strings.Join(heard, "\n")
			// The mark may be cut where what was written is.
			if form := betrays(all); form != "" || !strings.Contains(all, "redacted]") {
				t.Errorf("%s, %s: %q in %.3000s", how, name, form, all)
			}
			wantFault := map[string]Fault{"panic": FaultTrap, "exit": FaultExited, "long": FaultExited}[how]
			if out.Fault != wantFault {
				t.Errorf("%s, %s: %q", how, name, out.Fault)
			}
		}
	}
	if out := steal(t, m, "exists", arguments{"name": "TOKEN"}); said(out) != "1" {
		t.Errorf("the next call: %s", said(out))
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("the cache has it: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
