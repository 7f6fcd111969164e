package linear

import (
	"slices"
	"testing"
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
		if n < 1 || n > 1+6 {
			t.Errorf("pages %v written: %d put back", pages, n)
		}
	}
}

// Both ways of asking which pages were written find the same.
func TestPagesAreListedAsTheyAreScanned(t *testing.T) {
	if !scans() {
		t.Log("this kernel has no PAGEMAP_SCAN (Linux 6.7): only lists are tried")
	}
	fd, err := pagemap()
	if err != nil {
		t.Fatal(err)
	}
	r := newRange(t, pattern(64), 64*Page)
	for _, pages := range [][]int{{}, {0}, {3}, {3, 4, 5, 9}, {63}} {
		b := r.Slice(64 * Page)
		for _, p := range pages {
			b[p*Page+17]++
		}
		_ = b[20*Page] // is read, and not written
		r.pages = nil
		if err := r.listed(fd); err != nil {
			t.Fatal(err)
		}
		listed := slices.Clone(r.pages)
		for _, p := range pages {
			at := r.start() + uint64(p*Page)
			if !slices.ContainsFunc(listed, func(g region) bool { return g.start <= at && at < g.end }) {
				t.Errorf("page %d is written and not listed: %x", p, listed)
			}
		}
		if !scans() {
			continue
		}
		r.pages = nil
		if err := r.scanned(fd); err != nil {
			t.Fatal(err)
		}
		for i := range listed {
			listed[i].categories = r.pages[min(i, len(r.pages)-1)].categories
		}
		if !slices.Equal(listed, r.pages) {
			t.Errorf("%v written: listed %x, scanned %x", pages, listed, r.pages)
		}
	}
}

func BenchmarkWritten(b *testing.B) {
	fd, err := pagemap()
	if err != nil {
		b.Fatal(err)
	}
	r := newRange(b, pattern(832), 832*Page)
	for p := range 40 {
		r.Slice(832 * Page)[p*20*Page] = 1
	}
	b.Run("listed", func(b *testing.B) {
		for b.Loop() {
			r.pages = r.pages[:0]
			if err := r.listed(fd); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scanned", func(b *testing.B) {
		for b.Loop() {
			r.pages = r.pages[:0]
			if err := r.scanned(fd); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A page is there when it was written, and no other is.
func TestWhatWasWrittenIsTouched(t *testing.T) {
	r := newRange(t, pattern(4), 8<<20)
	b := r.Slice(8 << 20)
	if r.Touched(4*Page, 8<<20) {
		t.Error("a page is there that nobody wrote")
	}
	b[5<<20] = 1
	if !r.Touched(4<<20, 6<<20) || r.Touched(6<<20, 8<<20) || !r.Touched(5<<20, 5<<20+1) || r.Touched(8<<20, 9<<20) {
		t.Error("the page that was written is not the one that is there")
	}
}
