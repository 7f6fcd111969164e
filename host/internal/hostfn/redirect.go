package hostfn

// Attack: an allowed host redirects to one that is not, to another scheme, or
// round and round, and takes along the guest's credentials or body.

import (
	"net/http"
	"strings"
)

func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// follow returns the hop that a redirect asks for, if the rules cover it.
func (h *HTTP) follow(from hop, resp *http.Response) (hop, error) {
	location := resp.Header.Get("Location")
	if len(location) > maxURL || strings.ContainsFunc(location, isForbidden) {
		return hop{}, invalid("the server redirects to something that is not a URL")
	}
	u, err := from.url.Parse(location)
	if err != nil {
		return hop{}, invalid("the server redirects to something that is not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return hop{}, denied("the server redirects to a scheme other than https and http")
	}
	if h.o.Redact.Found([]byte(location)) {
		return hop{}, denied("the server redirects to a URL that has a secret in it")
	}
	next := hop{header: from.header.Clone(), body: from.body, searched: from.searched} // and no secrets
	method := redirected(from.method, resp.StatusCode)
	if method != from.method {
		next.body = nil
		dropContent(next.header)
	}
	if next.target, err = parseTarget(method, u.String()); err != nil {
		return hop{}, err
	}
	if from.scheme == "https" && next.scheme == "http" {
		return hop{}, denied("the server redirects from https to http")
	}
	var ok bool
	if next.rule, ok = h.rule(next.target); !ok {
		return hop{}, next.denied("redirected: ")
	}
	if next.origin() == from.origin() {
		return next, nil
	}
	// The rule that let the body out said where it may go; a server cannot send
	// it on to what another rule allows.
	if len(next.body) > 0 && !next.allowedBy(from.rule) {
		return hop{}, denied("the server redirects the request's body to another host")
	}
	next.header = crossing(next.header)
	return next, nil
}

// redirected returns the method of the next request, as browsers and RFC 9110
// have it.
func redirected(method string, status int) string {
	switch {
	case status == http.StatusSeeOther && method != "HEAD":
		return "GET"
	case (status == http.StatusMovedPermanently || status == http.StatusFound) && method == "POST":
		return "GET"
	}
	return method
}

func dropContent(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Content-") {
			delete(h, name)
		}
	}
}
