package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The rows of the network that decide where a guest gets to. Each is tried at
// every door: a guest of the SDK, one of plain WASI, and a plugin of Extism.

func TestNET1WithoutAGrantThereIsNoNetwork(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "https://api.example.com", sayOK)
	request := getOf("https://api.example.com/v1/x")
	look := func(s *Source) { s.Inspect = true }
	doors := n.doors(t, l.engine, look)
	// A module that was loaded to be looked at gets a number, a plugin the line to add.
	for _, d := range doors {
		r := d.ask(t, request)[0]
		says, code := "denied: no grant covers it", "denied"
		switch d.name {
		case "sdk":
			code = string(abi.AuthRequired)
		case "extism":
			says = "allow.http: - {host: api.example.com, methods: [GET]"
		}
		if r.Code != code || !strings.Contains(r.Message, says) {
			t.Errorf("%s: %+v", d.name, r)
		}
	}
	// One that was loaded to run is not linked. To read four megabytes takes longer
	// than a refusal may, so of the large ones only the reason is compared.
	const says = "the module makes HTTP requests and was not granted any host; add to its tool: allow: {http: "
	l.refuses(t, source(t, "needhttp"), LoadGrant, says)
	for _, src := range []Source{sdkGuest(t), wasiGuest(t)} {
		_, err := l.engine.Load(t.Context(), src)
		if why, ok := errors.AsType[*LoadError](err); !ok || why.Kind != LoadGrant || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", src.Name, err)
		}
	}
	// A plugin of another kit, for Go, that has its request inside.
	kit := Source{Name: "pdk.wasm", Wasm: pdkPlugin(t, "http"), ABI: Extism, Policy: policy.Default()}
	l.suffers(t, attack{
		what: "a plugin in Go", want: []Fault{FaultDenied}, says: "allow.http: - {host: jsonplaceholder.typicode.com, methods: [GET]",
		src: func() Source { plainTool("run_test")(&kit); return kit }(),
	})
	// Plain WASI has sockets in name only, and none that lead anywhere.
	canary, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan bool)
	go func() {
		c, err := canary.Accept()
		if err == nil {
			_ = c.Close()
		}
		came <- err == nil
	}()
	plain := wasiGuest(t)
	look(&plain)
	l.suffers(t,
		attack{what: "sockets", src: source(t, "sockets"), want: well, says: "done"},
		attack{what: "the standard library", src: plain, want: well, says: "no way out", call: Call{
			Arguments: fmt.Appendf(nil, `{"dial":[%q,"93.184.216.1:80","localhost:80","169.254.169.254:80","[::1]:80"]}`, canary.Addr()),
		}})
	if err := canary.Close(); err != nil {
		t.Error(err)
	}
	if <-came {
		t.Error("a guest connected")
	}
	n.untouched(t)
}

func TestNET2OnlyWhatIsNamedIsReached(t *testing.T) {
	for _, host := range []string{
		"*", "*.", "*foo", "*foo.com", "*.com", "a.*.x.com", "x.com/path", "x.com@evil", "user:pass@x.com", "x.com#@evil", `x.com\@evil`,
		"x.com.", "x%2ecom", "x\t.com", "x.com\n", "аpi.x.com", "xｃom.com", "2130706433", "0x7f000001", "ftp://x.com",
	} {
		if r, err := policy.ParseHTTPRule(host, nil, nil); err == nil {
			t.Errorf("%q is the rule %s", host, r)
		}
	}
	l, n := newLab(t), newInternet()
	n.serve(t, "https://a.example.com", sayOK)
	n.serve(t, "https://api.example.com", sayOK)
	doors := n.doors(t, l.engine, allowing(t, nil, "*.example.com", "https://xn--bcher-kva.example", "api.x.com"))
	denied := []string{
		"https://example.com/", "https://a.b.example.com/", "https://evilexample.com/", "https://api.example.com.evil.com/", "https://evil.com/api.example.com",
		"http://api.example.com/", "https://api.example.com:8443/", "https://api.example.com:80/", "https://API.X.COM:444/", "https://www.api.x.com/",
		"https://evil.com?https://api.example.com/", "https://evil.com#@api.example.com", "https://xn--bcher-kva.example.com.evil.com/",
	}
	invalid := []string{
		"https://api.example.com@evil.com/", "https://a:b@api.example.com/", `https://api.example.com\@evil.com/`, `https:\\api.example.com/`,
		"https://api%2eexample.com/", "https://api.example.com%00.evil.com/", "https://api.exa\tmple.com/", "https://api.example.com\n/", "https://api.example.com/\r\nX: y",
		"https://аpi.example.com/", "https://api。example.com/", "https://bücher.example/", "https://api..example.com/", "https://api.example.com../",
		"https:api.example.com", "//api.example.com/", "ftp://api.example.com/", "file:///etc/passwd", "https://[api.example.com]/", "https://*.example.com/", "",
	}
	for _, url := range denied {
		refusedAt(t, doors, getOf(url), "denied", "no grant covers this; to allow it: allow.http: - {host: ")
	}
	for _, url := range invalid {
		refusedAt(t, doors, getOf(url), "invalid", "")
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"} {
		refusedAt(t, doors, abi.HTTPRequest{Method: method, URL: "https://api.example.com/"}, "denied", method)
	}
	n.untouched(t)
	for _, url := range []string{"https://api.example.com/", "HTTPS://API.EXAMPLE.com:443/", "https://a.example.com./x", "https://api.example.com#@evil.com"} {
		answeredAt(t, doors, getOf(url))
	}
	for _, to := range n.record().dials {
		if to.Addr() != publicAddr(1) && to.Addr() != publicAddr(2) || to.Port() != 443 {
			t.Errorf("connected to %v", to)
		}
	}
	l.works(t)
}

func TestNET3RedirectsAreAskedAboutOneByOne(t *testing.T) {
	l, n := newLab(t), newInternet()
	for _, name := range []string{"https://b.example.com", "http://b.example.com", "https://evil.example.com", "http://api.example.com"} {
		n.serve(t, name, sayOK)
	}
	to := map[string]string{
		"/unlisted": "https://evil.example.com/", "/port": "https://b.example.com:444/", "/plain": "http://b.example.com/",
		"/file": "file:///etc/passwd", "/user": "https://a@b.example.com/", "/dots": "https://b.example.com/x/%2e%2e/y", "/inside": "https://169.254.169.254/",
		"/loop": "/loop", "/six": "/five", "/five": "/four", "/four": "/three", "/three": "/two", "/two": "/one", "/one": "/end",
		"/relative": "./end", "/listed": "https://b.example.com/end", "/method": "https://b.example.com/post", "/none": "\x01",
	}
	n.serve(t, "https://api.example.com", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/307" {
			w.Header().Set("Location", "https://b.example.com/end")
			w.WriteHeader(http.StatusTemporaryRedirect)
		} else if at, ok := to[r.URL.Path]; ok {
			w.Header().Set("Location", at)
			w.WriteHeader(http.StatusFound)
		} else {
			sayOK(w, r)
		}
	})
	get := allowing(t, []string{"GET"}, "https://api.example.com", "https://b.example.com", "http://b.example.com", "http://api.example.com")
	post := allowing(t, []string{"POST"}, "https://api.example.com", "https://b.example.com")
	doors := n.doors(t, l.engine, get, post)
	for path, says := range map[string]string{
		"/unlisted": "redirected: no grant covers this; to allow it: allow.http: - {host: evil.example.com",
		"/port":     `redirected: no grant covers this; to allow it: allow.http: - {host: "b.example.com:444"`,
		"/inside":   "redirected: no grant covers this",
		"/plain":    "from https to http",
		"/file":     "a scheme other than https and http",
	} {
		refusedAt(t, doors, getOf("https://api.example.com"+path), "denied", says)
	}
	for path, code := range map[string]string{"/user": "invalid", "/dots": "invalid", "/none": "unavailable", "/loop": "too_many", "/six": "too_many"} {
		refusedAt(t, doors, getOf("https://api.example.com"+path), code, "")
	}
	for _, a := range n.record().requests {
		if a.to != "api.example.com" {
			t.Errorf("%s was asked for %s", a.to, a.uri)
		}
	}
	// Where it may go on, what the guest said to the first is not told to the second.
	headers := map[string]string{"Authorization": "Bearer hunter2", "Cookie": "a=hunter2", "X-Api-Key": "hunter2", "Accept-Language": "en"}
	for _, path := range []string{"/listed", "/relative", "/five"} {
		answeredAt(t, doors, abi.HTTPRequest{Method: "GET", URL: "https://api.example.com" + path, Headers: headers})
	}
	away, here := 0, 0
	for _, a := range n.record().requests {
		switch told := strings.Contains(fmt.Sprint(a.header), "hunter2"); {
		case a.to == "b.example.com" && (told || a.header.Get("Referer") != "" || a.header.Get("Accept-Language") != "en"):
			t.Errorf("another host was told %v", a.header)
		case a.to == "api.example.com" && !told:
			t.Errorf("the same host was told %v", a.header)
		case a.to == "b.example.com":
			away++
		default:
			here++
		}
	}
	if away != len(doors) || here != (1+2+6)*len(doors) {
		t.Errorf("%d requests went away and %d stayed", away, here)
	}
	// What a guest sends to one host is not sent on to another.
	body := abi.HTTPRequest{Method: "POST", URL: "https://api.example.com/307", Body: []byte("hunter2")}
	refusedAt(t, doors[:2], body, "denied", "redirects the request's body to another host")
	steps := load(t, l.engine, stepsSource(t, get, post))
	n.join(t, steps)
	s := ask(`{"url":"https://api.example.com/307","method":"POST"}`, "hunter2")
	if r := perform(t, steps, "leave", s.program); r.fault != FaultDenied || !strings.Contains(r.Trap, "redirects the request's body") {
		t.Errorf("%+v", r)
	}
	for _, a := range n.record().requests {
		if a.to != "api.example.com" {
			t.Errorf("%s got %q", a.to, a.body)
		}
	}
	l.works(t)
}

func TestNET4TheAddressThatWasCheckedIsTheOneConnectedTo(t *testing.T) {
	l, n := newLab(t), newInternet()
	good := n.serve(t, "https://api.example.com", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // so that each request asks for the name
		sayOK(w, r)
	})
	loopback := netip.MustParseAddr("127.0.0.1")
	doors := n.doors(t, l.engine, allowing(t, nil, "api.example.com"))
	url := getOf("https://api.example.com/")
	for _, d := range doors {
		// A name that moves between one look and the next.
		n.answers("api.example.com", []netip.Addr{good}, []netip.Addr{loopback})
		first, then := d.ask(t, url)[0], netReply{}
		for then = d.ask(t, url)[0]; then.Code == ""; then = d.ask(t, url)[0] {
			// The connection may still have been open.
		}
		if first.Code != "" || !strings.Contains(then.Message, "private, loopback or own address") {
			t.Errorf("%s: %+v, then %+v", d.name, first, then)
		}
		r := n.record()
		if len(r.lookups) != 2 || !slices.Equal(r.dials, []netip.AddrPort{netip.AddrPortFrom(good, 443)}) {
			t.Errorf("%s: looked up %v, connected to %v", d.name, r.lookups, r.dials)
		}
	}
	// One bad address among good ones spoils the name, wherever it stands.
	for _, bad := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fd00:ec2::254", "0.0.0.0"} {
		for _, at := range [][]netip.Addr{{netip.MustParseAddr(bad), good}, {good, good, netip.MustParseAddr(bad)}} {
			n.answers("api.example.com", at)
			refusedAt(t, doors, url, "denied", "")
		}
	}
	if r := n.record(); len(r.dials) > 0 {
		t.Errorf("connected to %v", r.dials)
	}
	n.answers("api.example.com", []netip.Addr{good})
	answeredAt(t, doors, url)
	l.works(t)
}

// insides are one address of each range that is not the internet's, and whether
// private_networks and a rule open it.
func insides() map[string]bool {
	return map[string]bool{
		"0.1.2.3": false, "10.1.2.3": true, "100.64.1.2": true, "127.1.2.3": true, "169.254.169.254": true, "172.16.1.2": true, "172.31.255.254": true,
		"192.0.0.8": false, "192.0.2.1": false, "192.168.1.2": true, "198.18.1.2": false, "198.51.100.1": false, "203.0.113.1": false,
		"224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false, "192.88.99.1": false, "100.100.100.200": true, "168.63.129.16": true,
		"::": false, "::1": true, "64:ff9b::a00:1": false, "64:ff9b:1::a00:1": false, "2002:7f00:1::1": false, "2001::1": false, "2001:db8::1": false,
		"fc00::1": true, "fd00:ec2::254": true, "fe80::1": true, "fec0::1": false, "ff02::1": false, "::7f00:1": false, "3fff::1": false,
	}
}

func TestNET5AddressesInsideAreNotReached(t *testing.T) {
	l, n := newLab(t), newInternet()
	n.serve(t, "http://api.example.com", sayOK)
	own := n.serve(t, "http://own.example.com", sayOK)
	n.own = []netip.Addr{own}
	rules := []string{"http://own.example.com", "http://api.example.com"}
	urls := map[string]bool{}
	for a, opens := range insides() {
		at := netip.MustParseAddr(a)
		url := "http://" + strings.TrimSuffix(netip.AddrPortFrom(at, 80).String(), ":80")
		rules, urls[url+"/"] = append(rules, url), opens
		name := fmt.Sprintf("http://n%d.example.com", len(urls))
		n.answers(strings.TrimPrefix(name, "http://"), []netip.Addr{at})
		// The guest's word for link-local and metadata addresses is not enough.
		byName := opens && !at.IsLinkLocalUnicast() && a != "100.100.100.200" && a != "168.63.129.16" && a != "fd00:ec2::254"
		rules, urls[name+"/"] = append(rules, name), byName
	}
	named := allowing(t, nil, rules...)
	doors := n.doors(t, l.engine, named)
	for url := range urls {
		refusedAt(t, doors, getOf(url), "denied", "")
	}
	refusedAt(t, doors, getOf("http://own.example.com/"), "denied", "allow.private_networks: true")
	if r := n.record(); len(r.dials)+len(r.requests) > 0 {
		t.Errorf("connected to %v", r.dials)
	}
	// With private_networks, what a rule names and no more. Nobody listens there.
	open := n.doors(t, l.engine, named, func(s *Source) { s.Policy.Grants.PrivateNetworks = true })
	for url, opens := range urls {
		if opens {
			refusedAt(t, open[1:2], getOf(url), "unavailable", "the server refuses connections")
		} else {
			refusedAt(t, open[1:2], getOf(url), "denied", "")
		}
	}
	answeredAt(t, open, getOf("http://own.example.com/"))
	n.record()
	// Other ways to write an address are none.
	for _, host := range []string{
		"127.1", "0x7f000001", "0x7f.0.0.1", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.01", "127.0.1", "[::ffff:169.254.169.254]", "[::ffff:7f00:1]",
		"[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1", "1.2.3.4.5", "①②⑦.0.0.1", "127。0。0。1",
	} {
		refusedAt(t, open, getOf("http://"+host+"/"), "invalid", "")
	}
	n.untouched(t)
	answeredAt(t, doors, getOf("http://api.example.com/"))
	l.works(t)
}

func TestNET6TheEnvironmentsProxyIsNotUsed(t *testing.T) {
	proxy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var came sync.WaitGroup
	came.Go(func() {
		if c, err := proxy.Accept(); err == nil {
			t.Error("the proxy was asked")
			_ = c.Close()
		}
	})
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY"} {
		t.Setenv(name, "http://"+proxy.Addr().String())
		t.Setenv(strings.ToLower(name), "http://"+proxy.Addr().String())
	}
	l, n := newLab(t), newInternet()
	plain := n.serve(t, "http://api.example.com", sayOK)
	secure := n.serve(t, "https://b.example.com", sayOK)
	doors := n.doors(t, l.engine, allowing(t, nil, "http://api.example.com", "https://b.example.com"))
	for range 2 {
		answeredAt(t, doors, getOf("http://api.example.com/"))
		answeredAt(t, doors, getOf("https://b.example.com/"))
	}
	r := n.record()
	for _, to := range r.dials {
		if to != netip.AddrPortFrom(plain, 80) && to != netip.AddrPortFrom(secure, 443) {
			t.Errorf("connected to %v", to)
		}
	}
	if len(r.dials) != 2*len(doors) || len(r.requests) != 4*len(doors) {
		t.Errorf("%d connections, %d requests", len(r.dials), len(r.requests))
	}
	for _, a := range r.requests {
		if a.header.Get("Via")+a.header.Get("Proxy-Connection") != "" || !strings.HasPrefix(a.uri, "/") {
			t.Errorf("asked as a proxy is: %s %v", a.uri, a.header)
		}
	}
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	came.Wait()
	l.works(t)
}
