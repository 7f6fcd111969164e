package abi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// vectors reads a list of testdata/abi.
func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "abi", name))
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(list) == 0 {
		t.Fatalf("%s has no vectors", name)
	}
	return list
}

// roundTrips reads each vector as a T and writes it again.
func roundTrips[T any](t *testing.T, list []json.RawMessage) []T {
	t.Helper()
	var all []T
	for i, want := range list {
		var v T
		if err := json.Unmarshal(want, &v); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		got, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, got)); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
		all = append(all, v)
	}
	return all
}

// tree is JSON without white space and order, its numbers as they are written.
func tree(t *testing.T, b []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectorsAreReadAndWrittenWithoutLoss(t *testing.T) {
	t.Run("requests", func(t *testing.T) {
		roundTrips[abi.Request](t, vectors[json.RawMessage](t, "requests.json"))
	})
	t.Run("responses", func(t *testing.T) {
		for i, r := range roundTrips[abi.Response](t, vectors[json.RawMessage](t, "responses.json")) {
			if r.Error != nil || r.Content == nil {
				t.Errorf("%d: %+v", i, r)
			}
		}
	})
	t.Run("errors", func(t *testing.T) {
		kinds := make(map[abi.ErrorKind]bool)
		for i, r := range roundTrips[abi.Response](t, vectors[json.RawMessage](t, "errors.json")) {
			if r.Error == nil || r.Content != nil {
				t.Fatalf("%d: %+v", i, r)
			}
			kinds[r.Error.Kind] = true
			if r.Error.Error() != r.Error.Message {
				t.Errorf("%d: %s", i, r.Error)
			}
		}
		want := map[abi.ErrorKind]bool{
			abi.Input: true, abi.AuthRequired: true, abi.NotFound: true, abi.RateLimited: true, abi.Unavailable: true, abi.Internal: true,
		}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("descriptions", func(t *testing.T) {
		for _, d := range roundTrips[abi.Description](t, vectors[json.RawMessage](t, "descriptions.json")) {
			for _, tool := range d.Tools {
				if !abi.ValidName(tool.Name) {
					t.Errorf("name %q", tool.Name)
				}
			}
		}
	})
	t.Run("http", func(t *testing.T) {
		for _, v := range vectors[struct{ Request, Response json.RawMessage }](t, "http.json") {
			roundTrips[abi.HTTPRequest](t, []json.RawMessage{v.Request})
			roundTrips[abi.HTTPResponse](t, []json.RawMessage{v.Response})
		}
	})
}

func TestBytesAreBase64(t *testing.T) {
	b, err := json.Marshal(abi.Content{Type: "image", Data: []byte{0, 1, 2}, MIMEType: "image/png"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"image","data":"AAEC","mimeType":"image/png"}`; string(b) != want {
		t.Errorf("got %s, want %s", b, want)
	}
}

func TestNamesFollowTheRule(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "_": true, "A-1_b": true, "word_count": true, strings.Repeat("a", abi.MaxName): true,
		"": false, "1a": false, "-a": false, "a b": false, "a.b": false, "a/b": false, "ä": false, "a\n": false, "a\x00": false,
		strings.Repeat("a", abi.MaxName+1): false,
	} {
		if got := abi.ValidName(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

// The numbers are on the wire: a guest that was built years ago has them.
func TestErrorNumbersNeverChange(t *testing.T) {
	got := make(map[abi.Errno]string)
	for n := abi.Errno(-10); n <= 0; n++ {
		got[n] = n.Error()
	}
	want := map[abi.Errno]string{
		-1: "denied: no grant covers it", -2: "invalid request", -3: "too large", -4: "too many", -5: "timed out",
		-6: "unavailable", -7: "not found", -8: "not supported by this host", -9: "host error",
		0: "host error", -10: "host error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	numbers := []abi.Errno{
		abi.ErrDenied, abi.ErrInvalid, abi.ErrTooLarge, abi.ErrTooMany, abi.ErrTimeout,
		abi.ErrUnavailable, abi.ErrNotFound, abi.ErrUnsupported, abi.ErrInternal,
	}
	for i, n := range numbers {
		if n != abi.Errno(-i-1) {
			t.Errorf("%v is %d", n, int32(n))
		}
	}
	levels := []abi.Level{abi.LevelDebug, abi.LevelInfo, abi.LevelWarn, abi.LevelError}
	if diff := cmp.Diff([]abi.Level{-1, 0, 1, 2}, levels); diff != "" {
		t.Error(diff)
	}
}
