package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// A result has to stay below the host's limit of 1 MiB whatever is in the files:
// as JSON one byte may take six.
const (
	// maxText is how many bytes of a file one call returns.
	maxText = 150 << 10
	// maxFound is how many bytes of paths and lines one call returns. They are
	// there twice, as text and as structured content.
	maxFound = 64 << 10
	// maxLine is how many bytes of a line are returned.
	maxLine = 4 << 10
	// sniff is how much of a file is looked at to find out whether it is text.
	sniff = 8 << 10
)

// Page is what read_file answers.
type Page struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
	Lines int    `json:"lines" doc:"lines that are returned"`
	More  bool   `json:"more,omitempty" doc:"the file goes on: read from start + lines"`
	text  string
}

// Text is the lines, and how to go on.
func (p Page) Text() string {
	switch {
	case p.Lines == 0 && p.Start == 1:
		return "the file is empty"
	case p.Lines == 0:
		return fmt.Sprintf("the file has fewer than %d lines", p.Start)
	case p.More:
		return fmt.Sprintf("%s… the file goes on: read it from line %d\n", p.text, p.Start+p.Lines)
	}
	return p.text
}

func readFile(c *sdk.Call, a ReadArgs) (Page, error) {
	name, err := granted(c, a.Path)
	if err != nil {
		return Page{}, err
	}
	in, closer, err := openText(name)
	if err != nil {
		return Page{}, err
	}
	defer closer()
	p := Page{Path: name, Start: a.Start}
	var b strings.Builder
	for n := 1; ; n++ {
		line, err := nextLine(in, maxLine)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Page{}, explain(name, err)
		}
		if n < a.Start {
			continue
		}
		if p.Lines == a.Lines || b.Len()+len(line) > maxText {
			p.More = true
			break
		}
		b.WriteString(line + "\n")
		p.Lines++
	}
	p.text = b.String()
	return p, nil
}

// openText opens a file that is text. The caller closes it.
func openText(name string) (*bufio.Reader, func(), error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, explain(name, err)
	}
	closer := func() { _ = f.Close() } // it was read only: nothing can be lost
	if info, err := f.Stat(); err == nil && info.IsDir() {
		closer()
		return nil, nil, sdk.Errorf(abi.Input, "%q is a folder: list_files shows what is in it", name)
	}
	in := bufio.NewReaderSize(f, 64<<10)
	head, err := in.Peek(sniff)
	if err != nil && !errors.Is(err, io.EOF) {
		closer()
		return nil, nil, explain(name, err)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		closer()
		return nil, nil, sdk.Errorf(abi.Input, "%q is not a text file", name)
	}
	return in, closer, nil
}

// nextLine returns a line without its end, cut after limit bytes.
func nextLine(in *bufio.Reader, limit int) (string, error) {
	var line []byte
	cut := false
	for {
		part, more, err := in.ReadLine()
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				break
			}
			return "", err
		}
		if room := limit - len(line); len(part) > room {
			part, cut = part[:room], true
		}
		if line == nil && !more {
			line = part // good until the next read
			break
		}
		line = append(line, part...)
		if !more {
			break
		}
	}
	text := string(line)
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	if cut {
		text += "… (the line is longer)"
	}
	return text, nil
}
