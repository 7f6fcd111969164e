package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
