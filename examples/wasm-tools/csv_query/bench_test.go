package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/sdk/sdktest"
)

func BenchmarkQuery(b *testing.B) {
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString("id,region,units,comment\n")
	for i := range 50_000 {
		fmt.Fprintf(&text, "%d,r%d,%d,a comment that makes the row longer: %d\n", i, i%7, i%100, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "big.csv"), []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string]string{
		"group":    `"group_by":["region"],"aggregate":[{"op":"count"},{"op":"sum","column":"units"}]`,
		"contains": `"where":[{"column":"comment","op":"contains","value":"77777"}]`,
		"less":     `"where":[{"column":"units","op":"<","value":"1"}],"select":["id"]`,
		"sort":     `"order_by":[{"column":"comment","desc":true}],"limit":3`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if res := sdktest.Call(b, "csv_query", `{"file":"big.csv",`+args+`}`, sdktest.Folders(dir)); res.Error != nil {
					b.Fatal(res.Error)
				}
			}
		})
	}
}
