package openai

import (
	"net/http"

	"github.com/wagent-dev/wagent/host/model"
)

// What is wrong with an image has no code of its own that endpoints share: it is told
// by the words. Taken for the model's limit, what is wrong with one image would hide
// all that follow; so the words for one come first.

// takesNone says that a refusal is about images or files as such.
func takesNone(text string) bool {
	return !refusesOne(text) && (isUnsupported(text) || containsAny(text, "must be a string", "only text", "text only",
		"no endpoints found", "not a multimodal", "not enabled", "missing data required for"))
}

// refusesOne says that a refusal is about one image or file: its form, its size, or what
// can be seen in it.
func refusesOne(text string) bool {
	if !aboutImages(text) && !aboutFiles(text) {
		return false
	}
	if containsAny(text, "image input", "variant") {
		return false
	}
	return containsAny(text, "image format", "image type", "file format", "file type", "mime", "formats",
		"image/png", "image/jpeg", "image/gif", "image/webp", "unsupported image", "unsupported media", "unsupported_image",
		"invalid image", "invalid_image", "valid image", "parse_error", "safety", "moderation", "policy", "flagged") ||
		!isUnsupported(text) && hasFault(text)
}

// hasFault says that a refusal has words for what can be wrong with an image or a file.
func hasFault(text string) bool {
	return containsAny(text, "invalid", "not valid", "bad ", "illegal", "format", "pars", "decod", "process", "load", "read",
		"corrupt", "damaged", "malformed", "truncated", "broken", "identify", "unable to", "could not", "failed to",
		"too ", "exceed", "maximum", "at most", "dimension", "resolution", "size", "password", "encrypted", "pages", "empty")
}

// mayBeMedia says that an endpoint may have refused a request for an image or a file in
// it. With a client's fault the name of the thing is enough: the request is sent once
// more at most, and else the run would end.
func mayBeMedia(e *model.Error, text string) bool {
	about := aboutImages(text) || aboutFiles(text)
	switch e.Status {
	case http.StatusRequestEntityTooLarge:
		return e.Kind != model.ContextOverflow
	case http.StatusBadRequest, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return about && e.Kind != model.ContextOverflow
	case http.StatusInternalServerError:
		return about && hasFault(text)
	}
	return false
}

func aboutImages(text string) bool {
	return containsAny(text, "image", "vision", "multimodal", "multi-modal", "picture", "media")
}

func aboutFiles(text string) bool { return containsAny(text, "file", "pdf", "document", "media") }
