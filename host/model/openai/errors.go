package openai

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

// codeToolUse is how Groq says that the model wrote a call it cannot read.
const codeToolUse = "tool_use_failed"

func rejected(message string) *model.Error {
	return &model.Error{Kind: model.Rejected, Message: message}
}

// readError makes an error of a status and a body. Status 0 is an error in the
// body of a reply that began well: then the code in it counts as the status.
// What the error says is as the endpoint wrote it, for [Client.learn] to read;
// [redactor.failure] makes it fit to be shown.
func readError(status int, header http.Header, body []byte) *model.Error {
	r := readRefusal(body)
	if status == 0 {
		if n, err := strconv.Atoi(r.code); err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	if r.message == "" {
		r.message = http.StatusText(status)
	}
	if r.message == "" {
		r.message = "no reason was given"
	}
	e := &model.Error{
		Status: status, Code: r.name(), Message: r.message,
		Param: r.param, Partial: r.generation, RetryAfter: max(retryAfter(header), r.delay),
		Err: &api.APIError{Code: r.code, Message: r.message, Type: r.kind, HTTPStatusCode: status},
	}
	if e.Param == "" {
		e.Param = namedParam(r.message)
	}
	e.Kind, e.Retryable = classify(status, &r)
	if e.Kind == model.ContextOverflow {
		e.Limit = r.limit()
	}
	e.RequestID = requestID(header)
	if (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) && !aboutModel.MatchString(r.message+" "+r.code) {
		e.Message = "there is no such address (base_url usually ends in /v1): " + e.Message // in front, where nothing cuts it
	}
	return e
}

// aboutModel tells a model that is not there from an address that is not there.
var aboutModel = regexp.MustCompile(`(?i)model|deployment|engine`)

func classify(status int, r *refusal) (kind model.ErrorKind, retryable bool) {
	code := strings.ToLower(r.code + " " + r.kind)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(code, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("context_length_exceeded", "exceed_context_size"),
		status != http.StatusTooManyRequests && overflow.MatchString(r.message):
		return model.ContextOverflow, false
	case status == http.StatusUnauthorized, status == http.StatusForbidden, has("invalid_api_key", "authentication_error", "permission_denied"):
		return model.Auth, false
	case has("insufficient_quota", "billing"):
		return model.Rejected, false
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooManyRequests, status == http.StatusTooEarly:
		return model.Unreachable, true
	case status == http.StatusNotImplemented:
		return model.Rejected, false
	case status >= 500:
		return model.Unreachable, true
	case status >= 300:
		return model.Rejected, false
	case has("invalid_request", "invalid_argument", "not_found", codeToolUse):
		return model.Rejected, false
	}
	return model.Stream, true
}

// retryAfter reads how long the provider wants us to wait.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}
