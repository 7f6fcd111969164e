package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/wagent-dev/wagent/host/policy"
)

// privateDir makes sure that dir exists, is a real folder, and that nobody else
// can write it or put another in its place.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a symbolic link")
	case !info.IsDir():
		return errors.New("it is not a folder")
	case !ours(info):
		return errors.New("it belongs to another user")
	case info.Mode().Perm()&0o022 != 0 && unixModes:
		return fmt.Errorf("others can write to it (mode %v)", info.Mode().Perm())
	}
	if info.Mode().Perm() != 0o700 && unixModes {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return safeParents(dir)
}

// safeParents checks that nobody else can rename a folder above dir.
func safeParents(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	for at := filepath.Dir(real); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		open := info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
		if unixModes && (open || !ours(info) && !roots(info)) {
			return fmt.Errorf("others can replace %s", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// outside refuses folders that a guest was granted and that hold the cache, or
// lie in it: what a guest writes there the host would run.
func (c codeCache) outside(g policy.Grants) *LoadError {
	if c.dir == "" {
		return outsideScratch(g)
	}
	for _, m := range slices.Concat(g.Read, g.Write) {
		if liesIn(c.dir, m.Host) || liesIn(m.Host, c.dir) {
			return refuse(LoadGrant, fmt.Sprintf("the folder granted as %s holds the host's compiled code, or lies in it", m.Guest),
				"grant another folder, or set another cache folder")
		}
	}
	return nil
}

// outsideScratch does the same where there is no cache: then a compiler in another
// process leaves the code in the folder for temporary files, and this one loads it.
func outsideScratch(g policy.Grants) *LoadError {
	for _, m := range g.Write {
		if liesIn(os.TempDir(), m.Host) {
			return refuse(LoadGrant, fmt.Sprintf("the folder granted as %s holds the one for temporary files, in which the host has code while it compiles", m.Guest),
				"grant a folder in it, or set a cache folder")
		}
	}
	return nil
}

// liesIn says whether path is dir or lies in it, by what the names stand for.
// A path that does not exist lies nowhere.
func liesIn(path, dir string) bool {
	root, err := os.Stat(dir)
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if real, err = filepath.Abs(real); err != nil {
		return false
	}
	for at := real; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, root) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
