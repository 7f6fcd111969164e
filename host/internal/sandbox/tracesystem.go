package sandbox

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// system does a call of WASI and records it, if there is a trace.
func (t *Trace) system(f wasiFunc, s *system, m guestMemory, args []uint64) errno {
	if t == nil {
		return f.do(s, m, args)
	}
	if t.full() {
		return t.unlisted(f, s, m, args)
	}
	sub := s.subject(f.name, m, args) // a descriptor may be closed by the call
	start := time.Now()
	e := t.answered(f, s, m, args)
	t.Environ = t.Environ || strings.HasPrefix(f.name, "environ_")
	t.add(HostCall{Door: "wasi", Function: f.name, About: sub.about, Result: e.String(), Duration: time.Since(start)}, sub.verdict(f.name, e))
	return e
}

// answered does a call, or answers it for the folder of Probe.
func (t *Trace) answered(f wasiFunc, s *system, m guestMemory, args []uint64) errno {
	if e, mine := t.probed(f.name, s, m, args); mine {
		return e
	}
	return f.do(s, m, args)
}

// unlisted does a call that is not recorded. What the first of those that are
// denied would need is still wanted: a path is in memory after the call, too.
func (t *Trace) unlisted(f wasiFunc, s *system, m guestMemory, args []uint64) errno {
	e := t.answered(f, s, m, args)
	if !e.denies() || t.looked >= maxLooked {
		t.Dropped++
		return e
	}
	t.looked++
	sub := s.subject(f.name, m, args)
	t.add(HostCall{}, sub.verdict(f.name, e))
	return e
}

// exited records the function that does not return.
func (t *Trace) exited(code uint32) {
	if t != nil {
		t.add(HostCall{Door: "wasi", Function: "proc_exit", About: fmt.Sprintf("code %d", code), Result: "ended"}, verdict{})
	}
}

// subject is what a call is about.
type subject struct {
	about string
	grant string // that covers it
	path  string // absolute and cleaned; empty: it is about no path
	write bool   // it would change what is there
}

// pathArguments are where the functions that take paths have them: a directory,
// a pointer and a length. writes says that they change what is there.
func pathArguments(name string) (at [][3]int, writes bool) {
	switch name {
	case "path_create_directory", "path_remove_directory", "path_unlink_file":
		return [][3]int{{0, 1, 2}}, true
	case "path_filestat_get":
		return [][3]int{{0, 2, 3}}, false
	case "path_filestat_set_times":
		return [][3]int{{0, 2, 3}}, true
	case "path_open":
		return [][3]int{{0, 2, 3}}, false
	case "path_readlink":
		return [][3]int{{0, 1, 2}}, false
	case "path_symlink":
		return [][3]int{{2, 3, 4}}, true
	case "path_link":
		return [][3]int{{4, 5, 6}, {0, 2, 3}}, true
	case "path_rename":
		return [][3]int{{0, 1, 2}, {3, 4, 5}}, true
	}
	return nil, false
}

func (s *system) subject(name string, m guestMemory, a []uint64) subject {
	if at, writes := pathArguments(name); at != nil {
		return s.pathSubject(name, m, a, at, writes)
	}
	switch name {
	case "environ_get", "environ_sizes_get":
		return subject{about: fmt.Sprintf("%d variables", len(s.env)), grant: "allow.env"}
	case "clock_time_get", "clock_res_get":
		return subject{about: clockName(a[0]), grant: "allow.clock " + clockGrant(s.guest.grants.Clock)}
	case "random_get":
		return subject{about: fmt.Sprintf("%d bytes", a[1]), grant: "allow.random " + randomGrant(s.guest.grants.Random)}
	case "poll_oneoff":
		return subject{about: fmt.Sprintf("%d events", a[2])}
	}
	if strings.HasPrefix(name, "fd_") || strings.HasPrefix(name, "sock_") {
		d, e := s.open.find(a[0])
		if e != 0 {
			return subject{about: fmt.Sprintf("descriptor %d", a[0])}
		}
		sub := subject{about: d.traced(a[0]), grant: d.grant()}
		if d.folder != nil || d.dir {
			sub.path = path.Clean(sub.about)
		}
		return sub
	}
	return subject{}
}

// pathSubject is about one path, or about two of which the first says what is
// needed.
func (s *system) pathSubject(name string, m guestMemory, a []uint64, at [][3]int, writes bool) subject {
	sub := subject{write: writes || name == "path_open" && opensToWrite(a)}
	var names []string
	for i, p := range at {
		full, d := s.fullPath(m, a[p[0]], a[p[1]], a[p[2]])
		names = append(names, full)
		if i == 0 {
			sub.path, sub.grant = path.Clean(full), d.grant()
		}
	}
	sub.about = strings.Join(names, " to ")
	return sub
}

func opensToWrite(a []uint64) bool {
	const creates = openCreate | openTruncate
	return a[4]&creates != 0 || a[5]&(rightRead|rightWrite) == rightWrite || a[5]&(rightRead|rightWrite) == rightRead|rightWrite && a[4]&openDirectory == 0 || a[7]&fdAppend != 0
}

// fullPath is a path as the guest has it, from its root.
func (s *system) fullPath(m guestMemory, fd, ptr, n uint64) (string, *descriptor) {
	name := "?"
	if b, e := m.view(ptr, min(n, maxWantedPath+1)); e == 0 {
		name = string(b)
	}
	d, e := s.open.find(fd)
	if e != 0 {
		return fmt.Sprintf("descriptor %d: %s", fd, name), nil
	}
	return strings.TrimSuffix(d.traced(fd), "/") + "/" + name, d
}

// traced is what the guest knows a descriptor as.
func (d *descriptor) traced(fd uint64) string {
	switch {
	case d.folder != nil && d.path == ".":
		return d.folder.GuestPath()
	case d.folder != nil:
		return strings.TrimSuffix(d.folder.GuestPath(), "/") + "/" + d.path
	case d.dir:
		return "/"
	case d.in != nil:
		return "standard input"
	case fd == 1:
		return "standard output"
	case fd == 2:
		return "standard error"
	}
	return "a stream"
}

// grant is that by which the guest has the descriptor.
func (d *descriptor) grant() string {
	switch {
	case d == nil || d.folder == nil:
		return ""
	case d.folder.Writable():
		return "allow.write " + d.folder.GuestPath()
	}
	return "allow.read " + d.folder.GuestPath()
}

func clockName(id uint64) string {
	switch id {
	case clockRealtime:
		return "real time"
	case clockMonotonic:
		return "monotonic"
	}
	return "clock " + strconv.FormatUint(id, 10)
}

func clockGrant(c policy.Clock) string {
	if c.Fixed.IsZero() {
		return "real"
	}
	return "fixed:" + c.Fixed.Format(time.RFC3339)
}

func randomGrant(r policy.Random) string {
	if r.Seeded {
		return "seed:" + strconv.FormatUint(r.Seed, 10)
	}
	return "real"
}

// denies says that an answer is a refusal of the host, and not of the system
// behind it.
func (e errno) denies() bool {
	switch e {
	case wasiRofs, wasiPerm, wasiAcces, wasiNotcapable, wasiNospc, wasiMfile, wasiNotsock:
		return true
	}
	return false
}

func (sub subject) verdict(name string, e errno) verdict {
	if !e.denies() {
		return verdict{why: sub.grant}
	}
	switch e {
	case wasiNotcapable, wasiRofs:
		if sub.path == "" {
			break
		}
		if len(sub.path) > maxWantedPath {
			return never("no grant covers it", "a path is too long for a manifest")
		}
		door := "allow.read"
		if sub.write || e == wasiRofs {
			door = "allow.write"
		}
		return verdict{denied: true, why: "no grant covers it: " + door, need: Need{Path: &PathNeed{sub.path, door == "allow.write"}}}
	case wasiNospc:
		return never("limits.files", "what a call may write and make is limited: limits.files")
	case wasiMfile:
		return never("limits.files.open", "the files that are open at once are limited: limits.files.open")
	case wasiNotsock:
		return never("there are no sockets", "sockets are never granted")
	}
	if strings.HasSuffix(name, "link") && e == wasiPerm {
		return never("links are not made or read", "links can be neither made nor read, whatever is granted")
	}
	return never("it leads out of its folder, is no regular file, or is not the host's to open",
		"a path that leads out of its folder, a link that does, and what is no regular file are never opened: "+oneLine(sub.about, maxAbout))
}

// maxWantedPath is the longest path that is remembered for a grant, in bytes.
const maxWantedPath = 1024

// probe gives the guest the folder of Probe, behind those that it has.
func (t *Trace) probe(s *system) {
	if t == nil || !t.Probe {
		return
	}
	for _, d := range s.open.byNumber {
		if d.folder != nil && d.folder.GuestPath() == "/" {
			return
		}
	}
	t.stand = &descriptor{granted: true, dir: true, read: true, path: "."}
	s.open.put(s.open.low, t.stand)
	s.open.low++
	s.open.limit++
}

// probed answers for the folder of Probe, in which nothing can be done.
func (t *Trace) probed(name string, s *system, m guestMemory, a []uint64) (errno, bool) {
	if t.stand == nil {
		return 0, false
	}
	at, _ := pathArguments(name)
	for _, p := range at {
		if d, _ := s.open.find(a[p[0]]); d == t.stand {
			if _, e := s.place(m, a[p[0]], a[p[1]], a[p[2]]); e != 0 {
				return e, true
			}
			return wasiNotcapable, true
		}
	}
	if !strings.HasPrefix(name, "fd_") {
		return 0, false
	}
	if d, _ := s.open.find(a[0]); d != t.stand {
		return 0, false
	}
	switch name {
	case "fd_prestat_get":
		return m.put64(a[1], 1<<32), true
	case "fd_prestat_dir_name":
		if a[2] < 1 {
			return wasiNametoolong, true
		}
		b, e := m.view(a[1], 1)
		copy(b, "/")
		return e, true
	case "fd_fdstat_get", "fd_fdstat_set_flags", "fd_close", "fd_renumber":
		return 0, false
	}
	return wasiNotcapable, true
}

// String is the name of the answer, as libraries have it.
func (e errno) String() string {
	for _, n := range []struct {
		e    errno
		name string
	}{
		{0, "ok"},
		{wasiAcces, "EACCES"},
		{wasiBadf, "EBADF"},
		{wasiBusy, "EBUSY"},
		{wasiExist, "EEXIST"},
		{wasiFault, "EFAULT"},
		{wasiFbig, "EFBIG"},
		{wasiIlseq, "EILSEQ"},
		{wasiIntr, "EINTR"},
		{wasiInval, "EINVAL"},
		{wasiIO, "EIO"},
		{wasiIsdir, "EISDIR"},
		{wasiLoop, "ELOOP"},
		{wasiMfile, "EMFILE"},
		{wasiNametoolong, "ENAMETOOLONG"},
		{wasiNoent, "ENOENT"},
		{wasiNospc, "ENOSPC"},
		{wasiNosys, "ENOSYS"},
		{wasiNotdir, "ENOTDIR"},
		{wasiNotempty, "ENOTEMPTY"},
		{wasiNotsock, "ENOTSOCK"},
		{wasiNotsup, "ENOTSUP"},
		{wasiPerm, "EPERM"},
		{wasiRofs, "EROFS"},
		{wasiSpipe, "ESPIPE"},
		{wasiXdev, "EXDEV"},
		{wasiNotcapable, "ENOTCAPABLE"},
	} {
		if n.e == e {
			return n.name
		}
	}
	return "errno " + strconv.FormatUint(uint64(e), 10)
}
