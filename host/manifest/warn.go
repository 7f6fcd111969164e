package manifest

import (
	"path/filepath"
	"strings"
)

// Warnings are about what works and what somebody should know. They never hold
// a value of the file. A manifest made in Go has none.
func (m *Manifest) Warnings() []Warning { return m.warnings }

// warn looks at the strings in which nothing was expanded, by field.
func (m *Manifest) warn(literals map[string]string) {
	for _, field := range sortedKeys(literals) {
		value := literals[field]
		if field == "model.api_key" && (len(value) >= 20 || looksLikeKey(value)) {
			m.warnAt(field, "a key is written in the manifest: use ${NAME} and set the variable, so that the key is not shared with the file")
		} else if field != "model.api_key" && looksLikeKey(value) {
			m.warnAt(field, "this looks like a key, and a guest or the model can read it: whoever has the file has the key too")
		}
	}
	for i := range m.Tools {
		t := &m.Tools[i]
		for _, folder := range sortedKeys(t.Allow.Write) {
			if inside(folder, m.Dir) {
				m.warnAt(entry(t.field+".allow.write", folder), "the module may write in the folder of the manifest: give it a folder of its own")
			}
		}
	}
}

func (m *Manifest) warnAt(field, message string) {
	p := m.origin.near(field)
	m.warnings = append(m.warnings, Warning{Path: m.Path, Line: p.line, Column: p.column, Field: field, Message: message})
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

// inside reports whether path is dir or below it, by their names.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
