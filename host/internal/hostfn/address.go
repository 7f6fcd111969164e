package hostfn

// Attack: an allowed name resolves to the machine itself, its neighbours or the
// cloud's metadata service, at once or at the second look.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	connectTimeout = 5 * time.Second // for each address
	maxAddresses   = 8               // of one name that are tried
)

// reach says who can be behind an address.
type reach int

const (
	public   reach = iota // a host on the internet
	private               // this machine and its networks: with PrivateNetworks
	named                 // as private, and only if the URL has the address itself
	reserved              // never
)

// dial resolves a name once, checks every address, and connects to one of those.
func (h *HTTP) dial(ctx context.Context, address string) (net.Conn, error) {
	to, err := splitAddress(address)
	if err != nil {
		return nil, err
	}
	addrs, literal, err := h.addresses(ctx, to.host)
	if err != nil {
		return nil, err
	}
	// One bad address spoils the name: whoever answers for it is not to be trusted.
	for _, a := range addrs {
		if err := h.checkAddress(a, literal); err != nil {
			return nil, err
		}
	}
	err = errNoAddress
	for _, a := range addrs[:min(len(addrs), maxAddresses)] {
		var conn net.Conn
		if conn, err = h.connect(ctx, netip.AddrPortFrom(a.Unmap(), to.port), literal); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (h *HTTP) connect(ctx context.Context, to netip.AddrPort, literal bool) (net.Conn, error) {
	if h.o.Dial != nil {
		return h.o.Dial(ctx, to)
	}
	d := net.Dialer{
		Timeout: connectTimeout,
		// The last word: the address that the socket is about to connect to.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return errNoAddress
			}
			return h.checkAddress(ap.Addr(), literal)
		},
	}
	return d.DialContext(ctx, "tcp", to.String())
}

// addresses returns what host stands for, and whether it is an address itself.
func (h *HTTP) addresses(ctx context.Context, host string) ([]netip.Addr, bool, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, true, nil
	}
	addrs, err := h.o.Resolve(ctx, host)
	return addrs, false, err
}

// checkAddress refuses what is not to be reached. literal says that the rule
// and the URL name the address and not a host.
func (h *HTTP) checkAddress(a netip.Addr, literal bool) error {
	switch reachOf(a) {
	case public:
		return h.checkOwn(a)
	case private:
		if h.o.Private {
			return nil
		}
		return errPrivate
	case named:
		if h.o.Private && literal {
			return nil
		}
		if h.o.Private {
			return denied("the name leads to a link-local or metadata address; only the address itself can be granted")
		}
		return errPrivate
	default:
		return denied("the host leads to a reserved address, which is never allowed")
	}
}

// checkOwn refuses this machine under its public addresses.
func (h *HTTP) checkOwn(a netip.Addr) error {
	if h.o.Private {
		return nil
	}
	own, err := h.o.Own()
	if err != nil {
		return unavailable("the host's own addresses are not known")
	}
	for _, o := range own {
		if o.Unmap().WithZone("") == a.Unmap() {
			return errPrivate
		}
	}
	return nil
}

func reachOf(a netip.Addr) reach {
	if !a.IsValid() || a.Zone() != "" {
		return reserved
	}
	a = a.Unmap()
	in := func(p string) bool { return netip.MustParsePrefix(p).Contains(a) }
	switch {
	case a.IsLinkLocalUnicast(), slices.Contains(metadata(), a.String()):
		return named
	case a.IsLoopback(), a.IsPrivate(), in("100.64.0.0/10"):
		return private
	case a.Is4() && slices.ContainsFunc(reserved4(), in):
		return reserved
	case a.Is6() && (!in("2000::/3") || slices.ContainsFunc(reserved6(), in)):
		return reserved
	}
	return public
}

// metadata lists addresses at which clouds hand out credentials, besides those
// that are link-local.
func metadata() []string {
	return []string{"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"}
}

func reserved4() []string {
	return []string{
		"0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	}
}

// reserved6 lists what of 2000::/3 is for documentation, tests and tunnels, in
// which an IPv4 address can hide.
func reserved6() []string {
	return []string{"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"}
}

type hostPort struct {
	host string
	port uint16
}

func splitAddress(s string) (hostPort, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return hostPort{}, errNoAddress
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return hostPort{}, errNoAddress
	}
	return hostPort{host: host, port: uint16(n)}, nil
}

// lookup asks the system's resolver. A name with a dot is complete: the search
// list of the machine would make it another name.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if strings.Contains(host, ".") {
		host += "."
	}
	r := net.Resolver{PreferGo: true} // the other one cannot be interrupted
	return r.LookupNetIP(ctx, "ip", host)
}

func interfaceAddrs() ([]netip.Addr, error) {
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, n := range nets {
		p, err := netip.ParsePrefix(n.String())
		if err != nil {
			return nil, errors.New("an interface has an address of unknown form")
		}
		out = append(out, p.Addr())
	}
	return out, nil
}
