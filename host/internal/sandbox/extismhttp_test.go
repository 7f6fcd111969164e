package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	extism "github.com/extism/go-sdk"

	"github.com/wagent-dev/wagent/host/policy"
)

// echoSite answers with what it was asked.
func echoSite(t *testing.T) (base string, rule policy.HTTPRule) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"] = nil
		w.Header().Set("X-One", r.Header.Get("X-Ask"))
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s", r.Method, body)
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://localhost:1/", http.StatusFound)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 5<<20)) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(u.Host)
	return s.URL, policy.HTTPRule{Scheme: "http", Host: at.Addr().String(), Port: int(at.Port()), Methods: []string{"GET", "POST"}}
}

func granted(rule policy.HTTPRule) func(*Source) {
	return func(s *Source) {
		s.Policy.Grants.PrivateNetworks = true
		s.Policy.Grants.HTTP = []policy.HTTPRule{rule}
	}
}

// ask makes a request by steps, and leaves the body as the output.
func ask(request, body string) steps {
	var s steps
	at := num(0)
	if body != "" {
		at = s.text(body)
	}
	got := s.do("http_request", s.text(request), at)
	if !strings.Contains(request, "/empty") {
		s.do("output_set", got, num(5))
	}
	return s
}

func TestExtismPluginMakesRequestsAsUnderTheReference(t *testing.T) {
	base, rule := echoSite(t)
	src := stepsSource(t, granted(rule))
	m := load(t, newEngine(t), src)
	ref := newReference(t, src.Wasm, src.Config, func(m *extism.Manifest) { m.AllowedHosts = []string{rule.Host} })
	for _, request := range []string{
		`{"url":"` + base + `/echo"}`,
		`{"url":"` + base + `/echo","method":"post","headers":{"X-Ask":"tea"}}`,
		`{"URL":"` + base + `/echo","Method":"POST"}`,
		`{"url":"` + base + `/empty"}`,
	} {
		for _, body := range []string{"", "milk"} {
			s := ask(request, body)
			if diff := sameEnd(ref.perform(t, "leave", s.program), perform(t, m, "leave", s.program)); diff != "" {
				t.Errorf("%s %s: %s", request, body, diff)
			}
			// The status, and what the blocks are that the response is in.
			s.do("http_status_code")
			head := s.do("http_headers")
			s.do("length", head)
			s.do("length", arg{ref: s.n - 3})
			if diff := sameEnd(ref.perform(t, "run", s.program), perform(t, m, "run", s.program)); diff != "" {
				t.Errorf("%s %s: %s", request, body, diff)
			}
		}
	}
	var before steps
	before.do("http_status_code")
	before.do("http_headers")
	if diff := cmp.Diff([]uint64{0, 0}, before.run(t, m)); diff != "" {
		t.Errorf("before a request: %s", diff)
	}
}

// The kit for Rust reads the headers as JSON.
func TestExtismPluginReadsHeaders(t *testing.T) {
	base, rule := echoSite(t)
	src := Source{Name: "headers.wasm", Wasm: pdkPlugin(t, "http_headers"), ABI: Extism, Policy: policy.Default()}
	m := load(t, newEngine(t), src, plainTool("http_get"), granted(rule))
	out := m.Call(t.Context(), Call{Arguments: json.RawMessage(`{"url":"` + base + `/echo"}`)})
	var got map[string]string
	if err := json.Unmarshal([]byte(said(out)), &got); err != nil {
		t.Fatal(err, said(out), out.Detail)
	}
	want := map[string]string{"content-length": "4", "content-type": "text/plain; charset=utf-8", "x-one": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{base}, out.Receipt.Hosts); diff != "" {
		t.Error(diff)
	}
}

func TestExtismRequestThatFailsIsDeniedOrTheToolsError(t *testing.T) {
	base, rule := echoSite(t)
	m := load(t, newEngine(t), stepsSource(t, granted(rule)))
	for _, tc := range []struct {
		request, says string
		fault         Fault
	}{
		{`{"url":"http://example.com/"}`, "allow.http", FaultDenied},
		{`{"url":"` + base + `/echo","method":"DELETE"}`, "methods: [DELETE]", FaultDenied},
		{`{"url":"` + base + `/away"}`, "localhost", FaultDenied},
		{`{"url":"` + base + `/echo","headers":{"Host":"x"}}`, "Host", FaultDenied},
		{`{"url":"` + base + `/large"}`, "too_large", ""},
		{`{"url":"%"}`, "invalid", ""},
		{`{}`, "invalid", ""},
		{`{"url":1}`, "valid JSON", FaultTrap},
		{`{"url":`, "valid JSON", FaultTrap},
	} {
		s := ask(tc.request, "")
		r := perform(t, m, "leave", s.program)
		if r.fault != tc.fault || !strings.Contains(r.Said+r.Trap, tc.says) {
			t.Errorf("%s: %q %q %q", tc.request, r.fault, r.Said, r.Trap)
		}
	}
	var large steps
	large.do("http_request", large.text(`{"url":"`+base+`/echo","method":"POST"}`), large.do("alloc", num(maxHTTPBody+1)))
	if r := perform(t, m, "leave", large.program); !strings.Contains(r.Said, "too_large") {
		t.Errorf("a body that is too large: %+v", r)
	}
	var long steps
	long.do("http_request", long.do("alloc", num(maxHTTPRequest+1)), num(0))
	if r := perform(t, m, "leave", long.program); r.fault != FaultTrap || !strings.Contains(r.Trap, "2 MiB") {
		t.Errorf("a request that is too large: %+v", r)
	}
}

func TestExtismRequestWithoutAGrantIsDeniedAtTheCall(t *testing.T) {
	m := load(t, newEngine(t), stepsSource(t))
	for request, says := range map[string]string{
		`{"url":"https://example.com/a/b"}`:                 "allow.http: - {host: example.com, methods: [GET]",
		`{"url":"https://example.com/a/b","method":"POST"}`: "methods: [POST]",
		`{"url":"https://user@example.com/"}`:               "no grant covers it",
		`{"url":"\u001b[31m"}`:                              "no grant covers it",
	} {
		s := ask(request, "tea")
		if r := perform(t, m, "leave", s.program); r.fault != FaultDenied || !strings.Contains(r.Trap, says) {
			t.Errorf("%s: %q %q", request, r.fault, r.Trap)
		}
	}
}

func TestExtismRequestDoesNotOutlastTheCall(t *testing.T) {
	base, rule := echoSite(t)
	m := load(t, newEngine(t), stepsSource(t, granted(rule), within(overrun/4)))
	s := ask(`{"url":"`+base+`/slow"}`, "")
	if r := perform(t, m, "leave", s.program); r.fault != FaultTimeout {
		t.Errorf("%+v", r)
	}
}

func TestExtismPluginHasTheFoldersThatItWasGranted(t *testing.T) {
	root, grant := folders(t)
	old := filepath.Join(root, "write", "old.txt")
	if err := os.WriteFile(old, []byte("milk"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := func(function, path string) *Module {
		src := Source{Name: "files.wasm", Wasm: pdkPlugin(t, "read_write"), ABI: Extism, Policy: policy.Default()}
		src.Config = json.RawMessage(`{"path":"` + path + `"}`)
		return load(t, newEngine(t), src, plainTool(function), grant)
	}
	for path, want := range map[string]string{"/docs/a.txt": "hello", "/docs/link": "!", "/etc/passwd": "!", "/docs/../../secret": "!"} {
		r := perform(t, open("try_read", path), "try_read", nil)
		if want == "!" && r.Said == "" && r.Trap == "" || want != "!" && r.Out != want {
			t.Errorf("reading %s: %+v", path, r)
		}
	}
	for path, ok := range map[string]bool{"/out/old.txt": true, "/docs/a.txt": false, "/docs/link": false} {
		if r := perform(t, open("try_write", path), "try_write", []byte("tea")); (r.Said == "" && r.Trap == "") != ok {
			t.Errorf("writing %s: %+v", path, r)
		}
	}
	for name, want := range map[string]string{"write/old.txt": "milktea", "read/a.txt": "hello", "secret": "secret"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s is %q %v", name, got, err)
		}
	}
}
