package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/examples/wasm-tools/internal/tooltest"
	"github.com/wagent-dev/wagent/host"
)

// agent opens this tool as a module in a host, with a file of so many rows.
func agent(t *testing.T, rows int) *host.Host {
	t.Helper()
	dir := tooltest.Build(t)
	writeRows(t, filepath.Join(dir, "data"), rows)
	manifest := tooltest.Manifest(t, dir, "{module: ./csv_query.wasm, limits: {memory: 40MiB, timeout: 2m}, allow: {read: {./data: /data}}}")
	h, err := host.Open(t.Context(), manifest, nil)
	if err != nil {
		t.Fatal(err)
	}
	tooltest.CloseAfter(t, h)
	return h
}

func writeRows(t *testing.T, dir string, rows int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "big.csv"))
	if err != nil {
		t.Fatal(err)
	}
	b := bufio.NewWriter(f)
	fmt.Fprintln(b, "id,region,units,comment")
	for i := range rows {
		fmt.Fprintf(b, "%d,r%d,%d,a comment that makes the row longer: %d\n", i, i%7, i%100, i)
	}
	if err := errors.Join(b.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// What a module does not give back shows here, and in no native test: there the
// garbage collector has threads of its own.
func TestMemoryStaysBoundedInTheSandbox(t *testing.T) {
	h := agent(t, 180_000)
	for name, c := range map[string]struct{ args, want string }{
		"grouped": {
			`{"file":"big.csv","group_by":["region"],"aggregate":[{"op":"count"},{"op":"median","column":"units"}]}`,
			"180000 of 180000 rows matched",
		},
		"sorted": {
			`{"file":"big.csv","order_by":[{"column":"comment","desc":true}],"offset":10000,"limit":1}`,
			"169999 more rows of the result are not shown",
		},
		"too many groups": {
			`{"file":"big.csv","group_by":["id","comment"],"aggregate":[{"op":"distinct","column":"comment"}]}`,
			"too much in memory",
		},
		"too many values": {
			`{"file":"big.csv","aggregate":[{"op":"distinct","column":"comment"},{"op":"distinct","column":"id"}]}`,
			"too much in memory",
		},
		"too many rows": {
			`{"file":"big.csv","order_by":[{"column":"comment"}],"offset":100000}`,
			"too much in memory",
		},
	} {
		out, err := h.Call(t.Context(), "csv_query", json.RawMessage(c.args))
		if err != nil {
			t.Fatal(name, err)
		}
		if text := tooltest.Text(out.Result); !strings.Contains(text, c.want) {
			t.Errorf("%s: kind %q, %s", name, out.Kind, text)
		}
	}
}
