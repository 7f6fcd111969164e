package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// BenchmarkGuestHTTP compares a request that a guest makes on loopback with one of
// net/http to the same server, turn and turn about, in one call of the guest after
// the other. What the call itself costs is taken off: it is that of a guest which
// makes one request less.
//
//	more-µs/request   what the guest's request takes longer
//	x/plain           how many times as long
func BenchmarkGuestHTTP(b *testing.B) {
	const batch = 10 // requests of one call, which may make twenty
	for _, size := range []int{100, 4 << 10, 64 << 10} {
		body := strings.Repeat("x", size)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		b.Cleanup(s.Close)
		e := newEngine(b)
		for _, guest := range []string{"sdk", "wasi"} {
			src := sdkGuest(b)
			if guest == "wasi" {
				src = wasiGuest(b)
			}
			m := load(b, e, src, grantOf(b, s.URL))
			call := func(n int) time.Duration {
				requests := make([]map[string]string, n)
				for i := range requests {
					requests[i] = map[string]string{"url": s.URL + "/"}
				}
				args, err := json.Marshal(map[string]any{"requests": requests, "discard": true})
				if err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				out := m.Call(b.Context(), Call{Tool: "requests", Arguments: args})
				took := time.Since(start)
				if out.Fault != "" || strings.Contains(said(out), "error") {
					b.Fatal(out.Fault, said(out), out.Detail)
				}
				return took
			}
			b.Run(fmt.Sprintf("%s/%d", guest, size), func(b *testing.B) {
				var plain, guest time.Duration
				for b.Loop() {
					guest += call(batch) - call(0)
					plain += plainRequests(b, s.URL, batch)
				}
				each := float64(b.N * batch)
				b.ReportMetric(float64(plain.Microseconds())/each, "plain-µs/request")
				b.ReportMetric(float64((guest-plain).Microseconds())/each, "more-µs/request")
				b.ReportMetric(float64(guest)/float64(plain), "x/plain")
			})
		}
	}
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
