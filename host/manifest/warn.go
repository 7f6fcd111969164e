package manifest

import (
	"slices"
	"strings"
)

// Warnings are about what works and what somebody should know. They never hold
// a value of the file. A manifest made in Go has none.
func (m *Manifest) Warnings() []Warning {
	if m.origin == nil || m.Model.Name != "" || m.Model.Provider == "replay" {
		return m.warnings
	}
	return append(slices.Clip(m.warnings), m.warning("model.name",
		"the manifest names no model, so a run has to be told one: write the field, or give --model"))
}

// warn looks at the strings in which nothing was expanded, by field.
func (m *Manifest) warn(literals map[string]string) {
	for _, field := range sortedKeys(literals) {
		value := literals[field]
		isKey := field == "model.api_key" || (strings.HasPrefix(field, "model.fallback[") && strings.HasSuffix(field, "].api_key"))
		if isKey && value != "" {
			m.warnAt(field, "a key is written in the manifest: use ${NAME} and set the variable, so that the key is not shared with the file")
		} else if !isKey && looksLikeKey(value) {
			m.warnAt(field, "this looks like a key, and a guest or the model can read it: whoever has the file has the key too")
		}
	}
}

func (m *Manifest) warnAt(field, message string) {
	m.warnings = append(m.warnings, m.warning(field, message))
}

func (m *Manifest) warning(field, message string) Warning {
	p := m.origin.near(field)
	return Warning{Path: m.Path, Line: p.line, Column: p.column, Field: field, Message: message}
}

// looksLikeKey knows how some well-known keys begin.
func looksLikeKey(s string) bool {
	if len(s) < 20 || strings.ContainsAny(s, " \n\t") {
		return false
	}
	for _, prefix := range []string{"sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "hf_"} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}
