package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/examples/wasm-tools/internal/tooltest"
	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/run"
)

// agent opens this program as a module in a host, beside a data folder that is
// granted and a file that is not.
func agent(t *testing.T) *host.Host {
	t.Helper()
	dir := tooltest.Build(t)
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"data/order.json": order, "secret.json": `{"key":1}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.json", filepath.Join(dir, "data", "link.json")); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), tooltest.Manifest(t, dir, "{module: ./json_pick.wasm, allow: {read: {./data: /data}}}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	tooltest.CloseAfter(t, h)
	return h
}

func TestAPlainProgramIsATool(t *testing.T) {
	h := agent(t)
	for _, c := range []struct {
		args string
		kind run.ErrorKind
		want string
	}{
		{`{"json":"{\"a\":[1,2.50]}","path":"a[1]"}`, "", "2.50"},
		{`{"file":"/data/order.json","path":"items[-1].name"}`, "", "rug <new>"},
		{`{"json":"{\"a\":1}","path":"b"}`, run.KindToolError, `not_found: at $: there is no "b"; it is an object of a`},
		{`{"file":"/secret.json"}`, run.KindToolError, `auth_required: "/secret.json" cannot be read (Bad file number): if its folder is not granted, add allow: {read: {./data: /data}} to the tool in the manifest`},
		{`{"file":"/data/link.json"}`, run.KindToolError, `auth_required: "/data/link.json" cannot be read (Permission denied): if its folder is not granted, add allow: {read: {./data: /data}} to the tool in the manifest`},
	} {
		out, err := h.Call(t.Context(), "json_pick", json.RawMessage(c.args))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, tooltest.Text(out.Result)); out.Kind != c.kind || diff != "" {
			t.Errorf("%s: kind %q, %s", c.args, out.Kind, diff)
		}
	}
}
