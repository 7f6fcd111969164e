package model

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// IsTextFile says that a file is text which a model can be shown as it is: its bytes
// are UTF-8, and its type, where it has one, is one of text.
func (p *Part) IsTextFile() bool {
	return p.Type == FilePart && len(p.Data) > 0 && isTextType(p.MIME) &&
		utf8.Valid(p.Data) && bytes.IndexByte(p.Data, 0) < 0 && !bytes.HasPrefix(p.Data, []byte("%PDF-"))
}

// isTextType says that a type may be one of text.
func isTextType(mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	mime = strings.TrimSpace(mime)
	kind, name, _ := strings.Cut(mime, "/")
	switch {
	case mime == "", kind == "text", strings.HasSuffix(name, "+json"), strings.HasSuffix(name, "+xml"):
		return true
	case kind != "application":
		return false
	}
	switch strings.TrimPrefix(name, "x-") {
	case "json", "jsonl", "ndjson", "xml", "yaml", "toml", "javascript", "ecmascript", "typescript", "sh", "csv", "sql", "octet-stream":
		return true
	}
	return false
}
