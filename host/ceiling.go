package host

import (
	"fmt"
	"path/filepath"

	"github.com/wagent-dev/wagent/host/policy"
)

// underCeiling narrows p by the host's ceiling. Folders are compared by where
// they really are: a link below a folder of the ceiling does not lead out of it.
func (h *Host) underCeiling(p policy.Policy) (policy.Policy, error) {
	if h.ceiling == nil {
		return p, nil
	}
	ceiling := *h.ceiling
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
