package sdk

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// marshal is json.Marshal without escapes for HTML: a model reads this.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// writeResponse is marshal for a response.
func writeResponse(r *abi.Response) ([]byte, error) {
	if b, ok := appendResponse(r); ok {
		return b, nil
	}
	return marshal(r)
}

// appendResponse writes what nearly every response is: texts, structured content
// without white space, or an error. It does not write others.
func appendResponse(r *abi.Response) (b []byte, ok bool) {
	if !writable(r) {
		return nil, false
	}
	b = append(make([]byte, 0, roughly(r)), `{"v":`...)
	b = strconv.AppendInt(b, int64(r.V), 10)
	if r.Content != nil {
		b = append(b, `,"content":[`...)
		for i, c := range r.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(b, `{"type":`...), c.Type)
			if c.Text != "" {
				b = appendString(append(b, `,"text":`...), c.Text)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	if len(r.StructuredContent) > 0 {
		b = append(append(b, `,"structuredContent":`...), r.StructuredContent...)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	if r.Error != nil {
		b = appendError(append(b, `,"error":`...), r.Error)
	}
	return append(b, '}'), true
}

// writeHTTPRequest is marshal for a request.
func writeHTTPRequest(r *abi.HTTPRequest) ([]byte, error) {
	names := slices.Sorted(maps.Keys(r.Headers))
	plain := simple(r.Method) && simple(r.URL)
	for _, n := range names {
		plain = plain && simple(n) && simple(r.Headers[n])
	}
	if !plain {
		return marshal(r)
	}
	b := make([]byte, 0, 128+len(r.URL)+64*len(names)+base64.StdEncoding.EncodedLen(len(r.Body)))
	b = appendString(append(b, `{"method":`...), r.Method)
	b = appendString(append(b, `,"url":`...), r.URL)
	for i, n := range names {
		between := `,`
		if i == 0 {
			between = `,"headers":{`
		}
		b = append(appendString(append(b, between...), n), ':')
		b = appendString(b, r.Headers[n])
	}
	if len(names) > 0 {
		b = append(b, '}')
	}
	if len(r.Body) > 0 {
		b = base64.StdEncoding.AppendEncode(append(b, `,"body":"`...), r.Body)
		b = append(b, '"')
	}
	return append(b, '}'), nil
}

func appendError(b []byte, e *abi.Error) []byte {
	b = appendString(append(b, `{"kind":`...), string(e.Kind))
	b = appendString(append(b, `,"message":`...), e.Message)
	if e.RetryAfterMS != 0 {
		b = strconv.AppendInt(append(b, `,"retry_after_ms":`...), e.RetryAfterMS, 10)
	}
	return append(b, '}')
}

// writable says whether appendResponse can write r.
func writable(r *abi.Response) bool {
	for _, c := range r.Content {
		if len(c.Data) > 0 || c.MIMEType != "" || c.Resource != nil || !simple(c.Type) || !simple(c.Text) {
			return false
		}
	}
	if e := r.Error; e != nil && (!simple(string(e.Kind)) || !simple(e.Message)) {
		return false
	}
	s := scanner{data: r.StructuredContent, dense: true}
	return r.V != 0 && (len(s.data) == 0 || s.skip() && s.at == len(s.data))
}

// roughly is about how many bytes r has in JSON.
func roughly(r *abi.Response) int {
	n := 128 + len(r.StructuredContent)
	for _, c := range r.Content {
		n += len(c.Text) + len(c.Text)/8 + 32
	}
	return n
}

// simple says whether no character of s beyond ASCII needs an escape.
func simple(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\u2028") && !strings.Contains(s, "\u2029")
}

// appendString writes a simple string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			b = appendEscape(append(b, s[done:i]...), c)
			done = i + 1
		}
	}
	return append(append(b, s[done:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
