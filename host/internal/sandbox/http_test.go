package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
)

// site serves on loopback and returns its address and the grant for it.
func site(t *testing.T) (string, func(*Source)) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 5<<20)) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL, grantOf(t, s.URL)
}

// grantOf grants a server on loopback.
func grantOf(t testing.TB, base string) func(*Source) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(u.Host)
	return func(src *Source) {
		src.Inspect = false
		src.Policy.Grants.PrivateNetworks = true
		src.Policy.Grants.HTTP = []policy.HTTPRule{{Scheme: "http", Host: at.Addr().String(), Port: int(at.Port())}}
	}
}

func fetch(t *testing.T, m *Module, url string) Outcome {
	t.Helper()
	arg, err := json.Marshal(url)
	if err != nil {
		t.Fatal(err)
	}
	return m.Call(t.Context(), Call{Tool: "fetch", Arguments: arg})
}

func TestGuestReachesTheHostItWasGranted(t *testing.T) {
	base, grant := site(t)
	m := load(t, newEngine(t), guestSource(t), grant)
	out := fetch(t, m, base+"/hello")
	if said(out) != "200 hello" {
		t.Errorf("%s %s", said(out), out.Detail)
	}
	if diff := cmp.Diff([]string{base}, out.Receipt.Hosts); diff != "" {
		t.Error(diff)
	}
	for url, want := range map[string]string{
		"http://example.com/": "denied", base + "/large": "too_large", "ftp://x": "invalid", "%": "invalid",
	} {
		if out := fetch(t, m, url); !out.Result.IsError || !strings.Contains(said(out), want) {
			t.Errorf("%s: %s %s", url, said(out), out.Detail)
		}
	}
}

func TestGuestWithoutAGrantIsDeniedOrNotLoaded(t *testing.T) {
	base, _ := site(t)
	e := newEngine(t)
	m := load(t, e, guestSource(t))
	if out := fetch(t, m, base+"/hello"); !strings.Contains(said(out), "denied: no grant covers it") || out.Receipt.Hosts != nil {
		t.Errorf("%s %v", said(out), out.Receipt.Hosts)
	}
	src := guestSource(t)
	src.Inspect = false
	if _, err := e.Load(t.Context(), src); err == nil || !strings.Contains(err.Error(), "allow: {http:") {
		t.Errorf("got %v", err)
	}
}

func TestSlowServerDoesNotOutlastTheCall(t *testing.T) {
	base, grant := site(t)
	m := load(t, newEngine(t), guestSource(t), grant, within(overrun/4))
	if out := fetch(t, m, base+"/slow"); out.Fault != FaultTimeout {
		t.Errorf("%q %s", out.Fault, said(out))
	}
}

func TestResponsesAreReadOnceAndBounded(t *testing.T) {
	r := responses{limit: 10}
	h, e := r.put([]byte("12345678"))
	if e != 0 {
		t.Fatal(e)
	}
	if _, e := r.put([]byte("123")); e == 0 {
		t.Error("more waits than the limit")
	}
	into := make([]byte, 5)
	for _, want := range []int64{5, 3, 0, 0} {
		if got := r.read(h, into); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	// An answer counts until all of it was read: until then all of it is kept.
	rest, e := r.put([]byte("12345678"))
	if e != 0 || r.read(rest, into) != 5 {
		t.Fatal(e)
	}
	if _, e := r.put([]byte("123")); e == 0 {
		t.Error("what was not read to its end is not counted")
	}
	r.read(rest, into)
	other, e := r.put([]byte("123"))
	if e != 0 || other == h {
		t.Errorf("handle %d after %d, %v", other, h, e)
	}
	for _, made := range []int32{0, -1, other + 1} {
		if r.read(made, into) >= 0 {
			t.Errorf("handle %d leads somewhere", made)
		}
	}
}
