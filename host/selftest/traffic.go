package selftest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// What a server does with a guest's request, a name with its address, and another
// tool with what this one has left.

// Names of the network that the checks bring along, for which there are
// certificates.
const (
	apiHost   = "api.example.com"
	otherHost = "other.example.com"
)

// hosts grants hosts by their names, for some methods.
func hosts(port int, methods []string, names ...string) func(*sandbox.Source) {
	scheme := "http"
	if port == portHTTPS {
		scheme = "https"
	}
	return func(s *sandbox.Source) {
		for _, name := range names {
			s.Policy.Grants.HTTP = append(s.Policy.Grants.HTTP, policy.HTTPRule{Scheme: scheme, Host: name, Port: port, Methods: methods})
		}
	}
}

// going is a server that sends every request on.
func going(to string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
}

// crossing makes a request that its server sends on to another one, which is
// granted too. It returns what that saw.
func crossing(ctx context.Context, l *lab, n *internet, status int, r abi.HTTPRequest) (fetched, []seen, error) {
	if _, _, err := n.serve(apiHost, portHTTP, going("http://"+otherHost+"/", status)); err != nil {
		return fetched{}, nil, err
	}
	to, _, err := n.serve(otherHost, portHTTP, nil)
	if err != nil {
		return fetched{}, nil, err
	}
	m, err := n.enter(ctx, l, hosts(portHTTP, []string{"GET", "POST"}, apiHost), hosts(portHTTP, []string{"GET", "POST"}, otherHost))
	if err != nil {
		return fetched{}, nil, err
	}
	r.URL = "http://" + apiHost + "/"
	got, err := l.visit(ctx, m, r)
	return got, to.requests(), errors.Join(err, m.Close(ctx))
}

func headersCrossing(ctx context.Context, l *lab, n *internet) error {
	mine := map[string]string{"Authorization": "Bearer " + canary, "Cookie": "a=" + canary, "X-Api-Key": canary, "X-Anything": canary}
	got, saw, err := crossing(ctx, l, n, http.StatusFound, abi.HTTPRequest{Method: "GET", Headers: mine})
	if err != nil {
		return err
	}
	if len(saw) != 1 {
		return fmt.Errorf("the second server saw %d requests: %s", len(saw), got.why())
	}
	for name, values := range saw[0].header {
		if strings.Contains(strings.Join(values, " "), canary) {
			err = errors.Join(err, fmt.Errorf("the second server was told %s", name))
		}
	}
	return errors.Join(err, got.answered())
}

func bodyCrossing(ctx context.Context, l *lab, n *internet) error {
	got, saw, err := crossing(ctx, l, n, http.StatusTemporaryRedirect, abi.HTTPRequest{Method: "POST", Body: []byte(canary)})
	if err == nil && (len(saw) > 0 || !got.refused) {
		err = fmt.Errorf("refused: %t; the second server saw %d requests", got.refused, len(saw))
	}
	return err
}

func downgraded(ctx context.Context, l *lab, n *internet) error {
	secure, _, err := n.serve(apiHost, portHTTPS, going("http://"+apiHost+"/", http.StatusFound))
	if err != nil {
		return err
	}
	plain, _, err := n.serve(apiHost, portHTTP, nil)
	if err != nil {
		return err
	}
	m, err := n.enter(ctx, l, hosts(portHTTPS, nil, apiHost), hosts(portHTTP, nil, apiHost))
	if err != nil {
		return err
	}
	got, err := l.visit(ctx, m, get("https://"+apiHost+"/"))
	if err == nil && (secure.hits() != 1 || plain.hits() != 0 || !got.refused) {
		err = fmt.Errorf("refused: %t (%s); https saw %d requests, http %d", got.refused, got.why(), secure.hits(), plain.hits())
	}
	return errors.Join(err, m.Close(ctx))
}

func redirectedForEver(ctx context.Context, l *lab) error {
	s, err := serve(going("/", http.StatusFound))
	if err != nil {
		return err
	}
	defer s.Close()
	many := func(s *sandbox.Source) { s.Policy.Limits.HTTPRequests = 1000 }
	got, err := l.fetch(ctx, get(s.URL+"/"), reaching(s.URL), many)
	if err == nil && (s.hits() != 6 || !got.refused) {
		err = fmt.Errorf("refused: %t; the server saw %d requests", got.refused, s.hits())
	}
	return err
}

// closing answers and ends the connection, so that the next request asks for the
// name again.
func closing(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Connection", "close")
	_, _ = w.Write([]byte("word"))
}

// moved makes requests to a name that stands for another address after the first
// question. All but the first connection have to be refused.
func moved(ctx context.Context, l *lab, n *internet, first, then netip.Addr, change ...func(*sandbox.Source)) error {
	n.answers(apiHost, []netip.Addr{first}, []netip.Addr{then})
	m, err := n.enter(ctx, l, append([]func(*sandbox.Source){hosts(portHTTP, nil, apiHost)}, change...)...)
	if err != nil {
		return err
	}
	got, err := l.visit(ctx, m, get("http://"+apiHost+"/"))
	err = errors.Join(err, got.answered())
	// The server's end of a connection can be seen a little later than its answer.
	for range 20 {
		if err != nil || got.refused {
			break
		}
		got, err = l.visit(ctx, m, get("http://"+apiHost+"/"))
	}
	if err == nil && (!got.refused || got.Error.Code != "denied") {
		err = fmt.Errorf("requests went on after the name had moved: %s", got.why())
	}
	return errors.Join(err, n.connectedOnly(first), m.Close(ctx))
}

func rebound(ctx context.Context, l *lab, n *internet) error {
	_, good, err := n.serve(apiHost, portHTTP, closing)
	if err != nil {
		return err
	}
	return moved(ctx, l, n, good, netip.MustParseAddr("127.0.0.1"))
}

func reboundToMetadata(ctx context.Context, l *lab, n *internet) error {
	_, good, err := n.serve(apiHost, portHTTP, closing)
	if err != nil {
		return err
	}
	private := func(s *sandbox.Source) { s.Policy.Grants.PrivateNetworks = true }
	return moved(ctx, l, n, good, netip.MustParseAddr("169.254.169.254"), private)
}

func mixedAddresses(ctx context.Context, l *lab, n *internet) error {
	s, good, err := n.serve(apiHost, portHTTP, nil)
	if err != nil {
		return err
	}
	m, err := n.enter(ctx, l, hosts(portHTTP, nil, apiHost))
	if err != nil {
		return err
	}
	loopback := netip.MustParseAddr("127.0.0.1")
	for _, all := range [][]netip.Addr{{loopback, good}, {good, good, loopback}, {good, netip.MustParseAddr("::ffff:127.0.0.1")}} {
		n.answers(apiHost, all)
		got, e := l.visit(ctx, m, get("http://"+apiHost+"/"))
		err = errors.Join(err, e, untouched(got, s))
	}
	return errors.Join(err, n.connectedOnly(), m.Close(ctx))
}

// proxied makes requests while the environment names a proxy, which is one of our
// servers.
func proxied(ctx context.Context, l *lab, n *internet) (err error) {
	proxy, err := serve(nil)
	if err != nil {
		return err
	}
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		back, e := setenv(name, proxy.URL)
		if e != nil {
			return e
		}
		defer func() { err = errors.Join(err, back()) }()
	}
	_, plain, err := n.serve(apiHost, portHTTP, nil)
	if err != nil {
		return err
	}
	_, secure, err := n.serve(otherHost, portHTTPS, nil)
	if err != nil {
		return err
	}
	m, err := n.enter(ctx, l, hosts(portHTTP, nil, apiHost), hosts(portHTTPS, nil, otherHost))
	if err != nil {
		return err
	}
	for _, address := range []string{"http://" + apiHost + "/", "https://" + otherHost + "/"} {
		got, e := l.visit(ctx, m, get(address))
		err = errors.Join(err, e, got.answered())
	}
	if proxy.hits() > 0 {
		err = errors.Join(err, fmt.Errorf("the proxy saw %d requests", proxy.hits()))
	}
	return errors.Join(err, n.connectedOnly(plain, secure), m.Close(ctx))
}

// setenv sets a variable of this process, and back puts back what it was.
func setenv(name, value string) (back func() error, err error) {
	old, there := os.LookupEnv(name)
	if err := os.Setenv(name, value); err != nil {
		return nil, err
	}
	return func() error {
		if there {
			return os.Setenv(name, old)
		}
		return os.Unsetenv(name)
	}, nil
}

// visits makes two requests each of two tools, and returns what the server saw.
func (l *lab) visits(ctx context.Context, answer http.HandlerFunc) ([]seen, error) {
	s, err := serve(answer)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for range 2 {
		m, err := l.load(ctx, "ask", reaching(s.URL))
		if err != nil {
			return nil, err
		}
		for range 2 {
			got, e := l.visit(ctx, m, get(s.URL+"/"))
			err = errors.Join(err, e, got.answered())
		}
		// Both stay open until all requests are made.
		defer func() { _ = m.Close(ctx) }()
		if err != nil {
			return nil, err
		}
	}
	if n := s.hits(); n != 4 {
		return nil, fmt.Errorf("the server saw %d requests of 4", n)
	}
	return s.requests(), nil
}

func cookies(ctx context.Context, l *lab) error {
	saw, err := l.visits(ctx, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: canary, Path: "/"})
		_, _ = w.Write([]byte("word"))
	})
	for i, r := range saw {
		if c := r.header.Get("Cookie"); c != "" {
			err = errors.Join(err, fmt.Errorf("request %d sent the cookie %q", i+1, c))
		}
	}
	return err
}

func connections(ctx context.Context, l *lab) error {
	saw, err := l.visits(ctx, nil)
	if err != nil {
		return err
	}
	first, second := []string{saw[0].from, saw[1].from}, []string{saw[2].from, saw[3].from}
	if slices.Contains(first, second[0]) || slices.Contains(first, second[1]) {
		return fmt.Errorf("the first tool came from %v and the second from %v", first, second)
	}
	return nil
}
