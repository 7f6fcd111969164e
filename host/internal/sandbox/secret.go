package sandbox

import (
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/policy"
)

// Attack: a guest that came by a secret all the same passes it on to the model,
// a log, an error or a receipt.

// hostSecretExists says whether the call may use a secret of that name.
func hostSecretExists(g *guest, mem api.Memory, args []uint64) int64 {
	name, err := text(mem, args[0], args[1], maxWords)
	if err != 0 {
		return int64(err)
	}
	if slices.ContainsFunc(g.grants.Secrets, func(s policy.Secret) bool { return s.Name == string(name) }) {
		return 1
	}
	return 0
}

// secrets are those that were granted, with their values.
func (s *Source) secrets() []hostfn.Secret {
	var out []hostfn.Secret
	for _, one := range s.Policy.Grants.Secrets {
		if value, ok := s.Secrets[one.Name]; ok {
			out = append(out, hostfn.Secret{Secret: one, Value: value})
		}
	}
	return out
}

// hide takes the values out of everything that a call leaves behind.
func (o *Outcome) hide(set *redact.Set) {
	if set == nil {
		return
	}
	r := &o.Result
	r.StructuredContent = set.JSON(r.StructuredContent)
	r.Content = slices.Clone(r.Content)
	for i := range r.Content {
		c := &r.Content[i]
		c.Text, c.MIMEType, c.Data = set.String(c.Text), set.String(c.MIMEType), set.Bytes(c.Data)
		if c.Resource != nil {
			inner := *c.Resource
			inner.URI, inner.MIMEType, inner.Text = set.String(inner.URI), set.String(inner.MIMEType), set.String(inner.Text)
			inner.Blob = set.Bytes(inner.Blob)
			c.Resource = &inner
		}
	}
	o.Detail = set.String(o.Detail)
	set.Strings(o.Receipt.Hosts)
}
