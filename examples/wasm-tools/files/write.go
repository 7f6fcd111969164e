package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/wagent-dev/wagent/sdk"
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
		return Written{}, explain(name, err)
	}
	_, err = f.WriteString(a.Content)
	if err = errors.Join(err, f.Close()); err != nil {
		return Written{}, explain(name, err)
	}
	return Written{Path: name, Bytes: len(a.Content)}, nil
}
