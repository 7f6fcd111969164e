package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
)

// escaped writes s as a JSON string of \u escapes alone, upper and lower case.
func escaped(s string) string {
	var b strings.Builder
	for i, u := range utf16.Encode([]rune(s)) {
		form := `\u%04x`
		if i%2 == 0 {
			form = `\u%04X`
		}
		fmt.Fprintf(&b, form, u)
	}
	return `"` + b.String() + `"`
}

func TestTheScaffoldsToolCountsAsGoDoes(t *testing.T) {
	h, err := host.New(t.Context(), &manifest.Manifest{Version: 1, Tools: []manifest.Tool{{
		Module: filepath.Join(root(t), "cmd", "wagent", "scaffold", "tools", "word_count.wasm"),
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	runes := rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("ab\"\\/ \t\n\r\f\v\b\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u205f\u3000日🙂")))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(rapid.StringOf(runes).Draw(t, "text"), "")
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(len(strings.Fields(text)))
		for _, args := range []string{`{"text":` + string(plain) + `}`, `{"te\u0078t":` + escaped(text) + `}`} {
			out, err := h.Call(t.Context(), "word_count", json.RawMessage(args))
			if err != nil || out.Kind != "" {
				t.Fatalf("%s: %v %+v", args, err, out)
			}
			if got := out.Result.Content[0].Text; got != want {
				t.Fatalf("%s: %s words, want %s", args, got, want)
			}
		}
	})
}

func TestTheScaffoldsToolIsWhatItsSumsSay(t *testing.T) {
	wasm, err := os.ReadFile("scaffold/tools/word_count.wasm")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("scaffold/tools/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x  word_count.wasm\n", sha256.Sum256(wasm)); string(sums) != want {
		t.Errorf("it is %s, and SHA256SUMS says %s", want, sums)
	}
	if len(wasm) > 8<<10 {
		t.Errorf("it has %d bytes, and everybody who makes a project gets it", len(wasm))
	}
}
