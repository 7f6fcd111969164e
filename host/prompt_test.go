package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
)

// field report 16 of loops: the message argument of an agent as a tool in a slightly
// wrong shape.
func TestPromptsAreReadInTheShapesThatModelsWrite(t *testing.T) {
	for args, want := range map[string]string{
		`{"prompt":"do it"}`:                                            "do it",
		`{"prompt":" do\n it "}`:                                        " do\n it ",
		`{"prompt":"do it","temperature":0}`:                            "do it",
		`{"message":"do it"}`:                                           "do it",
		`{"role":"user","content":"do it"}`:                             "do it",
		`{"content":"do it"}`:                                           "do it",
		`{"content":[{"type":"text","text":"do it"}]}`:                  "do it",
		`{"role":"user","content":[{"text":"do "},{"text":"it"}]}`:      "do it",
		`{"prompt":{"role":"user","content":"do it"}}`:                  "do it",
		`{"prompt":[{"role":"user","content":"do"},{"content":"it"}]}`:  "do\n\nit",
		`{"messages":[{"role":"user","content":[{"text":"do it"}]}]}`:   "do it",
		`{"user_message":{"role":"user","content":[{"text":"do it"}]}}`: "do it",
	} {
		if got, err := host.ReadPrompt(json.RawMessage(args)); err != nil || got != want {
			t.Errorf("%s is read as %q, %v", args, got, err)
		}
	}
	for _, args := range []string{
		``, `null`, `"do it"`, `[]`, `{}`, `{"prompt":""}`, `{"prompt":"  \n"}`, `{"prompt":null}`, `{"prompt":7}`, `{"prompt":[]}`, `{"prompt":["do it"]}`, `{"prompt":{}}`,
		`{"a":"x","b":"y"}`, `{"role":"system","content":"x"}`, `{"role":"assistant","content":"x"}`, `{"role":"user"}`, `{"content":[]}`, `{"content":[{"type":"image"}]}`,
		`{"messages":[{"role":"user","content":"x"},{"role":"system","content":"y"}]}`, `{"a":{"b":{"content":"x"}}}`, `{"prompt":"a","prompt":"b"}`, `{"prompt":"a"`,
		strings.Repeat(`{"a":`, 5000) + `"x"` + strings.Repeat("}", 5000),
	} {
		if got, err := host.ReadPrompt(json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), `{"prompt": "what it is to do"}`) {
			t.Errorf("%.80s is read as %q, %v", args, got, err)
		}
	}
}

func FuzzReadPrompt(f *testing.F) {
	for _, s := range []string{`{"prompt":"a"}`, `{"messages":[{"role":"user","content":[{"text":"a"}]}]}`, `{"content":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		text, err := host.ReadPrompt(args)
		if (err == nil) != (strings.TrimSpace(text) != "") {
			t.Errorf("%q: %q, %v", args, text, err)
		}
	})
}
