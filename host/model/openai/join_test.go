package openai

import (
	"encoding/json"
	"testing"
)

// A string is written as encoding/json writes it, whatever is in it.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\b\f\x00\x1f\x7f", "<&>", "é\u2028\u2029", "\xff\xc3", "\ufffd", "a\xffb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendString([]byte("x"), s); string(got) != "x"+string(want) {
			t.Fatalf("%q: %s, want %s", s, got, want)
		}
		members := map[string]json.RawMessage{s: want, s + "b": want, "a": []byte("{}")}
		want, err = marshal(members)
		if err != nil || string(joinMembers(members)) != string(want) {
			t.Fatalf("%s, want %s, %v", joinMembers(members), want, err)
		}
	})
}
