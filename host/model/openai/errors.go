package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/wagent-dev/wagent/host/model"
)

const (
	maxMessage = 600
	// codeToolUse is how Groq says that the model wrote a call it cannot read.
	codeToolUse = "tool_use_failed"
)

func rejected(message string) *model.Error {
	return &model.Error{Kind: model.Rejected, Message: message}
}

// refusal is what an error body says, in one form.
type refusal struct {
	message, code, kind, param string
	generation                 string // what the model wrote, when that is the error
	window                     int64
	delay                      time.Duration
}

// readError makes an error of a status and a body. Status 0 is an error in the
// body of a reply that began well: then the code in it counts as the status.
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
	e := &model.Error{
		Status: status, Code: r.name(), Message: truncate(compactSpace(r.message), maxMessage),
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
	if header != nil {
		e.RequestID = requestID(header)
	}
	return e
}

// name is the code that says most: a word before a number.
func (r *refusal) name() string {
	for _, s := range []string{r.code, r.kind} {
		if _, err := strconv.Atoi(s); s != "" && err != nil {
			return truncate(compactSpace(s), 80)
		}
	}
	return r.code
}

// readRefusal reads the shapes that error bodies have: an object with error,
// which is an object or a string; an array of such; detail, a string or a list;
// message without anything around it; a page of HTML; nothing.
func readRefusal(body []byte) refusal {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return refusal{}
	}
	if body[0] == '[' {
		if list := readList(body); len(list) > 0 {
			return readRefusal(list[0])
		}
	}
	o, ok := readObject(body)
	if !ok {
		return refusal{message: plainText(string(body))}
	}
	switch {
	case o.has("error"):
		if inner := readList(o["error"]); len(inner) > 0 {
			if first, ok := readObject(inner[0]); ok {
				return first.refusal()
			}
		}
		r := o.refusal()
		if s := o.str("error"); s != "" {
			r.message = s
		}
		return r
	case o.has("detail"):
		return readDetail(o["detail"])
	}
	r := o.refusal()
	if r.message == "" {
		r.message = string(body)
	}
	return r
}

func (o object) refusal() refusal {
	r := refusal{
		message: o.str("message"), code: o.str("code"), kind: o.str("type"), param: o.str("param"),
		generation: o.str("failed_generation"),
	}
	if r.message == "" {
		r.message = joinStrings(o.list("message"))
	}
	if r.kind == "" {
		r.kind = o.str("status")
	}
	r.window, _ = o.number("n_ctx")
	if metadata := o.object("metadata"); metadata.has("raw") {
		r.message = strings.TrimSpace(r.message + ": " + metadata.str("raw"))
	}
	for _, raw := range o.list("details") {
		if d, ok := readObject(raw); ok && d.has("retryDelay") {
			r.delay, _ = time.ParseDuration(d.str("retryDelay"))
		}
	}
	return r
}

func joinStrings(list []json.RawMessage) string {
	var out []string
	for _, raw := range list {
		if s := readString(raw); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// readDetail reads FastAPI's validation errors, which name the place.
func readDetail(raw json.RawMessage) refusal {
	if s := readString(raw); s != "" {
		return refusal{message: s}
	}
	var r refusal
	var lines []string
	for _, item := range readList(raw) {
		d, ok := readObject(item)
		if !ok {
			continue
		}
		var place []string
		for _, p := range d.list("loc") {
			if s := readString(p); s != "" && s != "body" {
				place = append(place, s)
			}
		}
		if r.param == "" && len(place) > 0 {
			r.param = place[0]
		}
		text := d.str("msg")
		if text == "" {
			text = d.str("message")
		}
		if len(place) > 0 {
			text = strings.Join(place, ".") + ": " + text
		}
		lines = append(lines, text)
	}
	r.message = strings.Join(lines, "; ")
	return r
}

var (
	markup = regexp.MustCompile(`(?s)<(script|style)[^>]*>.*?</(script|style)>|<[^>]*>`)
	quoted = regexp.MustCompile(`(?i)(?:unsupported|unknown|unrecognized|unexpected|extra|not supported|argument|parameter|field|value)[^'"\x60]{0,40}['"\x60]([a-z_]+)`)
	window = []*regexp.Regexp{
		regexp.MustCompile(`(?i)maximum context length (?:is|of) (\d+)`),
		regexp.MustCompile(`(?i)(\d+) maximum context length`),
		regexp.MustCompile(`(?i)maximum number of tokens allowed \(?(\d+)`),
		regexp.MustCompile(`(?i)context (?:size|window|length)[^\d]{0,30}(\d+)`),
		regexp.MustCompile(`(?i)(\d+) (?:tokens? )?(?:maximum|limit)`),
		regexp.MustCompile(`(?i)(?:exceeds|exceeded) (?:the )?limit (?:of )?(\d+)`),
		regexp.MustCompile(`(?i)> (\d+)`),
	}
	overflow = regexp.MustCompile(`(?i)maximum context|context[ _](?:length|window|size)|total message size|(?:prompt|input|request)(?: is)? too (?:long|large)|too many (?:input )?tokens|token count .* exceeds|too large for model`)
)

// plainText is the words of a page.
func plainText(s string) string { return strings.TrimSpace(markup.ReplaceAllString(s, " ")) }

// namedParam finds the member that a message complains of.
func namedParam(message string) string {
	if m := quoted.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

func (r *refusal) limit() int64 {
	if r.window > 0 {
		return r.window
	}
	for _, re := range window {
		if m := re.FindStringSubmatch(r.message); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

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
	if h == nil {
		return 0
	}
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
			return truncate(compactSpace(id), 128)
		}
	}
	return ""
}

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
