package sandbox

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkGuestHTTP compares a request that a guest makes on loopback with one of
// net/http to the same server, turn and turn about. What the call itself costs is
// taken off: a call with eleven requests is compared with a call of one. The
// figures are of the medians, as this machine may do something else meanwhile.
//
//	plain-µs/request  what a request of net/http takes
//	more-µs/request   what the guest's takes longer
//	x/plain           how many times as long it takes
func BenchmarkGuestHTTP(b *testing.B) {
	const batch = 10
	for _, size := range []int{100, 4 << 10, 64 << 10} {
		body := strings.Repeat("x", size)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		b.Cleanup(s.Close)
		e := newEngine(b)
		for _, src := range []Source{sdkGuest(b), wasiGuest(b)} {
			m := load(b, e, src, grantOf(b, s.URL))
			b.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(src.Name, ".wasm"), size), func(b *testing.B) {
				var plain, guest []time.Duration
				for b.Loop() {
					guest = append(guest, guestRequests(b, m, s.URL, batch+1)-guestRequests(b, m, s.URL, 1))
					plain = append(plain, plainRequests(b, s.URL, batch))
				}
				slices.Sort(plain)
				slices.Sort(guest)
				p, g := plain[len(plain)/2], guest[len(guest)/2]
				b.ReportMetric(float64(p.Microseconds())/batch, "plain-µs/request")
				b.ReportMetric(float64((g-p).Microseconds())/batch, "more-µs/request")
				b.ReportMetric(float64(g)/float64(p), "x/plain")
			})
		}
	}
}

// guestRequests makes a call that makes n requests.
func guestRequests(b *testing.B, m *Module, url string, n int) time.Duration {
	b.Helper()
	args := fmt.Appendf(nil, `{"requests":[{"url":%q}],"times":%d,"discard":true}`, url+"/", n)
	start := time.Now()
	out := m.Call(b.Context(), Call{Tool: "requests", Arguments: args})
	took := time.Since(start)
	if said(out) != "[]" {
		b.Fatal(out.Fault, said(out), out.Detail)
	}
	return took
}

// plainRequests makes n requests as a program does that has no sandbox.
func plainRequests(b *testing.B, url string, n int) time.Duration {
	b.Helper()
	start := time.Now()
	for range n {
		resp, err := http.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err := resp.Body.Close(); err != nil {
			b.Fatal(err)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}
