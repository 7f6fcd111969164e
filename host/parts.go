package host

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// listParts returns the digests of the files that a run is made of beside its manifest: the modules and the
// manifests of agents that it names, and theirs, by the fields that name them.
func (h *Host) listParts() map[string]string {
	out := make(map[string]string)
	for i := range h.manifest.Tools {
		field := fmt.Sprintf("tools[%d]", i)
		c := h.kin.agents[i]
		if c == nil {
			out[field+".module"] = h.loaded[i]
			continue
		}
		out[field+".agent"] = c.manifest.Digest
		for inner, digest := range c.listParts() {
			out[field+".agent: "+inner] = digest
		}
	}
	if h.hook != "" {
		out[fieldParseError] = h.hook
	}
	return out
}

// took notes the digest of a module of an entry that was loaded.
func (h *Host) took(i int, mod *sandbox.Module) { h.loaded[i] = mod.Info().Digest }

// maxChanges is how many parts an error names.
const maxChanges = 8

// changed says what of the files that a run was begun with is another one, or nil.
func (h *Host) changed(s *run.State) error {
	var what []string
	if s.Manifest != h.manifest.Digest {
		what = append(what, "the manifest")
	}
	names := maps.Clone(h.parts)
	maps.Copy(names, s.Parts)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s.Parts[name] != h.parts[name] {
			what = append(what, h.partName(name))
		}
	}
	switch n := len(what); {
	case n == 0:
		return nil
	case n > maxChanges:
		what = append(what[:maxChanges], fmt.Sprintf("and %d more", n-maxChanges))
	}
	return fmt.Errorf("%w: %s", ErrChanged, strings.Join(what, ", "))
}

// partName names a part by its field, and by its file where this host has it.
func (h *Host) partName(name string) string {
	name = visible.Line(name, maxSaidOf) // of a store
	at, field := h, name
	for {
		head, rest, below := strings.Cut(field, ": ")
		if !below {
			break
		}
		var i int
		if _, err := fmt.Sscanf(head, "tools[%d].agent", &i); err != nil || at.kin.agents[i] == nil {
			return name
		}
		at, field = at.kin.agents[i], rest
	}
	if file := at.fileAt(field); file != "" {
		return name + " (" + visible.Line(filepath.Base(file), maxSaidOf) + ")"
	}
	return name
}

// fileAt is the file that a field of the manifest names, or "".
func (h *Host) fileAt(field string) string {
	if field == fieldParseError {
		return h.manifest.Agent.OnParseError.Module
	}
	for i := range h.manifest.Tools {
		switch field {
		case fmt.Sprintf("tools[%d].module", i):
			return h.manifest.Tools[i].Module
		case fmt.Sprintf("tools[%d].agent", i):
			return h.manifest.Tools[i].Agent
		}
	}
	return ""
}
