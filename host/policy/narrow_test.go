package policy_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/policy"
)

var (
	hosts   = []string{"*.x.com", "a.x.com", "b.x.com", "x.com"}
	methods = []string{"GET", "HEAD", "POST", "TRACE"}
	folders = []string{"/", "/a", "/a/b", "/a/b/c", "/ab"}
)

func genRule() *rapid.Generator[policy.HTTPRule] {
	return rapid.Custom(func(t *rapid.T) policy.HTTPRule {
		return policy.HTTPRule{
			Scheme:  rapid.SampledFrom([]string{"https", "http"}).Draw(t, "scheme"),
			Host:    rapid.SampledFrom(hosts).Draw(t, "host"),
			Port:    rapid.SampledFrom([]int{80, 443}).Draw(t, "port"),
			Methods: rapid.SliceOfN(rapid.SampledFrom(methods), 0, 3).Draw(t, "methods"),
			Paths:   rapid.SliceOfN(rapid.StringMatching(`/[ab/*]{0,5}`), 0, 3).Draw(t, "paths"),
		}
	})
}

func genMounts(prefix string) *rapid.Generator[[]policy.Mount] {
	return rapid.Custom(func(t *rapid.T) []policy.Mount {
		var out []policy.Mount
		for i, h := range rapid.SliceOfNDistinct(rapid.SampledFrom(folders), 0, 3, rapid.ID).Draw(t, "hosts") {
			out = append(out, policy.Mount{Host: h, Guest: prefix + string(rune('0'+i))})
		}
		return out
	})
}

func genSecret() *rapid.Generator[policy.Secret] {
	return rapid.Custom(func(t *rapid.T) policy.Secret {
		return policy.Secret{
			Name: rapid.SampledFrom([]string{"A", "B"}).Draw(t, "name"), Scheme: "https", Port: 443, Format: "{}",
			Host: rapid.SampledFrom(hosts[1:]).Draw(t, "host"), Header: rapid.SampledFrom([]string{"X", "Y"}).Draw(t, "header"),
		}
	})
}

func genPolicy() *rapid.Generator[policy.Policy] {
	return rapid.Custom(func(t *rapid.T) policy.Policy {
		size := rapid.Int64Range(0, 3)
		p := policy.Policy{
			Limits: policy.Limits{
				Memory: size.Draw(t, "memory"), Timeout: time.Duration(size.Draw(t, "timeout")), Input: size.Draw(t, "input"),
				Output: size.Draw(t, "output"), Logs: size.Draw(t, "logs"), HTTPResponse: size.Draw(t, "response"),
				HTTPRequests: int(size.Draw(t, "requests")), KV: size.Draw(t, "kv limit"),
				Files: policy.FileLimits{Bytes: size.Draw(t, "bytes"), Count: int(size.Draw(t, "count")), Open: int(size.Draw(t, "open"))},
			},
			Grants: policy.Grants{
				HTTP:            rapid.SliceOfN(genRule(), 0, 3).Draw(t, "http"),
				PrivateNetworks: rapid.Bool().Draw(t, "private"),
				Read:            genMounts("/r").Draw(t, "read"),
				Write:           genMounts("/w").Draw(t, "write"),
				Secrets:         rapid.SliceOfN(genSecret(), 0, 3).Draw(t, "secrets"),
				Env:             rapid.MapOfN(rapid.SampledFrom([]string{"A", "B"}), rapid.SampledFrom([]string{"1", "2"}), 0, 2).Draw(t, "env"),
				KV:              rapid.Bool().Draw(t, "kv"),
				State:           rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "state"),
			},
		}
		if rapid.Bool().Draw(t, "fixed") {
			p.Grants.Clock.Fixed = time.Unix(1+size.Draw(t, "clock"), 0)
		}
		p.Grants.Clock.Coarse = rapid.Bool().Draw(t, "coarse")
		if rapid.Bool().Draw(t, "seeded") {
			p.Grants.Random = policy.Random{Seeded: true, Seed: uint64(size.Draw(t, "seed"))}
		}
		return p
	})
}

type request struct {
	method, scheme, host string
	port                 int
	path                 string
}

func genRequest() *rapid.Generator[request] {
	return rapid.Custom(func(t *rapid.T) request {
		return request{
			rapid.SampledFrom(methods).Draw(t, "method"),
			rapid.SampledFrom([]string{"https", "http"}).Draw(t, "scheme"),
			rapid.SampledFrom([]string{"a.x.com", "b.x.com", "c.x.com", "x.com", "a.a.x.com", "y.com"}).Draw(t, "host"),
			rapid.SampledFrom([]int{80, 443}).Draw(t, "port"),
			rapid.StringMatching(`/[ab/]{0,5}`).Draw(t, "path"),
		}
	})
}

func allows(p policy.Policy, q request) bool {
	return slices.ContainsFunc(p.Grants.HTTP, func(r policy.HTTPRule) bool {
		return r.Allows(q.method, q.scheme, q.host, q.port, q.path)
	})
}

// reaches reports whether file can be read, or written, through any of ms.
func reaches(file string, ms []policy.Mount) bool {
	return slices.ContainsFunc(ms, func(m policy.Mount) bool {
		return m.Host == "/" || file == m.Host || strings.HasPrefix(file, m.Host+"/")
	})
}

func readable(p policy.Policy, file string) bool {
	return reaches(file, p.Grants.Read) || reaches(file, p.Grants.Write)
}

func writable(p policy.Policy, file string) bool { return reaches(file, p.Grants.Write) }

var files = []string{"/f", "/a/f", "/a/b/f", "/a/b/c/f", "/ab/f", "/z/f"}

// Narrow allows exactly what both sides allow, so it never widens and the order
// of the sides does not matter.
func TestNarrowAllowsWhatBothAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genPolicy().Draw(t, "a"), genPolicy().Draw(t, "b")
		n := a.Narrow(b)
		for _, q := range rapid.SliceOfN(genRequest(), 20, 20).Draw(t, "requests") {
			if got, want := allows(n, q), allows(a, q) && allows(b, q); got != want {
				t.Fatalf("%+v: got %v, want %v under %v", q, got, want, n.Grants.HTTP)
			}
		}
		for _, f := range files {
			if got, want := readable(n, f), readable(a, f) && readable(b, f); got != want {
				t.Fatalf("read %s: got %v, want %v under %v", f, got, want, n.Grants)
			}
			if got, want := writable(n, f), writable(a, f) && writable(b, f); got != want {
				t.Fatalf("write %s: got %v, want %v under %v", f, got, want, n.Grants)
			}
		}
		for _, s := range n.Grants.Secrets {
			if !slices.Contains(a.Grants.Secrets, s) || !slices.Contains(b.Grants.Secrets, s) {
				t.Fatalf("a secret comes from nowhere: %v", s)
			}
		}
		for k, v := range n.Grants.Env {
			if a.Grants.Env[k] != v || b.Grants.Env[k] != v {
				t.Fatalf("%s=%s is not in both", k, v)
			}
		}
		if n.Grants.PrivateNetworks != (a.Grants.PrivateNetworks && b.Grants.PrivateNetworks) {
			t.Fatal("private networks were widened")
		}
		if n.Grants.KV != (a.Grants.KV && b.Grants.KV) {
			t.Fatal("a store was granted by one side")
		}
		for _, key := range []string{"a", "b", "c"} {
			both := slices.Contains(a.Grants.State, key) && slices.Contains(b.Grants.State, key)
			if slices.Contains(n.Grants.State, key) != both {
				t.Fatalf("state %s: %q of %q and %q", key, n.Grants.State, a.Grants.State, b.Grants.State)
			}
		}
	})
}

func TestNarrowTakesTheSmallerLimitEitherWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genPolicy().Draw(t, "a"), genPolicy().Draw(t, "b")
		n := a.Narrow(b).Limits
		if d := cmp.Diff(b.Narrow(a).Limits, n); d != "" {
			t.Fatal(d)
		}
		if n.Memory > a.Limits.Memory || n.Memory > b.Limits.Memory || n.Timeout > a.Limits.Timeout || n.Files.Open > b.Limits.Files.Open {
			t.Fatalf("%+v is not the smaller one", n)
		}
		if d := cmp.Diff(a.Limits, a.Narrow(a).Limits); d != "" {
			t.Fatal(d)
		}
	})
}

func TestNarrowTwiceIsNarrowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genPolicy().Draw(t, "a"), genPolicy().Draw(t, "b")
		once := a.Narrow(b)
		twice := once.Narrow(b)
		// Rules may be written in another way and allow the same.
		if d := cmp.Diff(once, twice, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(policy.Grants{}, "HTTP")); d != "" {
			t.Fatal(d)
		}
		for _, q := range rapid.SliceOfN(genRequest(), 20, 20).Draw(t, "requests") {
			if allows(once, q) != allows(twice, q) {
				t.Fatalf("%+v: %v and %v differ", q, once.Grants.HTTP, twice.Grants.HTTP)
			}
		}
	})
}

// A folder that is cut down stays where the guest knows it.
func TestNarrowKeepsFoldersInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genPolicy().Draw(t, "a"), genPolicy().Draw(t, "b")
		all := slices.Concat(a.Grants.Read, a.Grants.Write)
		n := a.Narrow(b)
		for _, m := range slices.Concat(n.Grants.Read, n.Grants.Write) {
			if !slices.ContainsFunc(all, func(o policy.Mount) bool {
				rel, ok := strings.CutPrefix(m.Host, strings.TrimSuffix(o.Host, "/"))
				return ok && m.Guest == path.Join(o.Guest, rel)
			}) {
				t.Fatalf("%+v comes from none of %+v", m, all)
			}
		}
	})
}

func TestNarrowMakesAWriteFolderReadable(t *testing.T) {
	p := policy.Policy{Grants: policy.Grants{Write: []policy.Mount{{Host: "/srv/data", Guest: "/data"}}}}
	ceiling := policy.Policy{Grants: policy.Grants{
		Read:  []policy.Mount{{Host: "/srv", Guest: "/"}},
		Write: []policy.Mount{{Host: "/srv/data/out", Guest: "/out"}},
	}}
	want := policy.Grants{
		Read:  []policy.Mount{{Host: "/srv/data", Guest: "/data"}},
		Write: []policy.Mount{{Host: "/srv/data/out", Guest: "/data/out"}},
	}
	if d := cmp.Diff(want, p.Narrow(ceiling).Grants); d != "" {
		t.Error(d)
	}
}

func TestNarrowWritesRulesPlainlyWhereItCan(t *testing.T) {
	for _, c := range []struct {
		a, b []string // paths
		want string
	}{
		{nil, []string{"/b"}, `- {host: x.com, methods: [GET, HEAD], paths: ["/b"]}`},
		{[]string{"/v1/**", "/w"}, []string{"/**"}, `- {host: x.com, methods: [GET, HEAD], paths: ["/v1/**", "/w"]}`},
		{[]string{"/a/**", "/b/**"}, []string{"/b/c", "/d/**"}, `- {host: x.com, methods: [GET, HEAD], paths: ["/b/c"]}`},
		{[]string{"/a/*"}, []string{"/*/b"}, `- {host: x.com, methods: [GET, HEAD], paths: ["/*/b"]} # and within ["/a/*"]`},
	} {
		p := policy.Policy{Grants: policy.Grants{HTTP: []policy.HTTPRule{rule(t, "x.com", nil, c.a)}}}
		q := policy.Policy{Grants: policy.Grants{HTTP: []policy.HTTPRule{rule(t, "x.com", nil, c.b)}}}
		got := p.Narrow(q).Grants.HTTP
		if len(got) != 1 || got[0].String() != c.want {
			t.Errorf("got %v, want %s", got, c.want)
		}
	}
	p := policy.Policy{Grants: policy.Grants{HTTP: []policy.HTTPRule{rule(t, "x.com", nil, []string{"/a/**"})}}}
	q := policy.Policy{Grants: policy.Grants{HTTP: []policy.HTTPRule{rule(t, "x.com", nil, []string{"/b/**"})}}}
	if got := p.Narrow(q).Grants.HTTP; got != nil {
		t.Errorf("got %v, want nothing", got)
	}
}

func TestNarrowKeepsWhatTheCeilingFixed(t *testing.T) {
	at := func(s int64) policy.Clock { return policy.Clock{Fixed: time.Unix(s, 0)} }
	seed := func(n uint64) policy.Random { return policy.Random{Seeded: true, Seed: n} }
	for _, c := range []struct{ own, ceiling, want policy.Grants }{
		{policy.Grants{}, policy.Grants{}, policy.Grants{}},
		{policy.Grants{Clock: at(1), Random: seed(1)}, policy.Grants{}, policy.Grants{Clock: at(1), Random: seed(1)}},
		{policy.Grants{}, policy.Grants{Clock: at(2), Random: seed(2)}, policy.Grants{Clock: at(2), Random: seed(2)}},
		{policy.Grants{Clock: policy.Clock{Coarse: true}}, policy.Grants{}, policy.Grants{Clock: policy.Clock{Coarse: true}}},
		{policy.Grants{}, policy.Grants{Clock: policy.Clock{Coarse: true}}, policy.Grants{Clock: policy.Clock{Coarse: true}}},
		{policy.Grants{Clock: at(1), Random: seed(1)}, policy.Grants{Clock: at(2), Random: seed(2)}, policy.Grants{Clock: at(2), Random: seed(2)}},
	} {
		got := policy.Policy{Grants: c.own}.Narrow(policy.Policy{Grants: c.ceiling}).Grants
		if d := cmp.Diff(c.want, got); d != "" {
			t.Error(d)
		}
	}
}
