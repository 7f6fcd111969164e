package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wagent-dev/wagent/host"
)

func cpu() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(0, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	dir := os.Args[1] // with wasm
	which := os.Args[2]
	ctx := context.Background()
	data := "/tmp/wc/data"
	os.MkdirAll(data, 0o755)
	gen(data)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	page, _ := os.ReadFile(filepath.Join(data, "page.html"))
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page)
	}))
	abs, _ := filepath.Abs(dir)
	os.WriteFile(filepath.Join(abs, "none.jsonl"), []byte(`{"message":{"role":"assistant","content":[{"type":"text","text":"-"}]},"finish_reason":"stop"}`), 0o600)
	allow := "allow: {read: {" + data + ": /data}}"
	if which == "fetch" {
		allow = "allow: {http: [{host: 127.0.0.1, methods: [GET], private: true, max_bytes: 10000000}]}"
		if e := os.Getenv("ALLOW"); e != "" { allow = e }
	}
	os.WriteFile(filepath.Join(abs, "wagent.yaml"), []byte("version: 1\nname: test\nmodel: {provider: replay, recording: ./none.jsonl}\ntools: [{module: ./"+which+".wasm, limits: {memory: 256MiB, timeout: 2m}, "+allow+"}]\n"), 0o600)
	h, err := host.Open(ctx, filepath.Join(abs, "wagent.yaml"), nil)
	must(err)
	big, _ := os.ReadFile(filepath.Join(data, "big.json"))
	inline, _ := json.Marshal(map[string]string{"json": string(big[:len(big)]), "path": "items[1000].name"})
	calls := map[string][][3]string{
		"files": {
			{"ci literal none", "search_files", `{"pattern":"quick zebra"}`},
			{"ci literal hits", "search_files", `{"pattern":"comment 1234","limit":10}`},
			{"cs literal", "search_files", `{"pattern":"quick zebra","case_sensitive":true}`},
			{"read_file end", "read_file", `{"path":"/data/text.txt","start":100000}`},
		},
		"json_pick": {{"file", "json_pick", `{"file":"/data/big.json","path":"items[1000].name"}`}, {"inline", "json_pick", string(inline)}, {"all", "json_pick", `{"file":"/data/big.json","path":"items[*].id"}`}},
		"csv_query": {
			{"group", "csv_query", `{"file":"/data/big.csv","group_by":["region"],"aggregate":[{"op":"count"},{"op":"sum","column":"units"}]}`},
			{"where", "csv_query", `{"file":"/data/big.csv","where":[{"column":"comment","op":"contains","value":"77777"}]}`},
			{"sort", "csv_query", `{"file":"/data/big.csv","order_by":[{"column":"comment","desc":true}],"limit":3}`},
		},
		"fetch": {{"page", "fetch", `{"url":"http://` + l.Addr().String() + `/","limit":1000}`}},
	}
	for _, c := range calls[which] {
		best, bestCPU := time.Hour, time.Hour
		var text string
		for range 4 {
			s, k := time.Now(), cpu()
			out, err := h.Call(ctx, c[1], json.RawMessage(c[2]))
			must(err)
			best, bestCPU = min(best, time.Since(s)), min(bestCPU, cpu()-k)
			b, _ := json.Marshal(out.Result)
			text = string(out.Kind) + " " + string(b)
		}
		fmt.Printf("%-10s %-18s wall %8s cpu %8s   %d %.90s\n", which, c[0], best.Round(time.Millisecond), bestCPU.Round(time.Millisecond), len(text), strings.ReplaceAll(text, "\n", " "))
	}
}

func gen(data string) {
	if _, err := os.Stat(filepath.Join(data, "page.html")); err == nil {
		return
	}
	w := func(name string, f func(b *bufio.Writer)) {
		o, err := os.Create(filepath.Join(data, name))
		must(err)
		b := bufio.NewWriter(o)
		f(b)
		b.Flush()
		o.Close()
	}
	w("text.txt", func(b *bufio.Writer) {
		for i := range 100_000 {
			fmt.Fprintf(b, "The Quick brown fox jumps over the lazy dog, comment %d of many\n", i)
		}
	})
	w("big.json", func(b *bufio.Writer) {
		b.WriteString(`{"items":[`)
		for i := range 30_000 {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, `{"id":%d,"name":"item %d","tags":["a","b"],"text":"a \"quoted\" text of some length that is in the document, about item %d"}`, i, i, i)
		}
		b.WriteString(`]}`)
	})
	w("big.csv", func(b *bufio.Writer) {
		fmt.Fprintln(b, "id,region,units,comment")
		for i := range 700_000 {
			fmt.Fprintf(b, "%d,r%d,%d,a comment that makes the row longer: %d\n", i, i%7, i%100, i)
		}
	})
	w("page.html", func(b *bufio.Writer) {
		b.WriteString("<!doctype html><html><head><title>A page</title></head><body>")
		for i := range 25_000 {
			fmt.Fprintf(b, "<div class=\"row r%d\"><p>Some <b>text</b> of paragraph %d with an <a href=\"/x?y=1&amp;z=2\">entity &amp; link</a> and words.</p></div>\n", i, i)
		}
		b.WriteString("</body></html>")
	})
}
