package hostfn

// Attack: headers that change where a request goes, where it ends, or what it
// is: Host, framing, hop-by-hop, overrides of method and path, line breaks.

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/visible"
)

const (
	maxHeaders     = 64
	maxHeaderBytes = 32 << 10 // names and values together
)

// cleanHeader returns the guest's headers, or says which kind is not its to set.
func cleanHeader(in map[string]string) (http.Header, error) {
	if len(in) > maxHeaders {
		return nil, tooMany("more than %d headers", maxHeaders)
	}
	out, size := http.Header{}, 0
	for _, name := range slices.Sorted(maps.Keys(in)) { // the same request, the same refusal
		value := in[name]
		if size += len(name) + len(value); size > maxHeaderBytes {
			return nil, tooLarge("the headers have more than %d bytes", maxHeaderBytes)
		}
		if !isHeaderName(name) {
			return nil, invalid("a header's name has letters, digits and hyphens")
		}
		if !isHeaderValue(value) {
			return nil, invalid("a header's value has no line breaks and no control characters")
		}
		if isReserved(name) {
			return nil, denied("the header %s is not the guest's to set", visible.Line(name, 40))
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if _, twice := out[name]; twice {
			return nil, invalid("a header is given twice")
		}
		out[name] = []string{value}
	}
	return out, nil
}

func isHeaderName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func isHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f })
}

// isReserved reports whether a header is the host's, or would have a server
// take the request for another than the one that was checked: another method,
// path, host or sender. Many servers take an underscore for a hyphen.
func isReserved(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
		"upgrade", "expect", "via", "forwarded", "http2-settings", "early-data",
		"destination", // of WebDAV: a second path, which no rule was asked about
		"x-host", "x-real-ip", "x-client-ip", "x-remote-ip", "x-remote-addr", "x-cluster-client-ip",
		"true-client-ip", "cf-connecting-ip", "fastly-client-ip":
		return true
	}
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc(reservedKinds(), begins) || strings.HasSuffix(name, "-override")
}

// reservedKinds are how reserved headers begin that servers and proxies have in
// many forms.
func reservedKinds() []string {
	return []string{
		"proxy-", "x-proxy", "x-forwarded", "x-original-", "x-originating-", "x-rewrite-", "x-override-",
		"x-http-method", "x-http-path", "x-http-host", "x-envoy-",
	}
}

// crossing returns the headers that may go to another origin: those that hold
// no credentials in any convention.
func crossing(h http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Range", "User-Agent"} {
		if v, ok := h[name]; ok {
			out[name] = v
		}
	}
	return out
}
