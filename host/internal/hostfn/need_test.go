package hostfn

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/policy"
)

// What is suggested for a request covers it, and can be written in a manifest.
func TestThreat11NeededRuleCoversTheRequestAndCanBeWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.StringMatching(`[a-zA-Z0-9 .*?#\[\]{}'":,&!|>@~-]{0,12}|%25|%E2%80%AE|%1B|é`)
		path := "/" + strings.Join(rapid.SliceOfN(segment, 0, 6).Draw(t, "path"), "/")
		url := rapid.SampledFrom([]string{"https://example.com", "http://a.example.com:8080", "https://[2606:4700::1]"}).Draw(t, "host") + path
		method := rapid.SampledFrom([]string{"GET", "post", "PURGE"}).Draw(t, "method")
		target, err := parseTarget(method, url)
		if err != nil {
			t.Skip("no request")
		}
		_, need := RuleOf(nil, method, url)
		if need == nil {
			t.Fatalf("%s needs nothing", url)
		}
		if need.Never != "" {
			t.Fatalf("%s: %s", url, need.Never)
		}
		r, err := policy.ParseHTTPRule(need.Rule.HostPort(), need.Rule.Methods, need.Rule.Paths)
		if err != nil {
			t.Fatalf("%s: %+v: %v", url, need.Rule, err)
		}
		if !target.allowedBy(r) {
			t.Fatalf("%s is not covered by %s", url, r)
		}
		if other, err := parseTarget(method, strings.Replace(url, path, "/elsewhere/entirely/quite/so/and/more/and/more", 1)); err == nil && other.allowedBy(r) {
			t.Fatalf("%s covers another path", r)
		}
	})
}

func TestNeededRuleOfALongPathIsAsNarrowAsItCanBe(t *testing.T) {
	long := strings.Repeat("/segment", 100)
	_, need := RuleOf(nil, "GET", "https://example.com"+long)
	if need == nil || need.Never != "" || len(need.Rule.Paths) != 1 || !strings.HasSuffix(need.Rule.Paths[0], "/segment/**") || len(need.Rule.Paths[0]) < maxPattern-16 {
		t.Errorf("%+v", need)
	}
}

func TestThreat11AddressesThatAreNotSuggested(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1/": "private", "http://10.0.0.1/": "private", "http://[::1]:8080/": "private", "http://localhost/": "private",
		"http://a.localhost/": "private", "http://169.254.169.254/": "private", "http://192.0.2.1/": "never", "http://0.0.0.0/": "never",
		"https://example.com/": "", "http://8.8.8.8/": "",
	} {
		_, need := RuleOf(nil, "GET", url)
		got := ""
		switch {
		case need == nil:
			got = "nothing"
		case need.Never != "":
			got = "never"
		case need.Private:
			got = "private"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if _, need := RuleOf(nil, "CONNECT", "https://example.com/"); need == nil || need.Never == "" {
		t.Errorf("%+v", need)
	}
	for _, none := range []string{"ftp://x", "%", "https://example.com/a/../b", "https://u:p@example.com/"} {
		if _, need := RuleOf(nil, "GET", none); need != nil {
			t.Errorf("%s needs %+v", none, need)
		}
	}
}

// What somebody claims to need is what a request could need, or nothing.
func TestANeedOfAStrangerIsLookedAtAnew(t *testing.T) {
	for _, url := range []string{"https://api.example.com/a/b", "http://127.0.0.1:8080/", "https://api.example.com/%61/\u202e/c", "http://[::1]/x", "https://api.example.com/" + strings.Repeat("x/", 600)} {
		_, want := RuleOf(nil, "POST", url)
		if diff := cmp.Diff(want, want.Believed()); diff != "" {
			t.Errorf("%.60s: %s", url, diff)
		}
	}
	good := policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"GET"}, Paths: []string{"/"}}
	for name, change := range map[string]func(*HTTPNeed){
		"any host":       func(n *HTTPNeed) { n.Rule.Host = "*.example.com" },
		"no host":        func(n *HTTPNeed) { n.Rule.Host = "" },
		"many methods":   func(n *HTTPNeed) { n.Rule.Methods = []string{"GET", "POST"} },
		"no method":      func(n *HTTPNeed) { n.Rule.Methods = []string{"GET\n- host: evil"} },
		"lines":          func(n *HTTPNeed) { n.Rule.Paths = []string{"/\n- host: evil"} },
		"a pattern":      func(n *HTTPNeed) { n.Rule.Paths = []string{"/a*"} },
		"many paths":     func(n *HTTPNeed) { n.Rule.Paths = []string{"/a", "/b", "/c"} },
		"another scheme": func(n *HTTPNeed) { n.Rule.Scheme = "ftp" },
		"no port":        func(n *HTTPNeed) { n.Rule.Port = 70_000 },
		"a long path":    func(n *HTTPNeed) { n.Rule.Paths = []string{"/" + strings.Repeat("x", 4000)} },
	} {
		n := &HTTPNeed{Rule: good}
		change(n)
		if got := n.Believed(); got != nil && got.Never == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	public := &HTTPNeed{Rule: good, Private: true, Never: strings.Repeat("\x1b", 1000)}
	if got := public.Believed(); got.Private || len(got.Never) > maxNever || strings.Contains(got.Never, "\x1b") {
		t.Errorf("%+v", got)
	}
}
