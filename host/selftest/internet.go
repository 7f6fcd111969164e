package selftest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// internet is a network of this machine's loopback only: servers behind names and
// public addresses that exist in it alone. It writes down what is connected to.
type internet struct {
	roots *x509.CertPool

	mu      sync.Mutex
	names   map[string][][]netip.Addr // answers to the first, second … question; the last stays
	servers map[netip.AddrPort]string // where they really listen
	dials   []netip.AddrPort
	close   []func()
}

func newInternet() *internet {
	return &internet{roots: x509.NewCertPool(), names: map[string][][]netip.Addr{}, servers: map[netip.AddrPort]string{}}
}

// The ports of the two schemes.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// serve starts a server under a name, and returns the address that the name stands
// for. The certificates are for example.com and the names below it.
func (n *internet) serve(name string, port uint16, answer http.HandlerFunc) (*server, netip.Addr, error) {
	start := serve
	if port == portHTTPS {
		start = serveTLS
	}
	s, err := start(answer)
	if err != nil {
		return nil, netip.Addr{}, err
	}
	if c := s.Certificate(); c != nil {
		n.roots.AddCert(c)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.close = append(n.close, s.Close)
	at := netip.AddrFrom4([4]byte{93, 184, 216, byte(len(n.servers) + 1)})
	if known := n.names[name]; known != nil {
		at = known[0][0]
	}
	n.names[name] = [][]netip.Addr{{at}}
	n.servers[netip.AddrPortFrom(at, port)] = s.Listener.Addr().String()
	return s, at, nil
}

// end closes the servers.
func (n *internet) end() {
	for _, f := range n.close {
		f()
	}
}

// answers is what questions for a name are answered with, one after the other.
func (n *internet) answers(name string, answers ...[]netip.Addr) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[name] = answers
}

func (n *internet) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	answers := n.names[name]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.names[name] = answers[1:]
	}
	return answers[0], nil
}

func (n *internet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.mu.Lock()
	n.dials = append(n.dials, to)
	listens, ok := n.servers[to]
	n.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("nothing listens on %v", to)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", listens)
}

// connectedOnly says that nothing but these was connected to.
func (n *internet) connectedOnly(to ...netip.Addr) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.dials {
		if !slices.Contains(to, d.Addr()) {
			return fmt.Errorf("%v was connected to", d)
		}
	}
	return nil
}

// enter loads the guest ask, with this network in place of the machine's.
func (n *internet) enter(ctx context.Context, l *lab, change ...func(*sandbox.Source)) (*sandbox.Module, error) {
	m, err := l.load(ctx, "ask", change...)
	if err != nil {
		return nil, err
	}
	return m, m.Attach(sandbox.Network{Resolve: n.resolve, Dial: n.dial, TLS: &tls.Config{RootCAs: n.roots, MinVersion: tls.VersionTLS12}})
}

// inInternet makes one, and closes it afterwards.
func inInternet(do func(context.Context, *lab, *internet) error) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		n := newInternet()
		defer n.end()
		return do(ctx, l, n)
	}
}
