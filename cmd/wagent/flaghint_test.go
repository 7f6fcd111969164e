package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
)

func TestTheFlagOfARuleIsOneThatAllowsIt(t *testing.T) {
	for _, c := range []struct {
		rule policy.HTTPRule
		want string
	}{
		{policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443}, "api.example.com"},
		{policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"GET"}, Paths: []string{"/v1/x"}}, "'GET api.example.com/v1/x'"},
		{policy.HTTPRule{Scheme: "http", Host: "api.example.com", Port: 8080, Methods: []string{"HEAD"}}, "'HEAD http://api.example.com:8080'"},
		{policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"GET", "PUT"}}, "'GET,PUT api.example.com'"},
		{policy.HTTPRule{Scheme: "https", Host: "*.example.com", Port: 443}, "'*.example.com'"},
		{policy.HTTPRule{Scheme: "https", Host: "2001:db8::1", Port: 443}, "'[2001:db8::1]'"},
		{
			policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"PROPFIND"}, Paths: []string{"/a//b", `/a/b'c"d/日`}},
			`'PROPFIND api.example.com/a//b' --allow-http 'PROPFIND api.example.com/a/b'\''c"d/日'`,
		},
	} {
		text := "auth_required: no grant covers this; to allow it: allow.http: " + c.rule.String()
		if got := flagFor(text, &manifest.Tool{}); got != "--allow-http "+c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
}

// What a guest says in the host's words becomes no part of a command but a rule, as
// one word of it.
func TestThreat11AGuestPutsNothingIntoAFlag(t *testing.T) {
	for _, rule := range []string{
		`{host: a'; rm -rf ~; ', methods: [GET]}`, `{host: $(id), methods: [GET]}`, "{host: a\nb, methods: [GET]}", "{host: `id`}",
		`{host: a b}`, `{host: --private-networks c}`, `{host: a\}`,
		`{host: "a'; rm -rf ~; '", methods: [GET]}`, `{host: "a.example.com --private-networks", methods: [GET]}`, `{host: "-v"}`, `{host: "a.example.com/'$(id)'"}`,
		`{host: a.example.com, methods: [GET; rm]}`, `{host: a.example.com, methods: ["GET; rm"]}`, `{host: a.example.com, methods: [CONNECT]}`,
		`{host: a.example.com, paths: ["no slash"]}`, `{host: a.example.com, paths: ["/\u202e"]}`, `{host: a.example.com, paths: ["/\x1b[2J"]}`,
		`{host: a.example.com, paths: ["/a", "/\u200b"]}`, `{host: a.example.com, paths: ["/a" "--kv"]}`, `{host: a.example.com`, `{host: [a.example.com, b.example.com]}`,
	} {
		if got := flagFor("allow.http: - "+rule, &manifest.Tool{}); got != "" {
			t.Errorf("%s: %s", rule, got)
		}
	}
	const quoted = `--allow-http 'GET a.example.com/'\''; rm -rf ~; '\'''`
	if got := flagFor(`allow.http: - {host: a.example.com, methods: [GET], paths: ["/'; rm -rf ~; '"]}`, &manifest.Tool{}); got != quoted {
		t.Errorf("%s, want %s", got, quoted)
	}
}

// asking calls a plugin that makes the request, with flags.
func asking(t *testing.T, method, url string, flags ...string) (stdout, stderr string) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"method": method, "url": url})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	io := &streams{in: strings.NewReader(""), out: &out, err: &errs, width: func() int { return 0 }, getenv: func(string) string { return "" }}
	module := filepath.Join(root(t), "testdata", "wasm", "extism-asks.wasm")
	all := []string{"tools", "call", module, "request", "--args", string(args), "--private-networks"}
	if code := wagent(t.Context(), append(all, flags...), io); code != exitOK && code != exitFailed {
		t.Fatalf("exit status %d: %s", code, errs.String())
	}
	return out.String(), errs.String()
}

// suggested are the flags that --suggest prints for a request.
func suggested(t *testing.T, method, url string, flags ...string) []string {
	t.Helper()
	text, errs := asking(t, method, url, append([]string{"-o", "json", "--suggest"}, flags...)...)
	var out struct{ Suggestion struct{ Flags []string } }
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v %s %s", err, text, errs)
	}
	return out.Suggestion.Flags
}

// A refusal and --suggest name the same grant, which is the smallest: what is pasted
// lets this request pass, and no other.
func TestThreat11TheHintIsTheSmallestGrant(t *testing.T) {
	var got []string
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.EscapedPath())
	}))
	defer site.Close()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	elsewhere := []string{"--allow-http", "http://127.0.0.1:1/elsewhere"} // a tool with no grant at all is not called
	for _, c := range []struct{ method, path, granted string }{
		{"GET", "/v1/users/7", "/v1/users/7"},
		{"POST", "/v1/users", "/v1/users"},
		{"DELETE", "/", "/"},
		{"GET", "/a//b", "/a//b"},
		{"PUT", "/it's/$(id);%20rm", "/it's/$(id); rm"},
		{"PUT", "/'%3B/50%25/x", "/';/*/x"},
	} {
		flags := suggested(t, c.method, site.URL+c.path, elsewhere...)
		if want := []string{"--allow-http", c.method + " " + site.URL + c.granted}; len(flags) < 2 || !slices.Equal(flags[:2], want) {
			t.Errorf("%s %s: --suggest says %q, want %q", c.method, c.path, flags, want)
		}
		var words []string
		for _, f := range flags {
			words = append(words, shellWord(f))
		}
		_, errs := asking(t, c.method, site.URL+c.path, elsewhere...)
		if hint := " (" + strings.Join(words, " ") + ")"; !strings.Contains(errs, hint) {
			t.Errorf("%s %s: no %q in %s", c.method, c.path, hint, errs)
		}
		got = nil
		asking(t, c.method, site.URL+c.path, flags...)
		for _, other := range []string{"GET /v1/users/8", "PATCH " + c.path, c.method + " /v1/users/7/x", c.method + " /other"} {
			method, path, _ := strings.Cut(other, " ")
			asking(t, method, site.URL+path, flags...)
		}
		if diff := cmp.Diff([]string{c.method + " " + c.path}, got); diff != "" {
			t.Errorf("%s %s: the server got %s", c.method, c.path, diff)
		}
	}
}
