package sandbox

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func text1(s string) abi.Result { return textResult(s, false) }

func TestAnswersAreReadAsTheABISays(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)
	for _, tc := range []struct {
		raw   string
		want  abi.Result
		fault Fault
	}{
		{raw: `{"v":1,"content":[{"type":"text","text":"a"}]}`, want: text1("a")},
		{raw: ` {"content":[{"type":"text","text":"a"}],"isError":true}` + "\n", want: textResult("a", true)},
		{raw: `{"content":null,"structuredContent":{"n":1}}`, want: abi.Result{Content: []abi.Content{}, StructuredContent: json.RawMessage(`{"n":1}`)}},
		{raw: `{"content":[{"text":"no type"}]}`, want: text1("no type")},
		{raw: `{"v":1}`, want: abi.Result{Content: []abi.Content{}}},
		{raw: `plain text`, want: text1("plain text")},
		{raw: "plain \xff\x00 text", want: text1("plain \uFFFD\uFFFD text")},
		{raw: ``, want: text1("")},
		{raw: `{"words":3}`, want: text1(`{"words":3}`)},
		{raw: `{"content":"a file's"}`, want: text1(`{"content":"a file's"}`)},
		{raw: `{"content":[`, want: text1(`{"content":[`)},
		{raw: `[1,2]`, want: text1(`[1,2]`)},
		{raw: deep, want: text1(deep)},
		{raw: `{"content":[{"type":"text","text":"a\u0000b\ud800c\ud83d\ude00\\u0000"}]}`, want: text1("a\uFFFDb\uFFFDc😀\\u0000")},
		{raw: `{"v":1,"error":{"kind":"input","message":"no"}}`, want: textResult("input: no", true)},
		{raw: `{"error":{"kind":"rate_limited","message":"busy","retry_after_ms":1500}}`, want: textResult("rate_limited: busy (try again after 1.5s)", true)},
		{raw: `{"error":{"kind":"odd","message":"it broke"}}`, want: textResult("it broke", true)},
		{raw: `{"error":{}}`, want: textResult("the tool failed and gave no reason", true)},
		{raw: `{"content":[{"type":"image","data":"QQ==","mimeType":"image/png"}]}`, want: abi.Result{Content: []abi.Content{{Type: "image", Data: []byte("A"), MIMEType: "image/png"}}}},

		{raw: `{"v":2,"content":[]}`, fault: FaultInvalidResult},
		{raw: `{"v":1,"content":"x"}`, fault: FaultInvalidResult},
		{raw: `{"content":[{"type":"video"}]}`, fault: FaultInvalidResult},
		{raw: `{"content":[{"type":"image"}]}`, fault: FaultInvalidResult},
		{raw: `{"content":[{"type":"image","data":"*","mimeType":"a/b"}]}`, fault: FaultInvalidResult},
		{raw: `{"v":1,"structuredContent":[1]}`, fault: FaultInvalidResult},
		{raw: `{"v":1,"content":` + deep + `}`, fault: FaultInvalidResult},
		{raw: `{"content":[` + strings.Repeat(`{},`, maxContents) + `{}]}`, fault: FaultInvalidResult},
	} {
		got, err := parseResponse([]byte(tc.raw))
		if tc.fault != "" {
			if f, ok := err.(*FaultError); !ok || f.Fault != tc.fault {
				t.Errorf("%.60s: got %v %v", tc.raw, got, err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%.60s: %v %s", tc.raw, err, diff)
		}
	}
}

func TestDescriptionsAreCheckedAndTheirSchemasAreObjects(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b b"}]}`: true,
		`{"tools":[{"name":"a","inputSchema":null}]}`:                             true,
		`{"tools":[]}`:                                            false,
		`[]`:                                                      false,
		`{"tools":[{"name":""}]}`:                                 false,
		`{"tools":[{"name":"a\u001b[2J"}]}`:                       false,
		`{"tools":[{"name":"a"},{"name":"a"}]}`:                   false,
		`{"tools":[{"name":"a","inputSchema":[]}]}`:               false,
		`{"tools":[{"name":"a","outputSchema":true}]}`:            false,
		`{"tools":[{"name":"` + strings.Repeat("a", 129) + `"}]}`: false,
		`{"tools":[` + strings.Repeat(`[`, 200) + `]}`:            false,
	} {
		if _, err := parseDescription([]byte(raw)); (err == nil) != ok {
			t.Errorf("%.60s: %v", raw, err)
		}
	}
}

func FuzzResponseIsCleanOrRefused(f *testing.F) {
	for _, s := range []string{`{"v":1,"content":[{"type":"text","text":"a\u0000\ud800"}],"structuredContent":{"a":"\u0000"}}`, `{"error":{"kind":"input"}}`, "x\x00\xff", `{"v":1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := parseResponse(raw)
		if err != nil {
			return
		}
		for _, c := range r.Content {
			if !utf8.ValidString(c.Text) || strings.ContainsRune(c.Text, 0) {
				t.Errorf("not clean: %q", c.Text)
			}
		}
		if len(r.StructuredContent) > 0 && !json.Valid(r.StructuredContent) {
			t.Errorf("not JSON: %q", r.StructuredContent)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}

func FuzzDescriptionNeverPanics(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := parseDescription(raw)
		if err == nil && len(d.Tools) == 0 {
			t.Error("no tools and no error")
		}
	})
}

// Bytes that are no text become longer ones: the limit holds for what is passed on.
func TestWhatIsPassedOnIsWithinTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		kind Fault
	}{
		"text":          {strings.Repeat("a", 2000), ""},
		"what is none":  {strings.Repeat("\xff\x00", 1000), FaultOutput},
		"in a response": {`{"content":[{"type":"text","text":"` + strings.Repeat("a\xff", 1000) + `"}]}`, FaultOutput},
	} {
		res, err := passedOn([]byte(c.text), 3000)
		var got *FaultError
		errors.As(err, &got)
		switch {
		case c.kind == "" && (err != nil || textSize(&res) != 2000):
			t.Errorf("%s: %v", name, err)
		case c.kind != "" && (got == nil || got.Fault != c.kind):
			t.Errorf("%s: %v", name, err)
		}
	}
}
