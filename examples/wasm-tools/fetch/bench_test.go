package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/sdktest"
)

func BenchmarkFetch(b *testing.B) {
	var page strings.Builder
	page.WriteString("<!doctype html><title>A page</title><body>")
	for i := range 5_000 {
		fmt.Fprintf(&page, "<div class=\"row r%d\"><p>Some <b>text</b> of paragraph %d with an <a href=\"/x?y=1&amp;z=2\">entity &amp; link</a> and words.</p></div>\n", i, i)
	}
	for name, args := range map[string]string{
		"text": `{"url":"https://a.example/","limit":1000}`,
		"raw":  `{"url":"https://a.example/","limit":1000,"raw":true}`,
		"late": `{"url":"https://a.example/","limit":1000,"start":200000}`,
	} {
		b.Run(name, func(b *testing.B) {
			answer := answers("text/html; charset=utf-8", page.String())
			b.SetBytes(int64(page.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if res := sdktest.Call(b, "fetch", args, answer); res.Error != nil {
					b.Fatal(res.Error)
				}
			}
		})
	}
}
