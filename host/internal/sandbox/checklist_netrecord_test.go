package sandbox

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// hostileURLs are what a guest tries that was granted https://api.example.com/ and
// http://hop.example.com/, which sends it on to each of them.
func hostileURLs() []string {
	urls := []string{
		"https://evil.com/", "https://api.example.com.evil.com/", "https://evil.com:443/?https://api.example.com/", "http://api.example.com:8080/", "https://b.example.com/",
		"https://api.example.com@evil.com/", `https://evil.com\@api.example.com/`, "https://evil.com#@api.example.com/", "https://api.example.com%2eevil.com/",
		"http://localhost/", "http://metadata.google.internal/computeMetadata/v1/", "http://instance-data/latest/meta-data/", "http://host.docker.internal/", "http://rebound.example.com/",
		"http://127.1/", "http://0x7f000001/", "http://2130706433/", "http://0177.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://[::]/", "http://0/",
		"file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "ftp://127.0.0.1/", "dict://127.0.0.1:11211/stats", "unix:///var/run/docker.sock", "//evil.com/",
	}
	for a := range insides() {
		urls = append(urls, "http://"+netip.AddrPortFrom(netip.MustParseAddr(a), 80).String()+"/")
	}
	return urls
}

// No hostile guest makes a connection to anything but what was granted: not by what
// it asks for, nor where a server sends it, nor what a name turns out to be.
func TestNETHostileGuestsConnectNowhereElse(t *testing.T) {
	l, n := newLab(t), newInternet()
	urls := hostileURLs()
	api := n.serve(t, "https://api.example.com", sayOK)
	hop := n.serve(t, "http://hop.example.com", func(w http.ResponseWriter, r *http.Request) {
		var i, code int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &i, &code); err != nil {
			sayOK(w, r)
			return
		}
		w.Header()["Location"] = []string{strings.ReplaceAll(urls[i], "\\", "%5C")}
		w.WriteHeader(code)
	})
	for _, origin := range []string{"https://evil.com", "https://b.example.com", "http://localhost"} {
		n.serve(t, origin, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was asked for %s", r.Host, r.URL) })
	}
	n.answers("metadata.google.internal", []netip.Addr{netip.MustParseAddr("169.254.169.254")})
	n.answers("rebound.example.com", []netip.Addr{hop, netip.MustParseAddr("127.0.0.1")}, []netip.Addr{netip.MustParseAddr("10.0.0.1")})
	granted := []string{"https://api.example.com", "http://hop.example.com", "http://rebound.example.com"}
	may := map[string][]netip.AddrPort{ // by what the receipt calls it
		"https://api.example.com:443": {netip.AddrPortFrom(api, 443)},
		"http://hop.example.com:80":   {netip.AddrPortFrom(hop, 80)},
	}
	methods := []string{"GET", "POST"}
	for _, d := range n.doors(t, l.engine, allowing(t, methods, granted...)) {
		var hosts []string
		call := func(req abi.HTTPRequest) {
			out := timely(t, d.m, Call{Tool: "requests", Arguments: d.arguments(t, req)})
			if out.Fault != "" && out.Fault != FaultDenied {
				t.Errorf("%s: %s: %q %s", d.name, req.URL, out.Fault, out.Detail)
			}
			hosts = append(hosts, out.Receipt.Hosts...)
		}
		for i, url := range urls {
			call(getOf(url))
			call(abi.HTTPRequest{Method: "POST", URL: url, Body: []byte("hunter2")})
			for _, code := range []int{301, 302, 303, 307, 308} {
				call(getOf(fmt.Sprintf("http://hop.example.com/%d/%d", i, code)))
			}
			call(abi.HTTPRequest{Method: "GET", URL: "http://hop.example.com/", Headers: map[string]string{"Host": "evil.com", "X-Forwarded-Host": "evil.com"}})
		}
		call(getOf("https://api.example.com/"))
		r := n.record()
		var want []netip.AddrPort
		for _, at := range may {
			want = append(want, at...)
		}
		for _, at := range r.dials {
			if !slices.Contains(want, at) {
				t.Errorf("%s: connected to %v", d.name, at)
			}
		}
		for _, name := range r.lookups {
			if !slices.ContainsFunc(granted, func(origin string) bool { return strings.HasSuffix(origin, "//"+name) }) {
				t.Errorf("%s: looked up %s", d.name, name)
			}
		}
		for _, origin := range hosts {
			if may[origin] == nil {
				t.Errorf("%s: the receipt names %s", d.name, origin)
			}
		}
		for _, a := range r.requests {
			if !slices.Contains([]string{"api.example.com", "hop.example.com"}, a.to) || strings.Contains(a.body, "hunter2") {
				t.Errorf("%s: %s got %s %s %q", d.name, a.to, a.method, a.uri, a.body)
			}
		}
		if len(r.requests) < 5*len(urls) || !slices.Contains(hosts, "http://hop.example.com:80") {
			t.Errorf("%s: only %d requests were made", d.name, len(r.requests))
		}
		if got := d.ask(t, getOf("https://api.example.com/"))[0]; got.Code != "" {
			t.Errorf("%s: the next call: %+v", d.name, got)
		}
		n.record()
	}
	l.works(t)
}
