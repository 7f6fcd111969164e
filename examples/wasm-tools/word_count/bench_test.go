package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/sdktest"
)

func BenchmarkCount(b *testing.B) {
	for name, words := range map[string]string{
		"few words": "the quick brown fox ",
		"cases":     "The quick Brown fox, 'JUMPS' over-the fence.\n",
		"not ASCII": "Über die Straße läuft «naïve» 日本語 ",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(words, 1_000_000/len(words))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				count(text, 5)
			}
		})
	}
}

// The JSON around the text is the other half of a call.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size, " B"), func(b *testing.B) {
			args := fmt.Sprintf(`{"text":%q}`, strings.Repeat("the quick brown fox ", size/20))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if res := sdktest.Call(b, "word_count", args); res.Error != nil {
					b.Fatal(res.Error)
				}
			}
		})
	}
}
