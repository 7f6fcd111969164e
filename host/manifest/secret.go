package manifest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/policy"
)

// masked is what stands for a key that there is.
const masked = "[redacted]"

// String returns a mark that there is a key, or "".
func (k Key) String() string {
	if k == "" {
		return ""
	}
	return masked
}

// Format writes what String returns, whatever the verb.
func (k Key) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, k.String()) }

// MarshalText writes what String returns.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// secrets returns what the module's secrets are, or the first thing wrong with
// them. The field of a fault is relative to the entry.
func (t *Tool) secrets() (out []policy.Secret, first *fault) {
	out = t.eachSecret(func(f fault) {
		if first == nil {
			first = &f
		}
	})
	return out, first
}

func (c *checker) secrets(field string, t *Tool) {
	if len(t.Secrets) > 100 {
		c.fail(field+".secrets", "more than 100 secrets")
		return
	}
	t.eachSecret(func(f fault) {
		f.field = within(field, f.field)
		c.tell(f)
	})
}

// eachSecret reads all secrets and tells every fault.
func (t *Tool) eachSecret(tell func(fault)) []policy.Secret {
	rules := t.Allow.rules()
	var out []policy.Secret
	for i, s := range t.Secrets {
		field := item("secrets", i)
		if missing := s.missing(); missing != "" {
			tell(fault{field: field, message: fmt.Sprintf("the field %q is missing", missing)})
			continue
		}
		if !isVariable(s.Env) {
			tell(fault{field: field + ".env", message: "is the name of an environment variable, never the value: write env: NAME"})
			continue
		}
		one, err := policy.ParseSecret(s.Env, s.Host, s.Header, s.Format)
		switch {
		case err != nil:
			tell(fault{field: field, message: oneLine(err.Error()), cause: err})
			continue
		case !one.Covered(rules):
			tell(fault{field: field + ".host", message: "no line of allow.http covers this host, so that no request to it could be made"})
			continue
		}
		if slices.ContainsFunc(out, func(o policy.Secret) bool { return o.Origin() == one.Origin() && o.Header == one.Header }) {
			tell(fault{field: field + ".header", message: "another secret is put into the same header for the same host"})
			continue
		}
		out = append(out, one)
	}
	return out
}

// rules are those of the grants that can be read; what is wrong with the others
// is told elsewhere.
func (a *Allow) rules() []policy.HTTPRule {
	var out []policy.HTTPRule
	for _, r := range a.HTTP {
		if rule, err := policy.ParseHTTPRule(r.Host, r.Methods, r.Paths); err == nil {
			out = append(out, rule)
		}
	}
	return out
}

func (s Secret) missing() string {
	for _, f := range []struct{ name, value string }{{"env", s.Env}, {"host", s.Host}, {"header", s.Header}} {
		if f.value == "" {
			return f.name
		}
	}
	return ""
}

// ReadSecrets looks up the values of the secrets of each tool, by their names.
// getenv must not be nil. The error has every fault, joined, each an [*Error] at
// its place, and never holds a value. Secrets of which [Manifest.Check] tells
// that something is wrong with them are left out.
func (m *Manifest) ReadSecrets(getenv func(string) (string, bool)) ([]map[string]string, error) {
	all := make([]map[string]string, len(m.Tools))
	var faults []error
	for i := range m.Tools {
		all[i] = map[string]string{}
		for j, s := range m.Tools[i].Secrets {
			if s.missing() != "" || !isVariable(s.Env) {
				continue
			}
			value, err := s.read(getenv)
			if err == nil {
				all[i][s.Env] = value
				continue
			}
			faults = append(faults, m.Fault(item("tools", i)+"."+item("secrets", j)+".env",
				fmt.Errorf("the environment variable%s cannot be used: %w", s.shown(), err)))
		}
	}
	return all, errors.Join(faults...)
}

func (s Secret) read(getenv func(string) (string, bool)) (string, error) {
	value, ok := getenv(s.Env)
	if !ok {
		return "", errors.New("it is not set")
	}
	return value, policy.CheckSecret(value)
}

// shown is the name of the variable, unless it does not look like one: somebody
// may have written the value in its place.
func (s Secret) shown() string {
	if s.Env != strings.ToUpper(s.Env) || len(s.Env) > maxShown {
		return " that is named here"
	}
	return " " + s.Env
}
