package openai

import (
	"errors"
	"regexp"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/internal/redact"
	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxMessage = 600 // bytes of a message or a warning
	maxWord    = 128 // bytes of a code, the name of a parameter or an id
)

// redactor makes what an endpoint or a library wrote fit to be shown: without
// secrets, bounded, and hiding nothing. Secrets are taken out before anything is
// cut, since half a key is no longer known for one.
type redactor struct{ key *redact.Set }

var keyLike = regexp.MustCompile(`(?i)\b(?:sk|pk|gsk|xai)[-_][a-z0-9_\-*]{12,}|\bbearer\s+[a-z0-9._~+/=\-]{8,}|\bAIza[a-z0-9_\-]{20,}`)

const redacted = redact.Mark

// own takes our own key out. One of less than four bytes is no secret, and would
// be found everywhere.
func (r redactor) own(s string) string { return r.key.String(s) }

func (r redactor) line(s string, n int) string {
	return oneLine(keyLike.ReplaceAllString(r.own(s), redacted), n)
}

// failure cleans e and the cause it carries. What the model wrote keeps its
// form and loses only our key.
func (r redactor) failure(e *model.Error) {
	e.Message = r.line(e.Message, maxMessage)
	e.Code = r.line(e.Code, maxWord)
	e.Param = r.line(e.Param, maxWord)
	e.RequestID = r.line(e.RequestID, maxWord)
	e.Partial = r.own(e.Partial)
	if cause, ok := e.Err.(*api.APIError); ok { //nolint:errorlint // ours, made in readError
		cause.Message, cause.Code, cause.Type = e.Message, e.Code, r.line(cause.Type, maxWord)
		return
	}
	if e.Err != nil {
		if said := e.Err.Error(); r.line(said, maxMessage) != said {
			e.Err = errors.New(r.line(said, maxMessage))
		}
	}
}

// reply cleans what is said about a reply. The reply itself is the model's.
func (r redactor) reply(m *model.Reply) {
	m.RequestID = r.line(m.RequestID, maxWord)
	for i := range m.Warnings {
		m.Warnings[i] = r.line(m.Warnings[i], maxMessage)
	}
}
