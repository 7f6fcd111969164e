package host

// Attack: manifests that name each other in a circle, or a thousand deep, or each
// other so often that all of them together are more than can be opened; one that
// grants its tools the files which another is made of; one that grants its own tools
// more than whoever calls it allows.

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/visible"
)

// Bounds of agents that call agents.
const (
	maxLevels      = 5    // manifests from the first to the deepest, both counted
	maxAgents      = 100  // that are opened for one host
	maxFamilyTools = 1000 // entries, those of an agent counted for each entry that names it
)

// kin is what a host knows of the agents that are its tools.
type kin struct {
	agents map[int]*Host // by the entry
	bound  *bound        // what those who call it let its modules have; nil: all
	levels int           // of agents from it to the deepest, itself counted
	size   int           // entries, see maxFamilyTools
	file   os.FileInfo   // of the manifest; nil: it was made in Go
	faults error         // that were found before anything was loaded
	opened bool          // or tried to be
	err    error         // why it cannot be used
}

// bound is what an entry lets the modules of an agent have at most. What an agent
// calls is under its bound too.
type bound struct {
	grants policy.Grants
	up     *bound
}

// member tells agents of a host apart: the same file is opened once for each bound.
type member struct {
	path  string
	bound *bound
}

// family opens a host and the agents below it. They share its engine, so that the
// memory of all their guests is under one limit.
type family struct {
	root    *Host
	opts    Options
	members map[member]*Host
	all     []*Host // the root is the first
}

func newFamily(root *Host, opts *Options) *family {
	f := &family{root: root, members: make(map[member]*Host)}
	if opts != nil {
		f.opts = *opts
	}
	f.opts.Store = root.store
	if path := root.manifest.Path; path != "" {
		root.kin.file, _ = os.Stat(path) // one that is gone is no part of a circle
	}
	return f
}

// gather reads what there is to read of h and of the agents below it, and notes what
// is wrong. line are the agents from the root to the one that calls h.
func (f *family) gather(h *Host, line []*Host) {
	f.all = append(f.all, h)
	h.kin.levels, h.kin.size, h.kin.agents = 1, len(h.manifest.Tools), make(map[int]*Host)
	h.kin.faults = errors.Join(h.kin.faults, h.manifest.Check(), h.readSecrets(), h.declareState())
	line = append(line[:len(line):len(line)], h)
	for i := range h.manifest.Tools {
		t := &h.manifest.Tools[i]
		if t.Agent == "" || faulty(h.kin.faults, fmt.Sprintf("tools[%d]", i)) {
			continue
		}
		c, err := f.member(t, line)
		if err == nil {
			err = h.adopt(i, c)
		}
		if err != nil {
			h.kin.faults = errors.Join(h.kin.faults, h.entryFault(i, err))
		}
	}
}

// adopt makes c the agent of an entry.
func (h *Host) adopt(i int, c *Host) error {
	if want, got := h.manifest.Tools[i].SHA256, c.manifest.Digest; want != "" && !sameDigest(want, got) {
		return fmt.Errorf("the agent is %s, and the manifest wants sha256:%s", got, strings.TrimPrefix(want, "sha256:"))
	}
	if h.kin.size += c.kin.size; h.kin.size > maxFamilyTools {
		return fmt.Errorf("more than %d tools, with those of the agents counted for each entry that names one", maxFamilyTools)
	}
	h.kin.levels = max(h.kin.levels, 1+c.kin.levels)
	h.kin.agents[i] = c
	return nil
}

func sameDigest(want, got string) bool {
	a, errA := hex.DecodeString(strings.TrimPrefix(want, "sha256:"))
	b, errB := hex.DecodeString(strings.TrimPrefix(got, "sha256:"))
	return errA == nil && errB == nil && string(a) == string(b)
}

// entryFault is an error at the agent of an entry. That of another file is not it.
func (h *Host) entryFault(i int, err error) error {
	return h.manifest.Fault(fmt.Sprintf("tools[%d].agent", i), err)
}

// member returns the agent of an entry of the last in line. One whose manifest cannot
// be read has a fault that says so.
func (f *family) member(t *manifest.Tool, line []*Host) (*Host, error) {
	caller := line[len(line)-1]
	path := pathFrom(caller.manifest, t.Agent)
	if file, err := os.Stat(path); err == nil {
		for _, h := range line {
			if h.kin.file != nil && os.SameFile(h.kin.file, file) {
				return nil, fmt.Errorf("agents call each other in a circle: %s", chain(line, path))
			}
		}
	}
	if len(line) == maxLevels {
		return nil, tooDeep(line, path)
	}
	key := member{path, caller.kin.bound}
	ceiling, err := t.Ceiling()
	switch {
	case err != nil:
		return nil, err
	case ceiling != nil:
		key.bound = &bound{*ceiling, caller.kin.bound}
	}
	if c := f.members[key]; c != nil {
		if len(line)+c.kin.levels > maxLevels {
			return nil, tooDeep(line, path)
		}
		return c, nil
	}
	if len(f.all) > maxAgents {
		return nil, fmt.Errorf("more than %d agents in all", maxAgents)
	}
	c := f.read(path)
	c.kin.bound = key.bound
	f.members[key] = c
	f.gather(c, line)
	return c, nil
}

func tooDeep(line []*Host, path string) error {
	return fmt.Errorf("agents call each other more than %d levels deep: %s", maxLevels, chain(line, path))
}

// maxWarning bounds a warning in the log, in bytes.
const maxWarning = 1024

// read makes the host of an agent.
func (f *family) read(path string) *Host {
	file, _ := os.Stat(path) // what is wrong with it, reading it says
	m, err := manifest.Load(path, f.root.getenv)
	if err != nil {
		c := newHost(&manifest.Manifest{}, &f.opts)
		c.kin.file, c.kin.faults = file, err
		return c
	}
	for _, w := range m.Warnings() {
		f.root.log.Warn("the manifest of an agent has something to be known", "warning", visible.Line(w.String(), maxWarning))
	}
	c := newHost(m, &f.opts)
	c.kin.file = file
	if conf := &c.manifest.Model; conf.Name == "" && conf.Provider != "replay" && f.opts.Model == nil {
		c.kin.faults = m.Fault("model.name", errors.New("the manifest names no model, and an agent that is a tool is told none: write the field"))
	}
	return c
}

// pathFrom is the file of an agent as somebody would write it where the manifest that
// names it was found.
func pathFrom(m *manifest.Manifest, agent string) string {
	if !filepath.IsAbs(agent) {
		return filepath.Join(m.Dir, agent) // of a manifest made in Go
	}
	if m.Path == "" || m.Dir == "" {
		return agent
	}
	rel, err := filepath.Rel(m.Dir, agent)
	if err != nil || !filepath.IsLocal(rel) {
		return agent
	}
	return filepath.Join(filepath.Dir(m.Path), rel)
}

// chain is who calls whom, down to path.
func chain(line []*Host, path string) string {
	var b strings.Builder
	for _, h := range line {
		b.WriteString(h.calledIn() + " → ")
	}
	return b.String() + filepath.Base(path)
}

// calledIn is what an error calls an agent in a chain of them.
func (h *Host) calledIn() string {
	if h.manifest.Path == "" {
		return "the manifest"
	}
	return filepath.Base(h.manifest.Path)
}

// settle looks at what is known once all manifests are there: that no tool may write
// what an agent is made of, and which values nothing may say.
func (f *family) settle() {
	var secrets []string
	modules := 0
	for _, h := range f.all {
		for _, values := range h.secrets {
			for _, v := range values {
				secrets = append(secrets, v)
			}
		}
		for i := range h.manifest.Tools {
			if h.manifest.Tools[i].Agent == "" {
				modules++
			}
		}
		seen := map[string]bool{h.manifest.Path: true}
		for _, other := range f.all {
			if path := other.manifest.Path; !seen[path] {
				seen[path] = true
				h.kin.faults = errors.Join(h.kin.faults, h.manifest.CoversThoseOf(other.manifest))
			}
		}
	}
	all, progress := redact.New(secrets...), &loading{tell: f.opts.Loading, of: modules}
	for _, h := range f.all {
		h.redact, h.progress, h.engine = all, progress, f.root.engine
	}
}

// open loads what h and the agents below it have as tools. The error has the faults
// of h, and then those of agents that were not opened before.
func (f *family) open(ctx context.Context, h *Host) error {
	own, below := h.kin.faults, error(nil)
	for i := range h.manifest.Tools {
		c := h.kin.agents[i]
		if c == nil {
			continue
		}
		if !c.kin.opened {
			c.kin.opened = true
			c.kin.err = f.open(ctx, c)
			below = errors.Join(below, c.kin.err)
		}
		if c.kin.err != nil {
			own = errors.Join(own, h.entryFault(i, fmt.Errorf("the agent %s cannot be used: its own faults say why", filepath.Base(h.manifest.Tools[i].Agent))))
		}
	}
	return errors.Join(own, h.load(ctx, own), h.loadHooks(ctx), h.checkNames(), h.compileOutput(), below)
}
