// Package linear keeps the linear memories of guests: address ranges that are
// reserved once, show an image of a memory that was captured, and are put back to
// it after a call by writing what the call has changed.
//
// On Linux an image is a sealed memfd that ranges map privately, and the kernel
// says which pages were written. Elsewhere, and where the kernel does not say,
// all of the image is copied back.
package linear

import "errors"

// Page is the unit in which a range is put back, in bytes.
const Page = 4096

// Image is a captured memory. It never changes. It must be closed, after the
// ranges that show it.
type Image struct {
	size int
	used int    // bytes up to the last page that is not all zeros
	file file   // where ranges map it from; none: they are filled by copying
	data []byte // what is put back; read only
}

// NewImage captures mem, whose length is a multiple of [Page]. It keeps nothing
// of it.
func NewImage(mem []byte) (*Image, error) {
	if len(mem)%Page != 0 {
		return nil, errors.New("linear: a memory that is no multiple of its pages")
	}
	img := &Image{size: len(mem), used: used(mem)}
	if err := img.hold(mem); err != nil {
		return nil, err
	}
	return img, nil
}

// Size is the size of the captured memory in bytes, 0 without an image.
func (i *Image) Size() int {
	if i == nil {
		return 0
	}
	return i.size
}

// Used is how many bytes there are up to the end of the last page that is not all
// zeros, 0 without an image.
func (i *Image) Used() int {
	if i == nil {
		return 0
	}
	return i.used
}

func used(mem []byte) int {
	for n := len(mem); n > 0; n -= Page {
		if !zeros(mem[n-Page : n]) {
			return n
		}
	}
	return 0
}

func zeros(page []byte) bool {
	var none [Page]byte
	return string(page) == string(none[:])
}

// Bytes is the captured memory. It must not be written: it may be mapped without
// the right to.
func (i *Image) Bytes() []byte { return i.data }

// Range is an address range for one memory. It belongs to one guest at a time.
type Range struct {
	image   *Image
	all     []byte // as much as may ever be used
	high    int    // bytes that the guest may have written
	brought bool   // some that was not written may be there
	exact   bool   // the kernel says which pages were written
	pages   []region
}

// NewRange reserves limit bytes that begin with the image, which may be nil. It
// must be closed. The error is that of the operating system.
func NewRange(img *Image, limit int) (*Range, error) {
	r := &Range{image: img}
	if img != nil && img.size > limit {
		return nil, errors.New("linear: the image is larger than the range")
	}
	if err := r.reserve(limit); err != nil {
		return nil, err
	}
	if img != nil {
		r.high = img.size
	}
	return r, nil
}

// Slice returns the first n bytes, or nil when that is more than the limit. The
// slice is valid until Close.
func (r *Range) Slice(n int) []byte {
	if n > len(r.all) {
		return nil
	}
	r.high = max(r.high, n)
	return r.all[:n:n]
}

// Bring has the system bring the pages from one offset to another, as if they
// were written, and in large pages where it can. It takes a fraction of as many
// first writes, and blocks while other goroutines run. It changes nothing that is
// read. Where the system does not know how, nothing happens.
func (r *Range) Bring(from, to int) {
	if to = min(to, len(r.all)); from < to {
		r.brought = true
		r.bring(from, to)
	}
}

// Touched says that one of the pages from one offset to another is there, behind the
// image: somebody has written or read it. Where the system does not say, it is true.
func (r *Range) Touched(from, to int) bool {
	to = min(to, len(r.all))
	return from < to && r.touched(from, to)
}

// Grown says that more than the image was in use since the last Reset.
func (r *Range) Grown() bool { return r.image == nil || r.high > r.image.size }

// maxWritten is how many pages are put back one by one, 8 MiB. When there are
// more they are given to the operating system, which brings back the image.
const maxWritten = 2048

// Reset puts the range back to the image and zeros. No guest may run in it. It
// returns how many pages were written; -1 says that all were put back, without a
// look at which. After [Range.Bring] all are: what was brought and not written
// would stay, and be as much as the image.
func (r *Range) Reset() (int, error) {
	if r.Grown() || r.brought {
		r.brought = false
		return -1, r.renew()
	}
	n, err := r.putBack()
	if err == nil {
		r.high = r.image.size
	}
	return n, err
}

// copyBack writes the whole image.
func (r *Range) copyBack() { copy(r.all, r.image.data) }
