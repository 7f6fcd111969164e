//go:build wasip1

// Package script is a guest that does what it is told to, by the system interface
// itself: no library cleans a name or checks a number before the host sees it.
package script

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unsafe"
)

// Step is one thing that the guest does.
type Step struct {
	Do    string
	Dir   string // a granted folder, by where the guest sees it, or what was opened
	Path  string
	To    string // the second folder
	Name  string // the second path
	Flags string // of open: words
	FD    string // what was opened, or a number
	As    string // what open calls it
	N     uint64 // a number of bytes, or of what Do says
	Off   uint64
	Text  string
	Times int  // 0: once; it ends with the first error
	Raw   bool // Path is hexadecimal
}

// Args are what the tool is called with.
type Args struct {
	Steps []Step
}

// The host's answers are written here.
var out [64]byte

//go:wasmimport wasi_snapshot_preview1 path_open
func pathOpen(fd, flags, ptr, n, oflags uint32, rights, inheriting uint64, fdflags, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_read
func fdRead(fd, list, n, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_write
func fdWrite(fd, list, n, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_pwrite
func fdPwrite(fd, list, n uint32, off uint64, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_seek
func fdSeek(fd uint32, off uint64, whence, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_close
func fdClose(fd uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_renumber
func fdRenumber(fd, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_allocate
func fdAllocate(fd uint32, off, n uint64) uint32

//go:wasmimport wasi_snapshot_preview1 fd_filestat_set_size
func fdSetSize(fd uint32, n uint64) uint32

//go:wasmimport wasi_snapshot_preview1 fd_filestat_set_times
func fdSetTimes(fd uint32, atime, mtime uint64, flags uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_readdir
func fdReaddir(fd, ptr, n uint32, cookie uint64, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_create_directory
func pathMkdir(fd, ptr, n uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_remove_directory
func pathRmdir(fd, ptr, n uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_unlink_file
func pathUnlink(fd, ptr, n uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_rename
func pathRename(fd, ptr, n, fd2, ptr2, n2 uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_link
func pathLink(fd, flags, ptr, n, fd2, ptr2, n2 uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_symlink
func pathSymlink(ptr, n, fd, ptr2, n2 uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_readlink
func pathReadlink(fd, ptr, n, buf, size, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_filestat_get
func pathStat(fd, flags, ptr, n, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 path_filestat_set_times
func pathSetTimes(fd, flags, ptr, n uint32, atime, mtime uint64, which uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
func prestatGet(fd, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
func prestatName(fd, ptr, n uint32) uint32

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTime(id uint32, precision uint64, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 clock_res_get
func clockResolution(id, to uint32) uint32

//go:wasmimport wasi_snapshot_preview1 sched_yield
func schedYield() uint32

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(ptr, n uint32) uint32

//go:wasmimport wasi_snapshot_preview1 poll_oneoff
func poll(in, out, n, to uint32) uint32

func at(p *byte) uint32 { return uint32(uintptr(unsafe.Pointer(p))) }

func text(s string) (ptr, n uint32) { return at(unsafe.StringData(s)), uint32(len(s)) }

// guest is what a script has opened.
type guest struct{ open map[string]uint32 }

// Run does the steps and returns what came of each, in a line.
func Run(raw []byte) string {
	var a Args
	if err := json.Unmarshal(raw, &a); err != nil {
		return err.Error()
	}
	g := guest{map[string]uint32{"in": 0, "out": 1, "err": 2}}
	g.folders()
	lines := make([]string, len(a.Steps))
	for i, s := range a.Steps {
		lines[i] = g.repeat(s)
	}
	return strings.Join(lines, "\n")
}

func (g guest) folders() {
	for fd := uint32(3); prestatGet(fd, at(&out[0])) == 0; fd++ {
		name := make([]byte, out[4])
		if prestatName(fd, at(unsafe.SliceData(name)), uint32(len(name))) == 0 {
			g.open[string(name)] = fd
		}
	}
}

func (g guest) repeat(s Step) string {
	if s.Raw {
		var b []byte
		fmt.Sscanf(s.Path, "%x", &b)
		s.Path = string(b)
	}
	for n := range max(s.Times, 1) {
		one := s
		one.Path, one.As = number(s.Path, n), number(s.As, n)
		e, said := g.do(one)
		switch {
		case e != 0 && s.Times > 0:
			return fmt.Sprintf("errno %d after %d", e, n)
		case e != 0:
			return fmt.Sprintf("errno %d", e)
		case said != "" && n+1 >= s.Times:
			return said
		}
	}
	return "ok"
}

// number puts the number of a repetition in the place of a hash.
func number(s string, n int) string { return strings.ReplaceAll(s, "#", fmt.Sprint(n)) }

func (g guest) fd(name string) uint32 {
	if fd, ok := g.open[name]; ok {
		return fd
	}
	var fd uint32
	if _, err := fmt.Sscan(name, &fd); err != nil {
		return 1 << 30
	}
	return fd
}

func (g guest) do(s Step) (errno uint32, said string) {
	dir := g.fd(s.Dir)
	ptr, n := text(s.Path)
	ptr2, n2 := text(s.Name)
	const follow = 1
	switch s.Do {
	case "open":
		return g.openFile(s), ""
	case "read", "write", "pwrite", "seek", "close", "renumber", "allocate", "resize", "touch", "list":
		return g.file(s)
	case "mkdir":
		return pathMkdir(dir, ptr, n), ""
	case "rmdir":
		return pathRmdir(dir, ptr, n), ""
	case "unlink":
		return pathUnlink(dir, ptr, n), ""
	case "rename":
		return pathRename(dir, ptr, n, g.fd(s.To), ptr2, n2), ""
	case "link":
		return pathLink(dir, 0, ptr, n, g.fd(s.To), ptr2, n2), ""
	case "symlink":
		return pathSymlink(ptr, n, g.fd(s.To), ptr2, n2), ""
	case "readlink":
		buf := make([]byte, 100)
		return pathReadlink(dir, ptr, n, at(unsafe.SliceData(buf)), 100, at(&out[0])), string(buf)
	case "stat", "lstat":
		e := pathStat(dir, map[string]uint32{"stat": follow}[s.Do], ptr, n, at(&out[0]))
		return e, fmt.Sprintf("kind %d size %d", out[16], u64(32))
	case "settimes":
		return pathSetTimes(dir, follow, ptr, n, 0, 0, 5), ""
	case "yield":
		return schedYield(), ""
	case "random":
		return randomGet(at(unsafe.SliceData(make([]byte, s.N))), uint32(s.N)), ""
	case "poll":
		buf := make([]byte, 48)
		return poll(at(unsafe.SliceData(buf)), at(unsafe.SliceData(buf)), uint32(s.N), at(&out[0])), ""
	case "time":
		e := clockTime(uint32(s.N), 0, at(&out[0]))
		return e, fmt.Sprint(u64(0))
	case "mtime":
		e := pathStat(dir, follow, ptr, n, at(&out[0]))
		return e, fmt.Sprint(u64(48))
	case "resolution":
		e := clockResolution(uint32(s.N), at(&out[0]))
		return e, fmt.Sprint(u64(0))
	case "make", "turn", "hoard", "dive", "bounce", "race":
		return g.often(s)
	case "env":
		return 0, fmt.Sprintf("%q", os.Environ())
	case "args":
		return 0, fmt.Sprintf("%q", os.Args)
	}
	return 0, "there is no step " + s.Do
}

func u64(from int) uint64 { return *(*uint64)(unsafe.Pointer(&out[from])) }

// openFile opens with the bits that words stand for.
func (g guest) openFile(s Step) uint32 {
	const read, write = 1 << 1, 1 << 6
	follow, oflags, fdflags, rights := uint32(1), uint32(0), uint32(0), uint64(read)
	for _, word := range strings.Fields(s.Flags) {
		switch word {
		case "create":
			oflags |= 1
			rights |= write
		case "dir":
			oflags |= 2
		case "exclusive":
			oflags |= 4
		case "truncate":
			oflags |= 8
			rights |= write
		case "write":
			rights |= write
		case "append":
			fdflags |= 1
			rights |= write
		case "nofollow":
			follow = 0
		}
	}
	ptr, n := text(s.Path)
	e := pathOpen(g.fd(s.Dir), follow, ptr, n, oflags, rights, rights, fdflags, at(&out[0]))
	if e == 0 && s.As != "" {
		g.open[s.As] = uint32(u64(0))
	}
	return e
}

func (g guest) file(s Step) (uint32, string) {
	fd := g.fd(s.FD)
	switch s.Do {
	case "read":
		buf := make([]byte, s.N)
		e := fdRead(fd, list(buf), 1, at(&out[0]))
		return e, fmt.Sprintf("%q", buf[:min(u64(0)&0xffffffff, uint64(len(buf)))])
	case "write":
		return fdWrite(fd, list(bytes(s)), 1, at(&out[0])), ""
	case "pwrite":
		return fdPwrite(fd, list(bytes(s)), 1, s.Off, at(&out[0])), ""
	case "seek":
		return fdSeek(fd, s.Off, 0, at(&out[0])), ""
	case "close":
		return fdClose(fd), ""
	case "renumber":
		return fdRenumber(fd, g.fd(s.To)), ""
	case "allocate":
		return fdAllocate(fd, s.Off, s.N), ""
	case "resize":
		return fdSetSize(fd, s.N), ""
	case "touch":
		return fdSetTimes(fd, 0, 0, 5), ""
	}
	return g.list(fd)
}

// often does one of several things in one go.
func (g guest) often(s Step) (uint32, string) {
	switch s.Do {
	case "make":
		return g.leave(s, false, true), ""
	case "turn":
		return g.leave(s, true, true), ""
	case "hoard":
		return g.leave(s, true, false), ""
	case "dive":
		return g.dive(s)
	case "bounce":
		for {
			for _, cookie := range []uint64{0, s.N} {
				if e := fdReaddir(g.fd(s.FD), at(&kept.page[0]), 100, cookie, at(&out[0])); e != 0 {
					return e, ""
				}
			}
		}
	}
	return g.race(s)
}

// leave makes a file and writes to it, and may remove it and close it.
func (g guest) leave(s Step, unlink, closing bool) uint32 {
	ptr, n := text(s.Path)
	if e := g.openFile(Step{Dir: s.Dir, Path: s.Path, Flags: "create", As: "left"}); e != 0 {
		return e
	}
	fd := g.open["left"]
	if s.N > 0 {
		if e := fdWrite(fd, list(bytes(s)), 1, at(&out[0])); e != 0 {
			return e
		}
	}
	if unlink {
		if e := pathUnlink(g.fd(s.Dir), ptr, n); e != 0 {
			return e
		}
	}
	if closing {
		return fdClose(fd)
	}
	return 0
}

// dive goes down from one folder into the next, as far as it gets, and makes those
// that it is told to.
func (g guest) dive(s Step) (uint32, string) {
	at := s.Dir
	for depth := 1; ; depth++ {
		ptr, n := text(s.Path)
		if s.Flags == "create" {
			if e := pathMkdir(g.fd(at), ptr, n); e != 0 {
				return 0, fmt.Sprintf("errno %d at %d", e, depth)
			}
		}
		if e := g.openFile(Step{Dir: at, Path: s.Path, Flags: "dir", As: "next"}); e != 0 {
			return 0, fmt.Sprintf("errno %d at %d", e, depth)
		}
		if at != s.Dir {
			fdClose(g.open[at])
		}
		g.open["deep"], at = g.open["next"], "deep"
	}
}

// race opens what somebody else may exchange meanwhile, to read and to overwrite
// it.
func (g guest) race(s Step) (uint32, string) {
	opened, written := 0, 0
	buf := make([]byte, max(s.Off, 64))
	for range s.N {
		if g.openFile(Step{Dir: s.Dir, Path: s.Path, As: "raced"}) == 0 {
			opened++
			if fdRead(g.open["raced"], list(buf), 1, at(&out[0])) == 0 && s.Text != "" && strings.Contains(string(buf), s.Text) {
				return 0, "leaked"
			}
			fdClose(g.open["raced"])
		}
		if s.To != "" && g.openFile(Step{Dir: s.To, Path: s.Name, Flags: "create truncate", As: "raced"}) == 0 {
			written++
			fdWrite(g.open["raced"], list([]byte("overwritten")), 1, at(&out[0]))
			fdClose(g.open["raced"])
		}
	}
	if opened == 0 || s.To != "" && written == 0 {
		return 0, "never opened: it shows nothing"
	}
	return 0, "raced"
}

// kept is what the host reads from and writes to; the collector moves nothing.
var kept struct {
	list  [2]uint32
	bytes []byte
	page  [64 << 10]byte
}

func list(b []byte) uint32 {
	kept.bytes = b
	kept.list = [2]uint32{at(unsafe.SliceData(b)), uint32(len(b))}
	return uint32(uintptr(unsafe.Pointer(&kept.list)))
}

// bytes is the text of a step, or as many bytes as it says.
func bytes(s Step) []byte {
	if s.N == 0 {
		return []byte(s.Text)
	}
	if uint64(len(kept.bytes)) != s.N {
		kept.bytes = make([]byte, s.N)
	}
	return kept.bytes
}

// list counts the entries of a directory, "." and ".." among them.
func (g guest) list(fd uint32) (uint32, string) {
	entries, cookie := 0, uint64(0)
	for {
		if e := fdReaddir(fd, at(&kept.page[0]), uint32(len(kept.page)), cookie, at(&out[0])); e != 0 {
			return e, ""
		}
		used := uint32(u64(0))
		for from := uint32(0); from+24 <= used; {
			next := *(*uint64)(unsafe.Pointer(&kept.page[from]))
			from += 24 + *(*uint32)(unsafe.Pointer(&kept.page[from+16]))
			if from <= used {
				entries, cookie = entries+1, next
			}
		}
		if used < uint32(len(kept.page)) {
			return 0, fmt.Sprint(entries)
		}
	}
}
