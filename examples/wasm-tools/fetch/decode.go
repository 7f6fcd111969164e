package main

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// decode makes text of a body, by its content type and what it looks like.
func decode(body []byte, contentType string) (string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = strings.ToLower(strings.TrimSpace(contentType))
	}
	if kind != "" && !textual(kind) {
		return "", sdk.Errorf(abi.Input, "the page is %s, which is not text (%d bytes)", kind, len(body))
	}
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return strings.ToValidUTF8(string(body[3:]), "\ufffd"), nil
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")):
		return wide(body), nil
	case bytes.IndexByte(body[:min(len(body), 8<<10)], 0) >= 0:
		return "", sdk.Errorf(abi.Input, "the page is not text (%d bytes)", len(body))
	}
	charset := strings.ToLower(params["charset"])
	if charset == "" {
		charset = declared(body)
	}
	switch charset {
	case "", "utf-8", "utf8", "us-ascii", "ascii":
		if utf8.Valid(body) {
			return string(body), nil
		}
		if charset != "" {
			return strings.ToValidUTF8(string(body), "\ufffd"), nil
		}
		return latin(body), nil // what browsers take an unnamed one for
	case "iso-8859-1", "latin1", "windows-1252", "cp1252", "iso-8859-15":
		return latin(body), nil
	}
	if utf8.Valid(body) { // mostly ASCII, which most charsets have in common
		return string(body), nil
	}
	return "", sdk.Errorf(abi.Input, "the page is in the charset %.40q, which this tool does not read", charset)
}

// textual says that a content type is one to be read.
func textual(kind string) bool {
	for _, suffix := range []string{"json", "xml", "javascript", "yaml", "x-www-form-urlencoded", "csv", "markdown"} {
		if strings.HasSuffix(kind, suffix) {
			return true
		}
	}
	return strings.HasPrefix(kind, "text/")
}

// declared returns the charset that HTML names in its first kilobyte.
func declared(body []byte) string {
	head := strings.ToLower(string(body[:min(len(body), 1024)]))
	_, rest, ok := strings.Cut(head, "charset=")
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, `"' `)
	if i := strings.IndexAny(rest, `"'/> ;`); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// windows1252 is what the bytes from 0x80 to 0x9f mean in windows-1252, which
// the web takes latin-1 for (WHATWG Encoding Standard).
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func latin(body []byte) string {
	high := []rune(windows1252)
	var b strings.Builder
	b.Grow(len(body) + len(body)/8)
	for _, c := range body {
		if c >= 0x80 && c <= 0x9f {
			b.WriteRune(high[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

// wide reads UTF-16 with a byte order mark.
func wide(body []byte) string {
	little := body[0] == 0xff
	units := make([]uint16, 0, len(body)/2)
	for i := 2; i+1 < len(body); i += 2 {
		u := uint16(body[i])<<8 | uint16(body[i+1])
		if little {
			u = u>>8 | u<<8
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}
