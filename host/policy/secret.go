package policy

import (
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a secret's value, in bytes. A shorter one cannot be taken out of text
// without taking out what has nothing to do with it, and can be guessed; servers
// refuse a header with a longer one.
const (
	MinSecret = 8
	MaxSecret = 6 << 10
)

// Secret is a value that the host adds to the requests to one origin. The guest
// never holds it, and neither does a Policy, which has its name.
type Secret struct {
	Name   string // of the environment variable, and what a guest may ask for
	Scheme string // https or http
	Host   string // lower case, without a "*"
	Port   int    // 1 to 65535
	Header string // in its canonical form
	Format string // of the header's value; "{}" in it, once, is the secret's
}

// ParseSecret reads a secret as a manifest has it. The host is written as for
// [ParseHTTPRule], without a "*." before it. An empty format is "{}".
func ParseSecret(name, host, header, format string) (Secret, error) {
	s := Secret{Name: name, Header: textproto.CanonicalMIMEHeaderKey(header), Format: format}
	if format == "" {
		s.Format = "{}"
	}
	rule, err := ParseHTTPRule(host, nil, nil)
	switch {
	case err != nil:
		return Secret{}, err
	case strings.HasPrefix(rule.Host, "*"):
		return Secret{}, fmt.Errorf("host %q: a secret is for one host, without a \"*\"", host)
	}
	s.Scheme, s.Host, s.Port = rule.Scheme, rule.Host, rule.Port
	if err := checkHeader(header); err != nil {
		return Secret{}, err
	}
	if strings.Count(s.Format, "{}") != 1 {
		return Secret{}, errors.New(`the format has "{}" in it once, where the value goes`)
	}
	if len(s.Format) > 256 || !isPrintable(s.Format) || strings.TrimSpace(s.Format) != s.Format {
		return Secret{}, errors.New("the format has at most 256 printable ASCII characters, and no space at an end")
	}
	return s, nil
}

func checkHeader(name string) error {
	for i := range len(name) {
		c := name[i] | 0x20
		if !isAlnum(c) && name[i] != '-' {
			return errors.New("a header's name has letters, digits and hyphens")
		}
	}
	lower := strings.ToLower(name)
	switch {
	case name == "" || len(name) > 64:
		return errors.New("a header's name has 1 to 64 characters")
	case slices.Contains([]string{
		"host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect", "transfer-encoding",
		"accept-encoding", "range", "if-range", "user-agent", "via", "forwarded",
	}, lower), strings.HasPrefix(lower, "content-"), strings.HasPrefix(lower, "proxy-"), strings.HasPrefix(lower, "x-forwarded"):
		return fmt.Errorf("the header %s says how the request is sent, and holds no secret", textproto.CanonicalMIMEHeaderKey(name))
	}
	return nil
}

// CheckSecret says what is wrong with a value, without repeating any of it.
func CheckSecret(value string) error {
	switch {
	case value == "":
		return errors.New("it is empty")
	case len(value) < MinSecret:
		return fmt.Errorf("its value has less than %d characters, too few to be kept out of text", MinSecret)
	case len(value) > MaxSecret:
		return fmt.Errorf("its value has more than %d characters, too many for a header", MaxSecret)
	case strings.TrimSpace(value) != value:
		return errors.New("its value begins or ends with a space or a line break: take it off")
	case !isPrintable(value):
		return errors.New("its value has a line break or another character that a header cannot have")
	}
	return nil
}

func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Origin returns "scheme://host:port", to which alone the value goes.
func (s Secret) Origin() string {
	return s.Scheme + "://" + net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
}

// Covered reports whether one of the rules allows any request to the secret's
// origin.
func (s Secret) Covered(rules []HTTPRule) bool {
	return slices.ContainsFunc(rules, func(r HTTPRule) bool {
		return r.Scheme == s.Scheme && r.Port == s.Port && coversHost(r.Host, s.Host)
	})
}

// String says which secret goes where, in the form of a manifest's line.
func (s Secret) String() string {
	rule := HTTPRule{Scheme: s.Scheme, Host: s.Host, Port: s.Port}
	return "{env: " + strconv.QuoteToASCII(s.Name) + ", host: " + yamlScalar(rule.HostPort()) + ", header: " + s.Header +
		", format: " + strconv.QuoteToASCII(s.Format) + "}"
}

// narrowSecrets returns those of ss that the ceiling has as well.
func narrowSecrets(ss, ceiling []Secret) []Secret {
	var out []Secret
	for _, s := range ss {
		if slices.Contains(ceiling, s) {
			out = append(out, s)
		}
	}
	return out
}
