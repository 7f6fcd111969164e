//go:build unix

package hostfn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

// usage adds up what lies in a folder.
func usage(t *testing.T, dir string) (bytes int64, count int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		count++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes, count
}

// FS-7: however a guest writes, the disk holds no more than its quota.
func TestDiskFillStopsAtTheQuota(t *testing.T) {
	const quota = 10_000
	for name, fill := range map[string]func(f *File) error{
		"by writing": func(f *File) error { return second(f.Write(make([]byte, 999))) },
		"by overwriting": func(f *File) error {
			return second(f.WriteAt(make([]byte, 999), 0))
		},
		"by a hole":        func(f *File) error { return second(f.WriteAt([]byte("x"), 1<<40)) },
		"by the last hole": func(f *File) error { return second(f.WriteAt([]byte("x"), math.MaxInt64-1)) },
		"by seeking": func(f *File) error {
			if _, err := f.Seek(4000, io.SeekCurrent); err != nil {
				return err
			}
			return second(f.Write([]byte("x")))
		},
		"by truncating": func(f *File) error {
			info, err := f.Stat()
			if err != nil {
				return err
			}
			return f.Truncate(info.Size() + 3000)
		},
		"by truncating far": func(f *File) error { return f.Truncate(math.MaxInt64) },
		"up and down": func(f *File) error {
			return errors.Join(f.Truncate(4000), f.Truncate(0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := openJail(t, policy.FileLimits{Bytes: quota, Count: 5, Open: 5})
			f, err := j.rw.OpenFile("new", os.O_RDWR|os.O_CREATE, 0o644)
			if err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if err = fill(f); err != nil {
					break
				}
			}
			if !errors.Is(err, ErrQuota) {
				t.Errorf("got %v", err)
			}
			if got, _ := usage(t, j.inside); got > quota+int64(len("hello")) {
				t.Errorf("%d bytes on the disk", got)
			}
		})
	}
}

func TestWritesAtImpossibleOffsetsAreInvalid(t *testing.T) {
	j := openJail(t, plenty())
	f, err := j.rw.OpenFile("file", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"write below zero":    second(f.WriteAt([]byte("x"), -1)),
		"write past the end":  second(f.WriteAt([]byte("xx"), math.MaxInt64)),
		"read below zero":     second(f.ReadAt(make([]byte, 1), -1)),
		"truncate below zero": f.Truncate(-1),
	} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := second(f.Seek(-1, io.SeekStart)); err == nil {
		t.Error("seek below zero")
	}
}

// FS-7: a hundred thousand files are not made, and failures cost nothing.
func TestNewFilesStopAtTheQuota(t *testing.T) {
	j := openJail(t, policy.FileLimits{Bytes: 1000, Count: 10, Open: 5})
	_, before := usage(t, j.inside)
	for range 100 {
		if err := errors.Join(j.rw.Mkdir("file", 0o755), second(j.rw.OpenFile("file", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644))); !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	var err error
	for i := 0; err == nil && i < 100; i++ {
		name := fmt.Sprint(i)
		if i%2 == 0 {
			err = j.rw.Mkdir(name, 0o755)
			continue
		}
		var f *File
		if f, err = j.rw.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			err = f.Close()
		}
	}
	if !errors.Is(err, ErrQuota) {
		t.Errorf("got %v", err)
	}
	if _, after := usage(t, j.inside); after-before != 10 {
		t.Errorf("%d were made", after-before)
	}
}

// FS-7: what is removed is given back when the disk is free of it, and not before.
func TestWhatIsRemovedIsGivenBackWithItsLastDescriptor(t *testing.T) {
	j := openJail(t, policy.FileLimits{Bytes: 100, Count: 2, Open: 5})
	open := func(name string, flag int) *File {
		t.Helper()
		f, err := j.rw.OpenFile(name, flag, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	full := func(what string) {
		t.Helper()
		if f, err := j.rw.OpenFile("file", os.O_WRONLY, 0); err != nil {
			t.Error(err)
		} else if _, err := f.Write(make([]byte, 1)); !errors.Is(err, ErrQuota) || f.Close() != nil {
			t.Errorf("%s: a byte was written: %v", what, err)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	for range 20 {
		f := open("a", os.O_WRONLY|os.O_CREATE)
		do(second(f.Write(make([]byte, 100))))
		again := open("a", os.O_RDONLY)
		do(j.rw.Remove("a"))
		full("after the name has gone")
		do(f.Close())
		full("after the first descriptor has gone")
		do(again.Close())
	}
	for range 20 {
		do(j.rw.Mkdir("d", 0o755))
		do(j.rw.Rmdir("d"))
	}
	// What is replaced is removed.
	for range 20 {
		f := open("new", os.O_WRONLY|os.O_CREATE)
		do(second(f.Write(make([]byte, 50))))
		do(f.Close())
		do(j.rw.Rename("new", "kept"))
	}
	f := open("new", os.O_WRONLY|os.O_CREATE)
	do(second(f.Write(make([]byte, 50))))
	full("with two of half the bytes")
	if err := j.rw.Mkdir("third", 0o755); !errors.Is(err, ErrQuota) {
		t.Errorf("a third: %v", err)
	}
	// Who gave it another name keeps it.
	do(os.Link(filepath.Join(j.inside, "new"), filepath.Join(j.inside, "of another")))
	do(j.rw.Remove("new"))
	do(f.Close())
	full("with another name")
	// What was there before is not the call's to get something for.
	do(j.rw.Remove("file"))
	if err := j.rw.Mkdir("third", 0o755); !errors.Is(err, ErrQuota) {
		t.Errorf("a third after an old file: %v", err)
	}
}

func TestZeroLimitsAllowNothing(t *testing.T) {
	j := openJail(t, policy.FileLimits{Open: 1})
	if _, err := j.rw.OpenFile("new", os.O_CREATE|os.O_WRONLY, 0o644); !errors.Is(err, ErrQuota) {
		t.Errorf("made a file: %v", err)
	}
	f, err := j.rw.OpenFile("file", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, ErrQuota) {
		t.Errorf("wrote: %v", err)
	}
	if _, err := f.Write(nil); err != nil {
		t.Errorf("wrote nothing: %v", err)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// FS-8: a guest has its number of files open at once, and none when its call is over.
func TestOpenFilesAreBoundedAndClosedAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "hello")
	before := openDescriptors(t)
	for range 100 {
		all, err := OpenFolders([]policy.Mount{{Host: dir, Guest: "/d"}}, nil, policy.FileLimits{Open: 8})
		if err != nil {
			t.Fatal(err)
		}
		d := all.Mounts()[0]
		var open []*File
		for {
			f, err := d.OpenFile([]string{"file", "."}[len(open)%2], os.O_RDONLY, 0)
			if errors.Is(err, ErrTooManyOpen) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, f)
		}
		// The folder itself is what the guest was given, and its first is free.
		if len(open) != 8+1 {
			t.Fatalf("%d were opened", len(open))
		}
		// A place is given back once, and a failed open takes none.
		if err := errors.Join(open[0].Close(), open[0].Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := d.OpenFile("gone", os.O_RDONLY, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if _, err := d.OpenFile("file", os.O_RDONLY, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := d.OpenFile("file", os.O_RDONLY, 0); !errors.Is(err, ErrTooManyOpen) {
			t.Fatalf("a ninth: %v", err)
		}
		if err := all.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := open[1].Read(make([]byte, 1)); err == nil {
			t.Fatal("a file outlives its call")
		}
		if _, err := d.OpenFile("file", os.O_RDONLY, 0); err == nil {
			t.Fatal("a folder outlives its call")
		}
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// The engine opens a folder when the guest first touches it, and cannot be told
// no: all that a guest has open must not keep it from its second folder.
func TestTheFolderItselfIsThereWhenAllIsOpen(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	write(t, filepath.Join(a, "file"), "hello")
	all, err := OpenFolders([]policy.Mount{{Host: a, Guest: "/a"}, {Host: b, Guest: "/b"}}, nil, policy.FileLimits{Open: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	first, second := all.Mounts()[0], all.Mounts()[1]
	for _, name := range []string{".", "file", "file"} {
		if _, err := first.OpenFile(name, os.O_RDONLY, 0); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	root, err := second.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.OpenFile(".", os.O_RDONLY, 0); !errors.Is(err, ErrTooManyOpen) {
		t.Errorf("a second time: %v", err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.OpenFile(".", os.O_RDONLY, 0); !errors.Is(err, ErrTooManyOpen) {
		t.Errorf("closing it gave a place: %v", err)
	}
}

// FS-9: a listing comes in pages, and a tree ends at a depth.
func TestHugeDirectoriesAreReadInPages(t *testing.T) {
	j := openJail(t, plenty())
	const n = 3000
	for i := range n {
		write(t, filepath.Join(j.inside, fmt.Sprint("n", i)), "")
	}
	d, err := j.ro.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		seen := map[string]bool{}
		for {
			page, err := d.ReadDir(-1)
			if len(page) > maxPage {
				t.Fatalf("a page of %d", len(page))
			}
			for _, e := range page {
				seen[e.Name] = true
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) != n+1 {
			t.Errorf("%d names", len(seen))
		}
		if _, err := d.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := d.ReadDir(2); len(page) != 2 || err != nil {
		t.Errorf("%v, %v", page, err)
	}
	if _, err := d.Seek(1, io.SeekStart); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a listing has no offsets: %v", err)
	}
	if _, err := d.Read(make([]byte, 1)); err == nil {
		t.Error("a directory was read as a file")
	}
	if _, err := j.ro.Stat(strings.Repeat("a/", maxDepth+1)); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a deep name: %v", err)
	}
}

func TestParallelWritersNeverExceedTheQuota(t *testing.T) {
	const quota = 10_000
	j := openJail(t, policy.FileLimits{Bytes: quota, Count: 10, Open: 10})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			f, err := j.rw.OpenFile(fmt.Sprint("p", i), os.O_WRONLY|os.O_CREATE, 0o644)
			if err != nil {
				t.Error(err)
				return
			}
			for err == nil {
				_, err = f.Write(make([]byte, 97))
			}
		})
	}
	wg.Wait()
	if got, _ := usage(t, j.inside); got > quota+int64(len("hello")) || got < quota-97 {
		t.Errorf("%d bytes on the disk", got)
	}
}
