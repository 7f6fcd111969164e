package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

func TestParseClock(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for in, want := range map[string]policy.Clock{
		"":                                {},
		"real":                            {},
		"coarse":                          {Coarse: true},
		"fixed:2026-01-01":                {Fixed: day},
		"fixed:2026-01-01T00:00:00Z":      {Fixed: day},
		"fixed:2026-01-01T01:00:00+01:00": {Fixed: day},
	} {
		got, err := policy.ParseClock(in)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: %v %s", in, err, d)
		}
	}
	for _, in := range []string{"Real", "now", "fixed", "fixed:", "fixed:now", "fixed:2026-13-01", "fixed:0001-01-01", "fixed:9999-01-01", " real"} {
		if got, err := policy.ParseClock(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

func TestParseRandom(t *testing.T) {
	for in, want := range map[string]policy.Random{
		"":                          {},
		"real":                      {},
		"seed:0":                    {Seeded: true},
		"seed:42":                   {Seeded: true, Seed: 42},
		"seed:18446744073709551615": {Seeded: true, Seed: 1<<64 - 1},
	} {
		got, err := policy.ParseRandom(in)
		if got != want || err != nil {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"seed", "seed:", "seed:-1", "seed:x", "seed:18446744073709551616", "seed:4 2", "42"} {
		if got, err := policy.ParseRandom(in); err == nil {
			t.Errorf("%q was read as %v", in, got)
		}
	}
}

func TestCleanGuestPath(t *testing.T) {
	for in, want := range map[string]string{
		"/": "/", "/docs": "/docs", "/docs/": "/docs", "//docs//a/./b": "/docs/a/b", "/grün e": "/grün e",
	} {
		if got, err := policy.CleanGuestPath(in); got != want || err != nil {
			t.Errorf("%q: got %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", ".", "docs", "./docs", "/..", "/a/../b", `/a\b`, `C:\a`, "/a\x00", "/a\nb", "/a\x1b[2J", "/a\u202eb", "/a\u200b", "/\xff", "/" + strings.Repeat("a", 1024),
	} {
		if got, err := policy.CleanGuestPath(in); err == nil {
			t.Errorf("%q was read as %q", in, got)
		}
	}
}
