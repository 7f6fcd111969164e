package policy

import (
	"errors"
	"net/netip"
	"strings"
)

// The longest name and label that the domain name system can carry.
const (
	maxHost  = 253
	maxLabel = 63
)

// CleanHost returns the one spelling of a host that rules are compared in: a
// lower-case name without a trailing dot, a dotted IPv4 address, or an IPv6
// address without brackets. It looks nothing up. Every other way to write an
// address (0x7f000001, 127.1, 2130706433, a zone, IPv4 inside IPv6) and every
// name that is not ASCII is an error; its text never repeats the host.
func CleanHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		return cleanIPv6(host)
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > maxHost {
		return "", errors.New("a host has 1 to 253 characters")
	}
	host, err := lowerASCII(host)
	if err != nil {
		return "", err
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return "", err
		}
	}
	if last := labels[len(labels)-1]; isNumber(last) {
		return cleanIPv4(host)
	}
	return host, nil
}

func cleanIPv4(host string) (string, error) {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is4() || addr.String() != host {
		return "", errors.New("an IPv4 address is written as four decimal numbers")
	}
	return host, nil
}

func cleanIPv6(host string) (string, error) {
	addr, err := netip.ParseAddr(host)
	if err != nil || !addr.Is6() {
		return "", errors.New("not an IPv6 address")
	}
	if addr.Zone() != "" {
		return "", errors.New("an address with a zone is not a host")
	}
	if addr.Is4In6() {
		return "", errors.New("write the IPv4 address itself, not inside IPv6")
	}
	return addr.String(), nil
}

func lowerASCII(s string) (string, error) {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return "", errors.New("a name beyond ASCII is written in punycode (xn--…)")
		}
	}
	return strings.ToLower(s), nil
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("a name has no empty labels")
	case len(label) > maxLabel:
		return errors.New("a label has at most 63 characters")
	case label[0] == '-' || label[len(label)-1] == '-':
		return errors.New("a label neither begins nor ends with a hyphen")
	}
	for i := range len(label) {
		if c := label[i]; !isAlnum(c) && c != '-' && c != '_' {
			return errors.New("a name has letters, digits, hyphens and dots only")
		}
	}
	return nil
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}

// isNumber reports whether resolvers would take a name that ends in label for
// an address: decimal, octal, or hexadecimal with 0x.
func isNumber(label string) bool {
	digits, hex := label, false
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		digits, hex = rest, true
	}
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (!hex || c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
