package linear

import (
	"encoding/binary"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What /proc/self/pagemap says of pages, asked in two ways; see
// Documentation/admin-guide/mm/pagemap.rst of Linux.

var pagemap = sync.OnceValues(func() (int, error) {
	return unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
})

// Prepare opens what [Range.Reset] asks the kernel with. A process that makes itself
// one that cannot be traced has to call it before, as its own files in /proc belong to
// root from then on. Without it Reset is slower.
func Prepare() { _, _ = pagemap() }

// scans says that the kernel has the ioctl PAGEMAP_SCAN (since Linux 6.7).
var scans = sync.OnceValue(func() bool {
	fd, err := pagemap()
	if err != nil {
		return false
	}
	s := scan{mask: pagePresent, report: pagePresent}
	_, err = s.ask(fd)
	return err == nil
})

// written asks for the pages of the image that are the range's own by now. They
// are left in r.pages; first says that the first page is among them.
func (r *Range) written() (pages int, first bool, err error) {
	fd, err := pagemap()
	if err != nil {
		return 0, false, err
	}
	r.pages = r.pages[:0]
	if scans() {
		err = r.scanned(fd)
	} else {
		err = r.listed(fd)
	}
	for _, p := range r.pages {
		pages += int(p.end-p.start) / Page
	}
	return pages, len(r.pages) > 0 && r.pages[0].start == r.start(), err
}

func (r *Range) start() uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(r.all)))) }

// scan is struct pm_scan_arg of linux/fs.h.
type scan struct {
	size, flags, start, end, walkEnd, vec, vecLen, maxPages uint64
	inverted, mask, anyOf, report                           uint64
}

const (
	pagemapScan = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)

	pageFile    = 1 << 2
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
	pageZero    = 1 << 5
)

func (s *scan) ask(fd int) (n int, err error) {
	s.size = uint64(unsafe.Sizeof(*s))
	found, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), pagemapScan, uintptr(unsafe.Pointer(s)))
	if errno != 0 {
		return 0, errno
	}
	return int(found), nil
}

// scanned lists the written pages, until there are more than are put back one by
// one.
func (r *Range) scanned(fd int) error {
	if r.pages == nil {
		r.pages = make([]region, 0, 64)
	}
	end := r.start() + uint64(r.image.size)
	for at := r.start(); at < end; {
		if len(r.pages) == cap(r.pages) {
			if cap(r.pages) > maxWritten {
				return nil
			}
			r.pages = append(make([]region, 0, 4*cap(r.pages)), r.pages...)
		}
		room := r.pages[len(r.pages):cap(r.pages)]
		s := scan{
			start: at, end: end,
			vec: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(room)))), vecLen: uint64(len(room)),
			inverted: pageFile | pageZero, mask: pageFile | pageZero, anyOf: pagePresent | pageSwapped, report: pagePresent,
		}
		n, err := s.ask(fd)
		if err != nil {
			return err
		}
		r.pages = r.pages[:len(r.pages)+n]
		at = s.walkEnd
	}
	return nil
}

// Bits of an entry of pagemap, which is a number of 64 bits for each page.
const (
	entryFile    = 1 << 61 // also: shared
	entrySwapped = 1 << 62
	entryPresent = 1 << 63
)

// listed reads the entries of all pages.
func (r *Range) listed(fd int) error {
	base := r.start()
	buf := make([]byte, r.image.size/Page*8)
	for at := 0; at < len(buf); {
		n, err := unix.Pread(fd, buf[at:], int64(base/Page*8)+int64(at))
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EIO // the end of the address space, which a range is not at
		}
		at += n
	}
	for i := 0; i < len(buf); i += 8 {
		entry := binary.NativeEndian.Uint64(buf[i:])
		if entry&(entryPresent|entrySwapped) == 0 || entry&entryFile != 0 {
			continue
		}
		page := base + uint64(i/8*Page)
		if n := len(r.pages); n > 0 && r.pages[n-1].end == page {
			r.pages[n-1].end += Page
		} else {
			r.pages = append(r.pages, region{start: page, end: page + Page})
		}
	}
	return nil
}
