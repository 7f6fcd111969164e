package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// What a guest answers is read as hostile input: its size was bounded before
// it was copied, its depth is bounded before it is decoded.

// maxContents is the most parts of one answer.
const maxContents = 1000

// passedOn reads an answer that was within the limit, and is again when bytes
// that are no text have become longer ones.
func passedOn(raw []byte, limit int64) (abi.Result, error) {
	r, err := parseResponse(raw)
	if err == nil && textSize(&r) > limit {
		err = tooMuchOutput(limit)
	}
	return r, err
}

// parseResponse reads an answer. Text that is no response object is taken as
// one text part.
func parseResponse(raw []byte) (abi.Result, error) {
	fields, isObject := responseFields(raw)
	if !isObject {
		return textResult(cleanText(string(raw)), false), nil
	}
	if err := checkDepth(raw); err != nil {
		return abi.Result{}, err
	}
	if v, ok := fields["v"]; ok && string(bytes.TrimSpace(v)) != fmt.Sprint(abi.Version) {
		return abi.Result{}, fault(FaultInvalidResult, "the tool answered in version %s of the ABI, this host has version %d", oneLine(string(v), 20), abi.Version)
	}
	var r abi.Response
	clean := cleanJSON(raw)
	if err := json.Unmarshal(clean, &r); err != nil {
		return abi.Result{}, malformed(err)
	}
	if err := checkNames(clean); err != nil {
		return abi.Result{}, malformed(err)
	}
	if r.Error != nil {
		return errorResult(r.Error), nil
	}
	if err := checkResult(&r.Result); err != nil {
		return abi.Result{}, err
	}
	return r.Result, nil
}

// responseFields tells a response from an object that a tool merely printed.
func responseFields(raw []byte) (map[string]json.RawMessage, bool) {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, false
	}
	if checkDepth(trimmed) != nil && !json.Valid(trimmed) {
		return nil, nestedBeyond(trimmed, unreadable)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(trimmed, &fields) != nil {
		return nil, false
	}
	for name, marks := range map[string]string{"content": "[n", "error": "{", "structuredContent": "{"} {
		if v := bytes.TrimSpace(fields[name]); len(v) > 0 && strings.IndexByte(marks, v[0]) >= 0 {
			return fields, true
		}
	}
	_, versioned := fields["v"]
	return fields, versioned
}

func malformed(err error) *FaultError {
	f := fault(FaultInvalidResult, "the tool's answer is not a response of the ABI")
	f.Detail = oneLine(err.Error(), maxMessage)
	return f
}

// errorResult is a tool's own error as the model sees it.
func errorResult(e *abi.Error) abi.Result {
	msg := cleanText(e.Message)
	switch e.Kind {
	case abi.Input, abi.AuthRequired, abi.NotFound, abi.RateLimited, abi.Unavailable:
		if msg == "" {
			msg = "the tool gave no reason"
		}
		msg = string(e.Kind) + ": " + msg
	default:
		if msg == "" {
			msg = "the tool failed and gave no reason"
		}
	}
	if e.RetryAfterMS > 0 {
		wait := time.Duration(min(e.RetryAfterMS, int64(24*time.Hour/time.Millisecond))) * time.Millisecond
		msg += fmt.Sprintf(" (try again after %v)", wait)
	}
	return textResult(msg, true)
}

// checkResult makes a result fit to be passed on.
func checkResult(r *abi.Result) error {
	if len(r.Content) > maxContents {
		return fault(FaultInvalidResult, "the tool's answer has %d parts, the limit is %d", len(r.Content), maxContents)
	}
	if s := bytes.TrimSpace(r.StructuredContent); len(s) > 0 {
		switch {
		case string(s) == "null":
			r.StructuredContent = nil
		case s[0] != '{':
			return fault(FaultInvalidResult, "the tool's structuredContent is not an object")
		}
	}
	if r.Content == nil {
		r.Content = []abi.Content{}
	}
	for i := range r.Content {
		if err := checkContent(&r.Content[i]); err != nil {
			return err
		}
	}
	return nil
}

// textSize is how many bytes of text a result has.
func textSize(r *abi.Result) int64 {
	n := len(r.StructuredContent)
	for _, c := range r.Content {
		n += len(c.Text) + len(c.Data)
		if c.Resource != nil {
			n += len(c.Resource.Text) + len(c.Resource.Blob)
		}
	}
	return int64(n)
}

func checkContent(c *abi.Content) error {
	c.Text, c.MIMEType = cleanText(c.Text), cleanText(c.MIMEType)
	switch {
	case c.Type == "text", c.Type == "" && c.Text != "":
		c.Type = "text"
	case c.Type == "image" && c.MIMEType != "":
	case c.Type == "resource" && c.Resource != nil:
		c.Resource.URI = cleanText(c.Resource.URI)
		c.Resource.MIMEType = cleanText(c.Resource.MIMEType)
		c.Resource.Text = cleanText(c.Resource.Text)
	default:
		return fault(FaultInvalidResult, "the tool's answer has a part of type %q that this host cannot read", oneLine(c.Type, 40))
	}
	return nil
}
