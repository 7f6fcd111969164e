package policy

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Narrow returns what both p and ceiling allow. Every limit is the smaller one;
// a request, a folder or a variable passes only if each of them has it; a clock
// or a seed that the ceiling fixes is kept fixed, and a clock that either makes
// coarse is coarse. Guest paths are those of p.
//
// Folders are compared by name, without a look at the disk: give both sides
// absolute paths in which no link is left.
func (p Policy) Narrow(ceiling Policy) Policy {
	return Policy{
		Limits: p.Limits.narrow(ceiling.Limits),
		Grants: p.Grants.narrow(ceiling.Grants),
	}
}

func (l Limits) narrow(c Limits) Limits {
	return Limits{
		Memory:       min(l.Memory, c.Memory),
		Timeout:      min(l.Timeout, c.Timeout),
		Fuel:         lesser(l.Fuel, c.Fuel),
		Input:        min(l.Input, c.Input),
		Output:       min(l.Output, c.Output),
		Logs:         min(l.Logs, c.Logs),
		HTTPResponse: min(l.HTTPResponse, c.HTTPResponse),
		HTTPRequests: min(l.HTTPRequests, c.HTTPRequests),
		KV:           min(l.KV, c.KV),
		Files: FileLimits{
			Bytes: min(l.Files.Bytes, c.Files.Bytes),
			Count: min(l.Files.Count, c.Files.Count),
			Open:  min(l.Files.Open, c.Files.Open),
		},
	}
}

// lesser is the smaller of two limits of which 0 is none.
func lesser(a, b int64) int64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (g Grants) narrow(c Grants) Grants {
	out := Grants{
		HTTP:            narrowRules(g.HTTP, c.HTTP),
		PrivateNetworks: g.PrivateNetworks && c.PrivateNetworks,
		Env:             narrowEnv(g.Env, c.Env),
		KV:              g.KV && c.KV,
		State:           inBoth(g.State, c.State),
		Secrets:         narrowSecrets(g.Secrets, c.Secrets),
		Clock:           g.Clock,
		Random:          g.Random,
	}
	// Writing is narrowed by writing; reading by both, since who may write a
	// folder may read it.
	out.Write = narrowMounts(g.Write, c.Write)
	readable := slices.Concat(c.Read, c.Write)
	out.Read = narrowMounts(slices.Concat(g.Read, g.Write), readable)
	out.Read = slices.DeleteFunc(out.Read, func(m Mount) bool { return within(m, out.Write) })
	if len(out.Read) == 0 {
		out.Read = nil
	}
	if !c.Clock.Fixed.IsZero() {
		out.Clock = c.Clock
	}
	if c.Clock.Coarse {
		out.Clock.Coarse = true
	}
	if c.Random.Seeded {
		out.Random = c.Random
	}
	return out
}

func inBoth(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

func narrowEnv(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	maps.DeleteFunc(out, func(k, v string) bool {
		w, ok := b[k]
		return !ok || v != w
	})
	if len(out) == 0 {
		return nil
	}
	return out
}

// narrowMounts returns the parts of ms that lie in a folder of ceiling, each
// where the guest would have found it.
func narrowMounts(ms, ceiling []Mount) []Mount {
	var out []Mount
	for _, m := range ms {
		for _, c := range ceiling {
			if part, ok := m.within(c); ok && !within(part, out) {
				out = slices.DeleteFunc(out, func(o Mount) bool { return within(o, []Mount{part}) })
				out = append(out, part)
			}
		}
	}
	slices.SortFunc(out, func(a, b Mount) int {
		if d := strings.Compare(a.Guest, b.Guest); d != 0 {
			return d
		}
		return strings.Compare(a.Host, b.Host)
	})
	return out
}

// within returns the part of m that lies in c's host folder.
func (m Mount) within(c Mount) (Mount, bool) {
	if _, ok := below(m.Host, c.Host); ok {
		return m, true
	}
	rel, ok := below(c.Host, m.Host)
	if !ok {
		return Mount{}, false
	}
	return Mount{Host: c.Host, Guest: strings.TrimSuffix(m.Guest, "/") + "/" + filepath.ToSlash(rel)}, true
}

// within reports whether one of ms shows all that m shows, in the same place.
func within(m Mount, ms []Mount) bool {
	return slices.ContainsFunc(ms, func(o Mount) bool {
		rel, ok := below(m.Host, o.Host)
		if !ok {
			return false
		}
		if rel == "." {
			return m.Guest == o.Guest
		}
		return m.Guest == strings.TrimSuffix(o.Guest, "/")+"/"+filepath.ToSlash(rel)
	})
}

// below returns how path is reached from dir, if it is dir or lies in it.
func below(path, dir string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return rel, true
}

// narrowRules returns rules that allow exactly the requests which both lists
// allow.
func narrowRules(as, bs []HTTPRule) []HTTPRule {
	var out []HTTPRule
	for _, a := range as {
		for _, b := range bs {
			r, ok := a.narrow(b)
			if !ok || slices.ContainsFunc(out, func(o HTTPRule) bool { return o.covers(r) }) {
				continue
			}
			out = slices.DeleteFunc(out, r.covers)
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b HTTPRule) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (r HTTPRule) narrow(c HTTPRule) (HTTPRule, bool) {
	if r.Scheme != c.Scheme || r.Port != c.Port {
		return HTTPRule{}, false
	}
	out := HTTPRule{Scheme: r.Scheme, Port: r.Port}
	switch {
	case coversHost(c.Host, r.Host):
		out.Host = r.Host
	case coversHost(r.Host, c.Host):
		out.Host = c.Host
	default:
		return HTTPRule{}, false
	}
	for _, m := range r.methods() {
		if slices.Contains(c.methods(), m) {
			out.Methods = append(out.Methods, m)
		}
	}
	slices.Sort(out.Methods)
	sets, ok := narrowPaths(slices.Concat(r.pathSets(), c.pathSets()))
	if !ok || len(out.Methods) == 0 {
		return HTTPRule{}, false
	}
	if len(sets) > 0 {
		out.Paths, out.Within = sets[0], sets[1:]
	}
	if len(out.Within) == 0 {
		out.Within = nil
	}
	return out, true
}

// covers reports whether r provably allows every request that o allows.
func (r HTTPRule) covers(o HTTPRule) bool {
	if r.Scheme != o.Scheme || r.Port != o.Port || !coversHost(r.Host, o.Host) {
		return false
	}
	for _, m := range o.methods() {
		if !slices.Contains(r.methods(), m) {
			return false
		}
	}
	for _, set := range r.pathSets() {
		if !slices.ContainsFunc(o.pathSets(), func(s []string) bool { return coversSet(set, s) }) {
			return false
		}
	}
	return true
}

// narrowPaths merges the sets of patterns that a path must match one each of
// into as few as it can. It is false if no path matches them all.
func narrowPaths(sets [][]string) ([][]string, bool) {
	var out [][]string
	for _, s := range sets {
		out = addSet(out, s)
	}
	for _, s := range out {
		if len(s) == 0 {
			return nil, false
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out, true
}

// addSet adds s to sets. Where s and another set can be said as one list, that
// list takes the place of both and is added instead.
func addSet(sets [][]string, s []string) [][]string {
	for i, other := range sets {
		if both, ok := intersect(other, s); ok {
			return addSet(slices.Delete(slices.Clone(sets), i, i+1), both)
		}
	}
	return append(sets, sorted(s))
}

// intersect returns the patterns for what both sets match, if there is a list
// for it: of each pair one pattern covers the other, or they have no path in
// common.
func intersect(as, bs []string) ([]string, bool) {
	if coversSet(bs, as) {
		return sorted(as), true
	}
	if coversSet(as, bs) {
		return sorted(bs), true
	}
	out := []string{}
	for _, a := range as {
		for _, b := range bs {
			switch {
			case covers(b, a):
				out = append(out, a)
			case covers(a, b):
				out = append(out, b)
			case overlap(a, b):
				return nil, false
			}
		}
	}
	return sorted(out), true
}

// coversSet reports whether as provably matches all that bs matches.
func coversSet(as, bs []string) bool {
	for _, b := range bs {
		if !slices.ContainsFunc(as, func(a string) bool { return covers(a, b) }) {
			return false
		}
	}
	return true
}

// sorted returns the set in order, without what another of its patterns covers.
func sorted(set []string) []string {
	out := []string{}
	for _, p := range set {
		if slices.ContainsFunc(out, func(o string) bool { return covers(o, p) }) {
			continue
		}
		out = slices.DeleteFunc(out, func(o string) bool { return covers(p, o) })
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}
