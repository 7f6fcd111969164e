package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// event is one server-sent event. A comment is an event too, so that a reader
// can tell silence from keep-alives.
type event struct {
	name    string
	data    []byte
	comment bool
}

// eventReader reads server-sent events by the rules of the HTML standard: lines
// end with LF, CR or CRLF, data lines are joined by LF, unknown fields are
// ignored; a byte order mark was taken off before. It differs in one thing: what stands at
// the end without an empty line is an event as well, since small servers end
// like that. Its memory is bounded by what is below it.
type eventReader struct {
	r       *bufio.Reader
	afterCR bool
	line    []byte
}

// next returns the next event that has data, or a comment. At the end it
// returns io.EOF.
func (e *eventReader) next() (event, error) {
	var ev event
	var data []byte // each line of it ended by LF
	for {
		line, err := e.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return event{}, err
		}
		ended := err != nil
		switch {
		case len(line) == 0:
		case line[0] == ':' && data == nil && ev.name == "" && !ended:
			return event{comment: true}, nil
		default:
			if value, ok := field(line, "data"); ok {
				data = append(append(data, value...), '\n')
			} else if value, ok := field(line, "event"); ok {
				ev.name = string(value)
			}
		}
		if len(line) > 0 && !ended {
			continue
		}
		ev.data = bytes.TrimSuffix(data, []byte{'\n'})
		if len(bytes.TrimSpace(ev.data)) > 0 {
			return ev, nil
		}
		if ended {
			return event{}, io.EOF
		}
		ev, data = event{}, nil
	}
}

// field returns the value of a line that has the field name.
func field(line []byte, name string) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(name))
	if !ok {
		return nil, false
	}
	if len(rest) == 0 {
		return rest, true
	}
	if rest[0] != ':' {
		return nil, false
	}
	return bytes.TrimPrefix(rest[1:], []byte{' '}), true
}

// readLine returns the next line without its end, valid until the next call.
// With io.EOF it returns what stood there without one.
func (e *eventReader) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if _, err := e.r.Peek(1); err != nil {
			return e.line, err
		}
		here, err := e.r.Peek(e.r.Buffered())
		if err != nil {
			return e.line, err
		}
		if e.afterCR && here[0] == '\n' {
			here = here[1:]
			_, _ = e.r.Discard(1) // was peeked
		}
		e.afterCR = false
		end := bytes.IndexAny(here, "\r\n")
		if end < 0 {
			e.line = append(e.line, here...)
			_, _ = e.r.Discard(len(here))
			continue
		}
		e.line = append(e.line, here[:end]...)
		e.afterCR = here[end] == '\r'
		_, _ = e.r.Discard(end + 1)
		return e.line, nil
	}
}
