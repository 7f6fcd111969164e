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
