package host

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/wagent-dev/wagent/host/policy"
)

// underCeiling narrows p by the host's ceiling, and by what those who call the agent
// let it have.
func (h *Host) underCeiling(p policy.Policy) (policy.Policy, error) {
	var err error
	for b := h.kin.bound; b != nil && err == nil; b = b.up {
		p, err = underBound(p, b)
	}
	if h.ceiling == nil || err != nil {
		return p, err
	}
	return narrow(p, *h.ceiling)
}

// underBound narrows the grants of p. An entry says nothing of limits, nor of secrets
// and the state: those are the agent's own. A secret stays as long as a request to its
// host can be made.
func underBound(p policy.Policy, b *bound) (policy.Policy, error) {
	ceiling := policy.Policy{Limits: p.Limits, Grants: b.grants}
	ceiling.Grants.Secrets, ceiling.Grants.State = p.Grants.Secrets, p.Grants.State
	p, err := narrow(p, ceiling)
	p.Grants.Secrets = slices.DeleteFunc(slices.Clone(p.Grants.Secrets), func(s policy.Secret) bool { return !s.Covered(p.Grants.HTTP) })
	return p, err
}

// narrow is [policy.Policy.Narrow] with folders compared by where they really are: a
// link below a folder of the ceiling does not lead out of it.
func narrow(p, ceiling policy.Policy) (policy.Policy, error) {
	for _, g := range []*policy.Grants{&p.Grants, &ceiling.Grants} {
		for _, mounts := range []*[]policy.Mount{&g.Read, &g.Write} {
			real, err := realMounts(*mounts)
			if err != nil {
				return policy.Policy{}, err
			}
			*mounts = real
		}
	}
	return p.Narrow(ceiling), nil
}

// realMounts returns ms with absolute host paths in which no link is left.
func realMounts(ms []policy.Mount) ([]policy.Mount, error) {
	if ms == nil {
		return nil, nil
	}
	out := make([]policy.Mount, len(ms))
	for i, m := range ms {
		real, err := filepath.EvalSymlinks(m.Host)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err != nil {
			return nil, fmt.Errorf("the folder for %q: %w", m.Guest, err)
		}
		out[i] = policy.Mount{Host: real, Guest: m.Guest}
	}
	return out, nil
}
