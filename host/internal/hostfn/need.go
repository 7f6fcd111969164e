package hostfn

// Attack: a guest chooses the URL that a suggested grant is made of, so that a
// person who takes it over opens more than the one request, or another door.

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// HTTPNeed is what would let a request pass that was refused.
type HTTPNeed struct {
	// Rule covers the request and as little else as a rule can say.
	Rule policy.HTTPRule
	// Covered says that a rule covers the request: it was refused for the address
	// behind the host.
	Covered bool
	// Private says that the host is this machine or in its networks, which takes
	// private_networks as well.
	Private bool
	// Never is why no grant would help. Empty: one would.
	Never string
}

// HTTPEnd is how a request of a session ended.
type HTTPEnd struct {
	Status int       // 0: there is no response
	Bytes  int       // of the body
	Code   string    // of the error; empty: there is none
	Need   *HTTPNeed // of a request that was refused
}

// Watch has the session tell how each of its requests ended, in the goroutine of
// [HTTPSession.Do]. It is called before the first request, and costs nothing
// where it was not.
func (s *HTTPSession) Watch(tell func(HTTPEnd)) { s.tell = tell }

// ended tells how a request ended, if anybody wants to know.
func (s *HTTPSession) ended(ctx context.Context, out *abi.HTTPResponse, err error) {
	if s.tell == nil {
		return
	}
	end := HTTPEnd{Status: out.Status, Bytes: len(out.Body)}
	if err != nil {
		fault := explain(ctx, err)
		end = HTTPEnd{Code: fault.code}
		if fault.code == "denied" {
			end.Need = fault.need()
		}
	}
	s.tell(end)
}

// need says what would let the refused request pass.
func (f *httpFault) need() *HTTPNeed {
	switch {
	case f.target != nil:
		return f.target.need()
	case f == errPrivate:
		return &HTTPNeed{Covered: true, Private: true}
	}
	return &HTTPNeed{Never: f.message}
}

// RuleOf returns the first of the rules that covers a request, or what the request
// would need. A request that is no request has neither.
func RuleOf(rules []policy.HTTPRule, method, url string) (policy.HTTPRule, *HTTPNeed) {
	t, err := parseTarget(method, url)
	if err != nil {
		if f, ok := errors.AsType[*httpFault](err); ok && f.code == "denied" {
			return policy.HTTPRule{}, &HTTPNeed{Never: f.message}
		}
		return policy.HTTPRule{}, nil
	}
	if i := slices.IndexFunc(rules, t.allowedBy); i >= 0 {
		return rules[i], nil
	}
	return policy.HTTPRule{}, t.need()
}

// need is the narrowest rule that covers the target, and who is behind it.
func (t target) need() *HTTPNeed {
	n := &HTTPNeed{Rule: policy.HTTPRule{Scheme: t.scheme, Host: t.host, Port: t.port, Methods: []string{t.method}}}
	for _, p := range []string{t.path, mergeSlashes(t.path)} {
		if p = pattern(p); !slices.Contains(n.Rule.Paths, p) {
			n.Rule.Paths = append(n.Rule.Paths, p)
		}
	}
	if !t.allowedBy(n.Rule) {
		n.Never = "its path cannot be named in a rule"
	}
	if t.host == "localhost" || strings.HasSuffix(t.host, ".localhost") {
		n.Private = true
	}
	if a, err := netip.ParseAddr(t.host); err == nil {
		switch reachOf(a) {
		case private, named:
			n.Private = true
		case reserved:
			n.Never = "the address is reserved, which is never allowed"
		}
	}
	return n
}

// Believed is the need of somebody who is not trusted to say what he needs: its
// request is looked at anew, and of its path no more is taken than a request could
// have made of it. Nil: there is no such request.
func (n *HTTPNeed) Believed() *HTTPNeed {
	if n.Covered {
		return &HTTPNeed{Covered: true, Private: true}
	}
	r := n.Rule
	if r.Host == "" && n.Never != "" {
		return &HTTPNeed{Never: visible.Line(n.Never, maxNever)}
	}
	if len(r.Methods) != 1 || len(r.Paths) > 2 || len(r.Within) > 0 {
		return nil
	}
	_, is := RuleOf(nil, r.Methods[0], r.Scheme+"://"+net.JoinHostPort(r.Host, strconv.Itoa(r.Port))+"/")
	if is == nil || strings.Contains(r.Host, "*") {
		return nil
	}
	is.Rule.Paths = nil
	for _, p := range r.Paths {
		if !spelt(p) {
			return nil
		}
		is.Rule.Paths = append(is.Rule.Paths, p)
	}
	if is.Never == "" {
		is.Never = visible.Line(n.Never, maxNever)
	}
	return is
}

// spelt says that pattern makes such patterns.
func spelt(p string) bool {
	if len(p) > maxPattern || !strings.HasPrefix(p, "/") {
		return false
	}
	for seg := range strings.SplitSeq(strings.TrimSuffix(p, "/**"), "/") {
		if seg != "*" && pattern(seg) != seg {
			return false
		}
	}
	return true
}

// maxNever bounds why no grant would help, in bytes.
const maxNever = 256

// maxPattern is the longest path that a rule takes, in bytes.
const maxPattern = 512

// pattern is the path as a rule has it: what a rule cannot spell, or an eye would
// not see, is a star for its segment.
func pattern(p string) string {
	segments := strings.Split(p, "/")
	for i, seg := range segments {
		if strings.ContainsFunc(seg, func(r rune) bool { return strings.ContainsRune(`%\*?#`, r) || r == '\uFFFD' || visible.Hidden(r) }) {
			segments[i] = "*"
		}
	}
	if p = strings.Join(segments, "/"); len(p) <= maxPattern {
		return p
	}
	for n := len(segments) - 1; n > 1; n-- {
		if p = strings.Join(segments[:n], "/") + "/**"; len(p) <= maxPattern {
			return p
		}
	}
	return "/**"
}
