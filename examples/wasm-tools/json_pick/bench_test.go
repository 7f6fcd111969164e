package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func BenchmarkServe(b *testing.B) {
	var doc strings.Builder
	doc.WriteString(`{"items":[`)
	for i := range 10_000 {
		fmt.Fprintf(&doc, `{"id":%d,"name":"item %d","text":"a \"quoted\" text about item %d"},`, i, i, i)
	}
	doc.WriteString(`null]}`)
	file := filepath.Join(b.TempDir(), "doc.json")
	if err := os.WriteFile(file, []byte(doc.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string]map[string]string{
		"file":   {"file": file, "path": "items[9000].name"},
		"inline": {"json": doc.String(), "path": "items[9000].name"},
		"all":    {"file": file, "path": "items[*].id"},
	} {
		b.Run(name, func(b *testing.B) {
			raw, err := json.Marshal(args)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(doc.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if r := serve(raw); r.Error != nil {
					b.Fatal(r.Error)
				}
			}
		})
	}
}
