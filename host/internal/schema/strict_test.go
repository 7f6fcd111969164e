package schema

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestStrictRefusesWhatReadersUnderstandDifferently(t *testing.T) {
	lim := Limits{Bytes: 60, Depth: 3, Values: 6}
	for text, want := range map[string]string{
		`{"a":[1,-0.5e+3,true,false]}`: ``, ` null `: ``, `"\u00e4\ud83d\ude00\n"`: ``, `{"a":1,"b":{"a":2}}`: ``,
		``:                   `there is no JSON (at byte 0)`,
		`[1,]`:               `found ']' where a value should be (at byte 3)`,
		`[1 2]`:              `found '2' where "," or "]" should be (at byte 3)`,
		`{"a" 1}`:            `found '1' where ":" should be (at byte 5)`,
		`{a:1}`:              `found 'a' where a key in double quotes should be (at byte 1)`,
		`{"a":1,}`:           `found '}' where a key in double quotes should be (at byte 7)`,
		`[1`:                 `the JSON ends where "," or "]" should be (at byte 2)`,
		`nul`:                `found 'n' where a value should be (at byte 0)`,
		`01`:                 `more text after the JSON value (at byte 1)`,
		`+1`:                 `found '+' where a value should be (at byte 0)`,
		`1.`:                 `the JSON ends where a digit should be (at byte 2)`,
		`1e`:                 `the JSON ends where a digit should be (at byte 2)`,
		`-`:                  `the JSON ends where a digit should be (at byte 1)`,
		`1 2`:                `more text after the JSON value (at byte 2)`,
		`"\x"`:               `an unknown escape in a string (at byte 2)`,
		`"\u12g4"`:           `an escape in a string is not four hexadecimal digits (at byte 2)`,
		`"\ud800\u0041"`:     `half of a surrogate pair in a string (at byte 13)`,
		`"\udc00"`:           `half of a surrogate pair in a string (at byte 7)`,
		`"abc`:               `a string has no end (at byte 4)`,
		"\"a\tb\"":           `a control character in a string (at byte 2)`,
		"\"\xc3\x28\"":       `not valid UTF-8 (at byte 1)`,
		`{"\u0061":1,"a":2}`: `the key "a" is there twice (at byte 12)`,
		`[[[[]]]]`:           `more than 3 arrays and objects inside each other (at byte 3)`,
		`[1,2,3,4,5,6]`:      `more than 6 values (at byte 11)`,
		`1e309`:              `a number is too long, too large or too small (at byte 0)`,
		`[1e-99999]`:         `a number is too long, too large or too small (at byte 1)`,
		`"0123456789012345678901234567890123456789012345678901234567890123456789"`: `72 bytes of JSON, the limit is 60 (at byte 0)`,
	} {
		got := ""
		err := Strict([]byte(text), lim)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
		if fault := (*SyntaxError)(nil); err != nil && !errors.As(err, &fault) {
			t.Errorf("%s: %T", text, err)
		}
	}
}

// FuzzStrict compares with the standard library: what is accepted here is valid
// there and decodes to the same when it is encoded again.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,true,null]}`, `"\ud83d\ude00\u0000"`, `{"a":1,"\u0061":2}`, `[[[[`, "\"\xff\"", `1e400`, `{"":{}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if Strict(raw, Limits{}) != nil {
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is accepted and not JSON", raw)
		}
		v, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		w, err := decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(canonical(nil, v)) != string(canonical(nil, w)) {
			t.Fatalf("%q decodes to another value when encoded again", raw)
		}
	})
}
