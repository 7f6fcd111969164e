package hostfn

// Attack: a guest gets at a secret that it may use: it has the server send the
// value back, in an encoding or in parts, or has it sent to another host.

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Secret is a value that is added to requests to one origin.
type Secret struct {
	policy.Secret
	Value string
}

// header is what the secret's header holds.
func (s Secret) header() string { return strings.Replace(s.Format, "{}", s.Value, 1) }

// partial are the headers with which a guest would have the value sent in parts,
// or in an encoding in which it is not found.
func partial() []string { return []string{"Accept-Charset", "Accept-Encoding", "If-Range", "Range"} }

// withSecrets adds the secrets of the origin to the first request of a guest. A
// redirect never has them, not even to the same origin: where it leads is the
// server's choice.
func (h *HTTP) withSecrets(hp hop) (hop, error) {
	for _, s := range h.o.Secrets {
		if s.Origin() != hp.origin() || isReserved(s.Header) {
			continue
		}
		for name := range hp.header {
			if sameHeader(name, s.Header) {
				return hop{}, denied("the header %s is not the guest's to set: the host puts a secret into it", visible.Line(name, 40))
			}
		}
		hp.secrets = append(hp.secrets, s)
	}
	if len(hp.secrets) > 0 {
		hp.searched = true
		for _, name := range partial() {
			delete(hp.header, name)
		}
	}
	return hp, nil
}

// sameHeader compares as servers may that take an underscore for a hyphen.
func sameHeader(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "_", "-"), strings.ReplaceAll(b, "_", "-"))
}

// searchable refuses a response to a secret in which its value would not be found.
func (hp hop) searchable(resp *http.Response) error {
	if !hp.searched {
		return nil
	}
	encodings := slices.DeleteFunc(strings.Split(strings.Join(resp.Header["Content-Encoding"], ","), ","), func(s string) bool {
		return strings.TrimSpace(s) == "" || strings.EqualFold(strings.TrimSpace(s), "identity")
	})
	if len(encodings) > 1 || len(encodings) == 1 && !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return unavailable("the response is in an encoding in which the secret of the request cannot be looked for")
	}
	return nil
}

// hide takes the values out of what a guest is given.
func (h *HTTP) hide(r *abi.HTTPResponse) {
	set := h.o.Redact
	if set == nil {
		return
	}
	if r.Error != nil {
		r.Error.Message = set.String(r.Error.Message)
	}
	r.URL = set.String(r.URL)
	r.Headers = set.Map(h.withoutNames(r.Headers))
	if body := set.Bytes(r.Body); len(body) != len(r.Body) {
		r.Body = body
		if _, ok := r.Headers["Content-Length"]; ok {
			r.Headers["Content-Length"] = strconv.Itoa(len(body))
		}
	} else {
		r.Body = body
	}
}

// withoutNames takes out the values of secrets that are in the names of headers,
// which net/http has put into capitals of its own: there the set does not find them.
func (h *HTTP) withoutNames(in map[string]string) map[string]string {
	out := maps.Clone(in)
	for name := range in {
		for _, s := range h.o.Secrets {
			if s.Value != "" && strings.Contains(strings.ToLower(name), strings.ToLower(s.Value)) {
				out[redact.Mark] = out[name]
				delete(out, name)
				break
			}
		}
	}
	return out
}
