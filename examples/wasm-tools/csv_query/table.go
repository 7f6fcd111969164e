package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// table is a CSV file as it is read, row by row.
type table struct {
	columns   []string
	rows      *reader
	first     []string // the first row, if it is not the header
	irregular int      // rows with another number of fields than there are columns
}

// sample is how much of the file is looked at to find what parts the columns.
const sample = 64 << 10

func readTable(in io.Reader, a *Args) (*table, error) {
	b := bufio.NewReaderSize(in, sample)
	head, err := b.Peek(sample)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return nil, sdk.Errorf(abi.Input, "the file is UTF-16: save it as UTF-8")
	}
	r := &reader{in: b}
	skip, comma := opening(head)
	if _, err := b.Discard(skip); err != nil {
		return nil, err
	}
	r.line = bytes.Count(head[:skip], []byte{'\n'})
	if r.comma = comma; comma == 0 {
		r.comma = separator(head[skip:])
	}
	if named := separators()[a.Separator]; named != 0 {
		r.comma = named
	}
	row, err := r.read()
	if errors.Is(err, io.EOF) {
		return nil, sdk.Errorf(abi.Input, "the CSV is empty")
	}
	if err != nil {
		return nil, err
	}
	t := &table{rows: r, columns: names(row, a.NoHeader)}
	if a.NoHeader {
		t.first = slices.Clone(row)
	}
	return t, nil
}

// separators are the values of the argument; auto is not among them.
func separators() map[string]byte {
	return map[string]byte{"comma": ',', "semicolon": ';', "tab": '\t', "bar": '|'}
}

// opening returns how many bytes come before the header: a byte order mark, and
// the line in which spreadsheets say what parts the columns.
func opening(head []byte) (skip int, comma byte) {
	rest := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	skip = len(head) - len(rest)
	line, _, found := bytes.Cut(rest, []byte{'\n'})
	mark, is := bytes.CutPrefix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("sep="))
	if found && is && len(mark) == 1 && strings.IndexByte(",;\t|", mark[0]) >= 0 {
		return skip + len(line) + 1, mark[0]
	}
	return skip, 0
}

// separator is the sign that the first line has most of, outside of quotes.
func separator(head []byte) byte {
	counts := map[byte]int{}
	quoted := false
	for _, c := range bytes.TrimLeft(head, "\r\n") {
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

func mostOf(counts map[byte]int) byte {
	best := byte(',')
	for _, c := range []byte(";\t|") {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// names are the names of the columns. One that is missing, or that another
// column has already, gets a number.
func names(header []string, numbered bool) []string {
	columns := make([]string, 0, len(header))
	taken := map[string]bool{}
	for i, name := range header {
		name = strings.TrimSpace(name)
		if numbered || name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		unique := name
		for n := i + 1; taken[unique]; n++ {
			unique = name + "_" + strconv.Itoa(n)
		}
		taken[unique] = true
		columns = append(columns, strings.Clone(unique))
	}
	return columns
}

// next returns the next row, one field for each column, or [io.EOF]. The row is
// good until the next call.
func (t *table) next() ([]string, error) {
	if row := t.first; row != nil {
		t.first = nil
		return row, nil
	}
	row, err := t.rows.read()
	if err != nil {
		return nil, err
	}
	if len(row) == len(t.columns) {
		return row, nil
	}
	t.irregular++
	for len(row) < len(t.columns) {
		row = append(row, "")
	}
	return row[:len(t.columns)], nil
}
