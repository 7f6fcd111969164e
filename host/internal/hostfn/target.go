package hostfn

// Attack: a URL that the check reads in one way and the server in another: user
// names, odd addresses, encoded slashes, dot segments, backslashes, spaces.

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/policy"
)

const (
	maxURL    = 8 << 10 // bytes
	maxMethod = 32      // bytes
	maxUnwrap = 4       // times that a path may be percent-encoded over itself
)

// target is where a request goes, in the one spelling that rules are compared in.
type target struct {
	method string
	url    *url.URL // what is sent
	scheme string
	host   string // as policy.CleanHost returns it
	port   int
	path   string // decoded
}

func parseTarget(method, raw string) (target, error) {
	t := target{}
	var err error
	if t.method, err = cleanMethod(method); err != nil {
		return target{}, err
	}
	if len(raw) > maxURL {
		return target{}, invalid("a URL has at most %d bytes", maxURL)
	}
	if strings.ContainsFunc(raw, isForbidden) {
		return target{}, invalid("a URL has no control characters and no backslashes")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return target{}, invalid("not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Opaque != "", u.Host == "":
		return target{}, invalid("a URL begins with https:// or http:// and a host")
	case u.User != nil:
		return target{}, invalid("a URL has no user name and password")
	}
	t.scheme = u.Scheme
	if t.host, err = policy.CleanHost(u.Hostname()); err != nil {
		return target{}, invalid("the URL's host: %s", err.Error())
	}
	if strings.HasPrefix(u.Host, "[") != strings.Contains(t.host, ":") {
		return target{}, invalid("brackets are for IPv6 addresses")
	}
	if t.port, err = cleanPort(u); err != nil {
		return target{}, err
	}
	if u.Path == "" {
		u.Path = "/"
	}
	if err := checkPath(u.EscapedPath()); err != nil {
		return target{}, err
	}
	t.path = u.Path
	u = withoutFragment(u)
	u.Host = t.hostPort()
	u.RawQuery = escapeQuery(u.RawQuery)
	t.url = u
	return t, nil
}

func cleanMethod(m string) (string, error) {
	if m == "" {
		return "GET", nil
	}
	m = strings.ToUpper(m)
	if len(m) > maxMethod || strings.ContainsFunc(m, func(r rune) bool { return (r < 'A' || r > 'Z') && r != '-' }) {
		return "", invalid("not an HTTP method")
	}
	if m == "TRACE" || m == "CONNECT" {
		return "", denied("the methods TRACE and CONNECT are never allowed")
	}
	return m, nil
}

func cleanPort(u *url.URL) (int, error) {
	if u.Port() == "" {
		return usualPort(u.Scheme), nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return 0, invalid("a port is a number from 1 to 65535")
	}
	return int(n), nil
}

func usualPort(scheme string) int {
	if scheme == "http" {
		return 80
	}
	return 443
}

func isForbidden(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }

// checkPath looks at the path as every reader on the way may: as it is, and
// decoded once or more.
func checkPath(p string) error {
	for range maxUnwrap {
		for seg := range strings.SplitSeq(p, "/") {
			// Some servers cut parameters off a segment before they look at it.
			seg, _, _ = strings.Cut(seg, ";")
			if seg == "." || seg == ".." {
				return invalid(`a path has no "." and ".."`)
			}
		}
		lower := strings.ToLower(p)
		if strings.ContainsFunc(p, isForbidden) || strings.Contains(lower, "%2f") || strings.Contains(lower, "%5c") {
			return invalid("a path has no control characters, backslashes and encoded slashes")
		}
		if hasOverlong(p) {
			return invalid("a path is not encoded in longer forms than UTF-8 has")
		}
		next := decoded(p)
		if next == p {
			return nil
		}
		p = next
	}
	return invalid("a path is not percent-encoded again and again")
}

// decoded undoes percent-encoding once, and leaves what is none as it is: a
// server may be as lenient.
func decoded(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '%' && i+2 < len(p) {
			if n, err := strconv.ParseUint(p[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// hasOverlong reports whether p has bytes that a careless decoder takes for a
// character which has a shorter form: C0 AE for a dot, C0 AF for a slash.
func hasOverlong(p string) bool {
	for i := range len(p) - 1 {
		next := p[i+1]
		switch p[i] {
		case 0xc0, 0xc1:
			if next >= 0x80 && next < 0xc0 {
				return true
			}
		case 0xe0:
			if next >= 0x80 && next < 0xa0 {
				return true
			}
		case 0xf0:
			if next >= 0x80 && next < 0x90 {
				return true
			}
		}
	}
	return false
}

// escapeQuery encodes what would end or split the request line.
func escapeQuery(q string) string {
	var b strings.Builder
	for i := range len(q) {
		if c := q[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+0x100, 16)[1:]))
		}
	}
	return b.String()
}

// allowedBy reports whether the rule covers the target, also for a server that
// takes several slashes for one.
func (t target) allowedBy(r policy.HTTPRule) bool {
	return r.Allows(t.method, t.scheme, t.host, t.port, t.path) &&
		r.Allows(t.method, t.scheme, t.host, t.port, mergeSlashes(t.path))
}

func mergeSlashes(p string) string {
	var b strings.Builder
	for i := range len(p) {
		if p[i] != '/' || i == 0 || p[i-1] != '/' {
			b.WriteByte(p[i])
		}
	}
	return b.String()
}

// origin returns scheme://host:port.
func (t target) origin() string {
	return t.scheme + "://" + net.JoinHostPort(t.host, strconv.Itoa(t.port))
}

// hostPort is what goes into the URL and the Host header.
func (t target) hostPort() string {
	if t.port != usualPort(t.scheme) {
		return net.JoinHostPort(t.host, strconv.Itoa(t.port))
	}
	if strings.Contains(t.host, ":") {
		return "[" + t.host + "]"
	}
	return t.host
}

// denied says which line of a manifest would allow the target and as little else
// as a line can say.
func (t target) denied(how string) error {
	n := t.need()
	f := denied("%sno grant covers this; to allow it: allow.http: %s", how, n.Rule)
	switch {
	case n.Never != "":
		f = denied("%sno grant covers this, and none would: %s", how, n.Never)
	case len(f.message) > maxMessage:
		f = denied("%sno grant covers this, and the line of allow.http that would is too long to be shown here", how)
	}
	f.target = &t
	return f
}
