package agent

import (
	"maps"
	"slices"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/visible"
)

// Bounds of what is told of the tools of calls that were dropped.
const (
	maxDroppedNames = 32
	maxDroppedName  = 128 // bytes
)

// nameless stands for the name of a call that has none.
const nameless = "(no name)"

// namesOf adds the names of calls to names, which is not changed.
func namesOf(names []string, calls []model.ToolCall) []string {
	names = slices.Clone(names)
	for i := range calls {
		names = append(names, calls[i].Name)
	}
	return names
}

// shownNames are names that a model wrote, fit to be shown, each once.
func shownNames(names []string) []string {
	var out []string
	for _, n := range names {
		out = addName(out, n)
	}
	return out
}

func addName(to []string, name string) []string {
	if len(to) > maxDroppedNames {
		return to
	}
	if name = visible.Line(name, maxDroppedName); name == "" {
		name = nameless
	}
	if slices.Contains(to, name) {
		return to
	}
	if len(to) == maxDroppedNames {
		name = visible.Ellipsis
	}
	return append(to, name)
}

// tools are the tools of the calls that have begun to arrive.
func (s *callsShown) tools() []string {
	var out []string
	for _, i := range slices.Sorted(maps.Keys(s.names)) {
		out = addName(out, s.names[i])
	}
	return out
}
