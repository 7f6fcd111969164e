package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// Written is what write_file answers.
type Written struct {
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// Text says what was written.
func (w Written) Text() string { return fmt.Sprintf("wrote %d bytes to %s", w.Bytes, w.Path) }

func writeFile(c *sdk.Call, a WriteArgs) (Written, error) {
	name, err := granted(c, a.Path)
	if err != nil {
		return Written{}, err
	}
	flag := os.O_WRONLY | os.O_CREATE
	switch {
	case a.Append:
		flag |= os.O_APPEND
	case a.Overwrite:
		flag |= os.O_TRUNC
	default:
		flag |= os.O_EXCL
	}
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return Written{}, explainWrite(name, err)
	}
	_, err = f.WriteString(a.Content)
	if err = errors.Join(err, f.Close()); err != nil {
		return Written{}, explainWrite(name, err)
	}
	return Written{Path: name, Bytes: len(a.Content)}, nil
}

// explainWrite says what an error of the system means for one who writes.
func explainWrite(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sdk.Errorf(abi.NotFound, "there is no folder %q: write_file makes none", path.Dir(name))
	case errors.Is(err, fs.ErrExist):
		return sdk.Errorf(abi.Input, "%q is there already: set overwrite or append", name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return sdk.Errorf(abi.AuthRequired, "%q may not be changed: add allow: {write: {HOST: %s}} to the tool in the manifest", name, path.Dir(name))
	default:
		return explain(name, err)
	}
}
