package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/visible"
)

// suggestionJSON is a suggestion as programs read it.
type suggestionJSON struct {
	Allow    *manifest.Allow `json:"allow,omitempty"`
	Config   map[string]any  `json:"config,omitempty"`
	Replaces []string        `json:"replaces,omitempty"` // guest folders whose read grant has to go
	YAML     string          `json:"yaml,omitempty"`     // the lines of the tool's entry
	Flags    []string        `json:"flags,omitempty"`    // of tools call, one argument each
	Notes    []string        `json:"notes,omitempty"`
	Refused  []string        `json:"refused,omitempty"` // what is not suggested, and why
}

func suggestionOf(s *host.Suggestion) *suggestionJSON {
	lines, err := s.YAML()
	j := &suggestionJSON{Config: s.Config, Replaces: s.Replaces, YAML: lines, Notes: s.Notes, Refused: s.Refused}
	if err != nil {
		return &suggestionJSON{Refused: append(s.Refused, err.Error())}
	}
	if !s.Empty() {
		j.Allow = &s.Allow
	}
	var left []string
	j.Flags, left = suggestedFlags(s)
	for _, what := range left {
		j.Notes = append(j.Notes, "there is no flag for "+visible.Line(what, maxReason))
	}
	return j
}

// suggestedFlags are the arguments of tools call that grant what is suggested, and
// what no flag can say.
func suggestedFlags(s *host.Suggestion) (flags, left []string) {
	for _, r := range s.Allow.HTTP {
		for _, value := range httpFlags(r) {
			flags = append(flags, "--allow-http", value)
		}
	}
	for _, f := range []struct {
		flag    string
		folders map[string]string
	}{{"--read", s.Allow.Read}, {"--write", s.Allow.Write}} {
		for _, folder := range slices.Sorted(maps.Keys(f.folders)) {
			guest := f.folders[folder]
			if strings.Contains(guest, ":") {
				left = append(left, guest)
				continue
			}
			flags = append(flags, f.flag, folder+":"+guest)
		}
	}
	if s.Allow.KV {
		flags = append(flags, "--kv")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Allow.Env)) {
		flags = append(flags, "--env", name+"="+s.Allow.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Config)) {
		if strings.Contains(name, "=") {
			left = append(left, name)
			continue
		}
		flags = append(flags, "--config", fmt.Sprint(name, "=", s.Config[name]))
	}
	return flags, left
}

// suggestionText says what would let a call pass: lines for a manifest, and flags
// as a shell takes them.
func suggestionText(s *host.Suggestion, st style) string {
	var b strings.Builder
	j := suggestionOf(s)
	switch {
	case j.YAML == "" && len(j.Refused)+len(j.Notes) == 0:
		return st.bold("suggest") + " nothing: no grant was lacking\n"
	case j.YAML == "":
		fmt.Fprintln(&b, st.bold("suggest")+" nothing")
	default:
		fmt.Fprintln(&b, st.bold("suggest")+" the least that lets pass what was denied; in the tool's entry of a manifest:")
		for l := range strings.Lines(j.YAML) {
			fmt.Fprintln(&b, "    "+visible.Line(strings.TrimSuffix(l, "\n"), maxReason*4))
		}
		if len(j.Flags) > 0 {
			quoted := make([]string, len(j.Flags))
			for i, f := range j.Flags {
				quoted[i] = shellWord(f)
			}
			fmt.Fprintln(&b, "  or as flags: "+visible.Line(strings.Join(quoted, " "), maxComplaint))
		}
	}
	for _, n := range j.Notes {
		fmt.Fprintln(&b, "  "+visible.Line(n, 2*maxReason))
	}
	for _, n := range j.Refused {
		fmt.Fprintln(&b, "  "+st.yellow("not suggested")+" "+visible.Line(n, 2*maxReason))
	}
	return b.String()
}
