package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

// answers stands for a server that gives a body of a content type.
func answers(contentType, body string) sdktest.Option {
	return sdktest.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		fmt.Fprint(w, body)
	}))
}

func TestHTMLBecomesText(t *testing.T) {
	for in, want := range map[string]string{
		"<p>One</p><p>Two <b>bold</b> words</p>":                          "One\n\nTwo bold words",
		"<h2>Head</h2><ul><li>a<li>b</ul>":                                "## Head\n\n- a\n- b",
		"a<br>b &amp; c&nbsp;d":                                           "a\nb & c d",
		"<script>if (a < b) '</p>'</script>seen<style>p{}</style>":        "seen",
		"<!-- <p>no</p> -->yes":                                           "yes",
		"<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>": "1 | 2 | \n3 |",
		"<pre>a  b\n  c</pre>":                                            "a  b\n  c",
		"1 < 2 and <a title='x > y' href=\"#\">link</a>":                  "1 < 2 and link",
		"<img src=x alt=\"a &quot;cat&quot;\">":                           "[a \"cat\"]",
		"<div>  many \n\n spaces </div>\n<div>next</div>":                 "many spaces\nnext",
		"<p don't>first</p><p class='a'>it's</p>":                         "first\n\nit's",
		"<a title = 'x > y'\n\">link</a>, <b \"'>bold</b>":                "link, bold",
		"<p":                   "",
		"<script>never closed": "",
	} {
		res := sdktest.Call(t, "fetch", `{"url":"https://a.example/"}`, answers("text/html; charset=utf-8", in))
		var got Result
		if err := res.Decode(&got); err != nil {
			t.Fatal(err, res.Error)
		}
		if got.Body != want {
			t.Errorf("%s\ngot  %q\nwant %q", in, got.Body, want)
		}
	}
}

func TestTheTitleIsApart(t *testing.T) {
	res := sdktest.Call(t, "fetch", `{"url":"https://a.example/"}`, answers("text/html", "<title>A &amp;\n B</title><body>text"))
	if got, want := res.Text(), "https://a.example/\nA & B\n\ntext"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCharsets(t *testing.T) {
	for _, c := range []struct{ kind, body, want string }{
		{"text/plain", "gr\xfcn", "grün"},
		{"text/plain; charset=ISO-8859-1", "\x80 \xe9", "€ é"},
		{"text/plain; charset=utf-8", "a\xff", "a\ufffd"},
		{"text/html", "<meta charset=\"windows-1252\">\x93q\x94", "“q”"},
		{"text/plain", "\xff\xfeh\x00i\x00", "hi"},
		{"application/json", `{"a":1}`, `{"a":1}`},
		{"", "plain", "plain"},
		{"text/plain; charset=shift_jis", "ASCII", "ASCII"},
	} {
		res := sdktest.Call(t, "fetch", `{"url":"https://a.example/"}`, answers(c.kind, c.body))
		var got Result
		if err := res.Decode(&got); err != nil {
			t.Fatal(err, res.Error)
		}
		if got.Body != c.want {
			t.Errorf("%s: got %q, want %q", c.kind, got.Body, c.want)
		}
	}
}

func TestLongPagesAreReadInPieces(t *testing.T) {
	page := answers("text/plain", strings.Repeat("é", 30)+"end")
	res := sdktest.Call(t, "fetch", `{"url":"https://a.example/","limit":30}`, page)
	if !strings.HasSuffix(res.Text(), "call again with start 30") {
		t.Errorf("got %q", res.Text())
	}
	res = sdktest.Call(t, "fetch", `{"url":"https://a.example/","start":30}`, page)
	if !strings.HasSuffix(res.Text(), "\n\nend") {
		t.Errorf("got %q", res.Text())
	}
}

// The host's limit is 1 MiB, and a page may be one that takes much room in JSON.
func TestAPieceStaysBelowTheLimitOfTheHost(t *testing.T) {
	for _, c := range []string{"語", "\x01", "\"", "<", "\u2028", "\n.", "x"} {
		text := strings.Repeat(c, 250_000)
		var back strings.Builder
		for next := 0; next > 0 || back.Len() == 0; {
			res := sdktest.Call(t, "fetch", map[string]any{"url": "https://a.example/", "limit": 200_000, "start": next}, answers("text/plain; charset=utf-8", text))
			var got Result
			if err := res.Decode(&got); err != nil {
				t.Fatal(err, res.Error)
			}
			sent := 2 * len(res.StructuredContent)
			if sent > 1<<20 || got.Total != 250_000*len([]rune(c)) {
				t.Errorf("%q from %d: %d bytes, %d in all", c, next, sent, got.Total)
			}
			back.WriteString(got.Body)
			next = got.Next
		}
		if back.String() != text {
			t.Errorf("%q: the pieces are not the page", c)
		}
	}
}

func TestWhereARedirectLedIsTold(t *testing.T) {
	moved := sdktest.HTTP(func(*abi.HTTPRequest) *abi.HTTPResponse {
		return &abi.HTTPResponse{Status: 200, URL: "https://b.example/new", Headers: map[string]string{"content-type": "text/plain"}, Body: []byte("here")}
	})
	res := sdktest.Call(t, "fetch", `{"url":"https://a.example/old"}`, moved)
	if got, want := res.Text(), "https://b.example/new\n\nhere"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestErrorsTellWhatToDo(t *testing.T) {
	status := func(n int) sdktest.Option {
		return sdktest.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(n) }))
	}
	for _, c := range []struct {
		opt  sdktest.Option
		kind abi.ErrorKind
		want string
	}{
		{sdktest.Denied("allow.http: - {host: a.example}"), abi.AuthRequired, "allow.http: - {host: a.example}"},
		{status(404), abi.NotFound, "404"},
		{status(403), abi.AuthRequired, "403"},
		{status(429), abi.RateLimited, "429"},
		{status(502), abi.Unavailable, "502"},
		{status(418), abi.Input, "418"},
		{answers("image/png", "\x89PNG"), abi.Input, "image/png, which is not text"},
		{answers("text/plain", "a\x00b"), abi.Input, "not text"},
		{answers("text/plain; charset=Shift_JIS", "\x93\xfa\x96\x7b"), abi.Input, `the charset "shift_jis", which this tool does not read`},
	} {
		res := sdktest.Call(t, "fetch", `{"url":"https://a.example/"}`, c.opt)
		if res.Error == nil || res.Error.Kind != c.kind || !strings.Contains(res.Error.Message, c.want) {
			t.Errorf("got %+v, want %s %q", res.Error, c.kind, c.want)
		}
	}
}

func FuzzReadable(f *testing.F) {
	for _, s := range []string{"<p>a</p>", "<script>", "<!--", "<a b='c>d'>", "<td", "&#x41;&bogus;", "<<<>>>"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { readable(s) })
}
