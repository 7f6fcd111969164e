package sandbox

import (
	"net/netip"
	"strings"
	"testing"
)

// What a module reaches elsewhere is what its policy says, as it is here.
func TestAnotherNetworkIsUnderThePolicyToo(t *testing.T) {
	e, n := newEngine(t), newInternet()
	good := n.serve(t, "http://api.example.com", sayOK)
	m := load(t, e, sdkGuest(t), allowing(t, nil, "http://api.example.com"))
	if err := m.Attach(Network{Resolve: n.resolve, Dial: n.dial}); err != nil {
		t.Fatal(err)
	}
	d := doorOf(m)
	answeredAt(t, []netDoor{d}, getOf("http://api.example.com/"))
	n.leave(t, m)
	n.answers("api.example.com", []netip.Addr{good, netip.MustParseAddr("127.0.0.1")})
	if err := m.Attach(Network{Resolve: n.resolve, Dial: n.dial}); err != nil {
		t.Fatal(err)
	}
	for url, says := range map[string]string{"http://api.example.com/": "private, loopback or own address", "http://other.example.com/": "no grant covers this"} {
		if r := d.ask(t, getOf(url))[0]; !strings.Contains(r.Message, says) {
			t.Errorf("%s: %+v", url, r)
		}
	}
	if r := n.record(); len(r.dials) != 1 {
		t.Errorf("connected to %v", r.dials)
	}
	none := load(t, e, source(t, "done"))
	if err := none.Attach(Network{}); err != nil || none.http != nil {
		t.Errorf("a module without a grant has a network: %v", err)
	}
}
