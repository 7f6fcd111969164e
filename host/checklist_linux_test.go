package host_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
)

// A module is read through a limit: what a file says of its size, or that it has
// none, does not matter.
func TestMOD3AFileIsReadThroughALimit(t *testing.T) {
	const gigabyte, most = 1 << 30, 400 << 20
	dir := t.TempDir()
	sparse := filepath.Join(dir, "sparse.wasm")
	if err := os.WriteFile(sparse, []byte("\x00asm\x01\x00\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, gigabyte); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo.wasm")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		sparse:      "module sparse.wasm is larger than 64 MiB",
		"/dev/zero": "not a file",
		fifo:        "not a file",
		dir:         "not a file",
	} {
		m := &manifest.Manifest{Version: 1, Tools: []manifest.Tool{{Module: path}}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		h, err := host.New(t.Context(), m, nil)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s was loaded", path)
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		// Reading 64 MiB to the end takes 350 MB, as the buffer doubles.
		if got := after.TotalAlloc - before.TotalAlloc; got > most || took > 5*time.Second {
			t.Errorf("%s: %d bytes and %v", path, got, took)
		}
	}
}
