package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/host/policy"
)

const both = rightRead | rightWrite

func TestSystemTellsArgumentsAndEnvironment(t *testing.T) {
	w, _ := newWorld(t, func(p *policy.Policy) { p.Grants.Env = map[string]string{"B": "2", "A": ""} })
	for _, tc := range []struct{ sizes, get, want string }{
		{"args_sizes_get", "args_get", "tool\x00x y\x00"},
		{"environ_sizes_get", "environ_get", "A=\x00B=2\x00"},
	} {
		w.must(tc.sizes, atResult, atResult+4)
		if n, size := w.u32(atResult), w.u32(atResult+4); n != 2 || size != uint64(len(tc.want)) {
			t.Errorf("%s: %d texts of %d bytes", tc.sizes, n, size)
		}
		w.must(tc.get, atList, atBuffer)
		if got := w.bytes(atBuffer, uint64(len(tc.want))); got != tc.want {
			t.Errorf("%s: %q", tc.get, got)
		}
		if first, next := w.u32(atList), w.u32(atList+4); first != atBuffer || next != atBuffer+uint64(strings.IndexByte(tc.want, 0))+1 {
			t.Errorf("%s: the texts are at %d and %d", tc.get, first, next)
		}
		w.want(wasiFault, tc.get, pageEnd-7, atBuffer)
		w.want(wasiFault, tc.get, atList, pageEnd-uint64(len(tc.want))+1)
		w.want(wasiFault, tc.sizes, pageEnd-3, atResult)
	}
}

func TestSystemClocks(t *testing.T) {
	fixed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w, _ := newWorld(t, func(p *policy.Policy) { p.Grants.Clock.Fixed = fixed })
	for id, want := range []uint64{1000, 1} {
		w.must("clock_res_get", uint64(id), atResult)
		if got := w.u64(atResult); got != want {
			t.Errorf("clock %d: resolution %d", id, got)
		}
	}
	w.must("clock_time_get", clockRealtime, 0, atResult)
	if got := w.u64(atResult); got != uint64(fixed.UnixNano()) {
		t.Errorf("it is %d", got)
	}
	w.must("clock_time_get", clockMonotonic, 0, atResult)
	if got := w.u64(atResult); got != 1000 {
		t.Errorf("%d after the first reading", got)
	}
	for _, id := range []uint64{2, 3, 1 << 31} {
		w.want(wasiInval, "clock_time_get", id, 0, atResult)
		w.want(wasiInval, "clock_res_get", id, atResult)
	}
	w.want(wasiFault, "clock_time_get", clockRealtime, 0, pageEnd-7)
}

func TestSystemReadsAndWrites(t *testing.T) {
	w, root := newWorld(t)
	if got := w.read(0, 3) + w.read(0, 100) + w.read(0, 100); got != "input" {
		t.Errorf("standard input is %q", got)
	}
	w.write(1, "out")
	w.write(2, "err\n")
	if got := w.out.buf.String(); got != "out" {
		t.Errorf("standard output is %q", got)
	}
	fd := w.open(4, "f", openCreate|openExclusive, both, 0)
	w.write(fd, "0123456789")
	w.must("fd_seek", fd, 2, 0, atResult)
	if got := w.read(fd, 3); got != "234" {
		t.Errorf("read %q", got)
	}
	w.must("fd_tell", fd, atResult)
	if got := w.u64(atResult); got != 5 {
		t.Errorf("the offset is %d", got)
	}
	list, n := w.buffers(atBuffer, 2, atBuffer+2, 0, atBuffer+2, 100)
	w.must("fd_pread", fd, list, n, 7, atResult)
	if got := w.bytes(atBuffer, w.u32(atResult)); got != "789" {
		t.Errorf("read %q", got)
	}
	w.put(atBuffer, "XYZ")
	list, n = w.buffers(atBuffer, 1, atBuffer+1, 2)
	w.must("fd_pwrite", fd, list, n, 8, atResult)
	w.must("fd_fdstat_set_flags", fd, fdAppend)
	w.must("fd_seek", fd, 0, 0, atResult)
	w.write(fd, "!")
	w.put(atBuffer, "XYZ")
	list, n = w.buffers(atBuffer, 1, atBuffer+1, 2)
	w.must("fd_pwrite", fd, list, n, 0, atResult)
	w.must("fd_fdstat_set_flags", fd, 0)
	w.must("fd_seek", fd, 0, 0, atResult)
	w.write(fd, "_")
	for _, name := range []string{"fd_sync", "fd_datasync"} {
		w.must(name, fd)
		w.must(name, 1)
		w.must(name, 3)
	}
	if got := hostFile(t, root, "write/f"); got != "_1234567XYZ!XYZ" {
		t.Errorf("the file is %q", got)
	}
	w.must("fd_filestat_set_size", fd, 2)
	w.must("fd_allocate", fd, 1, 3)
	w.must("fd_allocate", fd, 0, 1)
	if got := hostFile(t, root, "write/f"); got != "_1\x00\x00" {
		t.Errorf("the file is %q", got)
	}
	w.must("fd_advise", fd, 0, 0, 5)
	w.must("fd_close", fd)
	w.want(wasiBadf, "fd_close", fd)
}

func TestSystemRefusesWhatADescriptorIsNotFor(t *testing.T) {
	w, _ := newWorld(t)
	file := w.open(3, "a.txt", 0, rightRead, 0)
	only := w.open(4, "w", openCreate, rightWrite, 0)
	list, n := w.buffers(atBuffer, 1)
	const none, huge = 77, 1<<32 - 1
	for _, tc := range []struct {
		want errno
		name string
		args []uint64
	}{
		{wasiBadf, "fd_read", []uint64{1, list, n, atResult}},
		{wasiBadf, "fd_read", []uint64{only, list, n, atResult}},
		{wasiBadf, "fd_read", []uint64{none, list, n, atResult}},
		{wasiIsdir, "fd_read", []uint64{3, list, n, atResult}},
		{wasiBadf, "fd_write", []uint64{0, list, n, atResult}},
		{wasiBadf, "fd_write", []uint64{file, list, n, atResult}},
		{wasiIsdir, "fd_write", []uint64{4, list, n, atResult}},
		{wasiSpipe, "fd_pread", []uint64{0, list, n, 0, atResult}},
		{wasiSpipe, "fd_pwrite", []uint64{1, list, n, 0, atResult}},
		{wasiInval, "fd_pread", []uint64{file, list, n, 1 << 63, atResult}},
		{wasiInval, "fd_pwrite", []uint64{only, list, n, 1 << 63, atResult}},
		{wasiFault, "fd_read", []uint64{file, pageEnd - 7, 1, atResult}},
		{wasiFault, "fd_read", []uint64{file, list, huge, atResult}},
		{wasiFault, "fd_read", []uint64{file, list, n, pageEnd - 3}},
		{wasiSpipe, "fd_seek", []uint64{0, 0, 0, atResult}},
		{wasiIsdir, "fd_seek", []uint64{3, 0, 0, atResult}},
		{wasiInval, "fd_seek", []uint64{file, 0, 3, atResult}},
		{wasiInval, "fd_seek", []uint64{file, 1 << 63, 0, atResult}},
		{wasiFault, "fd_seek", []uint64{file, 0, 0, pageEnd - 7}},
		{wasiSpipe, "fd_tell", []uint64{1, atResult}},
		{wasiBadf, "fd_filestat_set_size", []uint64{file, 0}},
		{wasiInval, "fd_filestat_set_size", []uint64{1, 0}},
		{wasiInval, "fd_filestat_set_size", []uint64{only, 1 << 63}},
		{wasiIsdir, "fd_filestat_set_size", []uint64{4, 0}},
		{wasiInval, "fd_allocate", []uint64{only, 1 << 62, 1 << 62}},
		{wasiNospc, "fd_allocate", []uint64{only, 1 << 62, 1}},
		{wasiBadf, "fd_allocate", []uint64{file, 0, 1}},
		{wasiInval, "fd_advise", []uint64{file, 0, 0, 6}},
		{wasiBadf, "fd_advise", []uint64{none, 0, 0, 0}},
		{wasiBadf, "fd_sync", []uint64{none}},
		{wasiInval, "fd_fdstat_set_flags", []uint64{file, 1 << 5}},
		{wasiIsdir, "fd_fdstat_set_flags", []uint64{3, 0}},
		{wasiNotsup, "fd_fdstat_set_rights", []uint64{file, 0, 0}},
		{wasiBadf, "fd_fdstat_set_rights", []uint64{none, 0, 0}},
		{wasiFault, "fd_fdstat_get", []uint64{file, pageEnd - 23}},
		{wasiFault, "fd_filestat_get", []uint64{file, pageEnd - 63}},
		{wasiRofs, "fd_filestat_set_times", []uint64{file, 1, 1, setAtime}},
		{wasiInval, "fd_filestat_set_times", []uint64{only, 1, 1, setAtime | setAtimeNow}},
		{wasiInval, "fd_filestat_set_times", []uint64{only, 1, 1 << 63, setMtime}},
		{wasiInval, "fd_filestat_set_times", []uint64{0, 1, 1, setAtime}},
		{wasiBadf, "fd_prestat_get", []uint64{0, atResult}},
		{wasiBadf, "fd_prestat_get", []uint64{5, atResult}},
		{wasiBadf, "fd_prestat_get", []uint64{file, atResult}},
		{wasiNametoolong, "fd_prestat_dir_name", []uint64{3, atBuffer, 4}},
		{wasiFault, "fd_prestat_dir_name", []uint64{3, pageEnd - 4, 5}},
		{wasiBadf, "fd_readdir", []uint64{file, atBuffer, 100, 0, atResult}},
		{wasiInval, "fd_readdir", []uint64{3, atBuffer, 23, 0, atResult}},
		{wasiFault, "fd_readdir", []uint64{3, atBuffer, huge, 0, atResult}},
		{wasiFault, "fd_readdir", []uint64{3, atBuffer, 100, 0, pageEnd - 3}},
		{wasiFault, "random_get", []uint64{atBuffer, huge}},
		{wasiFault, "random_get", []uint64{huge, 1}},
		{wasiNosys, "proc_raise", []uint64{1}},
		{wasiNotsock, "sock_accept", []uint64{0, 0, atResult}},
		{wasiBadf, "sock_accept", []uint64{none, 0, atResult}},
		{wasiNotsock, "sock_recv", []uint64{0, list, n, 0, atResult, atResult}},
		{wasiNotsock, "sock_send", []uint64{1, list, n, 0, atResult}},
		{wasiNotsock, "sock_shutdown", []uint64{1, 0}},
		{0, "sched_yield", nil},
		{0, "random_get", []uint64{0, pageEnd}},
	} {
		w.want(tc.want, tc.name, tc.args...)
	}
}

func TestSystemDescribesDescriptors(t *testing.T) {
	w, _ := newWorld(t)
	read := w.open(3, "a.txt", 0, rightRead, 0)
	written := w.open(4, "w", openCreate, rightWrite, fdAppend)
	sub := w.open(4, ".", openDirectory, both, 0)
	for _, tc := range []struct {
		fd     uint64
		kind   byte
		flags  uint16
		has    uint64
		hasNot uint64
	}{
		{0, typeUnknown, 0, rightRead, rightWrite | rightSeek | rightTell},
		{1, typeUnknown, 0, rightWrite, rightRead | rightSeek | rightTell},
		{3, typeDirectory, 0, rightReaddir, rightSeek | rightRead},
		{read, typeRegular, 0, rightRead | rightSeek | rightTell, rightWrite},
		{written, typeRegular, fdAppend, rightWrite | rightSeek, rightRead},
		{sub, typeDirectory, 0, rightReaddir, rightSeek},
	} {
		w.must("fd_fdstat_get", tc.fd, atResult)
		b := w.bytes(atResult, 24)
		rights := w.u64(atResult + 8)
		if b[0] != tc.kind || le.Uint16([]byte(b[2:])) != tc.flags || rights&tc.has != tc.has || rights&tc.hasNot != 0 {
			t.Errorf("descriptor %d: %x", tc.fd, b)
		}
		w.must("fd_filestat_get", tc.fd, atResult)
		if b := w.bytes(atResult, 64); b[16] != tc.kind || w.u64(atResult) != 0 {
			t.Errorf("descriptor %d: %x", tc.fd, b)
		}
	}
	w.must("fd_prestat_get", 4, atResult)
	w.must("fd_prestat_dir_name", 4, atBuffer, 4)
	if got := w.bytes(atBuffer, w.u64(atResult)>>32); got != "/out" {
		t.Errorf("folder %q", got)
	}
}

func TestSystemPathsEndInTheRightErrno(t *testing.T) {
	w, root := newWorld(t)
	if err := os.MkdirAll(filepath.Join(root, "write/dir/in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"write/f", "write/dir/f"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"inner": "f", "outer": "../secret", "nowhere": "nosuch"} {
		if err := os.Symlink(to, filepath.Join(root, "write", name)); err != nil {
			t.Fatal(err)
		}
	}
	const docs, out, create = 3, 4, openCreate
	for _, tc := range []struct {
		dir            uint64
		path           string
		oflags, rights uint64
		want           errno
	}{
		{docs, "a.txt", 0, rightRead, 0},
		{docs, "./x/../a.txt", 0, rightRead, 0},
		{docs, "a.txt", 0, both, wasiRofs},
		{docs, "a.txt", openTruncate, rightRead, wasiRofs},
		{docs, "new", create, both, wasiRofs},
		{docs, "", 0, rightRead, wasiNoent},
		{docs, "nosuch", 0, rightRead, wasiNoent},
		{docs, "../secret", 0, rightRead, wasiPerm},
		{docs, "/a.txt", 0, rightRead, wasiPerm},
		{docs, root + "/secret", 0, rightRead, wasiPerm},
		{docs, "x/../../secret", 0, rightRead, wasiPerm},
		{docs, "link", 0, rightRead, wasiAcces},
		{docs, "a.txt/", 0, rightRead, wasiNotdir},
		{docs, "a.txt/x", 0, rightRead, wasiNotdir},
		{docs, "a.txt", openDirectory, rightRead, wasiNotdir},
		{docs, "a\x00.txt", 0, rightRead, wasiInval},
		{docs, "\xff", 0, rightRead, wasiIlseq},
		{docs, strings.Repeat("x", 300), 0, rightRead, wasiNametoolong},
		{out, "f", create | openExclusive, both, wasiExist},
		{out, "f", openDirectory | openTruncate, both, wasiInval},
		{out, "dir", openDirectory | create, both, wasiInval},
		{out, "dir", 0, rightRead, 0},
		{out, "dir", openDirectory, both, 0},
		{out, "dir", 0, both, wasiIsdir},
		{out, "inner", 0, both, 0},
		{out, "outer", 0, both, wasiAcces},
		{out, "nowhere", create, both, wasiNoent},
		{out, "dir/no/f", create, both, wasiNoent},
		{out, "f", 1 << 4, both, wasiInval},
		{0, "f", 0, rightRead, wasiNotdir},
		{9999, "f", 0, rightRead, wasiBadf},
	} {
		e := w.tryOpen(tc.dir, tc.path, tc.oflags, tc.rights)
		if e != tc.want {
			t.Errorf("open %d %q %b: errno %d, want %d", tc.dir, tc.path, tc.oflags, e, tc.want)
		}
		if e == 0 {
			w.must("fd_close", w.u32(atResult))
		}
	}
	dir := w.open(out, "dir", openDirectory, rightRead, 0)
	for _, tc := range []struct {
		name string
		dir  uint64
		path string
		want errno
	}{
		{"path_create_directory", out, "made", 0},
		{"path_create_directory", out, "made", wasiExist},
		{"path_create_directory", docs, "made", wasiRofs},
		{"path_create_directory", dir, "deep", 0},
		{"path_create_directory", dir, "../up", wasiPerm},
		{"path_remove_directory", dir, "deep", 0},
		{"path_remove_directory", out, "made", 0},
		{"path_remove_directory", out, "dir", wasiNotempty},
		{"path_remove_directory", out, "f", wasiNotdir},
		{"path_remove_directory", out, ".", wasiAcces},
		{"path_remove_directory", docs, "x", wasiRofs},
		{"path_unlink_file", out, "nosuch", wasiNoent},
		{"path_unlink_file", out, "dir", wasiIsdir},
		{"path_unlink_file", out, "dir/", wasiIsdir},
		{"path_unlink_file", out, "f/", wasiNotdir},
		{"path_unlink_file", docs, "a.txt", wasiRofs},
		{"path_unlink_file", dir, "f", 0},
	} {
		ptr, n := w.path(tc.path)
		w.want(tc.want, tc.name, tc.dir, ptr, n)
	}
	rename := func(want errno, from uint64, a string, to uint64, b string) {
		t.Helper()
		w.put(atPath, a)
		w.put(atPath2, b)
		w.want(want, "path_rename", from, atPath, uint64(len(a)), to, atPath2, uint64(len(b)))
	}
	rename(0, out, "f", dir, "moved")
	rename(0, dir, "moved", out, "f")
	rename(wasiRofs, docs, "a.txt", out, "f")
	rename(wasiRofs, out, "f", docs, "f")
	rename(wasiPerm, out, "f", out, "../f")
	rename(wasiNoent, out, "nosuch", out, "f")

	w.put(atPath, "f")
	w.put(atPath2, "new")
	w.want(wasiPerm, "path_link", out, 0, atPath, 1, out, atPath2, 3)
	w.want(wasiRofs, "path_link", out, 0, atPath, 1, docs, atPath2, 3)
	w.want(wasiPerm, "path_symlink", atPath, 1, out, atPath2, 3)
	w.want(wasiRofs, "path_symlink", atPath, 1, docs, atPath2, 3)
	w.want(wasiInval, "path_readlink", out, atPath, 1, atBuffer, 100, atResult)
	w.put(atPath, "outer")
	w.want(wasiPerm, "path_readlink", out, atPath, 5, atBuffer, 100, atResult)
	w.want(wasiLoop, "path_open", out, 0, atPath, 5, 0, rightRead, 0, 0, atResult)
	w.want(wasiNotsup, "path_filestat_set_times", out, 0, atPath, 5, 1, 1, setMtime)
	w.want(wasiAcces, "path_filestat_get", out, followLinks, atPath, 5, atResult)
	w.must("path_filestat_get", out, 0, atPath, 5, atResult)
	if kind := w.bytes(atResult, 64)[16]; kind != typeLink {
		t.Errorf("the link is of kind %d", kind)
	}
	if got := hostFile(t, root, "secret") + hostFile(t, root, "write/f"); got != "secrettext" {
		t.Errorf("the files hold %q", got)
	}
}

func TestSystemSetsTimes(t *testing.T) {
	fixed := time.Unix(5000, 0)
	w, root := newWorld(t, func(p *policy.Policy) { p.Grants.Clock.Fixed = fixed })
	fd := w.open(4, "f", openCreate, both, 0)
	mtime := func() int64 {
		t.Helper()
		info, err := os.Stat(filepath.Join(root, "write/f"))
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime().Unix()
	}
	w.must("fd_filestat_set_times", fd, 0, 1000*second, setMtime)
	if got := mtime(); got != 1000 {
		t.Errorf("set to %d", got)
	}
	w.must("fd_filestat_set_times", fd, 2000*second, 0, setAtime)
	w.must("fd_filestat_get", fd, atResult)
	if a, m := w.u64(atResult+40)/second, w.u64(atResult+48)/second; a != 2000 || m != 1000 {
		t.Errorf("read at %d, changed at %d", a, m)
	}
	ptr, n := w.path("f")
	w.must("path_filestat_set_times", 4, 0, ptr, n, 0, 0, setMtimeNow)
	if got := mtime(); got != 5000 {
		t.Errorf("now is %d", got)
	}
	// The name is another file's now.
	if err := errors.Join(os.Remove(filepath.Join(root, "write/f")), os.WriteFile(filepath.Join(root, "write/f"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	w.want(wasiNoent, "fd_filestat_set_times", fd, 0, 1000*second, setMtime)
	if got := mtime(); got == 1000 {
		t.Error("the time of another file was set")
	}
}

// entries reads a directory as a library does, with buffers of a size.
func (w *world) entries(fd uint64, size uint64) (names []string, calls int) {
	w.t.Helper()
	cookie := uint64(0)
	for {
		calls++
		w.must("fd_readdir", fd, atBuffer, size, cookie, atResult)
		used := w.u32(atResult)
		before := cookie
		for at := uint64(0); at+direntSize <= used; {
			length := w.u32(atBuffer + at + 16)
			if at+direntSize+length > used {
				break
			}
			names = append(names, w.bytes(atBuffer+at+direntSize, length))
			cookie = w.u64(atBuffer + at)
			at += direntSize + length
		}
		if used < size {
			return names, calls
		}
		if cookie == before {
			w.t.Fatalf("nothing whole in %d bytes", size)
		}
	}
}

func TestSystemListsDirectoriesInPiecesOfAnySize(t *testing.T) {
	dir := t.TempDir()
	want := map[string]bool{".": true, "..": true}
	for i := range 2500 {
		name := fmt.Sprintf("%s%d", strings.Repeat("x", i%70), i)
		want[name] = true
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, _ := newWorld(t, func(p *policy.Policy) { p.Grants.Read[0].Host = dir })
	for _, size := range []uint64{100, 101, 127, 4096, 40000} {
		names, calls := w.entries(3, size)
		got := map[string]bool{}
		for _, n := range names {
			got[n] = true
		}
		if diff := cmp.Diff(want, got); diff != "" || len(names) != len(want) {
			t.Errorf("pieces of %d: %d names in %d calls: %s", size, len(names), calls, diff)
		}
		if names[0] != "." || names[1] != ".." {
			t.Errorf("begins with %q", names[:2])
		}
	}
	// Back to a place that was read long ago, and past the end.
	w.must("fd_readdir", 3, atBuffer, 1000, 2, atResult)
	early := w.bytes(atBuffer, 1000)
	w.must("fd_readdir", 3, atBuffer, 1000, 2300, atResult)
	w.must("fd_readdir", 3, atBuffer, 1000, 2, atResult)
	if got := w.bytes(atBuffer, 1000); got != early {
		t.Error("the same place holds other names")
	}
	w.must("fd_readdir", 3, atBuffer, 1000, 1<<63, atResult)
	if got := w.u32(atResult); got != 0 {
		t.Errorf("%d bytes past the end", got)
	}
}

func TestSystemStandardDescriptorsAreTheGuestsToClose(t *testing.T) {
	w, root := newWorld(t)
	w.must("fd_close", 0)
	w.want(wasiBadf, "fd_close", 0)
	if fd := w.open(4, "log", openCreate, both, 0); fd != 0 {
		t.Errorf("the lowest free number is 0, and got %d", fd)
	}
	w.must("fd_renumber", 0, 1)
	w.write(1, "to the file")
	w.want(wasiBadf, "fd_write", 0, atList, 1, atResult)
	w.must("fd_renumber", 1, 1)
	w.must("fd_renumber", 2, 1)
	w.write(1, "to the log\n")
	w.must("fd_renumber", 3, 2)
	w.must("fd_prestat_get", 2, atResult)
	w.want(wasiBadf, "fd_prestat_get", 3, atResult)
	if got := hostFile(t, root, "write/log"); got != "to the file" || w.out.buf.Len() != 0 {
		t.Errorf("the file is %q, the output %q", got, w.out.buf.String())
	}
	if got := w.guest.sink.Tail(); !strings.Contains(got, "to the log") {
		t.Errorf("the log ends with %q", got)
	}
}

// Attack: 16 GiB of the host by one number.
func TestSystemNumbersStayBelowTheCap(t *testing.T) {
	w, _ := newWorld(t, func(p *policy.Policy) { p.Limits.Files.Open = 4 })
	limit := uint64(3 + 2 + 4)
	for _, to := range []uint64{limit, 1 << 20, 1<<31 - 1, 1<<32 - 1} {
		w.want(wasiBadf, "fd_renumber", 1, to)
	}
	w.must("fd_renumber", 1, limit-1)
	w.must("fd_renumber", limit-1, 1)
	var fds []uint64
	for range 4 {
		fds = append(fds, w.open(3, "a.txt", 0, rightRead, 0))
	}
	if diff := cmp.Diff([]uint64{5, 6, 7, 8}, fds); diff != "" {
		t.Error(diff)
	}
	if e := w.tryOpen(3, "a.txt", 0, rightRead); e != wasiMfile {
		t.Errorf("errno %d", e)
	}
	w.must("fd_close", 6)
	if fd := w.open(3, "b.txt", 0, rightRead, 0); fd != 6 {
		t.Errorf("got %d", fd)
	}
	// Taking the place of an open file closes it: its slot is free again.
	w.must("fd_renumber", 5, 6)
	if fd := w.open(3, "b.txt", 0, rightRead, 0); fd != 5 {
		t.Errorf("got %d", fd)
	}
}

func TestSystemSaysWhenTheQuotaIsUsedUp(t *testing.T) {
	w, root := newWorld(t, func(p *policy.Policy) { p.Limits.Files.Bytes, p.Limits.Files.Count = 10, 2 })
	fd := w.open(4, "a", openCreate, both, 0)
	w.write(fd, "12345678")
	list, n := w.buffers(atBuffer, 3)
	w.want(wasiNospc, "fd_write", fd, list, n, atResult)
	w.want(wasiNospc, "fd_filestat_set_size", fd, 11)
	w.want(wasiNospc, "fd_allocate", fd, 0, 11)
	w.write(fd, "90")
	ptr, size := w.path("dir")
	w.must("path_create_directory", 4, ptr, size)
	if e := w.tryOpen(4, "b", openCreate, both); e != wasiNospc {
		t.Errorf("errno %d", e)
	}
	if got := hostFile(t, root, "write/a"); got != "1234567890" {
		t.Errorf("the file is %q", got)
	}
}

func TestSystemExitEndsTheGuestWithItsCode(t *testing.T) {
	w, _ := newWorld(t)
	_, err := w.mod.ExportedFunction("proc_exit").Call(w.guest.ctx, 7)
	var exit *sys.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !w.guest.sys.exited {
		t.Errorf("%v", err)
	}
}
