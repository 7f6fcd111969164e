package openai

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// What is taken apart in place is what decoding gives, for all JSON there is.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, ` { "a" : [1, {"b":"}"}], "c\"\\":"\\", "é":null , "a":true} `, `[]`, `[1,"]",[],{}]`, `{"a"`, `{"a":}`, `[1`, `"\\\""`,
		`{"":""}`, "{\"\xff\":1}", `{"\ud800":"\ud83d\ude00"}`, `null`, `{"a":1}x`, `[,]`, `{"a":1,}`, "\"\x01\"", `"\"`, `""x""`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := readObject(raw)
		var want object
		if err := json.Unmarshal(raw, &want); (err == nil && want != nil) != ok {
			t.Fatalf("%q: %t, %v", raw, ok, err)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); ok && d != "" {
			t.Fatalf("%q: %s", raw, d)
		}
		_, _ = splitObject(raw)                        // must not panic
		list, valid := splitList(raw), json.Valid(raw) // nor this
		if trimmed := bytes.TrimSpace(raw); valid && trimmed[0] == '[' {
			var want []json.RawMessage
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, list); d != "" {
				t.Fatalf("%q: %s", raw, d)
			}
		}
		var s string
		if json.Unmarshal(raw, &s) == nil && string(raw) != "null" && s != readString(raw) && bytes.TrimSpace(raw)[0] == '"' {
			t.Fatalf("%q: %q, want %q", raw, readString(raw), s)
		}
	})
}
