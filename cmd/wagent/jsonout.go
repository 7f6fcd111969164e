package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// writeJSON prints v on one line. Characters that could steer a terminal or
// change how the line reads are written as \u escapes, which mean the same.
func writeJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(buf.Bytes()))
	return err
}

// escapeJSON writes the hidden characters of a JSON text as escapes. In JSON
// they can only be within strings.
func escapeJSON(text []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf && text[i] != 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r != '\n' && visible.Hidden(r) {
			out = append(out, text[done:i]...)
			out = appendEscape(out, r)
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

func appendEscape(out []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}

// compact returns JSON without the white space between its parts, and what is no
// JSON as it is.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}

// jsonView prints a run for programs: one result object at its end, or with
// lines one event per line as it happens.
type jsonView struct {
	w      io.Writer
	lines  bool
	state  run.State
	result *run.Result
}

func (v *jsonView) show(e run.Event) error {
	if next, err := run.Apply(v.state, e); err == nil {
		v.state = next
	}
	switch b := e.Body.(type) {
	case run.Finished:
		v.result = b.Result
	case run.Failed:
		v.result = b.Result
	}
	if v.lines {
		return writeJSON(v.w, e)
	}
	return nil
}

// broken ends a run whose store, or the host itself, failed: what is known of it
// becomes the result.
func (v *jsonView) broken(err error) error {
	f := brokenRun(err)
	s := v.state.Clone()
	s.Done, s.ExitReason, s.Failure = true, run.ExitError, &f
	v.result = s.Result()
	if !v.lines {
		return nil
	}
	return writeJSON(v.w, run.Event{
		Run: v.state.Run, Seq: v.state.Seq + 1, Time: v.state.Updated,
		Body: run.Failed{Err: f, Result: v.result},
	})
}

func (v *jsonView) end() error {
	if v.lines || v.result == nil {
		return nil
	}
	return writeJSON(v.w, v.result)
}
