package main

import (
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/visible"
)

func tableText(t *host.ModuleTable) string {
	s := fmt.Sprintf("%s, entries: %d at least", t.Elem, t.Min)
	if t.Max > 0 {
		s += fmt.Sprintf(", %d at most", t.Max)
	}
	if t.Imported {
		s += ", imported"
	}
	return s + fmt.Sprintf("; it gets %d", t.Most)
}

// doorText says who serves an import, where its module's name does not.
func doorText(i *host.ModuleImport) string {
	if i.Door == "" || i.Door == i.Module {
		return ""
	}
	return " by " + i.Door
}

// capabilityText puts what is asked for beside what the imports can do.
func capabilityText(c *host.Capability) string {
	asked, by := "not asked for", "no import for it"
	if len(c.Asked) > 0 {
		asked = "asked for: " + visible.Line(strings.Join(c.Asked, ", "), maxReason)
	}
	if len(c.Imports) > 0 {
		by = "imports " + visible.Line(strings.Join(c.Imports, ", "), maxReason)
	}
	return asked + "; " + by
}

// rolesText says what a module can be called for, and where a manifest names it.
func rolesText(roles []host.ModuleRole) string {
	var b strings.Builder
	for _, r := range roles {
		fmt.Fprintf(&b, "  %s by %s, for %s\n", r.Role, r.Export, r.Field)
	}
	return b.String()
}

// rewritingText says what the loader changed.
func rewritingText(m *host.ModuleInfo) string {
	r := &m.Rewritten
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	line("%s written anew and %d added; code %s, before %s", count(r.Functions, "function"), r.Helpers, bytesText(int64(r.NewCodeBytes)), bytesText(int64(r.CodeBytes)))
	line("%s where it can be stopped, %s done in pieces", count(r.Looks, "place"), count(r.BulkOperations, "bulk operation"))
	if r.StartDeferred {
		line("its start function waits until the time limit is armed")
	}
	line("%s of data (%s) written by the host", count(r.DataSegments, "segment"), bytesText(r.DataBytes))
	names := make([]string, len(r.Dropped))
	for i, s := range r.Dropped {
		names[i] = s.Name + " (" + bytesText(s.Bytes) + ")"
	}
	if r.MoreDropped > 0 {
		names = append(names, fmt.Sprintf("%d more", r.MoreDropped))
	}
	if len(names) > 0 {
		line("dropped: %s", visible.Line(strings.Join(names, ", "), maxReason))
	}
	reused := "a fresh guest is made for each call"
	if r.Reused {
		reused = "a guest can be put back exactly after a call"
	}
	line("%s", reused)
	line("module %s, before %s", bytesText(r.NewBytes), bytesText(m.Bytes))
	return b.String()
}
