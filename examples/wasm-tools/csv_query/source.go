package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// grantLine is what the manifest needs for the tool to see a folder.
const grantLine = "allow: {read: {./data: /data}}"

// open returns the CSV that the arguments name.
func open(c *sdk.Call, a *Args) (io.ReadCloser, error) {
	switch {
	case a.File != "" && a.Text != "":
		return nil, sdk.Errorf(abi.Input, "give file or text, not both")
	case a.Text != "":
		return io.NopCloser(strings.NewReader(a.Text)), nil
	case a.File == "":
		return nil, sdk.Errorf(abi.Input, "give the file to read, or the CSV as text")
	}
	folders := sdk.Folders(c)
	if len(folders) == 0 {
		return nil, sdk.Errorf(abi.AuthRequired, "no folder is granted: add %s to the tool in the manifest", grantLine)
	}
	file := a.File
	if !path.IsAbs(file) && len(folders) == 1 {
		file = path.Join(folders[0], file) // there is one thing it can mean
	}
	file = path.Clean(file)
	if !sdk.Granted(folders, file) {
		return nil, sdk.Errorf(abi.AuthRequired, "%q is in no granted folder; granted are: %s. For another one a line such as %s has to be added to the tool in the manifest",
			file, strings.Join(folders, ", "), grantLine)
	}
	return openFile(file)
}

func openFile(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, explain(file, err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = explain(file, err)
	case info.IsDir():
		err = sdk.Errorf(abi.Input, "%q is a folder%s", file, holds(file, ""))
	case !info.Mode().IsRegular():
		err = sdk.Errorf(abi.Input, "%q is no ordinary file", file)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// explain says what an error of the system means for the caller.
func explain(file string, err error) error {
	kind, what := abi.Internal, ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sdk.Errorf(abi.NotFound, "there is no file %q%s", file, holds(path.Dir(file), path.Base(file)))
	case errors.Is(err, fs.ErrPermission):
		kind, what = abi.AuthRequired, " may not be read"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err // without the path, which is named already
	}
	return sdk.Errorf(kind, "%q%s: %w", file, what, err)
}

const (
	// maxListed is how many entries of a folder are looked at, and maxNamed how
	// many an error names.
	maxListed = 1000
	maxNamed  = 20
)

// holds says what is in a folder, for a name that is not.
func holds(folder, missing string) string {
	f, err := os.Open(folder)
	if err != nil {
		return ""
	}
	defer f.Close()
	entries, err := f.ReadDir(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if near := sdk.Suggest(missing, names); near != "" {
		return fmt.Sprintf(": did you mean %q?", path.Join(folder, near))
	}
	if len(names) == 0 {
		return fmt.Sprintf("; %s has no files", folder)
	}
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("; %s has %q%s", folder, names, more)
}
