package host

// Attack: a tool asks for what it wants a person to grant: a name that reads as
// something else, a path that becomes a flag or a line, a folder with more in it
// than the file, this machine's own addresses. What is suggested is the least,
// is written by an encoder, and is held against every rule that a grant is.

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Suggestion is the least that would let pass what a call was denied.
type Suggestion struct {
	// Allow is to be added to what the tool's entry allows. Folders of the host that
	// nothing is known of are named as the guest names them, below the manifest's.
	Allow manifest.Allow
	// Config are values that an Extism plugin asked for. Each is [FillIn].
	Config map[string]any
	// Replaces are guest folders of Allow.Write that are granted to be read: that
	// grant has to go.
	Replaces []string
	// Notes say what a person has to know or fill in.
	Notes []string
	// Refused say what was denied and is not suggested, and why.
	Refused []string
}

// FillIn stands for a value that only a person knows.
const FillIn = "FILL-IN"

// Empty reports whether there is nothing to add.
func (s *Suggestion) Empty() bool {
	a := &s.Allow
	return len(a.HTTP)+len(a.Read)+len(a.Write)+len(a.Env)+len(s.Config) == 0 && !a.KV
}

// YAML returns the lines for the tool's entry of a manifest, "" for none.
func (s *Suggestion) YAML() (string, error) { return manifest.Lines(&s.Allow, s.Config) }

// maxNote bounds a line of a suggestion, in bytes.
const maxNote = 512

// maxNotes bounds the lines of each kind; one more says that there are more.
const maxNotes = 10

func (s *Suggestion) note(format string, args ...any) { add(&s.Notes, format, args) }

func (s *Suggestion) refuse(format string, args ...any) { add(&s.Refused, format, args) }

func add(to *[]string, format string, args []any) {
	line := visible.Line(fmt.Sprintf(format, args...), maxNote)
	switch {
	case slices.Contains(*to, line):
	case len(*to) < maxNotes:
		*to = append(*to, line)
	case len(*to) == maxNotes:
		*to = append(*to, "and more of the kind")
	}
}

// suggester makes the suggestion for one call.
type suggester struct {
	Suggestion
	host  *Host
	tool  *binding
	rules []policy.HTTPRule
}

func (h *Host) suggest(b *binding, t *sandbox.Trace) Suggestion {
	s := &suggester{host: h, tool: b}
	for _, n := range t.Needs {
		switch {
		case n.HTTP != nil:
			s.request(n.HTTP)
		case n.Config != "":
			s.config(n.Config)
		case n.Store:
			s.store()
		case n.Never != "":
			s.refuse("%s", n.Never)
		}
	}
	s.requests()
	s.imports()
	s.folders(t.Needs)
	if t.Environ {
		s.environment()
	}
	return s.Suggestion
}

// imports says what the module has to be granted to be loaded at all, whether this
// call wanted it or not: it imports functions that are not there without.
func (s *suggester) imports() {
	g := s.tool.info.Policy.Grants
	for _, i := range s.tool.module.Info().Imports {
		switch {
		case i.Door != abi.Module:
		case i.Name == abi.ImportHTTP && len(g.HTTP)+len(s.Allow.HTTP) == 0:
			s.note("the module can make HTTP requests, and is not loaded without this flag or a host in allow.http (--allow-http HOST)")
		case strings.HasPrefix(i.Name, "kv_") && !g.KV && !s.Allow.KV:
			s.note("the module can use a store, and is not loaded without this flag or one: allow.kv (--kv)")
		}
	}
}

// store adds a store.
func (s *suggester) store() {
	if !s.underCeiling(policy.Grants{KV: true}) {
		s.refuse("a store: the host's ceiling does not allow it")
		return
	}
	s.Allow.KV = true
}

// request adds the rule for a request.
func (s *suggester) request(n *hostfn.HTTPNeed) {
	what := n.Rule.Origin()
	granted := s.tool.info.Policy.Grants.PrivateNetworks
	switch {
	case n.Never != "" && n.Rule.Host == "":
		s.refuse("a request: %s", n.Never)
	case n.Never != "":
		s.refuse("%s: %s", what, n.Never)
	case n.Covered:
		s.refuse("the host of a granted request leads to this machine or its networks; if you mean that, add private_networks yourself (allow.private_networks: true, --private-networks)")
	case n.Private && !granted:
		s.refuse("%s is this machine or in its networks; if you mean that, add private_networks yourself (allow.private_networks: true, --private-networks), and ask again", what)
	case !s.underCeiling(policy.Grants{HTTP: []policy.HTTPRule{n.Rule}, PrivateNetworks: granted}):
		s.refuse("%s: the host's ceiling does not allow it", what)
	default:
		s.rules = append(s.rules, n.Rule)
	}
}

// requests writes the rules, those that differ in one list alone as one.
func (s *suggester) requests() {
	var out []policy.HTTPRule
	for _, r := range s.rules {
		i := slices.IndexFunc(out, func(o policy.HTTPRule) bool { return joins(o, r) })
		if i < 0 {
			out = append(out, r)
			continue
		}
		out[i].Methods = union(out[i].Methods, r.Methods)
		out[i].Paths = union(out[i].Paths, r.Paths)
	}
	for _, r := range out {
		s.Allow.HTTP = append(s.Allow.HTTP, manifest.HTTPRule{Host: r.HostPort(), Methods: r.Methods, Paths: r.Paths})
	}
}

// joins reports whether a rule with the lists of both allows no more than both do.
func joins(a, b policy.HTTPRule) bool {
	return a.Origin() == b.Origin() && (slices.Equal(a.Methods, b.Methods) || slices.Equal(a.Paths, b.Paths))
}

func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// config adds a value that the plugin looked for.
func (s *suggester) config(key string) {
	if strings.ContainsFunc(key, visible.Hidden) || len(key) > 128 {
		s.refuse("a value of config whose name has characters that cannot be seen, or more than 128")
		return
	}
	if s.Config == nil {
		s.Config = make(map[string]any)
	}
	s.Config[key] = FillIn
	s.note("config: %s: the tool asked for a value that is not there; it may do without", key)
}

// environment adds the variables that the module says it needs. A guest reads all
// that there are, so that nothing else tells which it looks for.
func (s *suggester) environment() {
	if s.tool.info.Requests == nil {
		return
	}
	for _, name := range s.tool.info.Requests.Env {
		if _, ok := s.tool.info.Policy.Grants.Env[name]; ok {
			continue
		}
		add := manifest.Allow{Env: map[string]string{name: FillIn}}
		switch {
		case s.host.ceiling != nil:
			s.refuse("env %s: the host has a ceiling, which decides by the value too", name)
		case s.fault(add) != nil:
			s.refuse("env: the module asks for a variable whose name cannot be one")
		default:
			if s.Allow.Env == nil {
				s.Allow.Env = make(map[string]string)
			}
			s.Allow.Env[name] = FillIn
			s.note("env: fill in the value of %s; a secret does not belong there, since the tool can pass it on", name)
		}
	}
}

// folders adds the folders of the paths that were denied.
func (s *suggester) folders(needs []sandbox.Need) {
	var wanted []sandbox.PathNeed
	for _, n := range needs {
		if n.Path != nil {
			wanted = append(wanted, *n.Path)
		}
	}
	var found []mount
	for _, n := range wanted {
		if m, ok := s.mount(n); ok {
			found = append(found, m)
		}
	}
	for _, m := range found {
		if !slices.ContainsFunc(found, func(o mount) bool { return o != m && o.serves(m) }) {
			s.add(m)
		}
	}
}

// mount is a folder to grant.
type mount struct {
	host, guest string
	write       bool
	replaces    bool // a grant to read the same guest folder
}

// serves reports whether a guest that has m can do without o.
func (m mount) serves(o mount) bool {
	if o.write && !m.write || m.guest == o.guest && m.write == o.write {
		return false
	}
	rel, err := filepath.Rel(m.guest, o.guest)
	if err != nil || !filepath.IsLocal(rel) {
		return false
	}
	return filepath.Join(m.host, rel) == filepath.Clean(o.host)
}

// kernelFolders are never granted, whatever is behind them.
var kernelFolders = []string{"/proc", "/sys", "/dev"}

// mount returns the smallest folder that has what the guest wanted.
func (s *suggester) mount(n sandbox.PathNeed) (mount, bool) {
	for _, k := range kernelFolders {
		if n.Path == k || strings.HasPrefix(n.Path, k+"/") {
			s.refuse("%s: what the kernel shows in %s is never granted", visible.Line(n.Path, 256), k)
			return mount{}, false
		}
	}
	if clean, err := policy.CleanGuestPath(n.Path); err != nil || clean != n.Path || strings.ContainsAny(n.Path, "$") || strings.ContainsFunc(n.Path, visible.Hidden) {
		s.refuse("%s: no folder of a manifest can have such a name", visible.Line(n.Path, 256))
		return mount{}, false
	}
	m := s.place(n)
	add := manifest.Allow{Read: map[string]string{m.host: m.guest}}
	grants := policy.Grants{Read: []policy.Mount{{Host: s.absolute(m.host), Guest: m.guest}}}
	if m.write {
		add.Read, add.Write = nil, add.Read
		grants.Read, grants.Write = nil, grants.Read
	}
	if info, err := os.Stat(s.absolute(m.host)); err != nil || !info.IsDir() {
		s.note("%s: there is no such folder: make it, or write the one that you mean", m.host)
	} else if err := s.fault(add); err != nil {
		s.refuse("%s: %s", m.guest, err)
		return mount{}, false
	}
	if !s.underCeiling(grants) {
		s.refuse("%s: the host's ceiling does not allow it", m.guest)
		return mount{}, false
	}
	return m, true
}

// place says which folder of the host a path would be in.
func (s *suggester) place(n sandbox.PathNeed) mount {
	g := &s.tool.info.Policy.Grants
	for _, have := range slices.Backward(slices.SortedFunc(slices.Values(slices.Concat(g.Read, g.Write)), byGuest)) {
		rel, err := filepath.Rel(have.Guest, n.Path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		dir := enclosing(have.Host, rel)
		guest := path.Join(have.Guest, filepath.ToSlash(dir))
		replaces := n.Write && slices.ContainsFunc(g.Read, func(m policy.Mount) bool { return m.Guest == guest })
		return mount{s.short(filepath.Join(have.Host, dir)), guest, n.Write, replaces}
	}
	// Nothing is known of it: the same names below the manifest's folder.
	rel := strings.TrimPrefix(n.Path, "/")
	dir := path.Dir(rel)
	if info, err := os.Stat(s.absolute(rel)); err == nil && info.IsDir() {
		dir = rel
	} else if dir == "." && (err != nil || !info.Mode().IsRegular()) {
		dir = rel // a name in the root is rather a folder
	}
	if dir == "." || dir == "" {
		return mount{".", "/", n.Write, false}
	}
	return mount{"./" + dir, "/" + dir, n.Write, false}
}

func byGuest(a, b policy.Mount) int { return strings.Compare(a.Guest, b.Guest) }

// enclosing is the folder of what rel is in folder, or that itself if it is one:
// the nearest that is there.
func enclosing(folder, rel string) string {
	for {
		if info, err := os.Stat(filepath.Join(folder, rel)); rel == "." || err == nil && info.IsDir() {
			return rel
		}
		rel = filepath.Dir(rel)
	}
}

func (s *suggester) add(m mount) {
	to := &s.Allow.Read
	if m.write {
		to = &s.Allow.Write
	}
	if *to == nil {
		*to = make(map[string]string)
	}
	(*to)[m.host] = m.guest
	if m.replaces && !slices.Contains(s.Replaces, m.guest) {
		s.Replaces = append(s.Replaces, m.guest)
		s.note("%s is granted to be read: take that grant out, the new one has both", m.guest)
	}
}

// base is the folder that paths of the manifest are relative to.
func (s *suggester) base() string {
	if dir := s.host.manifest.Dir; dir != "" {
		return dir
	}
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	return dir
}

func (s *suggester) absolute(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(s.base(), p)
}

// short is a folder as somebody would write it in the manifest.
func (s *suggester) short(p string) string {
	rel, err := filepath.Rel(s.base(), p)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return p
	case rel == ".":
		return rel
	}
	return "./" + filepath.ToSlash(rel)
}

// fault is why a grant would be refused when the manifest is read, or nil.
func (s *suggester) fault(add manifest.Allow) error {
	m := *s.host.manifest
	m.Tools = slices.Clone(m.Tools)
	entry := *s.tool.entry
	entry.Allow = add
	i := slices.IndexFunc(m.Tools, func(t manifest.Tool) bool { return t.Module == entry.Module })
	m.Tools[i] = entry
	for _, err := range flatten(m.Check()) {
		if f, ok := err.(*manifest.Error); ok && strings.HasPrefix(f.Field, fmt.Sprintf("tools[%d].allow", i)) { //nolint:errorlint // flat
			return fmt.Errorf("%s", f.Message)
		}
	}
	absolute := entry
	absolute.Allow.Write = make(map[string]string)
	for host, guest := range add.Write {
		absolute.Allow.Write[s.absolute(host)] = guest
	}
	if s.host.cache != "" {
		return absolute.Covers("the host's compiled code", s.host.cache)
	}
	return nil
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // the outermost only
		var all []error
		for _, one := range joined.Unwrap() {
			all = append(all, flatten(one)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// underCeiling reports whether the ceiling leaves the grants as they are.
func (s *suggester) underCeiling(g policy.Grants) bool {
	if s.host.ceiling == nil {
		return true
	}
	p, err := s.host.underCeiling(policy.Policy{Grants: g})
	if err != nil {
		return false
	}
	whole := func(want, got []policy.Mount) bool {
		real, err := realMounts(want)
		return err == nil && slices.Equal(real, got)
	}
	if !whole(g.Read, p.Grants.Read) || !whole(g.Write, p.Grants.Write) || g.KV != p.Grants.KV {
		return false
	}
	return len(g.HTTP) == 0 || len(p.Grants.HTTP) == 1 && p.Grants.HTTP[0].Origin() == g.HTTP[0].Origin() &&
		slices.Equal(slices.Sorted(slices.Values(g.HTTP[0].Methods)), p.Grants.HTTP[0].Methods) && p.Grants.PrivateNetworks == g.PrivateNetworks
}
