package model

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // what an image begins with is looked at, and nothing unpacked
	_ "image/jpeg"
	_ "image/png"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/visible"
)

// What a tool returns goes into a conversation that is sent again with each step: an
// image that a provider refuses would end the run, and so would each try to go on
// with it. So what is shown of a tool is known to be what it says, by its bytes.

const maxPartName = 200 // bytes of what a tool calls its file

// IsTextFile says that a file is text which a model can be shown as it is: its bytes
// are UTF-8, and its type, where it has one, is one of text.
func (p *Part) IsTextFile() bool {
	return p.Type == FilePart && len(p.Data) > 0 && isTextType(p.MIME) &&
		utf8.Valid(p.Data) && bytes.IndexByte(p.Data, 0) < 0 && !bytes.HasPrefix(p.Data, []byte("%PDF-"))
}

// Sniff returns the type of an image or a PDF by its first bytes, one of those that
// models take; empty: it is none of them.
func (p *Part) Sniff() string {
	for _, k := range []struct{ magic, mime string }{
		{"\x89PNG\r\n\x1a\n", "image/png"},
		{"\xff\xd8\xff", "image/jpeg"},
		{"GIF87a", "image/gif"},
		{"GIF89a", "image/gif"},
		{"%PDF-", "application/pdf"},
	} {
		if bytes.HasPrefix(p.Data, []byte(k.magic)) {
			return k.mime
		}
	}
	if len(p.Data) > 12 && string(p.Data[:4]) == "RIFF" && string(p.Data[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

// Unfit says why a model cannot be shown an image or a file of a tool, or "". A file
// that is text is shown as text.
func (p *Part) Unfit() string {
	kind := p.Sniff()
	switch {
	case p.Type != ImagePart && p.Type != FilePart:
		return "its type is not known"
	case len(p.Data) == 0:
		return "it has no data"
	case p.Type == FilePart && kind != "application/pdf" && !p.IsTextFile():
		return "it is neither text nor PDF"
	case p.Type == ImagePart && !p.drawable(kind):
		return "it is no PNG, JPEG, GIF or WebP image"
	}
	return ""
}

// drawable says that the data begins as an image that can be drawn.
func (p *Part) drawable(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif":
		size, _, err := image.DecodeConfig(bytes.NewReader(p.Data))
		return err == nil && size.Width > 0 && size.Height > 0
	}
	return kind == "image/webp"
}

// Describe says on one line what an image or a file is.
func (p *Part) Describe() string {
	var b strings.Builder
	b.WriteString(visible.Line(string(p.Type), maxPartName))
	for _, s := range []string{p.Name, p.MIME} {
		if s != "" {
			b.WriteString(" " + visible.Line(s, maxPartName))
		}
	}
	if len(p.Data) > 0 {
		fmt.Fprintf(&b, " of %d bytes", len(p.Data))
	}
	return b.String()
}

// NotShown is said in the place of an image or a file that is not shown.
func (p *Part) NotShown(why string) string {
	return "(" + p.Describe() + ", not shown: " + why + ")"
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
