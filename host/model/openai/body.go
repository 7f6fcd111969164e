package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/wagent-dev/wagent/host/model"
)

// readReply reads a body that is a stream of events or one JSON value. The
// beginning decides, not what the server calls it: small servers send
// events as text and errors as events. What is read is that of r, through in.
func readReply(in *bufio.Reader, r *live, d *draft) error {
	if err := skipBlank(in); err != nil {
		if errors.Is(err, io.EOF) {
			return &model.Error{Kind: model.Stream, Retryable: true, Message: "the reply is empty"}
		}
		return err
	}
	if beginsEvents(in) {
		return readStream(in, r, d)
	}
	return readWhole(in, d)
}

// beginsEvents says that what follows is a line of an event stream.
func beginsEvents(in *bufio.Reader) bool {
	for _, start := range []string{":", "data:", "event:", "id:", "retry:", "data\n", "data\r"} {
		// A byte at a time: a stream may begin with a lone colon and then wait.
		for n := 1; n <= len(start); n++ {
			if b, err := in.Peek(n); err != nil || b[n-1] != start[n-1] {
				break
			}
			if n == len(start) {
				return true
			}
		}
	}
	return false
}

// skipBlank skips what means nothing in either form.
func skipBlank(in *bufio.Reader) error {
	if mark, err := in.Peek(1); err == nil && mark[0] == 0xef {
		if mark, err := in.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
			_, _ = in.Discard(3) // was peeked
		}
	}
	for {
		b, err := in.ReadByte()
		if err != nil {
			return err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return in.UnreadByte()
	}
}

func readWhole(in io.Reader, d *draft) error {
	body, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		if list := readList(body); len(list) > 0 {
			body = list[0]
		}
	}
	if err := d.add(body, true); err != nil {
		return err
	}
	if d.choices == 0 {
		if o, ok := readObject(body); ok && (o.has("message") || o.has("detail")) {
			return readError(0, nil, body)
		}
		return &model.Error{
			Kind: model.Stream, Retryable: true,
			Message: "the reply has no choices: " + truncate(string(body), maxErrorBody),
		}
	}
	return nil
}

// readStream reads events until the stream says that it is done, or ends after
// it gave a reason.
func readStream(in *bufio.Reader, r *live, d *draft) error {
	events := eventReader{r: in}
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, io.EOF) && d.finish != "":
			return nil
		case errors.Is(err, io.EOF) && d.choices == 0:
			return &model.Error{Kind: model.Stream, Retryable: true, Message: "the stream ended without a reply"}
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the stream ended without a reason: %w", io.ErrUnexpectedEOF)
		case err != nil && d.finish != "" && !errors.Is(err, errTooLarge):
			// All that is missing is the usage or the end mark.
			d.warn("the stream broke off after the reply was complete")
			return nil
		case err != nil:
			return err
		}
		done, err := d.take(ev, r)
		if done {
			r.drain(in)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take reads one event; done says that it was the last.
func (d *draft) take(ev event, r *live) (done bool, err error) {
	data := bytes.TrimSpace(ev.data)
	if ev.comment || data[0] == ':' { // seen: a comment wrapped up as data
		return false, nil
	}
	r.data()
	if string(data) == "[DONE]" {
		return true, nil
	}
	if ev.name == "error" {
		return false, d.broken(readError(0, nil, data))
	}
	if data[0] == '"' {
		return false, d.broken(readError(0, nil, []byte(readString(data))))
	}
	return false, d.add(data, false)
}
