package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

func TestSecretIsShownByItsNameAndWhereItGoes(t *testing.T) {
	s, err := policy.ParseSecret("TOKEN", "http://[::1]:8080", "x-api-key", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{env: "TOKEN", host: "http://[::1]:8080", header: X-Api-Key, format: "{}"}`, s.String()); diff != "" {
		t.Error(diff)
	}
	if s.Origin() != "http://[::1]:8080" {
		t.Error(s.Origin())
	}
}

func TestSecretIsCoveredByItsOriginOnly(t *testing.T) {
	s, err := policy.ParseSecret("TOKEN", "a.x.com", "X", "")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"a.x.com": true, "*.x.com": true, "b.x.com": false, "http://a.x.com": false, "a.x.com:8443": false, "http://a.x.com:443": false,
	} {
		if got := s.Covered([]policy.HTTPRule{rule(t, host, []string{"POST"}, []string{"/one"})}); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

func TestHeadersThatSayHowARequestIsSentHoldNoSecret(t *testing.T) {
	for _, name := range []string{
		"", "Host", "content-length", "Transfer-Encoding", "Range", "ACCEPT-ENCODING", "Proxy-Authorization", "X-Forwarded-For",
		"a b", "a:b", "a\n", "é", strings.Repeat("a", 65),
	} {
		if s, err := policy.ParseSecret("T", "x.com", name, ""); err == nil {
			t.Errorf("%q: %v", name, s)
		}
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie", "Private-Token", "x-amz-security-token"} {
		if _, err := policy.ParseSecret("T", "x.com", name, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
