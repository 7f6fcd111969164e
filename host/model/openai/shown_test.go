package openai_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
	"github.com/wagent-dev/wagent/host/visible"
)

// foreignKey begins like no key that is known, so only itself gives it away.
const foreignKey = "q7/0123456789+ABCDEF0123456789abcdef=="

// places are answers that have a text of the endpoint's own in every place that
// an error or a reply takes one from. The text stands in JSON as it is.
func places(text string) map[string]http.HandlerFunc {
	bare := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	object := `{"message":"` + text + `","code":"` + text + `","type":"` + text + `","param":"` + text + `","failed_generation":"` + text + `"}`
	return map[string]http.HandlerFunc{
		"error":              bare(400, `{"error":`+object+`}`),
		"not allowed":        bare(401, `{"error":`+object+`}`),
		"failed generation":  bare(400, `{"error":{"code":"tool_use_failed","failed_generation":"`+text+`"}}`),
		"string":             bare(500, `{"error":"`+text+`"}`),
		"detail":             bare(422, `{"detail":[{"loc":["body","`+text+`"],"msg":"`+text+`"}]}`),
		"named parameter":    bare(400, `{"error":"unknown parameter '`+text+`'"}`),
		"page":               bare(502, `<h1>`+text+`</h1>`),
		"other JSON":         bare(400, `{"`+text+`":1}`),
		"raw":                bare(400, `{"error":{"message":"m","metadata":{"raw":"`+text+`"}}}`),
		"no JSON":            raw("text/plain", text),
		"no choices":         raw("application/json", `{"id":"`+text+`","x":"`+text+`"}`),
		"flat":               raw("application/json", object),
		"error event":        events("event: error\ndata: " + object),
		"error chunk":        events(delta(`"content":"so far"`), `{"error":`+object+`}`),
		"string event":       events(`data: "` + text + `"`),
		"chunk without JSON": events(`data: {` + text),
		"id of a reply":      events(`{"id":"`+text+`","choices":[{"delta":{"content":"fine"},"finish_reason":"stop"}]}`, done),
		"names and arguments": events(calls(`{"index":0,"id":"`+text+`","function":{"name":"functions.read","arguments":"`+text+`"}},`+
			`{"index":1,"id":"b","function":{"name":"`+text+`","arguments":"`+text+`"}}`), finish("tool_calls"), done),
	}
}

// shown is all that is shown of a call that failed or went well.
func shown(reply *model.Reply, err error) (texts []string) {
	var failed *model.Error
	if errors.As(err, &failed) {
		texts = append(texts, failed.Message, failed.Code, failed.Param, failed.RequestID)
	}
	for ; err != nil; err = errors.Unwrap(err) {
		texts = append(texts, err.Error())
	}
	if reply != nil {
		texts = append(append(texts, reply.RequestID), reply.Warnings...)
	}
	return texts
}

func TestWordsOfTheEndpointAreBoundedLinesThatHideNothing(t *testing.T) {
	hidden := "a\u202egnp\u200b\u0085b\u2028c\U000e0041d"
	for _, text := range []string{`a\u001b[31m\r\nb` + hidden, hidden, strings.Repeat("x", 100_000), strings.Repeat("0", 100_000) + "1"} {
		for name, answer := range places(text) {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", "r\u202e"+text[:min(len(text), 4000)])
				answer(w, r)
			})
			reply, err := client(t, server.url).Generate(t.Context(), offer("read"), nil)
			for _, said := range shown(reply, err) {
				if len(said) > 1000 || strings.ContainsFunc(said, visible.Hidden) {
					t.Errorf("%s: shown is %q", name, said)
				}
			}
		}
	}
	failed := failure(t, serve(t, status(400, `{"error":{"message":"a\u001b[31m\r\nb`+strings.Repeat("x", 5000)+`"}}`)), modeltest.Hello())
	if len(failed.Message) > 600 || !strings.HasPrefix(failed.Message, `a\u{1b}[31m bx`) {
		t.Errorf("message = %q", failed.Message)
	}
}

func TestKeyIsNeverShown(t *testing.T) {
	// However the message is cut, no half of the key is left at its end.
	texts := []string{foreignKey, "Bearer " + foreignKey, "sk-proj-abcdefghijklmnop"}
	for n := range 8 {
		texts = append(texts, strings.Repeat("x", 510+12*n)+" "+foreignKey, strings.Repeat("x", 90+5*n)+" "+foreignKey)
	}
	for _, text := range texts {
		for name, answer := range places(text) {
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Request-Id", text)
				answer(w, r)
			})
			var retried []error
			reply, err := client(t, server.url, attempts(2), func(o *openai.Options) { o.APIKey = foreignKey }).Generate(t.Context(), offer("read"), func(c model.Chunk) {
				if c.Retry != nil {
					retried = append(retried, c.Retry.Err)
				}
			})
			said := shown(reply, err)
			for _, err := range retried {
				said = append(said, shown(nil, err)...)
			}
			var failed *model.Error
			if errors.As(err, &failed) && !strings.Contains(text, "sk-proj") { // what a model wrote is searched for our key only
				said = append(said, failed.Partial)
			}
			for _, s := range said {
				if strings.Contains(s, "q7/01") || strings.Contains(s, "abcdefghijklmnop") {
					t.Errorf("%s: the key is in %q", name, s)
				}
			}
		}
	}
	elsewhere := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://sk-proj-abcdefghijklmnop.example/")
		w.WriteHeader(http.StatusFound)
	})
	if failed := failure(t, elsewhere, modeltest.Hello()); strings.Contains(failed.Error(), "abcdefghijklmnop") {
		t.Errorf("error = %v", failed)
	}
	failed := failure(t, serve(t, status(401, `{"error":{"message":"Incorrect key: Bearer `+testKey+` or sk-proj-abcdefghijklmnop","code":"`+testKey+`"}}`)), modeltest.Hello())
	if want := "Incorrect key: Bearer [redacted] or [redacted]"; failed.Message != want || failed.Code != "[redacted]" {
		t.Errorf("error = %+v, want %q", failed, want)
	}
}

func TestLongNamesAndManyWarningsAreBounded(t *testing.T) {
	var list []string
	for i := range 1000 {
		list = append(list, `{"id":"","function":{"name":"n`+strings.Repeat(string(rune('a'+i%26)), 1+i)+`","arguments":"["}}`)
	}
	reply := generate(t, serve(t, raw("application/json", message(`"tool_calls":[`+strings.Join(list, ",")+`]`, "tool_calls"))), offer("read"), whole)
	if len(reply.Warnings) > 64 {
		t.Errorf("%d warnings", len(reply.Warnings))
	}
	for _, c := range reply.Message.ToolCalls {
		if len(c.Name) > 512 {
			t.Fatalf("a name of %d bytes", len(c.Name))
		}
	}
	grown := events(calls(`{"index":0,"id":"a","function":{"name":"x"}}`)+strings.Repeat("\n\ndata: "+calls(`{"index":0,"function":{"name":"yz"}}`), 20_000), finish("tool_calls"), done)
	if c := generate(t, serve(t, grown), offer("read")).Message.ToolCalls[0]; len(c.Name) != 512 || strings.ContainsFunc(c.Name, unicode.IsSpace) {
		t.Errorf("a name of %d bytes", len(c.Name))
	}
}
