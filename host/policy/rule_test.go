package policy_test

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

func TestParseHTTPRuleReadsTheGrammar(t *testing.T) {
	https := func(host string, port int) policy.HTTPRule {
		return policy.HTTPRule{Scheme: "https", Host: host, Port: port}
	}
	plain := func(host string, port int) policy.HTTPRule {
		return policy.HTTPRule{Scheme: "http", Host: host, Port: port}
	}
	for in, want := range map[string]policy.HTTPRule{
		"api.github.com":         https("api.github.com", 443),
		"API.GitHub.COM":         https("api.github.com", 443),
		"https://api.github.com": https("api.github.com", 443),
		"HTTP://localhost":       plain("localhost", 80),
		"http://localhost:8080":  plain("localhost", 8080),
		"*.x.com:8443":           https("*.x.com", 8443),
		"xn--bcher-kva.example":  https("xn--bcher-kva.example", 443),
		"my_service.internal":    https("my_service.internal", 443),
		"127.0.0.1:1":            https("127.0.0.1", 1),
		"http://[::1]:65535":     plain("::1", 65535),
		"[2606:4700:0:0::1111]":  https("2606:4700::1111", 443),
	} {
		got, err := policy.ParseHTTPRule(in, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
}

// NET-2: what is not a plain name or address is no rule.
func TestParseHTTPRuleRefusesWhatCouldMeanMore(t *testing.T) {
	for _, in := range []string{
		"", "*", "*.", "*.com", "*foo", "*foo.com", "a.*.com", "*.*.com", "**.x.com", "x.*",
		"x.com/", "x.com/path", "https://x.com/", "x.com?q", "x.com#f", `x.com\`, `x.com\@evil`,
		"x.com@evil", "user:pass@x.com", "https://user@x.com",
		"x.com.", ".x.com", "x..com", "-x.com", "x-.com", "x.com:", "x.com:0", "x.com:65536", "x.com:080", "x.com:+1", "x.com:a",
		"ftp://x.com", "file://x.com", "://x.com", "https:x.com", "https://", "http://https://x.com",
		"bücher.example", "аpple.com", "x.com\u200b", "x。com", "%78.com", "x%2ecom", "x com", "x.com\n", "x\t.com", " x.com",
		"0x7f000001", "0x7f.1", "127.1", "2130706433", "0177.0.0.1", "127.0.0.01", "1.2.3.4.5", "256.1.1.1", "x.0x1", "*.0.0.1", "a.b.9",
		"::1", "[::1", "::1]", "[x.com]", "[1.2.3.4]", "[::ffff:127.0.0.1]", "[fe80::1%eth0]", "[fe80::1%25eth0]",
		strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 127) + "com",
	} {
		if r, err := policy.ParseHTTPRule(in, nil, nil); err == nil {
			t.Errorf("%q was read as %v", in, r)
		}
	}
}

func TestParseHTTPRuleChecksMethodsAndPaths(t *testing.T) {
	r, err := policy.ParseHTTPRule("x.com", []string{"get", "POST", "GET"}, []string{"/a/**", "/b*"})
	if err != nil {
		t.Fatal(err)
	}
	want := policy.HTTPRule{Scheme: "https", Host: "x.com", Port: 443, Methods: []string{"GET", "POST"}, Paths: []string{"/a/**", "/b*"}}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
	for _, m := range []string{"", "*", "TRACE", "connect", "GET ", "G\nT", "GÉT", strings.Repeat("A", 33)} {
		if _, err := policy.ParseHTTPRule("x.com", []string{m}, nil); err == nil {
			t.Errorf("method %q was read", m)
		}
	}
	for _, p := range []string{
		"", "a", "*", "/../x", "/a/..", "/./a", "/a?b", "/a#b", "/%61", `/a\b`, "/a***", "/a\x00", "/\xff", "/" + strings.Repeat("a", 512),
	} {
		if _, err := policy.ParseHTTPRule("x.com", nil, []string{p}); err == nil {
			t.Errorf("path %q was read", p)
		}
	}
}

func TestRuleStringIsAManifestLine(t *testing.T) {
	for _, c := range []struct {
		host           string
		methods, paths []string
		want           string
	}{
		{"api.x.com", nil, nil, `- {host: api.x.com}`},
		{"api.x.com", []string{"GET"}, []string{"/v1/**"}, `- {host: api.x.com, methods: [GET], paths: ["/v1/**"]}`},
		{"http://localhost:80", nil, nil, `- {host: "http://localhost"}`},
		{"*.x.com:8443", nil, nil, `- {host: "*.x.com:8443"}`},
		{"[::1]:443", nil, nil, `- {host: "[::1]"}`},
		{"127.0.0.1", []string{"NO"}, nil, `- {host: "127.0.0.1", methods: ["NO"]}`},
		{"x.com", nil, []string{`/a"b, c}: é`}, `- {host: x.com, paths: ["/a\"b, c}: \u00e9"]}`},
	} {
		r, err := policy.ParseHTTPRule(c.host, c.methods, c.paths)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, r.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.host, d)
		}
		if d := cmp.Diff(r, readBack(t, r.String())); d != "" {
			t.Errorf("%s reads back as another rule (-want +got):\n%s", r, d)
		}
	}
}

// readBack reads a line as the manifest would.
func readBack(t *testing.T, line string) policy.HTTPRule {
	t.Helper()
	var list []struct {
		Host           string
		Methods, Paths []string
	}
	if err := yaml.Unmarshal([]byte(line), &list); err != nil || len(list) != 1 {
		t.Fatalf("%s: %v", line, err)
	}
	r, err := policy.ParseHTTPRule(list[0].Host, list[0].Methods, list[0].Paths)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

func FuzzParseHTTPRule(f *testing.F) {
	for _, s := range []string{"x.com", "http://*.x.com:8080", "[::1]:1", "127.1", "x.com@evil", "bücher.example", "*"} {
		f.Add(s, "GET", "/a/**")
	}
	f.Fuzz(func(t *testing.T, host, method, path string) {
		r, err := policy.ParseHTTPRule(host, []string{method}, []string{path})
		if err != nil {
			return
		}
		name := strings.TrimPrefix(r.Host, "*.")
		if clean, err := policy.CleanHost(name); err != nil || clean != name {
			t.Errorf("%q was read as the host %q", host, r.Host)
		}
		if r.Port < 1 || r.Port > 65535 || r.Scheme != "http" && r.Scheme != "https" {
			t.Errorf("%q was read as %+v", host, r)
		}
		line := r.String()
		if strings.ContainsFunc(line, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
			t.Errorf("%q is not plain", line)
		}
		if d := cmp.Diff(r, readBack(t, line)); d != "" {
			t.Errorf("%s reads back as another rule (-want +got):\n%s", line, d)
		}
	})
}
