package manifest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAFallbackInheritsWhatItDoesNotSay(t *testing.T) {
	first := Model{
		Name: "a", BaseURL: "https://h.example/v1", APIKey: "key-of-a", ContextWindow: 9, Temperature: new(1.0), MaxOutputTokens: 7,
		Stream: new(false), Timeout: Duration(time.Second), Retry: Retry{2, Duration(time.Second), Duration(time.Minute)}, Prices: Prices{Input: 1},
		Extra: map[string]any{"seed": 1}, Compat: Compat{Order: "alternate"},
	}
	second := first
	second.Name, second.ContextWindow = "b", 0
	third := first
	third.Temperature, third.Retry.Attempts, third.Extra, third.Compat = new(0.0), 5, map[string]any{}, Compat{Images: new(false)}
	fourth := Model{
		Provider: "openai", Name: "d", BaseURL: "http://localhost:1/v1", APIKey: "key-of-d", ContextWindow: 5, Temperature: new(1.0), MaxOutputTokens: 8,
		Stream: new(true), Timeout: Duration(time.Minute), Retry: Retry{3, Duration(2 * time.Second), Duration(time.Hour)}, Prices: Prices{Output: 3}, Extra: map[string]any{"seed": 1},
	}
	first.Fallback = []Fallback{
		{Name: "b"},
		{Temperature: new(0.0), Retry: Retry{Attempts: 5}, Extra: map[string]any{}, Compat: Compat{Images: new(false)}},
		{
			Name: "d", BaseURL: "http://localhost:1/v1", APIKey: "key-of-d", ContextWindow: 5, MaxOutputTokens: 8, Stream: new(true),
			Timeout: Duration(time.Minute), Retry: Retry{3, Duration(2 * time.Second), Duration(time.Hour)}, Prices: Prices{Output: 3},
		},
	}
	got := first.Chain()
	first.Fallback = nil
	first.Provider, second.Provider, third.Provider = "openai", "openai", "openai"
	if diff := cmp.Diff([]Model{first, second, third, fourth}, got); diff != "" {
		t.Error(diff)
	}
	if got := (&Model{}).Chain(); len(got) != 1 || got[0].BaseURL != defaultBaseURL || got[0].Retry.Attempts != 4 {
		t.Errorf("defaults: %+v", got)
	}
}

func TestAKeyIsNotInheritedByAnotherHost(t *testing.T) {
	for _, c := range []struct {
		first, other string
		inherits     bool
	}{
		{"https://h.example/v1", "", true},
		{"https://h.example/v1", "https://H.example:443/other/", true},
		{"", "https://api.openai.com/v2", true},
		{"http://h.example:80", "http://h.example", true},
		{"https://h.example/v1", "http://h.example/v1", false}, // nobody reads it on the way
		{"https://h.example/v1", "https://h.example:8443/v1", false},
		{"https://h.example/v1", "https://a.h.example/v1", false},
		{"https://h.example/v1", "https://h.example.evil/v1", false},
		{"", "https://h.example/v1", false},
		{"https://h.example/v1", "https://%zz", false},
		{"nonsense", "nonsense", false},
	} {
		m := Model{BaseURL: c.first, APIKey: "secret", Compat: Compat{Order: "alternate"}, Fallback: []Fallback{{Name: "b", BaseURL: c.other}}}
		got := m.Chain()[1]
		if (got.APIKey == "secret") != c.inherits || (got.Compat.Order != "") != c.inherits {
			t.Errorf("from %q to %q: key %t", c.first, c.other, got.APIKey != "")
		}
	}
}

func TestKeysOfFallbacksAreKeys(t *testing.T) {
	dir := folder(t)
	src := "version: 1\nmodel:\n  name: a\n  fallback:\n    - {name: b, api_key: sk-literal-0123456789}\n    - {name: c, api_key: \"${K}\"}\n"
	m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), env(map[string]string{"K": "sk-from-outside-01234"}))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.Model.Fallback[1].APIKey) != "sk-from-outside-01234" {
		t.Error("the variable was not put in")
	}
	var warnings []string
	for _, w := range m.Warnings() {
		warnings = append(warnings, strings.TrimPrefix(w.String(), dir+string(filepath.Separator)))
	}
	want := []string{"wagent.yaml:5:26: model.fallback[0].api_key: a key is written in the manifest: use ${NAME} and set the variable, so that the key is not shared with the file"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	if s := fmt.Sprintf("%v %+v %#v", *m, m.Model, m.Model.Fallback); strings.Contains(s, "literal") || strings.Contains(s, "outside") {
		t.Error("a key is printed")
	}
}

func TestThereAreNotTooManyFallbacks(t *testing.T) {
	m := Manifest{Version: 1, Model: Model{Fallback: make([]Fallback, 17)}}
	if err := m.Check(); err == nil || !strings.Contains(err.Error(), "model.fallback: more than 16 models") {
		t.Errorf("error %v", err)
	}
}
