package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// values have every character that some encoding writes in another way.
var values = []string{
	"ghp_0123456789abcdefGHIJ", `p"a\s/s<w>&o%r+d=~`, "%25%41%zz", `\n\u0041\\x`, "a b c d e", "aaaaaaaa", "AAAAAAAA====", "~~~???>>>",
}

// forms are how a server or a program may write a value.
func forms(v string) map[string]string {
	out := map[string]string{
		"raw": v, "hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))),
		"query": url.QueryEscape(v), "path": url.PathEscape(v), "lines": v[:3] + "\r\n" + v[3:],
	}
	quoted, _ := json.Marshal(v)
	out["json"] = string(quoted[1 : len(quoted)-1])
	var every, unicode, reversed, spaced strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&every, "%%%02x", v[i])
		fmt.Fprintf(&unicode, `\u%04X`, v[i])
		fmt.Fprintf(&spaced, "%02x:", v[i])
		reversed.WriteByte(v[len(v)-1-i])
	}
	out["every"], out["unicode"], out["reversed"] = every.String(), unicode.String(), reversed.String()
	out["spaced"] = strings.TrimSuffix(spaced.String(), ":")
	out["slashes"] = strings.ReplaceAll(out["json"], "/", `\/`)
	for n, before := range []string{"", "x", "xy", "user:"} {
		for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.RawURLEncoding} {
			b := e.EncodeToString([]byte(before + v + "after"))
			out[fmt.Sprint("base64 ", name, n)] = b
			out[fmt.Sprint("base64 escaped ", name, n)] = url.QueryEscape(b)
			out[fmt.Sprint("base64 lines ", name, n)] = b[:8] + "\n" + b[8:]
			out[fmt.Sprint("base64 json lines ", name, n)] = b[:8] + `\r\n` + b[8:]
		}
	}
	return out
}

func TestEveryFormOfAValueIsTakenOut(t *testing.T) {
	for _, v := range values {
		s := New(v)
		for name, form := range forms(v) {
			got := s.String("before " + form + " after")
			if strings.HasPrefix(name, "base64") { // what the neighbours are part of stays
				if !strings.Contains(got, Mark) || len(got) > len("before "+Mark+" after")+24 {
					t.Errorf("%q as %s: %q", v, name, got)
				}
			} else if got != "before "+Mark+" after" {
				t.Errorf("%q as %s, %q: %q", v, name, form, got)
			}
			if !s.Found([]byte(form)) {
				t.Errorf("%q as %s is not found", v, name)
			}
		}
	}
}

func TestPartsOfAValueStay(t *testing.T) {
	v := values[0]
	s := New(v)
	for _, text := range []string{v[1:], v[:len(v)-1], strings.ToUpper(v), v[:8] + "-" + v[8:], "", "%", `\`, `\u`, "%4", "plain text"} {
		if got := s.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestShortValuesAreLeftOut(t *testing.T) {
	if s := New("", "abc"); s != nil {
		t.Error("a set of nothing")
	}
	var none *Set
	if none.String("abc") != "abc" || none.Found([]byte("abc")) || string(none.JSON([]byte(`"abc"`))) != `"abc"` {
		t.Error("a nil set finds something")
	}
}

// SEC-2: however a value is cut into writes, the stream is what the whole is.
func TestStreamIsTheSameHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SampledFrom(values).Draw(t, "value")
		s := New(v)
		pieces := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"%", `\`, `\u00`, "\n", v[:4], "text "}),
			rapid.Map(rapid.SampledFrom(formNames()), func(name string) string { return forms(v)[name] }),
		), 0, 6).Draw(t, "pieces")
		text := []byte(strings.Join(pieces, ""))
		stream := Stream{Set: s}
		var got []byte
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "n")
			got = append(got, stream.Next(rest[:n])...)
			rest = rest[n:]
		}
		got = append(got, stream.End()...)
		if want := s.Bytes(text); !bytes.Equal(got, want) {
			t.Fatalf("%q: got %q, want %q", text, got, want)
		}
		if s.Found(got) && !strings.Contains(string(got), Mark) {
			t.Fatalf("%q is left in %q", v, got)
		}
	})
}

func formNames() []string {
	var out []string
	for name := range forms(values[0]) {
		out = append(out, name)
	}
	return out
}

// What is held back of a stream is bounded, whatever is written.
func TestStreamHoldsLittleBack(t *testing.T) {
	v := values[0]
	s := Stream{Set: New(v)}
	bound := len(v) * 2 * (6 + 6*maxSkip)
	for _, piece := range []string{v[:1], "\n", "\r", `\n`, "%0a", " ", ":"} {
		for range 10_000 {
			s.Next([]byte(piece))
			if len(s.held) > bound {
				t.Fatalf("%d bytes are held back", len(s.held))
			}
		}
	}
}

func TestJSONStaysJSON(t *testing.T) {
	for _, tc := range []struct{ value, in, want string }{
		{"12345678", `{"a":12345678,"b":[123456789,"x 12345678"],"c":1}`, `{"a":"[redacted]","b":["[redacted]","x [redacted]"],"c":1}`},
		{`say "it" now`, `{"say \"it\" now":true}`, `{"[redacted]":true}`},
		{"nabcdefg", `["\nabcdefg"]`, `["\nabcdefg"]`},
		{"token-12", `{"z":1.50,"a":"none"}`, `{"z":1.50,"a":"none"}`},
		{"token-12", `not JSON, token-12`, `not JSON, [redacted]`},
	} {
		if diff := cmp.Diff(tc.want, string(New(tc.value).JSON(json.RawMessage(tc.in)))); diff != "" {
			t.Errorf("%s: %s", tc.in, diff)
		}
	}
}

func TestMapsAndListsAreCleaned(t *testing.T) {
	s := New("token-12")
	got := s.Map(map[string]string{"a": "token-12", "x-token-12": "b"})
	if diff := cmp.Diff(map[string]string{"a": Mark, "x-" + Mark: "b"}, got); diff != "" {
		t.Error(diff)
	}
	list := []string{"http://token-12.example.com:80"}
	s.Strings(list)
	if strings.Contains(list[0], "token-12") {
		t.Error(list)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("ghp_0123456789", []byte("ghp_%300123"), 3)
	f.Add(`\u0041%41`, []byte(`\\u0041%2541`), 1)
	f.Fuzz(func(t *testing.T, value string, text []byte, n int) {
		if len(value) > 64 || len(text) > 1024 || n < 1 {
			return
		}
		s := New(value)
		stream := Stream{Set: s}
		var got []byte
		for rest := text; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			got = append(got, stream.Next(rest[:min(n, len(rest))])...)
		}
		got = append(got, stream.End()...)
		if want := s.Bytes(text); !bytes.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
