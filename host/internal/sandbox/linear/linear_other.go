//go:build !linux

package linear

type file struct{}

type region struct{}

// Prepare does nothing.
func Prepare() {}

func (i *Image) hold(mem []byte) error {
	i.data = append([]byte(nil), mem...)
	return nil
}

// Close gives the image back. No range may show it any more.
func (i *Image) Close() error {
	i.data = nil
	return nil
}

func (r *Range) reserve(limit int) error {
	r.all = make([]byte, limit)
	if r.image != nil {
		r.copyBack()
	}
	return nil
}

func (r *Range) renew() error {
	clear(r.all[:r.high])
	r.high = 0
	if r.image != nil {
		r.high = r.image.size
		r.copyBack()
	}
	return nil
}

func (r *Range) putBack() (int, error) {
	r.copyBack()
	return -1, nil
}

func (*Range) bring(int, int) {}

func (*Range) touched(int, int) bool { return true }

// Close gives the range back. No guest may use it any more.
func (r *Range) Close() error {
	r.all = nil
	return nil
}
