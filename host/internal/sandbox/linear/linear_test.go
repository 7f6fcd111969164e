package linear

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// pattern is a memory with pages of zeros and pages of noise.
func pattern(pages int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	mem := make([]byte, pages*Page)
	for p := 0; p < pages; p += 2 {
		for i := range Page {
			mem[p*Page+i] = byte(r.Uint32())
		}
	}
	return mem
}

func newRange(t testing.TB, mem []byte, limit int) *Range {
	t.Helper()
	img, err := NewImage(mem)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRange(img, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A range is the image after each call, byte for byte, whatever the call wrote,
// and by each way of putting it back.
func TestResetBringsTheImageBack(t *testing.T) {
	changes := map[string]func(*Range){
		"as the system does": func(*Range) {},
		"by copying all":     func(r *Range) { r.exact = false },
	}
	ends := map[string]int{"": 0, " of an image that ends in zeros": 40 * Page, " of zeros alone": 64 * Page}
	for name, change := range changes {
		for what, zeros := range ends {
			t.Run(name+what, func(t *testing.T) {
				mem := pattern(64)
				clear(mem[len(mem)-zeros:])
				r := newRange(t, mem, 128*Page)
				change(r)
				comesBack(t, r, mem)
			})
		}
	}
}

func comesBack(t *testing.T, r *Range, mem []byte) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 500 {
		size := len(mem)
		if i%7 == 0 {
			size += (1 + i%64) * Page
		}
		b := r.Slice(size)
		if i%5 == 0 {
			from := rnd.IntN(size)
			r.Bring(from, from+rnd.IntN(2*size))
		}
		for range rnd.IntN(40) {
			b[rnd.IntN(size)] = byte(rnd.Uint32())
		}
		if _, err := r.Reset(); err != nil {
			t.Fatal(err)
		}
		if r.Grown() || !bytes.Equal(r.Slice(len(mem)), mem) {
			t.Fatalf("after call %d the range is not the image", i)
		}
	}
	if b := r.Slice(128 * Page)[len(mem):]; !bytes.Equal(b, make([]byte, len(b))) {
		t.Error("what lies above the image is not zero")
	}
}

// To bring pages changes nothing in them, whether they were written or not.
func TestBringingChangesNothing(t *testing.T) {
	mem := pattern(64)
	clear(mem[32*Page:])
	r := newRange(t, mem, 3<<20)
	b := r.Slice(3 << 20)
	b[5*Page], b[40*Page], b[2<<20] = 1, 2, 3
	want := bytes.Clone(b)
	for _, at := range [][2]int{{0, 64 * Page}, {17, 18}, {0, 2 << 20}, {2 << 20, 4 << 20}, {9, 9}, {5 << 20, 6 << 20}} {
		r.Bring(at[0], at[1])
		if !bytes.Equal(b, want) {
			t.Fatalf("%v: the memory changed", at)
		}
	}
}

// A call that writes all of a large memory is put back too.
func TestManyWrittenPagesAreGivenBack(t *testing.T) {
	mem := pattern(maxWritten + 100)
	r := newRange(t, mem, len(mem))
	for step := 1; step <= 2; step++ {
		b := r.Slice(len(mem))
		for p := 0; p < len(mem); p += step * Page {
			b[p]++
		}
		if _, err := r.Reset(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.Slice(len(mem)), mem) {
			t.Errorf("every %d. page written: the range is not the image", step)
		}
	}
}

func TestTwoRangesOfOneImageDoNotSeeEachOther(t *testing.T) {
	mem := pattern(8)
	a := newRange(t, mem, 8*Page)
	b, err := NewRange(a.image, 8*Page)
	if err != nil {
		t.Fatal(err)
	}
	a.Slice(8 * Page)[100]++
	if !bytes.Equal(b.Slice(8*Page), mem) || !bytes.Equal(a.image.Bytes(), mem) {
		t.Error("what one range wrote shows elsewhere")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestARangeEndsAtItsLimit(t *testing.T) {
	r := newRange(t, pattern(2), 4*Page)
	if r.Slice(4*Page+1) != nil || len(r.Slice(4*Page)) != 4*Page || cap(r.Slice(Page)) != Page {
		t.Error("a slice of another size than asked for")
	}
	if _, err := NewRange(r.image, Page); err == nil {
		t.Error("a range that is smaller than its image was made")
	}
	if _, err := NewImage(make([]byte, 10)); err == nil {
		t.Error("an image of ten bytes was made")
	}
}

func TestEmptyImage(t *testing.T) {
	r := newRange(t, nil, 2*Page)
	r.Slice(Page)[5] = 1
	if _, err := r.Reset(); err != nil || r.Slice(Page)[5] != 0 {
		t.Error("an empty image does not bring zeros back", err)
	}
}

func BenchmarkReset(b *testing.B) {
	mem := pattern(832)
	r := newRange(b, mem, 1024*Page)
	for b.Loop() {
		s := r.Slice(len(mem))
		for p := range 40 {
			s[p*20*Page] = 1
		}
		if _, err := r.Reset(); err != nil {
			b.Fatal(err)
		}
	}
}
