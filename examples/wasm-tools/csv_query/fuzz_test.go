package main

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/sdktest"
)

func FuzzTable(f *testing.F) {
	for _, s := range []string{sales, "a;b\n1;2", "\ufeffx\n\"", "a\tb\n\"1\n2\"\t3", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sameAsStrict(t, s)
		if s == "" || len(s) > 1<<16 {
			return
		}
		for _, args := range []map[string]any{
			{"text": s}, {"text": s, "aggregate": list{map[string]any{"op": "count"}}},
		} {
			if _, err := sdktest.Do("csv_query", args); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// sameAsStrict fails if a CSV without mistakes has other rows for the standard
// library.
func sameAsStrict(t *testing.T, s string) {
	t.Helper()
	want, err := csv.NewReader(strings.NewReader(s)).ReadAll()
	if err != nil || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return
	}
	r := &reader{in: bufio.NewReaderSize(strings.NewReader(s), 16), comma: ','}
	var got [][]string
	for {
		row, err := r.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		got = append(got, slices.Clone(row))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%q: %s", s, d)
	}
}
