package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/visible"
)

// Bounds of --attach.
const (
	maxAttached    = 16 << 20 // bytes of one file
	maxAttachedAll = 24 << 20 // of all; the request is a third larger
	maxAttachments = 50
)

// attachments reads the files of --attach as parts of the user's message.
func attachments(paths []string) ([]model.Part, error) {
	if len(paths) > maxAttachments {
		return nil, fmt.Errorf("--attach: at most %d files", maxAttachments)
	}
	var parts []model.Part
	var errs []error
	sum := 0
	for _, path := range paths {
		data, err := readAttached(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("--attach %s: %w", path, err))
			continue
		}
		if sum += len(data); sum > maxAttachedAll {
			return nil, fmt.Errorf("--attach: the files are larger than %s together", bytesText(maxAttachedAll))
		}
		parts = append(parts, attachment(filepath.Base(path), data))
	}
	return parts, errors.Join(errs...)
}

// attachment is a file as what its bytes say it is.
func attachment(name string, data []byte) model.Part {
	mime, _, _ := strings.Cut(http.DetectContentType(data), ";")
	p := model.Part{Type: model.FilePart, MIME: mime, Data: data, Name: strings.ToValidUTF8(name, "\ufffd")}
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		p.Type = model.ImagePart
	}
	return p
}

// readAttached reads a file that is one, once. What is not is found before it is
// opened: a FIFO would be waited for.
func readAttached(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, bare(err)
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxAttached+1))
	switch {
	case err != nil:
		return nil, bare(err)
	case len(data) == 0:
		return nil, errors.New("the file is empty")
	case len(data) > maxAttached:
		return nil, fmt.Errorf("the file is larger than %s", bytesText(maxAttached))
	}
	return data, nil
}

// bare is an error of a file without the path, which is said already.
func bare(err error) error {
	if inner, ok := errors.AsType[*os.PathError](err); ok {
		return inner.Err
	}
	return err
}

// partsText tells a person what a message holds.
func partsText(parts []model.Part) string {
	lines := make([]string, len(parts))
	for i := range parts {
		p := &parts[i]
		if p.Type == model.TextPart {
			lines[i] = visible.Text(p.Text)
			continue
		}
		what := strings.Join(strings.Fields(strings.Join([]string{string(p.Type), p.Name, p.MIME, p.URL}, " ")), " ")
		if len(p.Data) > 0 {
			what += ", " + bytesText(int64(len(p.Data)))
		}
		lines[i] = "[" + visible.Line(what, maxReason) + "]"
	}
	return strings.Join(lines, "\n")
}
