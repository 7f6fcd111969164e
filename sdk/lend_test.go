package sdk

import (
	"encoding/base64"
	"fmt"
	"testing"
	"unsafe"
)

// The texts of a small response share its memory; of a large one a tool that keeps a
// header keeps the header.
func TestTextsOfALargeResponseAreTheirOwn(t *testing.T) {
	for _, c := range []struct {
		body   int
		shares bool
	}{{100, true}, {maxLent, false}, {4 << 20, false}} {
		raw := fmt.Appendf(nil, `{"status":200,"url":"http://a.example/","headers":{"Etag":"abc"},"body":%q}`,
			base64.StdEncoding.EncodeToString(make([]byte, c.body)))
		res, err := readHTTPResponse(raw)
		if err != nil || len(res.Body) != c.body {
			t.Fatal(err, len(res.Body))
		}
		for _, text := range []string{res.URL, res.Headers["Etag"]} {
			if got := within(raw, text); got != c.shares {
				t.Errorf("a body of %d bytes: %q shares the memory of the response: %v", c.body, text, got)
			}
		}
	}
}

func within(raw []byte, text string) bool {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(raw)))
	at := uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return at >= first && at < first+uintptr(len(raw))
}
