package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAttachedFilesAreBounded(t *testing.T) {
	file := func(name string, size int64) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	half, large := file("half", maxAttachedAll/2), file("large", maxAttached+1)
	for want, paths := range map[string][]string{
		"":                                {half, half},
		"larger than 16 MiB":              {large},
		"larger than 24 MiB together":     {half, half, file("one", 1)},
		"--attach: at most 50 files":      slices.Repeat([]string{half}, maxAttachments+1),
		"--attach /nowhere: no such file": {"/nowhere", half},
	} {
		parts, err := attachments(paths)
		if want == "" {
			if err != nil || len(parts) != len(paths) {
				t.Errorf("%d parts, %v", len(parts), err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
