package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
)

const (
	// maxRow bounds the bytes of one row: a quote that is never closed would
	// otherwise make a single field of the rest of the file.
	maxRow = 1 << 20
	// maxColumns bounds the fields of one row.
	maxColumns = 4096
)

// reader reads rows of fields, as RFC 4180 has them. A quote inside a field that
// did not begin with one is an ordinary character. Empty lines are left out.
type reader struct {
	in     *bufio.Reader
	comma  byte
	only   []bool // columns that are read; the others are empty. Nil: all
	line   int    // number of the last line that was read
	long   []byte // a line that is longer than the buffer of in
	joined []byte // fields that had quotes, one after the other
	row    []byte // where the fields are: the line itself, or joined
	spans  []span
	fields []string
}

// span is where a field is in the row.
type span struct{ from, to int }

// read returns the next row, which is good until the next call, or [io.EOF].
func (r *reader) read() ([]string, error) {
	line, err := r.physical()
	for err == nil && (len(line) == 0 || line[0] == '\n') {
		line, err = r.physical()
	}
	if err != nil {
		return nil, err
	}
	r.spans = r.spans[:0]
	if bytes.IndexByte(line, '"') < 0 {
		r.cut(line)
	} else if err := r.unquote(line); err != nil {
		return nil, err
	}
	if len(r.spans) > maxColumns {
		return nil, sdk.Errorf(abi.Input, "line %d of the CSV has more than %d fields", r.line, maxColumns)
	}
	return r.split()
}

// cut finds the fields of a line without quotes, where they are.
func (r *reader) cut(line []byte) {
	r.row = bytes.TrimSuffix(line, []byte{'\n'})
	from := 0
	for len(r.spans) <= maxColumns {
		n := bytes.IndexByte(r.row[from:], r.comma)
		if n < 0 {
			break
		}
		r.spans = append(r.spans, span{from, from + n})
		from += n + 1
	}
	r.spans = append(r.spans, span{from, len(r.row)})
}

// unquote joins the fields of a line with quotes, and of those after it that a
// field goes on in.
func (r *reader) unquote(line []byte) error {
	r.joined = r.joined[:0]
	for more := true; more && len(r.spans) <= maxColumns; {
		from := len(r.joined)
		if bytes.HasPrefix(line, []byte{'"'}) {
			var err error
			if line, more, err = r.quoted(line[1:]); err != nil {
				return err
			}
		} else {
			line, more = r.plain(line)
		}
		r.spans = append(r.spans, span{from, len(r.joined)})
	}
	r.row = r.joined
	return nil
}

// plain takes a field without quotes from the front of line, and says whether
// another one follows.
func (r *reader) plain(line []byte) (rest []byte, more bool) {
	field, rest, more := bytes.Cut(line, []byte{r.comma})
	if !more {
		field = bytes.TrimSuffix(field, []byte{'\n'})
	}
	r.joined = append(r.joined, field...)
	return rest, more
}

// quoted takes a field after its first quote. It may go on over several lines.
func (r *reader) quoted(line []byte) (rest []byte, more bool, err error) {
	opened := r.line
	for {
		part, after, closed := bytes.Cut(line, []byte{'"'})
		if r.joined = append(r.joined, part...); len(r.joined) > maxRow {
			return nil, false, r.tooLong(opened)
		}
		switch {
		case !closed:
			if line, err = r.physical(); errors.Is(err, io.EOF) {
				return nil, false, sdk.Errorf(abi.Input, "the quote that opens in line %d of the CSV is not closed", opened)
			} else if err != nil {
				return nil, false, err
			}
			continue
		case len(after) == 0 || after[0] == '\n':
			return nil, false, nil
		case after[0] == r.comma:
			return after[1:], true, nil
		case after[0] == '"':
			after = after[1:]
		}
		r.joined = append(r.joined, '"') // doubled, or alone where it cannot be the end
		line = after
	}
}

// split makes strings of the fields that are read.
func (r *reader) split() ([]string, error) {
	r.fields = r.fields[:0]
	all := string(r.row) // one piece of memory for the whole row
	for i, s := range r.spans {
		field := ""
		if r.only == nil || i < len(r.only) && r.only[i] {
			field = all[s.from:s.to]
		}
		r.fields = append(r.fields, field)
	}
	if isPlain(r.row) {
		return r.fields, nil
	}
	for i, field := range r.fields {
		if strings.IndexByte(field, 0) >= 0 {
			return nil, sdk.Errorf(abi.Input, "line %d of the CSV has a zero byte: it is not text", r.line)
		}
		r.fields[i] = legacy(field)
	}
	return r.fields, nil
}

// isPlain says that a row is ASCII without a zero, eight bytes at a time: a module
// is slow at single ones.
func isPlain(row []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(row) >= 8; row = row[8:] {
		if w := binary.LittleEndian.Uint64(row); (w|(w-ones))&highs != 0 {
			return false
		}
	}
	for _, c := range row {
		if c == 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// physical returns the next line with its newline, which the last one may lack.
// It is good until the next call.
func (r *reader) physical() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	r.line++
	if err != nil && errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.physicalLong(line)
	}
	switch {
	case err == nil:
	case errors.Is(err, io.EOF) && len(line) > 0:
		return bytes.TrimSuffix(line, []byte{'\r'}), nil
	default:
		return nil, err
	}
	if n := len(line); n > 1 && line[n-2] == '\r' {
		line[n-2] = '\n'
		line = line[:n-1]
	}
	return line, nil
}

// physicalLong puts a line together that begins with first.
func (r *reader) physicalLong(first []byte) ([]byte, error) {
	r.long = append(r.long[:0], first...)
	for {
		if len(r.long) > maxRow {
			return nil, r.tooLong(r.line)
		}
		part, err := r.in.ReadSlice('\n')
		if r.long = append(r.long, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, err
		}
	}
}

func (r *reader) tooLong(line int) error {
	return sdk.Errorf(abi.Input, "the row that begins in line %d of the CSV is longer than %d KiB: a quote may not be closed", line, maxRow>>10)
}

// windows1252 are the characters of the bytes 0x80 to 0x9f.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// legacy reads a field that is not UTF-8 as what old spreadsheets write.
func legacy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	high := []rune(windows1252)
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(high[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}
