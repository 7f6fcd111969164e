package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// What a call can send is http_requests times 1 MiB and not a byte more: there is
// no other limit of it. A body that a redirect sends again counts again.
func TestNET9ACallSendsNoMoreThanItsRequestsCanHold(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "https://api.example.com", sayOK)
	n.serve(t, "https://api2.example.com", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Path+"x")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	const requests = 3
	m := load(t, l.engine, sdkGuest(t), allowing(t, []string{"POST"}, "api.example.com", "api2.example.com"), func(s *Source) {
		s.Policy.Limits.HTTPRequests = requests
	})
	n.join(t, m)
	defer n.leave(t, m)
	for _, site := range []string{"api.example.com", "api2.example.com"} {
		args := fmt.Sprintf(`{"requests":[{"method":"POST","url":"https://%s/"}],"body":%d,"times":%d}`, site, maxHTTPBody, 3*requests)
		replies, err := readKit([]byte(said(timely(t, m, Call{Tool: "requests", Arguments: json.RawMessage(args)}))))
		if err != nil || len(replies) != 3*requests {
			t.Fatalf("%s: %v, %d replies", site, err, len(replies))
		}
		if last := replies[len(replies)-1]; last.Code != "rate_limited" || !strings.Contains(last.Message, "more than 3 requests in one call") {
			t.Errorf("%s: %+v", site, last)
		}
		sent := 0
		all := n.record().requests
		for _, r := range all {
			sent += len(r.body)
		}
		if len(all) != requests || sent != requests*maxHTTPBody {
			t.Errorf("%s: the server got %d requests with %d bytes", site, len(all), sent)
		}
	}
	l.works(t)
}

// The receipt names a server that was connected to, also when there was no request
// then: its certificate is another's, or it speaks no TLS at all.
func TestTheReceiptNamesAServerWhoseHandshakeFailed(t *testing.T) {
	l, n := newLab(t), newInternet()
	wrong := n.serve(t, "https://other.test", sayOK) // certificates are for example.com
	plain := n.serve(t, "http://plain.example.com", sayOK)
	n.mu.Lock()
	n.servers[netip.AddrPortFrom(plain, 443)] = n.servers[netip.AddrPortFrom(plain, 80)]
	n.mu.Unlock()
	doors := n.doors(t, l.engine, allowing(t, nil, "other.test", "plain.example.com", "nobody.example.com"))
	n.answers("nobody.example.com", []netip.Addr{publicAddr(99)}) // where nothing listens
	for _, d := range doors {
		for url, want := range map[string][]string{
			"https://other.test/":         {"https://other.test:443"},
			"https://plain.example.com/":  {"https://plain.example.com:443"},
			"https://nobody.example.com/": nil,
		} {
			out := timely(t, d.m, Call{Tool: "requests", Arguments: d.arguments(t, getOf(url))})
			if !slices.Equal(want, out.Receipt.Hosts) {
				t.Errorf("%s: %s: the receipt names %q, want %q", d.name, url, out.Receipt.Hosts, want)
			}
		}
		if r := n.record(); len(r.requests) > 0 || !slices.Contains(r.dials, netip.AddrPortFrom(wrong, 443)) {
			t.Errorf("%s: %+v", d.name, r)
		}
		n.leave(t, d.m)
	}
	l.works(t)
}
