package openai

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/visible"
)

// An image of a tool is sent by its bytes alone: the endpoint that fetches an address
// for a guest carries out what the guest put into it.

const maxFileName = 200 // bytes

// encodePart is a part of a user's message on the wire.
func (p *profile) encodePart(part *model.Part) (any, error) {
	switch part.Type {
	case model.TextPart:
		return textPart(part.Text), nil
	case model.ImagePart:
		return p.encodeImage(part)
	case model.FilePart:
		return p.encodeFile(part)
	}
	return nil, fmt.Errorf("unknown type %q", part.Type)
}

func textPart(text string) api.ChatMessagePart {
	return api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: text}
}

func (p *profile) encodeImage(part *model.Part) (any, error) {
	url := part.URL
	if len(part.Data) > 0 {
		url = dataURL(part)
	}
	switch {
	case url == "":
		return nil, errors.New("an image without data or URL")
	case p.noImages:
		return textPart(part.NotShown("the endpoint takes no images")), nil
	}
	return api.ChatMessagePart{
		Type: api.ChatMessagePartTypeImageURL, ImageURL: &api.ChatMessageImageURL{URL: url},
	}, nil
}

func (p *profile) encodeFile(part *model.Part) (any, error) {
	if text, ok := fileText(part); ok {
		return textPart(text), nil
	}
	switch {
	case len(part.Data) == 0:
		return nil, errors.New("a file without data: this endpoint takes no URL of a file")
	case p.noFiles:
		return textPart(part.NotShown("the endpoint takes no files")), nil
	}
	return map[string]any{"type": "file", "file": map[string]string{
		"filename": cmp.Or(part.Name, "file"), "file_data": dataURL(part),
	}}, nil
}

// fileText is a file that is text, with its name before it.
func fileText(part *model.Part) (string, bool) {
	if !part.IsTextFile() {
		return "", false
	}
	return fmt.Sprintf("[%s]\n%s", part.Describe(), part.Data), true
}

func dataURL(part *model.Part) string {
	mime := part.MIME
	if mime == "" {
		mime, _, _ = strings.Cut(http.DetectContentType(part.Data), ";")
	}
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(part.Data)
}

// carried returns a part of a tool's result as it is sent beside the results, with
// the type that its bytes have. Why says why it is not sent.
func (p *profile) carried(part *model.Part) (out model.Part, why string) {
	out = model.Part{Type: part.Type, MIME: part.Sniff(), Data: part.Data, Name: part.Name}
	switch {
	case part.Type == model.ImagePart && p.noImages:
		return out, "the endpoint takes no images"
	case part.Type == model.FilePart && p.noFiles:
		return out, "the endpoint takes no files"
	case len(p.refused) > 0 && p.refused[digestOf(part)]:
		return out, refusedPart
	case part.Type == model.FilePart:
		out.Name = visible.Line(cmp.Or(part.Name, "file.pdf"), maxFileName)
	}
	return out, part.Unfit()
}

// carries says what of a tool's result is sent beside it.
func (p *profile) carries(m *model.Message) (images, files bool) {
	for i := range m.Content {
		if out, ok := p.beside(&m.Content[i]); ok {
			images = images || out.Type == model.ImagePart
			files = files || out.Type == model.FilePart
		}
	}
	return images, files
}

// beside returns a part of a tool's result that is sent beside the results.
func (p *profile) beside(part *model.Part) (model.Part, bool) {
	if part.Type == model.TextPart {
		return model.Part{}, false
	}
	if _, ok := fileText(part); ok {
		return model.Part{}, false
	}
	out, why := p.carried(part)
	return out, why == ""
}

// besides is what a tool's result holds that the role of tools cannot, as a message
// of the user.
func (p *profile) besides(m *model.Message) []model.Part {
	parts := model.TextParts(fmt.Sprintf("[What the tool %s returned beside its text:]", visible.Line(m.Name, maxFileName)))
	for i := range m.Content {
		if out, ok := p.beside(&m.Content[i]); ok {
			parts = append(parts, out)
		}
	}
	return parts
}

// resultText is the text of a tool's result, with a word for what is not text.
func (p *profile) resultText(m *model.Message) string {
	var b strings.Builder
	for i := range m.Content {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.partText(&m.Content[i]))
	}
	if strings.TrimSpace(b.String()) == "" {
		return noOutput
	}
	return b.String()
}

func (p *profile) partText(part *model.Part) string {
	if part.Type == model.TextPart {
		return part.Text
	}
	if text, ok := fileText(part); ok {
		return text
	}
	if _, why := p.carried(part); why != "" {
		return part.NotShown(why)
	}
	return "(" + part.Describe() + ": it is in the message after the results)"
}
