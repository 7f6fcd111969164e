package linear

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Where the kernel says which pages were written, those are put back and no
// others. The first page is written to see whether the kernel says so.
func TestOnlyWrittenPagesArePutBack(t *testing.T) {
	r := newRange(t, pattern(64), 64*Page)
	for _, pages := range [][]int{{}, {3}, {3, 4, 5, 9}, {63}} {
		// Pages that were written once stay the range's own.
		for _, p := range pages {
			r.Slice(64 * Page)[p*Page+17]++
		}
		n, err := r.Reset()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.written(); err == unix.ENOTTY {
			t.Fatal("this kernel has no PAGEMAP_SCAN: Linux 6.7 or later is needed for this test")
		}
		if n < 1 || n > 1+6 {
			t.Errorf("pages %v written: %d put back", pages, n)
		}
	}
}
