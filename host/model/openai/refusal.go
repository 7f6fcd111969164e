package openai

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// refusal is what an error body says, in one form.
type refusal struct {
	message, code, kind, param string
	generation                 string // what the model wrote, when that is the error
	window                     int64
	delay                      time.Duration
}

// name is the code that says most: a word before a number.
func (r *refusal) name() string {
	for _, s := range []string{r.code, r.kind} {
		if _, err := strconv.Atoi(s); s != "" && err != nil {
			return s
		}
	}
	return r.code
}

// readRefusal reads the shapes that error bodies have: an object with error,
// which is an object or a string; an array of such; detail, a string or a list;
// message without anything around it; a page of HTML; nothing.
func readRefusal(body []byte) refusal {
	r := readShape(bytes.TrimSpace(body))
	r.message, r.generation = truncate(r.message, maxErrorBody), truncate(r.generation, maxErrorBody)
	return r
}

func readShape(body []byte) refusal {
	if len(body) == 0 {
		return refusal{}
	}
	if body[0] == '[' {
		if list := readList(body); len(list) > 0 {
			return readShape(bytes.TrimSpace(list[0]))
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
func plainText(s string) string {
	return strings.TrimSpace(markup.ReplaceAllString(truncate(s, maxErrorBody), " "))
}

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
