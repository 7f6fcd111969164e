package main

import (
	"testing"

	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
)

func TestTheFlagOfARuleIsOneThatAllowsIt(t *testing.T) {
	for _, c := range []struct {
		rule policy.HTTPRule
		want string
	}{
		{policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443}, "api.example.com"},
		{policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"GET"}, Paths: []string{"/v1/**"}}, "api.example.com"},
		{policy.HTTPRule{Scheme: "http", Host: "api.example.com", Port: 8080, Methods: []string{"HEAD"}}, "http://api.example.com:8080"},
		{policy.HTTPRule{Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"GET", "PUT"}}, "'GET,PUT api.example.com'"},
		{policy.HTTPRule{Scheme: "https", Host: "*.example.com", Port: 443}, "'*.example.com'"},
		{policy.HTTPRule{Scheme: "https", Host: "2001:db8::1", Port: 443}, "'[2001:db8::1]'"},
	} {
		text := "auth_required: no grant covers this; to allow it: allow.http: " + c.rule.String()
		if got := flagFor(text, &manifest.Tool{}); got != "--allow-http "+c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
}

// What a guest says in the host's words becomes no part of a command.
func TestAGuestPutsNothingIntoAFlag(t *testing.T) {
	for _, host := range []string{"a'; rm -rf ~; '", "$(id)", "a\nb", "`id`", "a b", "--private-networks c", "a\\"} {
		text := "allow.http: - {host: " + host + ", methods: [GET]}"
		if got := flagFor(text, &manifest.Tool{}); got != "" {
			t.Errorf("%q: %s", host, got)
		}
	}
	if got := flagFor("allow.http: - {host: a.example.com, methods: [GET; rm]}", &manifest.Tool{}); got != "--allow-http a.example.com" {
		t.Error(got)
	}
}
