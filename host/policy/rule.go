package policy

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// maxPattern bounds a path pattern, in bytes. Matching takes time in proportion
// to it.
const maxPattern = 512

// ParseHTTPRule reads a rule as a manifest has it. The host is
// "[http://]name[:port]"; without a scheme it is https, and the port follows
// the scheme. A name may begin with one "*." which stands for one label. No
// methods means GET and HEAD, no paths every path.
func ParseHTTPRule(host string, methods, paths []string) (HTTPRule, error) {
	r := HTTPRule{Scheme: "https", Port: 443}
	rest := host
	if before, after, ok := strings.Cut(host, "://"); ok {
		r.Scheme, rest = strings.ToLower(before), after
	}
	switch r.Scheme {
	case "https":
	case "http":
		r.Port = 80
	default:
		return HTTPRule{}, fmt.Errorf("host %q: the scheme is http or https", host)
	}
	var err error
	if r.Host, r.Port, err = parseHostPort(rest, r.Port); err != nil {
		return HTTPRule{}, fmt.Errorf("host %q: %w", host, err)
	}
	if r.Methods, err = parseMethods(methods); err != nil {
		return HTTPRule{}, err
	}
	for _, p := range paths {
		if err := checkPattern(p); err != nil {
			return HTTPRule{}, fmt.Errorf("path %q: %w", p, err)
		}
		r.Paths = append(r.Paths, p)
	}
	return r, nil
}

func parseHostPort(s string, port int) (string, int, error) {
	switch {
	case strings.ContainsAny(s, "/?#\\"):
		return "", 0, errors.New("a host has no path; paths have a field of their own")
	case strings.Contains(s, "@"):
		return "", 0, errors.New("a host has no user name")
	}
	name := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 && i > strings.LastIndexByte(s, ']') {
		n, err := parsePort(s[i+1:])
		if err != nil {
			return "", 0, err
		}
		name, port = s[:i], n
	}
	name, err := parseName(name)
	return name, port, err
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' {
		return 0, errors.New("a port is a number from 1 to 65535")
	}
	return int(n), nil
}

func parseName(name string) (string, error) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return "", errors.New("brackets are for IPv6 addresses")
		}
		return CleanHost(inner)
	}
	if strings.Contains(name, ":") {
		return "", errors.New("an IPv6 address is written in brackets")
	}
	if strings.HasSuffix(name, ".") {
		return "", errors.New("leave out the dot at the end")
	}
	parent, wild := strings.CutPrefix(name, "*.")
	if strings.Contains(parent, "*") {
		return "", errors.New(`"*" is only allowed as the whole first label, as in "*.example.com"`)
	}
	parent, err := CleanHost(parent)
	if err != nil || !wild {
		return parent, err
	}
	if !strings.Contains(parent, ".") || isNumber(parent[strings.LastIndexByte(parent, '.')+1:]) {
		return "", errors.New(`"*." needs a domain of two or more labels after it`)
	}
	return "*." + parent, nil
}

func parseMethods(methods []string) ([]string, error) {
	var out []string
	for _, m := range methods {
		m = strings.ToUpper(m)
		switch {
		case !isToken(m):
			return nil, fmt.Errorf("method %q: not a method", m)
		case m == "TRACE" || m == "CONNECT":
			return nil, fmt.Errorf("method %q: never allowed", m)
		case !slices.Contains(out, m):
			out = append(out, m)
		}
	}
	return out, nil
}

func isToken(m string) bool {
	for i := range len(m) {
		if c := m[i]; (c < 'A' || c > 'Z') && c != '-' {
			return false
		}
	}
	return m != "" && len(m) <= 32
}

// checkPattern refuses what could only ever be a misunderstanding.
func checkPattern(p string) error {
	switch {
	case !strings.HasPrefix(p, "/"):
		return errors.New(`a path begins with "/"`)
	case len(p) > maxPattern:
		return fmt.Errorf("a path has at most %d bytes", maxPattern)
	case strings.ContainsAny(p, "?#"):
		return errors.New("a path has no query and no fragment")
	case strings.ContainsAny(p, "%\\"):
		return errors.New(`paths are compared decoded: write the characters themselves, without "%" and "\"`)
	case strings.Contains(p, "***"):
		return errors.New(`write "*" for one segment and "**" for any number`)
	}
	for _, r := range p {
		if r < 0x20 || r == 0x7f || r == '\uFFFD' {
			return errors.New("a path has no control characters")
		}
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == "." || seg == ".." {
			return errors.New(`a path has no "." and ".."`)
		}
	}
	return nil
}

// String returns the rule as a line of a manifest's allow.http, quoted where
// YAML needs it. What [Policy.Narrow] added stands behind it as a comment.
func (r HTTPRule) String() string {
	var b strings.Builder
	b.WriteString("- {host: " + yamlScalar(r.HostPort()))
	if len(r.Methods) > 0 {
		b.WriteString(", methods: " + yamlList(r.Methods))
	}
	if len(r.Paths) > 0 {
		b.WriteString(", paths: " + yamlList(r.Paths))
	}
	b.WriteString("}")
	for _, set := range r.Within {
		b.WriteString(" # and within " + yamlList(set))
	}
	return b.String()
}

// Origin returns the rule's "scheme://host:port".
func (r HTTPRule) Origin() string {
	return r.Scheme + "://" + net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
}

// HostPort returns the rule's host in the shortest spelling that [ParseHTTPRule]
// reads as it.
func (r HTTPRule) HostPort() string {
	host := r.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	usual := 443
	if r.Scheme == "http" {
		host, usual = "http://"+host, 80
	}
	if r.Port != usual {
		host += ":" + strconv.Itoa(r.Port)
	}
	return host
}

func yamlList(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = yamlScalar(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// yamlScalar leaves plain only what no reader of YAML takes for anything else:
// names with a dot that begin with a letter, and the usual methods.
func yamlScalar(s string) string {
	switch s {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		return s
	}
	plain := strings.Contains(s, ".") && s[0] >= 'a' && s[0] <= 'z'
	for i := 0; plain && i < len(s); i++ {
		plain = isAlnum(s[i]) || s[i] == '.' || s[i] == '-'
	}
	if plain {
		return s
	}
	return strconv.QuoteToASCII(s)
}
