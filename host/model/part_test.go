package model_test

import (
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/model"
)

func TestAFileIsTextByItsTypeAndItsBytes(t *testing.T) {
	for _, c := range []struct {
		mime, data string
		want       bool
	}{
		{"", "a", true},
		{"text/csv; charset=utf-8", "a,b", true},
		{"application/json", "{}", true},
		{"Application/LD+JSON", "{}", true},
		{"image/svg+xml", "<svg/>", true},
		{"application/x-yaml", "a: 1", true},
		{"application/octet-stream", "plain", true},
		{"application/octet-stream", "a\x00b", false},
		{"text/plain", "\xff", false},
		{"text/plain", "", false},
		{"application/zip", "PK", false},
		{"audio/wav", "RIFF", false},
		{"", "%PDF-1.7", false},
	} {
		p := model.Part{Type: model.FilePart, MIME: c.mime, Data: []byte(c.data)}
		if p.IsTextFile() != c.want {
			t.Errorf("%q %q: %t", c.mime, c.data, !c.want)
		}
	}
	if p := (model.Part{Type: model.ImagePart, MIME: "image/svg+xml", Data: []byte("<svg/>")}); p.IsTextFile() {
		t.Error("an image is a file")
	}
}

func TestEstimateCountsAFileThatIsText(t *testing.T) {
	m := model.Message{Content: []model.Part{{Type: model.FilePart, MIME: "text/plain", Data: []byte(strings.Repeat("é", 4000))}}}
	if got := model.EstimateMessage(&m); got != 1004 {
		t.Errorf("%d tokens", got)
	}
	m.Content[0].Data[0] = 0
	if got := model.EstimateMessage(&m); got != 260 {
		t.Errorf("%d tokens of a file that is no text", got)
	}
}

func TestWhatAModelCanBeShownIsKnownByItsBytes(t *testing.T) {
	gif := "GIF89a\x01\x00\x01\x00\x00\x00\x00;"
	for _, c := range []struct {
		typ        model.PartType
		data, kind string
		unfit      string
	}{
		{model.ImagePart, gif, "image/gif", ""},
		{model.ImagePart, "GIF89a\x00\x00\x00\x00\x00\x00\x00;", "image/gif", "it is no PNG, JPEG, GIF or WebP image"},
		{model.ImagePart, "\x89PNG\r\n\x1a\n", "image/png", "it is no PNG, JPEG, GIF or WebP image"},
		{model.ImagePart, "\xff\xd8\xff\xe0", "image/jpeg", "it is no PNG, JPEG, GIF or WebP image"},
		{model.ImagePart, "RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp", ""},
		{model.ImagePart, "<svg/>", "", "it is no PNG, JPEG, GIF or WebP image"},
		{model.ImagePart, "", "", "it has no data"},
		{model.FilePart, "%PDF-1.7\x00", "application/pdf", ""},
		{model.FilePart, "words", "", ""},
		{model.FilePart, "PK\x03\x04\x00", "", "it is neither text nor PDF"},
		{model.FilePart, gif, "image/gif", "it is neither text nor PDF"},
		{"video", gif, "image/gif", "its type is not known"},
	} {
		p := model.Part{Type: c.typ, Data: []byte(c.data)}
		if p.Sniff() != c.kind || p.Unfit() != c.unfit {
			t.Errorf("%s %q: %q, %q", c.typ, c.data, p.Sniff(), p.Unfit())
		}
	}
	p := model.Part{Type: model.FilePart, Name: "a\x1b", MIME: "x/y\n", Data: []byte("abc")}
	if got, want := p.NotShown("why"), `(file a\u{1b} x/y\u{a} of 3 bytes, not shown: why)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
