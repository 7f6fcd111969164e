package policy_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/policy"
)

func rule(t *testing.T, host string, methods, paths []string) policy.HTTPRule {
	t.Helper()
	r, err := policy.ParseHTTPRule(host, methods, paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// NET-2: a rule opens its host and no other that looks like it.
func TestRuleAllowsItsHostOnly(t *testing.T) {
	one, wild := rule(t, "api.x.com", nil, nil), rule(t, "*.x.com", nil, nil)
	for host, want := range map[string][2]bool{
		"api.x.com":          {true, true},
		"b.x.com":            {false, true},
		"a.b.x.com":          {false, false},
		"x.com":              {false, false},
		".x.com":             {false, false},
		"evilx.com":          {false, false},
		"api.x.com.evil.com": {false, false},
		"api.x.com.":         {false, false},
		"API.X.COM":          {false, false},
		"*.x.com":            {false, false},
		"":                   {false, false},
	} {
		got := [2]bool{one.Allows("GET", "https", host, 443, "/"), wild.Allows("GET", "https", host, 443, "/")}
		if got != want {
			t.Errorf("%q: got %v, want %v", host, got, want)
		}
	}
}

func TestRuleAllowsItsSchemePortAndMethodsOnly(t *testing.T) {
	r := rule(t, "x.com", nil, nil)
	for _, c := range []struct {
		method, scheme string
		port           int
		want           bool
	}{
		{"GET", "https", 443, true},
		{"HEAD", "https", 443, true},
		{"POST", "https", 443, false},
		{"get", "https", 443, false},
		{"", "https", 443, false},
		{"GET", "http", 443, false},
		{"GET", "https", 80, false},
	} {
		if got := r.Allows(c.method, c.scheme, "x.com", c.port, "/"); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
	never := policy.HTTPRule{Scheme: "https", Host: "x.com", Port: 443, Methods: []string{"TRACE", "CONNECT"}}
	if never.Allows("TRACE", "https", "x.com", 443, "/") || never.Allows("CONNECT", "https", "x.com", 443, "/") {
		t.Error("a rule made in Go opened TRACE or CONNECT")
	}
}

func TestRuleMatchesPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/repos/**", "/repos/a/b", true},
		{"/repos/**", "/repos/", true},
		{"/repos/**", "/repos", false},
		{"/repos/*", "/repos/a", true},
		{"/repos/*", "/repos/a/b", false},
		{"/*/b", "/a/b", true},
		{"/*/b", "/a/a/b", false},
		{"/**/b", "/a/a/b", true},
		{"/a*b*c", "/axbxc", true},
		{"/a*b*c", "/ax/bxc", false},
		{"/a", "/a", true},
		{"/a", "/A", false},
		{"/a", "/a/", false},
		{"/**", "/", true},
		{"/*", "/", true},
		{"/?", "/a", false},
	} {
		r := policy.HTTPRule{Scheme: "https", Host: "x.com", Port: 443, Paths: []string{"/other", c.pattern}}
		if got := r.Allows("GET", "https", "x.com", 443, c.path); got != c.want {
			t.Errorf("%s against %s: got %v", c.pattern, c.path, got)
		}
	}
}

// The attack: a pattern and a path that send a backtracking matcher round for years.
func TestRuleMatchesHostilePathsInTime(t *testing.T) {
	r := rule(t, "x.com", nil, []string{"/" + strings.Repeat("**a*a", 100) + "b"})
	path := "/" + strings.Repeat("a", 8<<10)
	start := time.Now()
	if r.Allows("GET", "https", "x.com", 443, path) {
		t.Error("it does not end in b")
	}
	// 4 million steps; a loaded machine gets a hundred times what they need.
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}

// reference says what a pattern means, in as few words as possible.
func reference(pattern, path string) bool {
	switch {
	case pattern == "":
		return path == ""
	case strings.HasPrefix(pattern, "**"):
		return reference(pattern[2:], path) || path != "" && reference(pattern, path[1:])
	case pattern[0] == '*':
		return reference(pattern[1:], path) || path != "" && path[0] != '/' && reference(pattern, path[1:])
	}
	return path != "" && path[0] == pattern[0] && reference(pattern[1:], path[1:])
}

func allowsPath(paths []string, path string) bool {
	r := policy.HTTPRule{Scheme: "https", Host: "x.com", Port: 443, Paths: paths}
	return r.Allows("GET", "https", "x.com", 443, path)
}

func TestMatcherAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`/[ab/*]{0,8}`).Draw(t, "pattern")
		path := rapid.StringMatching(`/[ab/]{0,8}`).Draw(t, "path")
		if got, want := allowsPath([]string{pattern}, path), reference(pattern, path); got != want {
			t.Fatalf("%s against %s: got %v", pattern, path, got)
		}
	})
}

func FuzzMatcher(f *testing.F) {
	f.Add("/a/**", "/a/b/c")
	f.Add("/*/b", "/a/b")
	f.Add("/**a*a", "/aaaa")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(pattern) > 12 || len(path) > 12 {
			return // the reference takes exponential time
		}
		if got, want := allowsPath([]string{pattern}, path), reference(pattern, path); got != want {
			t.Fatalf("%q against %q: got %v", pattern, path, got)
		}
	})
}
