package sandbox

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
)

// Network takes the place of this machine's network, where an attack needs names
// and addresses that do not exist. What is nil stays the machine's.
type Network struct {
	// Resolve returns what a name stands for.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was checked already.
	Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// TLS is what connections of https are made with.
	TLS *tls.Config
}

// Attach has a module make its requests in n, where all that its policy says
// holds. It is for modules that have not been called yet. A module that was
// granted no host makes none, and there it does nothing.
func (m *Module) Attach(n Network) error {
	if m.http == nil {
		return nil
	}
	if err := m.http.Close(); err != nil {
		return err
	}
	o := httpOptions(&m.src)
	o.Resolve, o.Dial, o.TLS = n.Resolve, n.Dial, n.TLS
	m.http = hostfn.NewHTTP(m.src.Policy.Grants.HTTP, o)
	return nil
}
