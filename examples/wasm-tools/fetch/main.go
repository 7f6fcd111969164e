// Fetch is a tool that gets a page of the web as text. It reaches the hosts that
// it is granted.
package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Args is what the tool is called with.
type Args struct {
	URL   string `json:"url" doc:"an http or https address" min:"8" max:"4096"`
	Raw   bool   `json:"raw,omitempty" doc:"return HTML as it is, instead of its text"`
	Start int    `json:"start" doc:"first character to return" min:"0" default:"0"`
	Limit int    `json:"limit" doc:"most characters to return" min:"1" max:"200000" default:"20000"`
}

// Result is what it answers.
type Result struct {
	URL    string `json:"url" doc:"where redirects led"`
	Status int    `json:"status"`
	Type   string `json:"content_type,omitempty"`
	Title  string `json:"title,omitempty"`
	Body   string `json:"text"`
	Total  int    `json:"total" doc:"characters there are"`
	Next   int    `json:"next,omitempty" doc:"start of what was not returned"`
}

// Text is the page, and what a reader should know of it.
func (r Result) Text() string {
	var b strings.Builder
	b.WriteString(r.URL + "\n")
	if r.Title != "" {
		b.WriteString(r.Title + "\n")
	}
	b.WriteString("\n" + r.Body)
	if r.Next > 0 {
		b.WriteString("\n… the page goes on: call again with start " + strconv.Itoa(r.Next))
	}
	return b.String()
}

func main() {}

func init() {
	sdk.Tool("fetch", "Gets a page of the web by GET and returns its text.", fetch,
		sdk.Title("Fetch"), sdk.ReadOnly(), sdk.OpenWorld(),
		sdk.Requests{Reason: "reaches the hosts whose pages it is asked for"})
}

func fetch(c *sdk.Call, a Args) (Result, error) {
	res, err := sdk.Do(c, &abi.HTTPRequest{Method: "GET", URL: a.URL, Headers: map[string]string{
		"Accept": "text/html, text/plain, application/json;q=0.9, */*;q=0.1",
	}})
	if err != nil {
		return Result{}, err // the host's words name the grant that is missing
	}
	r := Result{URL: res.URL, Status: res.Status, Type: header(res, "Content-Type")}
	if err := failed(res); err != nil {
		return Result{}, err
	}
	text, err := decode(res.Body, r.Type)
	if err != nil {
		return Result{}, err
	}
	if isHTML(r.Type, text) && !a.Raw {
		r.Title, text = readable(text)
	}
	r.Body, r.Total, r.Next = page(text, a.Start, a.Limit)
	return r, nil
}

// failed makes an error of a status that is not a success.
func failed(res *abi.HTTPResponse) error {
	switch s := res.Status; {
	case s == 401 || s == 403:
		return sdk.Errorf(abi.AuthRequired, "the server answered %d: it wants to know who asks", s)
	case s == 404 || s == 410:
		return sdk.Errorf(abi.NotFound, "the server answered %d: there is no such page", s)
	case s == 429:
		return sdk.Errorf(abi.RateLimited, "the server answered 429: too many requests")
	case s >= 500:
		return sdk.Errorf(abi.Unavailable, "the server answered %d", s)
	case s >= 400:
		return sdk.Errorf(abi.Input, "the server answered %d", s)
	}
	return nil
}

// header finds a header, whatever its case.
func header(res *abi.HTTPResponse, name string) string {
	for k, v := range res.Headers {
		if strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

// maxText is how many bytes of JSON the text of one answer takes at most. It is
// there twice, as text and as structured content, and the host takes 1 MiB.
const maxText = 450 << 10

// page returns the characters from start on, how many there are, and where the
// rest begins.
func page(text string, start, limit int) (part string, total, next int) {
	total = utf8.RuneCountInString(text)
	if start >= total {
		return "", total, 0
	}
	from, n, size := 0, 0, 0
	for at, c := range text {
		switch {
		case n < start:
		case n == start+limit, size+inJSON(c) > maxText:
			return text[from:at], total, n
		case n == start:
			from = at
			fallthrough
		default:
			size += inJSON(c)
		}
		n++
	}
	return text[from:], total, 0
}

// inJSON is how many bytes a character takes in a JSON string.
func inJSON(c rune) int {
	switch {
	case c == '"', c == '\\', c == '\n', c == '\t', c == '\r':
		return 2
	case c < ' ', c == '\u2028', c == '\u2029':
		return len(`\u2028`)
	}
	return utf8.RuneLen(c)
}
