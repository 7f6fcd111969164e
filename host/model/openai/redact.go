package openai

import (
	"fmt"
	"regexp"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

// redactor takes secrets out of what a provider or a library wrote.
type redactor struct{ key string }

var keyLike = regexp.MustCompile(`(?i)\b(?:sk|pk|gsk|xai)[-_][a-z0-9_\-*]{12,}|\bbearer\s+[a-z0-9._~+/=\-]{8,}|\bAIza[a-z0-9_\-]{20,}`)

func (r redactor) text(s string) string {
	if len(r.key) >= 4 {
		s = strings.ReplaceAll(s, r.key, "[redacted]")
	}
	return keyLike.ReplaceAllString(s, "[redacted]")
}

// clean takes secrets out of e and of the cause it carries.
func (r redactor) clean(e *model.Error) {
	e.Message = truncate(compactSpace(r.text(e.Message)), maxMessage)
	e.Code = r.text(e.Code)
	if len(r.key) >= 4 {
		e.Partial = strings.ReplaceAll(e.Partial, r.key, "[redacted]")
	}
	if cause, ok := e.Err.(*api.APIError); ok { //nolint:errorlint // ours, made above
		cause.Message = e.Message
		cause.Code = e.Code
		return
	}
	if e.Err != nil && r.text(e.Err.Error()) != e.Err.Error() {
		e.Err = fmt.Errorf("%s", r.text(e.Err.Error()))
	}
}
