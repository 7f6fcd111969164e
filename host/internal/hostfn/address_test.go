package hostfn

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// NET-5: addresses that are not the internet's, and what private_networks opens.
func TestPrivateRangesAreRefused(t *testing.T) {
	h := NewHTTP(nil, limits())
	o := limits()
	o.Private = true
	p := NewHTTP(nil, o)
	for a, want := range map[string]struct{ private, literal bool }{ // with private_networks, by name and as the address itself
		"0.0.0.0":                          {false, false},
		"0.1.2.3":                          {false, false},
		"10.0.0.1":                         {true, true},
		"100.64.0.1":                       {true, true},
		"127.0.0.1":                        {true, true},
		"127.255.255.255":                  {true, true},
		"169.254.1.1":                      {false, true},
		"169.254.169.254":                  {false, true},
		"100.100.100.200":                  {false, true},
		"168.63.129.16":                    {false, true},
		"172.16.0.1":                       {true, true},
		"172.31.255.255":                   {true, true},
		"192.0.0.1":                        {false, false},
		"192.0.2.1":                        {false, false},
		"192.168.1.1":                      {true, true},
		"198.18.0.1":                       {false, false},
		"198.51.100.1":                     {false, false},
		"203.0.113.1":                      {false, false},
		"224.0.0.1":                        {false, false},
		"239.255.255.255":                  {false, false},
		"240.0.0.1":                        {false, false},
		"255.255.255.255":                  {false, false},
		"::":                               {false, false},
		"::1":                              {true, true},
		"::ffff:127.0.0.1":                 {true, true},
		"::ffff:10.0.0.1":                  {true, true},
		"::ffff:169.254.169.254":           {false, true},
		"::127.0.0.1":                      {false, false},
		"64:ff9b::7f00:1":                  {false, false},
		"64:ff9b:1::1":                     {false, false},
		"100::1":                           {false, false},
		"2001::1":                          {false, false},
		"2001:db8::1":                      {false, false},
		"2002:7f00:1::1":                   {false, false},
		"3fff::1":                          {false, false},
		"fc00::1":                          {true, true},
		"fd00:ec2::254":                    {false, true},
		"fe80::1":                          {false, true},
		"fe80::1%eth0":                     {false, false},
		"2606:4700::1111%eth0":             {false, false},
		"fec0::1":                          {false, false},
		"ff02::1":                          {false, false},
		"ffff:ffff:ffff:ffff:ffff:ffff::1": {false, false},
	} {
		ip := netip.MustParseAddr(a)
		if h.checkAddress(ip, false) == nil || h.checkAddress(ip, true) == nil {
			t.Errorf("%s is let through", a)
		}
		if got := p.checkAddress(ip, false) == nil; got != want.private {
			t.Errorf("%s with private networks, by name: %v", a, got)
		}
		if got := p.checkAddress(ip, true) == nil; got != want.literal {
			t.Errorf("%s with private networks, itself: %v", a, got)
		}
	}
	for _, a := range []string{"93.184.216.34", "1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1"} {
		if err := h.checkAddress(netip.MustParseAddr(a), false); err != nil {
			t.Errorf("%s is refused: %v", a, err)
		}
	}
	if h.checkAddress(netip.Addr{}, true) == nil || p.checkAddress(netip.Addr{}, true) == nil {
		t.Error("no address is let through")
	}
}

// NET-5: also for an address that a rule names, and the message says what to add.
func TestLoopbackNeedsPrivateNetworks(t *testing.T) {
	s := &seen{}
	srv := httptest.NewServer(s.handler(say("local")))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	r := rule(t, "http://"+host, nil)
	h := openHTTP(t, limits(), r)
	session := h.Session()
	got := session.Do(t.Context(), abi.HTTPRequest{URL: srv.URL})
	wantCode(t, "without", got, "denied", "allow.private_networks: true")
	if s.count() > 0 || len(session.Hosts()) > 0 {
		t.Errorf("it was reached: %v", session.Hosts())
	}
	o := limits()
	o.Private = true
	wantBody(t, "with", get(t, openHTTP(t, o, r), srv.URL), "local")
}

// The attack: an allowed name resolves to the machine itself or its neighbours.
// NET-4: one bad address among good ones spoils the name.
func TestNamesThatLeadInsideAreRefused(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(say("hello")))
	good := addr(1)
	for what, answer := range map[string][]netip.Addr{
		"loopback":     {netip.MustParseAddr("127.0.0.1")},
		"metadata":     {netip.MustParseAddr("169.254.169.254")},
		"mapped":       {netip.MustParseAddr("::ffff:127.0.0.1")},
		"one of many":  {good, netip.MustParseAddr("10.0.0.1")},
		"last of many": {good, good, good, good, good, good, good, good, good, good, netip.MustParseAddr("::1")},
	} {
		w.names["api.example.com"] = [][]netip.Addr{answer}
		wantCode(t, what, get(t, w.open(t, limits(), rule(t, "api.example.com", nil)), "https://api.example.com/"), "denied")
	}
	w.names["api.example.com"] = [][]netip.Addr{{}}
	wantCode(t, "no address", get(t, w.open(t, limits(), rule(t, "api.example.com", nil)), "https://api.example.com/"), "unavailable")
	if s.count() > 0 || len(w.dials) > 0 {
		t.Errorf("%d requests, dialled %v", s.count(), w.dials)
	}
}

// NET-4: a name that moves after the first look.
func TestReboundNameIsRefused(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Connection", "close") // so that each request looks the name up
		_, _ = rw.Write([]byte("hello"))
	})
	w.names["api.example.com"] = [][]netip.Addr{{addr(1)}, {netip.MustParseAddr("127.0.0.1")}}
	h := w.open(t, limits(), rule(t, "api.example.com", nil))
	wantBody(t, "first", get(t, h, "https://api.example.com/"), "hello")
	for deadline := 0; deadline < 100; deadline++ {
		// The connection may still be open for another request.
		if got := get(t, h, "https://api.example.com/"); got.Error != nil {
			wantCode(t, "second", got, "denied", "private")
			break
		}
	}
	if n := len(w.looked()); n != 2 {
		t.Errorf("looked up %d times", n)
	}
	for _, a := range w.dials {
		if a.Addr() != addr(1) {
			t.Errorf("dialled %v", a)
		}
	}
}

// NET-4: the socket itself is checked, whatever was checked before.
func TestDialledAddressIsCheckedAtTheSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	to := netip.MustParseAddrPort(l.Addr().String())
	h := NewHTTP(nil, limits())
	if c, err := h.connect(t.Context(), to, true); err == nil {
		t.Error("connected to loopback")
		_ = c.Close()
	} else if f := explain(t.Context(), err); f.code != "denied" {
		t.Errorf("got %s: %v", f.code, err)
	}
	o := limits()
	o.Private = true
	c, err := NewHTTP(nil, o).connect(t.Context(), to, true)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// The attack: this machine under its public address.
func TestOwnPublicAddressIsRefused(t *testing.T) {
	w, s := newWorld(), &seen{}
	w.serve(t, "https://api.example.com", s.handler(say("own")))
	own := func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("::ffff:93.184.216.1")}, nil }
	o := limits()
	o.Own = own
	wantCode(t, "own", get(t, w.open(t, o, rule(t, "api.example.com", nil)), "https://api.example.com/"), "denied", "private_networks")
	o.Own = func() ([]netip.Addr, error) { return nil, net.ErrClosed }
	wantCode(t, "not known", get(t, w.open(t, o, rule(t, "api.example.com", nil)), "https://api.example.com/"), "unavailable")
	if s.count() > 0 {
		t.Error("it was reached")
	}
	o.Own, o.Private = own, true
	wantBody(t, "private", get(t, w.open(t, o, rule(t, "api.example.com", nil)), "https://api.example.com/"), "own")
	addrs, err := interfaceAddrs()
	if err != nil || len(addrs) == 0 {
		t.Errorf("%v, %v", addrs, err)
	}
}

func TestNextAddressIsTriedWhenOneDoesNotAnswer(t *testing.T) {
	w := newWorld()
	w.serve(t, "https://api.example.com", say("hello"))
	w.names["api.example.com"] = [][]netip.Addr{{addr(77), addr(78), addr(1)}}
	wantBody(t, "third", get(t, w.open(t, limits(), rule(t, "api.example.com", nil)), "https://api.example.com/"), "hello")
}
