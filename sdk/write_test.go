package sdk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// A request is written as encoding/json writes it.
func FuzzWriteHTTPRequest(f *testing.F) {
	f.Add("GET", "https://example.com/?a=\"b\"&c=<d>", "Accept", "text/html", []byte(nil))
	f.Add("POST", "\x00\x1f\\\u2028é\xff", "", "\r\n", []byte{0, 1, 255})
	f.Fuzz(func(t *testing.T, method, url, name, value string, body []byte) {
		for _, headers := range []map[string]string{nil, {name: value}, {name: value, "b": method, strings.ToUpper(name): url}} {
			r := &abi.HTTPRequest{Method: method, URL: url, Headers: headers, Body: body}
			got, err := writeHTTPRequest(r)
			if err != nil {
				t.Fatal(err)
			}
			want, err := marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
