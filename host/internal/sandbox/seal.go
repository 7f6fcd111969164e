package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sealName is the file that lists the digests of the others, after a line with
// that of the list itself. It is written last, so files that it does not list
// come from a run that broke off.
const sealName = "sealed"

// maxSeal bounds the list: an entry has a few files.
const maxSeal = 1 << 20

// abandoned is the age at which a temporary file belongs to no running process.
const abandoned = time.Hour

// verify compares the files with the seal. Files that were never sealed are
// removed; a sealed one that is missing or different is an error.
func (e *cacheEntry) verify() error {
	sealed, err := e.readSeal()
	if err != nil {
		return err
	}
	found, err := e.files()
	if err != nil {
		return err
	}
	for name, want := range sealed {
		got, err := fileDigest(filepath.Join(e.dir, name))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s has been changed", name)
		}
	}
	for _, f := range found {
		if _, ok := sealed[f.name]; ok || f.temporary() && time.Since(f.changed) < abandoned {
			continue
		}
		if err := os.Remove(filepath.Join(e.dir, f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// seal lists what the engine has written. It does nothing when that is listed.
func (e *cacheEntry) seal() error {
	if !e.onDisk() {
		return nil
	}
	found, err := e.files()
	if err != nil {
		return err
	}
	sealed, err := e.readSeal()
	if err != nil {
		sealed = nil
	}
	var b strings.Builder
	fresh := false
	for _, f := range found {
		if f.temporary() {
			continue
		}
		sum, ok := sealed[f.name]
		if !ok {
			fresh = true
			if sum, err = fileDigest(filepath.Join(e.dir, f.name)); errors.Is(err, fs.ErrNotExist) {
				continue // another process found it not sealed
			} else if err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %s\n", sum, f.name)
	}
	if !fresh {
		return nil
	}
	if err := writeFile(filepath.Join(e.dir, sealName), e.listDigest(b.String())+"\n"+b.String()); err != nil {
		return err
	}
	prune(filepath.Dir(e.dir), time.Now(), maxKept)
	return nil
}

// readSeal returns name and digest of every sealed file.
func (e *cacheEntry) readSeal() (map[string]string, error) {
	data, err := readSmall(filepath.Join(e.dir, sealName), maxSeal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	own, list, _ := strings.Cut(string(data), "\n")
	if own != e.listDigest(list) {
		return nil, errors.New("the list of digests is damaged, or that of another module")
	}
	sealed := make(map[string]string)
	for line := range strings.Lines(list) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !filepath.IsLocal(name) {
			return nil, errors.New("the list of digests names a file outside")
		}
		sealed[name] = sum
	}
	return sealed, nil
}

// listDigest is of the module's digest, too, which is the name of the folder: what was
// kept for one module is nothing for another.
func (e *cacheEntry) listDigest(list string) string {
	return textDigest(filepath.Base(e.dir) + "\n" + list)
}

type cacheFile struct {
	name    string // slash-separated, below the entry's folder
	changed time.Time
	info    fs.FileInfo
}

// same says that nobody has written the file or put another in its place, as far as
// the system tells without reading it.
func (f cacheFile) same(g cacheFile) bool {
	return f.name == g.name && f.changed.Equal(g.changed) && f.info.Size() == g.info.Size() && os.SameFile(f.info, g.info)
}

func (f cacheFile) temporary() bool { return strings.HasSuffix(f.name, ".tmp") }

// files lists everything but the seal. Anything that is not a regular file is
// an error: nobody but the engine has business here.
func (e *cacheEntry) files() ([]cacheFile, error) {
	var found []cacheFile
	err := filepath.WalkDir(e.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != e.dir {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		name, err := filepath.Rel(e.dir, path)
		if err != nil || name == sealName {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file", name)
		}
		found = append(found, cacheFile{name, info.ModTime(), info})
		return nil
	})
	return found, err
}

func fileDigest(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// readSmall reads a file of at most limit bytes.
func readSmall(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", filepath.Base(path), limit)
	}
	return data, errors.Join(err, f.Close())
}

// openRegular opens a file to read, and nothing that is none: a FIFO would hold
// the host until somebody writes.
func openRegular(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(path))
	}
	return os.Open(path)
}

func textDigest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// writeFile replaces a file at once or not at all.
func writeFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
