package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

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
		return nil, sdk.Errorf(abi.AuthRequired, "no folder is granted: add allow: {read: {./data: /data}} to the tool in the manifest")
	}
	if !sdk.Granted(folders, a.File) {
		return nil, sdk.Errorf(abi.AuthRequired, "%q is in no granted folder; granted are: %s", a.File, strings.Join(folders, ", "))
	}
	f, err := os.Open(a.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sdk.Errorf(abi.NotFound, "there is no file %q%s", a.File, beside(a.File))
	case err != nil:
		return nil, err
	}
	return f, nil
}

// beside lists the CSV files of a folder, for a name that is not there.
func beside(file string) string {
	entries, err := os.ReadDir(path.Dir(file))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && len(names) < 20 {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "; the folder is empty"
	}
	return "; the folder has " + strings.Join(names, ", ")
}

// table is a CSV file as it is read, row by row.
type table struct {
	columns []string
	rows    *csv.Reader
}

// sample is how much of the file is looked at to find what parts the columns.
const sample = 64 << 10

func readTable(in io.Reader) (*table, error) {
	b := bufio.NewReaderSize(in, sample)
	head, err := b.Peek(sample)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		if _, err := b.Discard(3); err != nil {
			return nil, err
		}
		head = head[3:]
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, sdk.Errorf(abi.Input, "the file is not text")
	}
	r := csv.NewReader(b)
	r.Comma = separator(head)
	r.LazyQuotes, r.ReuseRecord, r.FieldsPerRecord = true, true, -1
	first, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, sdk.Errorf(abi.Input, "the CSV is empty: its first line names the columns")
	}
	if err != nil {
		return nil, sdk.Errorf(abi.Input, "the CSV cannot be read: %w", err)
	}
	t := &table{rows: r}
	for i, name := range first {
		name = strings.TrimSpace(name)
		if name == "" {
			name = "column_" + itoa(i+1)
		}
		t.columns = append(t.columns, name)
	}
	return t, nil
}

// separator is the sign that the first line has most of, outside of quotes.
func separator(head []byte) rune {
	counts := map[byte]int{}
	quoted := false
	for _, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			return mostOf(counts)
		case !quoted:
			counts[c]++
		}
	}
	return mostOf(counts)
}

func mostOf(counts map[byte]int) rune {
	best := byte(',')
	for _, c := range []byte(";\t|") {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return rune(best)
}

// next returns the next row, one field for each column. The row is good until
// the next call.
func (t *table) next() ([]string, error) {
	row, err := t.rows.Read()
	if err != nil {
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, sdk.Errorf(abi.Input, "line %d of the CSV cannot be read: %w", parse.Line, parse.Err)
		}
		return nil, err
	}
	for len(row) < len(t.columns) {
		row = append(row, "")
	}
	return row[:len(t.columns)], nil
}
