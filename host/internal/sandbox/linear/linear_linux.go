package linear

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// file is a descriptor; below 1 there is none.
type file int

// region is what the kernel says of neighbouring pages that are alike. See
// struct page_region in linux/fs.h.
type region struct{ start, end, categories uint64 }

// hold makes a sealed file of mem: nobody can change what ranges show.
func (i *Image) hold(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	fd, err := unix.MemfdCreate("wagent", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil { // an old kernel, or a filter of system calls
		i.data = append([]byte(nil), mem...)
		return nil
	}
	if err := i.fill(fd, mem); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	i.file = file(fd)
	return nil
}

func (i *Image) fill(fd int, mem []byte) error {
	if err := unix.Ftruncate(fd, int64(len(mem))); err != nil {
		return fmt.Errorf("making room for an image: %w", err)
	}
	for at := 0; at < len(mem); at += Page {
		page := mem[at : at+Page]
		if zeros(page) {
			continue // a page that is not there reads as zeros
		}
		if _, err := unix.Pwrite(fd, page, int64(at)); err != nil {
			return fmt.Errorf("writing an image: %w", err)
		}
	}
	const seals = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("sealing an image: %w", err)
	}
	data, err := unix.Mmap(fd, 0, len(mem), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mapping an image: %w", err)
	}
	i.data = data
	return nil
}

// Close gives the image back. No range may show it any more.
func (i *Image) Close() error {
	if i.file < 1 {
		return nil
	}
	err := errors.Join(unix.Munmap(i.data), unix.Close(int(i.file)))
	i.data, i.file = nil, 0
	return err
}

func (r *Range) reserve(limit int) error {
	if limit == 0 {
		return nil
	}
	all, err := unix.Mmap(-1, 0, limit, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("reserving memory: %w", err)
	}
	r.all = all
	if err := r.show(); err != nil {
		return errors.Join(err, r.Close())
	}
	return nil
}

// show puts the image at the front of the range, up to where it is all zeros: so
// is the range, whose pages are cheaper than those of a file.
func (r *Range) show() error {
	if r.image.Size() == 0 {
		return nil
	}
	if r.image.file < 1 {
		r.copyBack()
		return nil
	}
	r.exact = true
	if r.image.used == 0 {
		return nil
	}
	at := unsafe.Pointer(unsafe.SliceData(r.all))
	_, err := unix.MmapPtr(int(r.image.file), 0, at, uintptr(r.image.used),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return fmt.Errorf("mapping an image: %w", err)
	}
	return nil
}

// bring asks for the pages; kernels before 5.14 refuse. Large pages are 2 MiB.
func (r *Range) bring(from, to int) {
	const large = 2 << 20
	if from%large == 0 && to-from == large && from >= r.image.Used() {
		_ = unix.Madvise(r.all[from:to], unix.MADV_HUGEPAGE)
	}
	_ = unix.Madvise(r.all[from/Page*Page:to], unix.MADV_POPULATE_WRITE)
}

func (r *Range) touched(from, to int) bool {
	from = from / Page * Page
	there := make([]byte, (to-from+Page-1)/Page)
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&r.all[from])), uintptr(to-from), uintptr(unsafe.Pointer(unsafe.SliceData(there)))) //nolint:gosec // as the kernel wants it
	return errno != 0 || slices.ContainsFunc(there, func(b byte) bool { return b&1 != 0 })
}

// renew forgets everything that was written: the private pages go, and what is
// behind them shows.
func (r *Range) renew() error {
	n := (r.high + Page - 1) / Page * Page
	if n == 0 {
		return nil
	}
	if err := unix.Madvise(r.all[:n], unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("giving memory back: %w", err)
	}
	r.high = 0
	if r.image != nil {
		r.high = r.image.size
		if !r.exact && r.image.file < 1 {
			r.copyBack()
		}
	}
	return nil
}

// putBack writes the image over the pages that were written.
func (r *Range) putBack() (int, error) {
	if r.image.size == 0 {
		return 0, nil
	}
	if !r.exact {
		r.copyBack()
		return -1, nil
	}
	// A page that was surely written has to be reported. If it is not, the kernel
	// does not say what it is asked here.
	touch(r.all)
	written, first, err := r.written()
	switch {
	case err != nil || !first:
		r.exact = false
		r.copyBack()
		return -1, nil
	case written > maxWritten:
		return -1, r.renew()
	}
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r.all))))
	for _, p := range r.pages {
		from, to := int(p.start-base), int(p.end-base)
		copy(r.all[from:to], r.image.data[from:])
	}
	return written, nil
}

// touch writes what is there already. Atomic operations are not optimised away.
func touch(b []byte) {
	p := (*uint32)(unsafe.Pointer(unsafe.SliceData(b)))
	atomic.StoreUint32(p, atomic.LoadUint32(p))
}

// Close gives the range back. No guest may use it any more.
func (r *Range) Close() error {
	if r.all == nil {
		return nil
	}
	err := unix.Munmap(r.all)
	r.all = nil
	return err
}
