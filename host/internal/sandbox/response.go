package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// What a guest answers is read as hostile input: its size was bounded before
// it was copied, its depth is bounded before it is decoded.
const (
	maxDepth    = 100
	maxContents = 1000
	maxTools    = 500
	maxToolName = 128
)

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
	if err := json.Unmarshal(cleanJSON(raw), &r); err != nil {
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
	if len(trimmed) == 0 || trimmed[0] != '{' || checkDepth(trimmed) != nil && !json.Valid(trimmed) {
		return nil, false
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

// parseDescription reads what describe returned.
func parseDescription(raw []byte) (abi.Description, error) {
	var d abi.Description
	if err := checkDepth(raw); err != nil {
		return d, err
	}
	if err := json.Unmarshal(cleanJSON(raw), &d); err != nil {
		f := fault(FaultInvalidResult, "the module's description is not valid")
		f.Detail = oneLine(err.Error(), maxMessage)
		return d, f
	}
	if len(d.Tools) == 0 {
		return d, fault(FaultInvalidResult, "the module describes no tool")
	}
	if len(d.Tools) > maxTools {
		return d, fault(FaultInvalidResult, "the module describes %d tools, the limit is %d", len(d.Tools), maxTools)
	}
	seen := make(map[string]bool)
	for i := range d.Tools {
		if err := checkTool(&d.Tools[i], seen); err != nil {
			return d, err
		}
	}
	return d, nil
}

func checkTool(t *abi.Tool, seen map[string]bool) error {
	name := oneLine(t.Name, maxToolName)
	switch {
	case name == "" || name != t.Name:
		return fault(FaultInvalidResult, "the module describes a tool whose name %q is empty, too long or not printable", name)
	case seen[name]:
		return fault(FaultInvalidResult, "the module describes the tool %q twice", name)
	}
	seen[name] = true
	t.Title, t.Description = cleanText(t.Title), cleanText(t.Description)
	for what, schema := range map[string]*json.RawMessage{"inputSchema": &t.InputSchema, "outputSchema": &t.OutputSchema} {
		s := bytes.TrimSpace(*schema)
		switch {
		case len(s) == 0 || string(s) == "null":
			*schema = nil
		case s[0] != '{':
			return fault(FaultInvalidResult, "the %s of tool %q is not an object", what, name)
		}
	}
	return nil
}

var errTooDeep = errors.New("nested too deeply")

// checkDepth bounds how deeply JSON is nested, without decoding it.
func checkDepth(raw []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return malformed(errTooDeep)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// cleanJSON replaces, in place of the same length, what JSON may hold and text
// may not: escaped NUL and halves of surrogate pairs. Bytes that are not UTF-8
// are replaced as well.
func cleanJSON(raw []byte) []byte {
	out := bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		i++
		if out[i] != 'u' || i+4 >= len(out) {
			continue
		}
		switch u := hex4(out[i+1:]); {
		case u == 0, u >= 0xDC00 && u < 0xE000:
			copy(out[i+1:], "fffd")
		case u >= 0xD800 && u < 0xDC00:
			if i+10 < len(out) && out[i+5] == '\\' && out[i+6] == 'u' {
				if low := hex4(out[i+7:]); low >= 0xDC00 && low < 0xE000 {
					i += 10
					continue
				}
			}
			copy(out[i+1:], "fffd")
		}
		i += 4
	}
	return out
}

// hex4 reads four hexadecimal digits; -1 if they are none.
func hex4(b []byte) int {
	v := 0
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return v
}
