package manifest

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/wagent-dev/wagent/host/policy"
)

// grants returns the doors that are open, or the first thing wrong with them.
func (a *Allow) grants() (policy.Grants, *fault) {
	var out policy.Grants
	var first *fault
	a.each(func(f fault) {
		if first == nil {
			first = &f
		}
	}, &out)
	return out, first
}

// each reads all of a into out and tells every fault. Fields are relative to
// the tool's entry.
func (a *Allow) each(tell func(fault), out *policy.Grants) {
	for i, rule := range a.HTTP {
		r, err := policy.ParseHTTPRule(rule.Host, rule.Methods, rule.Paths)
		if err != nil {
			tell(fault{field: item("allow.http", i), message: oneLine(err.Error()), cause: err})
			continue
		}
		out.HTTP = append(out.HTTP, r)
	}
	taken := map[string]string{}
	out.Read = mounts("allow.read", a.Read, taken, tell)
	out.Write = mounts("allow.write", a.Write, taken, tell)
	out.PrivateNetworks = a.PrivateNetworks
	out.KV = a.KV
	for _, name := range sortedKeys(a.Env) {
		if !isVariable(name) {
			tell(fault{field: entry("allow.env", name), message: "a variable's name has letters, digits and _"})
		}
		if slices.Contains([]byte(a.Env[name]), 0) {
			tell(fault{field: entry("allow.env", name), message: "a variable's value has a NUL in it"})
		}
	}
	out.Env = maps.Clone(a.Env)
	var err error
	if out.Clock, err = policy.ParseClock(a.Clock); err != nil {
		tell(fault{field: "allow.clock", message: err.Error(), cause: err})
	}
	if out.Random, err = policy.ParseRandom(a.Random); err != nil {
		tell(fault{field: "allow.random", message: err.Error(), cause: err})
	}
}

// mounts reads the folders of a grant. taken are the guest folders so far: two
// host folders in one place would hide each other.
func mounts(field string, folders map[string]string, taken map[string]string, tell func(fault)) []policy.Mount {
	var out []policy.Mount
	for _, host := range sortedKeys(folders) {
		name := entry(field, host)
		guest, err := policy.CleanGuestPath(folders[host])
		if err != nil {
			tell(fault{field: name, message: err.Error(), cause: err})
			continue
		}
		if other, ok := taken[guest]; ok {
			tell(fault{field: name, message: "the guest folder " + show(guest) + " is given twice, also at " + other})
			continue
		}
		taken[guest] = name
		absolute, err := filepath.Abs(host)
		if host == "" || err != nil {
			tell(fault{field: name, message: "the host folder has no name"})
			continue
		}
		out = append(out, policy.Mount{Host: absolute, Guest: guest})
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
