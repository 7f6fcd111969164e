package sdk

import (
	"fmt"
	"strings"
	"testing"
)

// What the package itself costs shows when a tool does nothing. In a module it is
// about eight times as slow as here.
func BenchmarkServe(b *testing.B) {
	var r registry
	type args struct {
		Text  string   `json:"text"`
		Lines []string `json:"lines,omitempty"`
		Limit int      `json:"limit" min:"1" max:"100" default:"20"`
	}
	register(&r, "tool", "", func(_ *Call, a args) (with[int], error) { return with[int]{len(a.Text)}, nil }, nil)
	register(&r, "say", "", func(_ *Call, a args) (string, error) { return a.Text, nil }, nil)
	plain := strings.Repeat("the quick brown fox ", 50_000)
	for name, c := range map[string]struct{ tool, args string }{
		"small":     {"tool", `{"text":"the quick brown fox jumps over the lazy dog","limit":7}`},
		"text":      {"tool", fmt.Sprintf(`{"text":%q}`, plain)},
		"escapes":   {"tool", fmt.Sprintf(`{"text":%q}`, strings.ReplaceAll(plain, "fox ", "\"fox\"\n"))},
		"not ASCII": {"tool", fmt.Sprintf(`{"text":"%s"}`, strings.ReplaceAll(plain, "fox", "日本語"))},
		"list":      {"tool", fmt.Sprintf(`{"text":"","lines":[%s""]}`, strings.ReplaceAll(plain, "the quick brown fox ", `"the quick brown fox",`))},
		"answer":    {"say", fmt.Sprintf(`{"text":%q}`, plain)},
	} {
		b.Run(name, func(b *testing.B) {
			request := fmt.Appendf(nil, `{"v":1,"id":"c","tool":"%s","arguments":%s,"deadline_ms":1000,"run":{"id":"r","step":1}}`, c.tool, c.args)
			b.SetBytes(int64(len(request)))
			b.ReportAllocs()
			for b.Loop() {
				if res := r.serve(host{}, request); strings.Contains(string(res[:min(len(res), 20)]), "error") {
					b.Fatal(string(res))
				}
			}
		})
	}
}
