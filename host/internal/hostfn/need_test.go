package hostfn

import (
	"strings"
	"testing"

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
